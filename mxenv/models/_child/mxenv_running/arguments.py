"""What an operator was called with, as an inventory says it, and values of that form.

An inventory knows shapes and number formats, and no values. Where a value decides whether a call
is legal at all, it comes from `legal`; where nobody knows one, the call cannot be made.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch
from mxenv_formats import DTYPES, short

from mxenv_running import fitting, legal

FEW = 3
"""Tensors that are kept of each list, of operators that treat each by itself."""
EACH = ("_foreach_", "_fused_")
"""How those are called."""
WIDER = {torch.complex64: torch.complex128, torch.complex128: torch.complex128}


class NotKnown(Exception):
    """There are no arguments of which it is known that they are legal; the reason."""


class Word:
    """An argument that is no number: a ``dtype``, a ``device``, a ``layout``, …."""

    def __init__(self, kind: Any, name: Any) -> None:
        self.kind, self.name = kind, name

    def made(self, device: Any, wider: Any) -> Any:
        """Return it for a call on ``device``; ``wider`` takes the place of a format of floats."""
        if self.kind == "device":
            return torch.device(device)
        if self.kind == "dtype":
            return widened(dtype_of(self.name), wider)
        return getattr(torch, self.name)


class Held:
    """A tensor: its form, and the values of its storage, from which each call gets its own."""

    def __init__(self, dtype: Any, shape: Any, stride: Any) -> None:
        self.dtype, self.shape = dtype, tuple(shape)
        self.stride = tuple(stride) if stride is not None else _contiguous(self.shape)
        if len(self.stride) != len(self.shape):
            raise NotKnown("strides and shape do not fit together")
        self.flat = None

    @property
    def floating(self) -> Any:
        """Return whether it holds numbers that are rounded."""
        return self.dtype.is_floating_point or self.dtype.is_complex

    @property
    def numel(self) -> Any:
        """Return how many elements it has."""
        return _product(self.shape)

    @property
    def extent(self) -> Any:
        """Return how many elements its storage has, from the first to the last that is used."""
        if not self.numel:
            return 0
        return 1 + sum((size - 1) * step for size, step in zip(self.shape, self.stride))

    @property
    def bytes(self) -> Any:
        """Return what it takes; of elements that lie in one place, once."""
        return self.extent * torch.empty(0, dtype=self.dtype).element_size()

    def fill(self, values: Any) -> None:
        """Take ``values``, a tensor of its shape, or of what of it is not repeated."""
        self.flat = torch.zeros(self.extent, dtype=self.dtype)
        shape = self.once
        if values.shape != shape:
            values = values.reshape(shape)
        self.flat.as_strided(shape, self.stride).copy_(values)

    @property
    def once(self) -> Any:
        """Return its shape, with 1 where a step of zero shows one element many times."""
        return tuple(1 if not step else size for size, step in zip(self.shape, self.stride))

    def values(self) -> Any:
        """Return a view of the values on the CPU."""
        return self.flat.as_strided(self.shape, self.stride)

    def made(self, device: Any, wider: Any) -> Any:
        """Return a tensor of its own for a call on ``device``."""
        dtype = widened(self.dtype, wider)
        storage = self.flat.to(device=device, dtype=dtype, copy=True)
        return storage.as_strided(self.shape, self.stride)


def widened(dtype: Any, wider: Any) -> Any:
    """Return the format that takes the place of ``dtype`` where ``wider`` is computed in."""
    if wider is None or not (dtype.is_floating_point or dtype.is_complex):
        return dtype
    if dtype.is_complex:
        return WIDER.get(dtype, dtype)
    return wider


def dtype_of(name: Any) -> Any:
    """Return the format that is called so in an inventory."""
    found = DTYPES.get(name, getattr(torch, name, None))
    if not isinstance(found, torch.dtype):
        raise NotKnown(f"the number format {name!r} is not known here")
    return found


def read(text: Any, operator: Any) -> Any:
    """Return the arguments, by place and by name, that a sample of an inventory tells of."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        raise NotKnown("its sample is not understood") from None
    if not isinstance(listed, list):
        raise NotKnown("its sample is not understood")
    named = {}
    if listed and isinstance(listed[-1], dict) and set(listed[-1]) == {"k"}:
        named = listed.pop()["k"]
    few = FEW if operator.partition("::")[2].startswith(EACH) else None
    # It is meant for memory that only some devices have, and changes no number.
    named = {name: one for name, one in named.items() if name != "pin_memory"}
    return [_one(one, few) for one in listed], {n: _one(one, few) for n, one in named.items()}


def _one(value: Any, few: Any) -> Any:
    if isinstance(value, list):
        return [_one(one, None) for one in value[:few]]
    if not isinstance(value, dict):
        return value
    if "t" in value:
        return Held(dtype_of(value["t"]), value.get("s", []), value.get("st"))
    if "f" in value:
        return float(value["f"])
    if "c" in value:
        return complex(*value["c"])
    for kind in ("dtype", "device", "layout", "memory_format"):
        if kind in value:
            return Word(kind, value[kind])
    raise NotKnown(f"an argument of its sample is not understood: {sorted(value)}")


def tensors(value: Any) -> Any:
    """Yield every tensor in arguments."""
    if isinstance(value, Held):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from tensors(one)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(one)


def made(value: Any, device: Any, wider: Any = None) -> Any:
    """Return arguments for one call on ``device``, floats in the format ``wider`` if given."""
    if isinstance(value, (Held, Word)):
        return value.made(device, wider)
    if isinstance(value, list):
        return [made(one, device, wider) for one in value]
    if isinstance(value, dict):
        return {name: made(one, device, wider) for name, one in value.items()}
    return value


def by_name(overload: Any, args: Any, kwargs: Any) -> Any:
    """Return arguments by the names that the operator has for them, what it takes itself too."""
    known = overload._schema.arguments
    own = {one.name: one.default_value for one in known if one.has_default_value()}
    return {**own, **dict(zip([one.name for one in known], args)), **kwargs}


def fill(overload: Any, args: Any, kwargs: Any, draw: Any) -> None:
    """Give every tensor values: the same for the same arguments and ``draw``, on every machine."""
    schema = overload._schema
    named = by_name(overload, args, kwargs)
    told = f"{schema.name} {schema.overload_name} {draw}"
    seed = int.from_bytes(hashlib.sha256(told.encode()).digest()[:6], "big")
    generator = torch.Generator().manual_seed(seed)
    for name, value in named.items():
        for held in tensors(value):
            values = legal.values(schema.name, name, held, named, generator)
            if values is None:
                form = "{}[{}]".format(short(held.dtype), ", ".join(map(str, held.shape)))
                raise NotKnown(f"nobody knows which values of {name!r} ({form}) are legal")
            held.fill(values)
    fitting.together(schema.name, named, generator)


def _contiguous(shape: Any) -> Any:
    stride, step = [], 1
    for size in reversed(shape):
        stride.append(step)
        step *= max(size, 1)
    return tuple(reversed(stride))


def _product(numbers: Any) -> Any:
    total = 1
    for number in numbers:
        total *= number
    return total
