"""What is answered for questions that tensors without values cannot answer."""

from __future__ import annotations

from typing import Any, Callable

import torch

ATEN = torch.ops.aten
MASKS = (torch.bool, torch.uint8)
IS_META = torch._C.TensorBase.is_meta.__get__  # type: ignore[attr-defined] # quick, and never patched


def meta(value: Any) -> bool:
    """Return whether ``value`` is a tensor without values."""
    return isinstance(value, torch.Tensor) and IS_META(value)


def empty(shape: Any, dtype: torch.dtype) -> Any:
    """Return a tensor without values."""
    return torch.empty(shape, dtype=dtype, device="meta")


class Guesses:
    """Answers for one walk; ``paths`` has what every question of yes or no gets.

    Tensors on another device than ``meta`` have values; what a walk on ``device`` does with its
    own follows from those, and from no others.
    """

    def __init__(self, ledger: Any, paths: Any, device: str = "meta") -> None:
        self.ledger, self.paths = ledger, paths
        self.real = device != "meta"

    def answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Return what an operator is said to return; `NotImplemented`: it can be called."""
        guess = GUESSED.get(func)
        if guess is None or not args:
            return NotImplemented
        return guess(self, func, args, kwargs)

    def decided(self, func: Any) -> bool:
        """Return the answer to a question of yes or no."""
        self.note("value", func, "a question of yes or no, walked both ways")
        return self._way()

    def many(self, func: Any, said: str) -> bool:
        """Return whether there are as many of something as there can be, or none."""
        self.note("shape", func, f"{said}; walked with none as well")
        return self._way()

    def _way(self) -> bool:
        places = self.ledger.places
        return self.paths.answer((self.ledger.phase, *places.calls()), places.line())

    def number(self, subject: str) -> None:
        """Note that a number was guessed, on which anything may hang."""
        self.ledger.assume("value", subject, "every number that is asked for is 1")
        self._gap("what follows from other numbers than 1 that the model reads from its tensors")

    def _gap(self, said: str) -> None:
        if not any(gap.startswith(said) for gap in self.ledger.gaps):
            line = self.ledger.places.line()
            self.ledger.gaps.append(f"{said}: first at {line}" if line else said)

    def values(self) -> Any:
        """Note that values decide what a walk on real tensors does."""
        if self.real:
            self._gap("what follows from other values than those that a small instance happened on")
        return NotImplemented

    def scalar(self, func: Any, args: Any, _kwargs: Any) -> Any:
        value = args[0]
        if not meta(value):
            return self.values()
        if value.dtype is torch.bool:
            return self.decided(func)
        self.number(f"{func._schema.name}.{func._overloadname}")
        return 1.0 if value.is_floating_point() else 1

    def equal(self, func: Any, args: Any, _kwargs: Any) -> Any:
        if not (meta(args[0]) or meta(args[1])):
            return self.values()
        return self.decided(func)

    def nonzero(self, func: Any, args: Any, _kwargs: Any) -> Any:
        value = args[0]
        if not meta(value):
            return self.values()
        return empty((self.chosen(func, value), value.dim()), torch.long)

    def chosen(self, func: Any, value: Any) -> int:
        """Return how many elements of a mask are said to be chosen: all, or none."""
        return max(value.numel(), 1) if self.many(func, "all elements are chosen") else 0

    def masked_select(self, func: Any, args: Any, _kwargs: Any) -> Any:
        value = args[0]
        if not meta(value):
            return self.values()
        return empty((self.chosen(func, args[1] if meta(args[1]) else value),), value.dtype)

    def index(self, func: Any, args: Any, kwargs: Any) -> Any:
        masks = [one for one in args[1] if one is not None and one.dtype in MASKS]
        if not any(meta(one) for one in masks):
            return self.values() if masks else NotImplemented
        many = self.many(func, "all elements are chosen")
        indices = []
        for one in args[1]:
            if one is not None and one.dtype in MASKS:
                size = max(one.numel(), 1) if many else 0
                indices += [empty((size,), torch.long)] * one.dim()
            else:
                indices.append(one)
        return func(args[0], indices, *args[2:], **kwargs)

    def unique(self, func: Any, args: Any, _kwargs: Any) -> Any:
        value = args[0]
        if not meta(value):
            return self.values()
        self.note("shape", func, "all elements differ; walked with one alone as well")
        size = (max(value.numel(), 1) if self._way() else 1,)
        return empty(size, value.dtype), empty(size, torch.long), empty(size, torch.long)

    def bincount(self, func: Any, args: Any, kwargs: Any) -> Any:
        if not meta(args[0]):
            return NotImplemented
        least = args[2] if len(args) > 2 else kwargs.get("minlength", 0)  # noqa: PLR2004 - its place
        self.note("shape", func, "no bin lies beyond those that were asked for")
        return empty((max(least, 1),), torch.long)

    def repeated(self, func: Any, args: Any, kwargs: Any) -> Any:
        size = kwargs.get("output_size")
        if not meta(args[0]) or size is not None:
            return NotImplemented
        once = self.many(func, "each element is repeated once")
        return empty((max(args[0].numel(), 1) if once else 0,), args[0].dtype)

    def moved(self, func: Any, args: Any, kwargs: Any) -> Any:
        device = kwargs.get("device")
        if device is None or meta(args[0]) == (torch.device(device).type == "meta"):
            return NotImplemented
        if not meta(args[0]):
            self.note("device", func, "a tensor that is made on the CPU is moved to the card")
            return NotImplemented
        self.note("value", func, "what is taken to the CPU has no values")
        return func(*args, **{**kwargs, "device": torch.device("meta")})

    def note(self, kind: str, func: Any, said: str) -> None:
        """Note a guess."""
        self.ledger.assume(kind, f"{func._schema.name}.{func._overloadname}", said)

    def without_kernel(self, func: Any, args: Any, kwargs: Any, error: Exception) -> Any:
        """Return what an operator that cannot be called without values is said to return."""
        rule = SHAPES.get(func._schema.name)
        if rule is not None:
            self.note("shape", func, "its shape is known, and torch would not tell it")
            return rule(*args, **kwargs)
        tensors = [one for one in _flat(args, kwargs) if meta(one)]
        if func.namespace == "aten" or not tensors:
            raise error
        self.note("shape", func, "what it returns is like its first tensor")
        returned = [_returned(one, args, func, tensors[0]) for one in func._schema.returns]
        return None if not returned else returned[0] if len(returned) == 1 else tuple(returned)


def _flat(args: Any, kwargs: Any) -> Any:
    for value in (*args, *kwargs.values()):
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def _returned(told: Any, args: Any, func: Any, like: Any) -> Any:
    """Return an argument that is given back changed, or something like the first tensor."""
    if told.alias_info is not None:
        for value, argument in zip(args, func._schema.arguments):
            alias = argument.alias_info
            if alias is not None and alias.before_set == told.alias_info.before_set:
                return value
    return torch.empty_like(like)


def _grouped(a: Any, b: Any, offs: Any = None, bias: Any = None, out_dtype: Any = None) -> Any:
    """Return what a product of groups of matrices has as its shape."""
    del bias
    flat = 2
    if a.dim() == flat and b.dim() == flat:
        shape = (offs.shape[0], a.shape[0], b.shape[1])
    elif a.dim() == flat:
        shape = (a.shape[0], b.shape[2])
    elif b.dim() == flat:
        shape = (a.shape[1], b.shape[1])
    else:
        shape = (a.shape[0], a.shape[1], b.shape[2])
    return empty(shape, out_dtype or a.dtype)


def _flash(q: Any, k: Any, *_args: Any, **_kwargs: Any) -> Any:
    one = empty((), torch.long)
    sums = empty(q.shape[:3], torch.float32)
    return (
        *(torch.empty_like(q), sums, one, one, q.shape[2], k.shape[2], one, one),
        empty((0,), q.dtype),
    )


def _efficient(q: Any, _k: Any, v: Any, *_args: Any, **_kwargs: Any) -> Any:
    one = empty((), torch.long)
    out = empty((*q.shape[:3], v.shape[-1]), q.dtype)
    return out, empty(q.shape[:3], torch.float32), one, one


def _recurrent(*args: Any, **_kwargs: Any) -> Any:
    """Return what the kernel of recurrent networks has as its shapes."""
    value, hidden, cell = args[0], args[4], args[5]
    both = 2 if args[13] else 1
    out = empty((*value.shape[:-1], args[7] * both), value.dtype)
    last = empty((0,) if cell is None else cell.shape, value.dtype)
    return out, empty(hidden.shape, value.dtype), last, out, empty((0,), torch.uint8)


def _recurrent_backward(*args: Any, **_kwargs: Any) -> Any:
    value, weights, hidden, cell = args[0], args[1], args[4], args[5]
    state = torch.empty_like(hidden if cell is None else cell)
    like = [torch.empty_like(one) for one in weights]
    return torch.empty_like(value), torch.empty_like(hidden), state, like


SHAPES: dict[str, Callable[..., Any]] = {
    "aten::_grouped_mm": _grouped,
    "aten::_cudnn_rnn": _recurrent,
    "aten::_cudnn_rnn_backward": _recurrent_backward,
    # torch 2.4 has no kernel without values for these.
    "aten::_scaled_dot_product_flash_attention": _flash,
    "aten::_scaled_dot_product_efficient_attention": _efficient,
}
GUESSED: dict[Any, Callable[..., Any]] = {
    ATEN._local_scalar_dense.default: Guesses.scalar,
    ATEN.equal.default: Guesses.equal,
    ATEN.nonzero.default: Guesses.nonzero,
    ATEN.masked_select.default: Guesses.masked_select,
    ATEN.index.Tensor: Guesses.index,
    ATEN._unique2.default: Guesses.unique,
    ATEN.unique_dim.default: Guesses.unique,
    ATEN.unique_consecutive.default: Guesses.unique,
    ATEN.bincount.default: Guesses.bincount,
    ATEN.repeat_interleave.Tensor: Guesses.repeated,
    ATEN._to_copy.default: Guesses.moved,
}
