"""The mode that sees every call of an operator below autograd."""

from __future__ import annotations

from typing import Any

import torch
import torch._meta_registrations  # torch before 2.6 knows shapes only once this is imported
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

IGNORED = frozenset({"prim", "prims", "profiler"})
ATTENTION = torch.ops.aten.scaled_dot_product_attention.default
KEYS = ("CPU", "CUDA", "Meta")
"""Dispatch keys of kernels that stand in the place of a composite."""
_composite: dict[Any, bool] = {}


def composite(func: Any) -> bool:
    """Return whether an operator is nothing but calls of others, also below autograd.

    One that has a kernel of its own as well (``silu_backward``) is called as it is.
    """
    known = _composite.get(func)
    if known is None:
        try:
            known = _has(func, "CompositeImplicitAutograd") and not any(
                _has(func, key) for key in KEYS
            )
        except RuntimeError:
            known = False
        _composite[func] = known
    return known


def _has(func: Any, key: str) -> bool:
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key))


class Recorder(TorchDispatchMode):
    """Writes down what is called, and answers what tensors without values cannot."""

    supports_higher_order_operators = True

    def __init__(self, ledger: Any, places: Any, guesses: Any, choices: Any = None) -> None:
        super().__init__()
        self.ledger, self.places, self.guesses = ledger, places, guesses
        self.choices = choices

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call ``func``, or answer for it, and write it down."""
        kwargs = kwargs or {}
        if not isinstance(func, OpOverload):
            self.ledger.plain(f"higher_order::{func}.default", self.places.now())
            return func(*args, **kwargs)
        if func.namespace in IGNORED:
            return func(*args, **kwargs)
        if composite(func):
            with self:
                if func is ATTENTION and self.choices is not None:
                    return self.choices.attention(*args, **kwargs)
                made = func.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        out = self.guesses.answer(func, args, kwargs)
        if out is NotImplemented:
            try:
                out = func(*args, **kwargs)
            except (NotImplementedError, RuntimeError) as error:
                out = self.guesses.without_kernel(func, args, kwargs, error)
        self.ledger.use(func, args, kwargs, self.places.now())
        return out
