"""What makes a class one of values: frozen, slotted, and equal where all fields are.

``dataclass(frozen=True, slots=True, kw_only=True)`` makes the same, and compiles seven functions
for every class to do so: with a hundred classes that was a tenth of a probe. Here all functions are
shared but the one that fills the fields, which is compiled once for all classes of its form.
"""

from __future__ import annotations

import dataclasses
import operator
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NoReturn,
    Protocol,
    TypeVar,
    dataclass_transform,
    overload,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")


class _Value(Protocol):
    """What every value has, beside its fields."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    __compared__: Callable[[object], object]
    """Returns of a value what is compared."""


@overload
def frozen(made: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool = True, order: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(
    made: type[T] | None = None, /, *, kw_only: bool = True, order: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make ``made`` a class of values, whose fields are given by name unless told otherwise.

    A field may have a default, a factory of one, be filled by ``__post_init__`` alone, and be left
    out of comparisons; `replace` and `fields` of dataclasses know such values, and so does
    ``match``. Those of a class with an ``order`` compare as their fields do, one after another.
    """
    methods = {**FROZEN, **(ORDER if order else {})}
    if made is None:
        return lambda cls: _made(cls, methods, kw_only=kw_only)
    return _made(made, methods, kw_only=kw_only)


@overload
def slotted(made: type[T], /) -> type[T]: ...
@overload
def slotted(*, kw_only: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(field_specifiers=(field,))
def slotted(
    made: type[T] | None = None, /, *, kw_only: bool = False
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make ``made`` what ``dataclass(slots=True)`` makes of it: its fields may change."""
    if made is None:
        return lambda cls: _made(cls, CHANGING, kw_only=kw_only)
    return _made(made, CHANGING, kw_only=kw_only)


def _made(cls: type[T], shared: Mapping[str, object], *, kw_only: bool) -> type[T]:
    known = [_field(cls, name, kw_only=kw_only) for name in vars(cls).get("__annotations__", ())]
    names = tuple(each.name for each in known)
    compared = [each.name for each in known if each.compare]
    own = {name: what for name, what in cls.__dict__.items() if name not in {*names, *UNSHARED}}
    methods = {
        **shared,
        "__match_args__": () if kw_only else tuple(each.name for each in known if each.init),
        "__compared__": attrgetter(*compared) if compared else staticmethod(_nothing),
        # As dataclasses do: what a class says of itself stands, a secret that it does not show.
        **own,
        "__slots__": names,
        "__qualname__": cls.__qualname__,
        "__dataclass_fields__": dict(zip(names, known, strict=True)),
    }
    # Made at once: a class that is given one method after another is looked through for each.
    kind: Callable[..., type[T]] = type(cls)
    made = kind(cls.__name__, cls.__bases__, methods)
    if "__init__" not in own:
        setattr(made, "__init__", _init(made, known, kw_only=kw_only))  # noqa: B010 - the slots had to be there first
    return made


UNSHARED = ("__dict__", "__weakref__")
"""What the first form of a class has, and one with slots has not."""


def _field(cls: type, name: str, *, kw_only: bool) -> Field[object]:
    """Return what dataclasses know of a field; they would look through each annotation for it."""
    given = cls.__dict__.get(name, MISSING)
    made: Field[object] = given if isinstance(given, Field) else field(default=given)
    made.name = name
    made.type = cls.__annotations__[name]
    made.kw_only = kw_only
    made._field_type = dataclasses._FIELD  # type: ignore[attr-defined] # noqa: SLF001 - the one mark that `fields` and `replace` look for
    return made


def _init(made: type, every: Sequence[Field[object]], *, kw_only: bool) -> FunctionType:
    """Return what makes a value: a function for all classes would make each of them slowly."""
    known = [each for each in every if each.init]
    names: dict[str, object] = {"_missing": MISSING}
    defaults: dict[str, object] = {}
    made_late = []
    for number, each in enumerate(known):
        # A slot is filled by itself: to look it up by its name takes a third longer.
        names[f"_set_{number}"] = vars(made)[each.name].__set__
        if each.default is not MISSING:
            defaults[each.name] = each.default
        elif each.default_factory is not MISSING:
            names[f"_make_{number}"] = each.default_factory
            defaults[each.name] = MISSING
            made_late.append(number)
    follows = hasattr(made, "__post_init__")
    code = _code(len(known), tuple(made_late), kw_only=kw_only, follows=follows)
    code = code.replace(co_varnames=("self", *(each.name for each in known)))
    function = FunctionType(code, names, "__init__", None if kw_only else tuple(defaults.values()))
    function.__kwdefaults__ = defaults if kw_only else {}
    return function


@cache
def _code(count: int, late: tuple[int, ...], *, kw_only: bool, follows: bool) -> CodeType:
    """Return what fills ``count`` fields that have no names yet, those of ``late`` by a factory."""
    given = [
        f"_make_{n}() if _{n} is _missing else _{n}" if n in late else f"_{n}" for n in range(count)
    ]
    head = ["self", *(["*"] if kw_only and count else []), *(f"_{n}" for n in range(count))]
    body = ["pass", *(f"_set_{n}(self, {value})" for n, value in enumerate(given))]
    if follows:
        body.append("self.__post_init__()")
    text = f"def __init__({', '.join(head)}):\n " + "\n ".join(body)
    (code,) = (c for c in compile(text, "<frozen>", "exec").co_consts if isinstance(c, CodeType))
    return code


def _set(self: object, name: str, value: object) -> NoReturn:  # noqa: ARG001 - the language's signature
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> NoReturn:  # noqa: ARG001 - the same
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _equal(self: _Value, other: object) -> object:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__compared__
    return compared(self) == compared(other)


def _hash(self: _Value) -> int:
    return hash(self.__compared__(self))


def _repr(self: _Value) -> str:
    shown = ((each.name, getattr(self, each.name)) for each in fields(self) if each.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={value!r}' for name, value in shown)})"


def _state(self: _Value) -> list[object]:
    """Return what another process, or a copy, needs to be told of a value."""
    return [getattr(self, name) for name in self.__dataclass_fields__]


def _restore(self: _Value, state: list[object]) -> None:
    for name, value in zip(self.__dataclass_fields__, state, strict=True):
        object.__setattr__(self, name, value)


def _nothing(_: object) -> tuple[()]:
    """Return what there is to compare of a value without fields."""
    return ()


def _ordered(comparison: Callable[[Any, Any], bool]) -> Callable[[_Value, object], object]:
    def compare(self: _Value, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        compared = self.__compared__
        return comparison(compared(self), compared(other))

    return compare


CHANGING: dict[str, object] = {
    "__eq__": _equal,
    "__hash__": None,
    "__repr__": _repr,
    "__getstate__": _state,
    "__setstate__": _restore,
}
FROZEN: dict[str, object] = {
    **CHANGING,
    "__setattr__": _set,
    "__delattr__": _delete,
    "__hash__": _hash,
}
ORDER: dict[str, object] = {
    "__lt__": _ordered(operator.lt),
    "__le__": _ordered(operator.le),
    "__gt__": _ordered(operator.gt),
    "__ge__": _ordered(operator.ge),
}
