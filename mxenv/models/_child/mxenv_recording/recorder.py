"""The mode that sees every call of an operator below autograd."""

from __future__ import annotations

from typing import Any

import torch
import torch._meta_registrations  # torch before 2.6 knows shapes only once this is imported
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from mxenv_recording.forms import Forms

IGNORED = frozenset({"prim", "prims", "profiler"})
ATTENTION = torch.ops.aten.scaled_dot_product_attention.default
KEYS = ("CPU", "CUDA", "Meta")
"""Dispatch keys of kernels that stand in the place of a composite."""
_operators: dict[Any, Operator] = {}


class Operator:
    """What is known of one operator, and of its calls: the same for every walk."""

    __slots__ = ("composite", "forms", "ignored")

    def __init__(self, func: Any) -> None:
        self.ignored = func.namespace in IGNORED
        self.composite = composite(func)
        self.forms = Forms(func)


def composite(func: Any) -> bool:
    """Return whether an operator is nothing but calls of others, also below autograd.

    One that has a kernel of its own as well (``silu_backward``) is called as it is.
    """
    try:
        return _has(func, "CompositeImplicitAutograd") and not any(_has(func, key) for key in KEYS)
    except RuntimeError:
        return False


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
        known = _operators.get(func)
        if known is None:
            known = _operators[func] = Operator(func)
        if known.ignored:
            return func(*args, **kwargs)
        if known.composite:
            with self:
                if func is ATTENTION and self.choices is not None:
                    return self.choices.attention(*args, **kwargs)
                made = func.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        form = known.forms.of(args, kwargs)
        out = self.guesses.answer(func, args, kwargs)
        if out is NotImplemented:
            try:
                out = known.forms.call(args, kwargs, form)
            except (NotImplementedError, RuntimeError) as error:
                out = self.guesses.without_kernel(func, args, kwargs, error)
        self.ledger.use(func, args, kwargs, form)
        return out
