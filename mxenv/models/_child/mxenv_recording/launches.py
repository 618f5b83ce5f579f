"""Kernels in Triton that a model launches itself, which no dispatcher sees."""

from __future__ import annotations

import importlib.util
from contextlib import contextmanager
from typing import Any, Iterator

from mxenv_recording.guesses import meta
from mxenv_recording.ledger import relative


@contextmanager
def caught(ledger: Any, places: Any) -> Iterator[None]:
    """Note every launch while this lasts; what would write where there is nothing is left out."""
    if importlib.util.find_spec("triton") is None:
        yield
        return
    from triton.runtime import autotuner, jit  # noqa: PLC0415 - only where it is installed

    classes = [
        found
        for place, name in (
            (jit, "JITFunction"),
            (autotuner, "Autotuner"),
            (autotuner, "Heuristics"),
        )
        if (found := getattr(place, name, None)) is not None
    ]
    before = [(one, one.run) for one in classes]
    for one, run in before:
        one.run = _noting(run, ledger, places)
    try:
        yield
    finally:
        for one, run in before:
            one.run = run


def _noting(run: Any, ledger: Any, places: Any) -> Any:
    def noted(own: Any, *args: Any, **kwargs: Any) -> Any:
        ledger.kernel("triton", _name(own), places.now())
        if any(meta(value) for value in (*args, *kwargs.values())):
            return None  # it fills buffers that are there already
        return run(own, *args, **kwargs)

    return noted


def _name(kernel: Any) -> str:
    """Return a kernel's name and where it is written; what wraps it is looked through."""
    inner = kernel
    while not hasattr(inner, "__code__") and hasattr(inner, "fn"):
        inner = inner.fn
    code = getattr(inner, "__code__", None)
    name = getattr(inner, "__name__", type(kernel).__name__)
    return name if code is None else f"{name} ({relative(code.co_filename)}:{code.co_firstlineno})"
