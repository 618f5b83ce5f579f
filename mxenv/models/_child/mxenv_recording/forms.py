"""What a call without values returns, known from an equal one: torch works it out in Python.

A call's form is its arguments, with shape, strides and number format in the place of a tensor.
Below autograd, and without values, nothing else decides what an operator of torch returns.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

BASE = torch._C.TensorBase
WITHOUT_VALUES = BASE.is_meta.__get__  # type: ignore[attr-defined]
PLAIN = (torch.Tensor, torch.nn.Parameter)
SAID = frozenset(
    (*(int, float, bool, str, torch.dtype, torch.device, torch.layout), torch.memory_format)
)
"""Arguments that stand for themselves."""
SHAPING = ("aten::set_", "aten::resize_", "aten::resize_as_", "aten::_resize_output_")
"""What changes the shape of its argument, and is not tagged as such."""
LISTS = "aten::_foreach_"
"""Operators that do the same with each element of their lists."""


class Unlike(Exception):
    """A call has an argument that no form tells of."""


def form(args: Any) -> tuple[Any, ...]:
    """Return the form of arguments; `Unlike` if one has values, or is of another kind."""
    found: list[Any] = []
    for value in args:
        kind = type(value)
        if kind in PLAIN:
            dtype = value.dtype
            if not WITHOUT_VALUES(value) or dtype.is_complex:  # which may be conjugate
                raise Unlike
            found.append((value.shape, value.stride(), dtype))
        elif value is None:
            found.append(None)
        elif kind in {list, tuple}:
            found.append(form(value))
        elif kind in SAID:
            found.append((kind, value))
        else:
            raise Unlike
    return tuple(found)


def _form(args: Any, kwargs: Any) -> Any:
    """Return the form of a call; `None` if it has none."""
    try:
        if kwargs:
            return form(args), tuple(kwargs), form(kwargs.values())
        return form(args)
    except (Unlike, RuntimeError):  # a sparse tensor has no strides
        return None


class Form:
    """One form of the calls of one operator, and what gives their result, if that is known."""

    __slots__ = ("again",)

    def __init__(self) -> None:
        self.again: Callable[[Any], Any] | None = None


class Forms:
    """All forms of the calls of one operator."""

    def __init__(self, func: Any) -> None:
        self.func, self.able = func, _able(func)
        self.known: dict[Any, Form] = {}

    def of(self, args: Any, kwargs: Any) -> Form | None:
        """Return the form of a call, the same one for each call alike; `None`: it has none."""
        told = _form(args, kwargs)
        if told is None:
            return None
        key = (told, torch.get_default_dtype())
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Form()
        return found

    def call(self, args: Any, kwargs: Any, form: Form | None) -> Any:
        """Call the operator, or return what it returned for the same form before."""
        if form is None or not self.able:
            return self.func(*args, **kwargs)
        if form.again is not None:
            return form.again(args)
        out = _each(self.func, args, kwargs)
        if out is NotImplemented:
            out = self.func(*args, **kwargs)
        form.again = _again(self.func, args, out)
        return out


def _able(func: Any) -> bool:
    """Return whether nothing but the form decides what an operator returns, or changes.

    Views share memory with what they show, and cost little; others change a tensor's shape.
    """
    schema = func._schema
    if func.namespace != "aten" or torch.Tag.inplace_view in func.tags or schema.name in SHAPING:
        return False
    first, *more = schema.arguments or (None,)
    if first is None or any(one.alias_info is not None for one in more):
        return False
    if first.alias_info is None:
        return True
    returns = [one.alias_info for one in schema.returns]
    alike = [one is not None and one.before_set == first.alias_info.before_set for one in returns]
    return first.alias_info.is_write and len(returns) <= 1 and all(alike)


def _again(func: Any, args: Any, out: Any) -> Callable[[Any], Any] | None:
    """Return what gives the like of ``out`` for arguments of the same form."""
    if out is None:
        return lambda _: None
    if func._schema.arguments[0].alias_info is not None:
        return (lambda given: given[0]) if out is args[0] else None
    many = isinstance(out, (list, tuple))
    makers = [_maker(one) for one in (out if many else (out,))]
    if any(one is None for one in makers):
        return None
    if many:
        kind = type(out)
        return lambda _: kind([make() for make in makers])  # type: ignore[misc]
    only: Any = makers[0]
    return lambda _: only()


def _maker(value: Any) -> Callable[[], Any] | None:
    """Return what makes another ``value``: a tensor without values, or a number."""
    if value is None or type(value) in {int, float, bool}:
        return lambda: value
    if type(value) is not torch.Tensor or not WITHOUT_VALUES(value) or value.is_quantized:
        return None
    if value.layout is not torch.strided or value.storage_offset() or value.dtype.is_complex:
        return None
    shape, strides, dtype = value.shape, value.stride(), value.dtype
    return lambda: torch.empty_strided(shape, strides, dtype=dtype, device="meta")


def _each(func: Any, args: Any, kwargs: Any) -> Any:
    """Call an operator of lists with one of each form among their elements.

    What it does with one element has nothing to do with the others. `NotImplemented`: it has to
    be called with all of them.
    """
    if not func._schema.name.startswith(LISTS) or kwargs:
        return NotImplemented
    lists = [place for place, one in enumerate(args) if isinstance(one, (list, tuple))]
    if not lists or len({len(args[place]) for place in lists}) > 1:
        return NotImplemented
    firsts: dict[Any, int] = {}
    kinds = [form(column) for column in zip(*(args[place] for place in lists))]
    for n, kind in enumerate(kinds):
        firsts.setdefault(kind, n)
    fewer = [[one[n] for n in firsts.values()] if k in lists else one for k, one in enumerate(args)]
    out = func(*fewer)
    if out is None:
        return None
    makers = dict(zip(firsts, (_maker(one) for one in out)))
    if any(one is None for one in makers.values()):
        return NotImplemented
    return [makers[kind]() for kind in kinds]  # type: ignore[misc]
