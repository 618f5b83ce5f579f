"""What makes a class one of values: frozen, slotted, and equal where all fields are.

``dataclass(frozen=True, slots=True, kw_only=True)`` makes the same, and compiles seven functions
for every class to do so: with a hundred classes that was a tenth of a probe. Here one is compiled
for each, and the others are shared by all.
"""

from __future__ import annotations

from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    ClassVar,
    NoReturn,
    Protocol,
    TypeVar,
    dataclass_transform,
    overload,
)

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class _Value(Protocol):
    """What every value has, beside its fields."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    __compared__: Callable[[object], object]
    """Returns of a value what is compared."""


@overload
def frozen(made: type[T], /) -> type[T]: ...
@overload
def frozen(*, kw_only: bool) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(
    made: type[T] | None = None, /, *, kw_only: bool = True
) -> type[T] | Callable[[type[T]], type[T]]:
    """Make ``made`` a class of values, whose fields are given by name unless told otherwise.

    A field may have a default, a factory of one, and may be left out of comparisons; `replace`
    and `fields` of dataclasses know such values, and so does ``match``.
    """
    if made is None:
        return lambda cls: _frozen(cls, kw_only=kw_only)
    return _frozen(made, kw_only=kw_only)


def _frozen(cls: type[T], *, kw_only: bool) -> type[T]:
    made = dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    known: tuple[Field[object], ...] = fields(made)  # type: ignore[arg-type] # of a dataclass
    compared = [each.name for each in known if each.compare]
    methods = {
        "__init__": _init(made, known, kw_only=kw_only),
        "__setattr__": _set,
        "__delattr__": _delete,
        "__eq__": _equal,
        "__hash__": _hash,
        "__repr__": _repr,
        "__getstate__": _state,
        "__setstate__": _restore,
        "__compared__": attrgetter(*compared) if compared else staticmethod(_nothing),
    }
    for name, method in methods.items():
        # As dataclasses do: what a class says of itself stands, a secret that it does not show.
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made


def _init(made: type[T], known: tuple[Field[object], ...], *, kw_only: bool) -> object:
    """Return the one function that is compiled; a general one would make each value slowly."""
    # A slot is filled by itself: to look it up by its name takes a third longer.
    names: dict[str, object] = {
        f"_set_{each.name}": vars(made)[each.name].__set__ for each in known
    }
    names["_missing"] = MISSING
    head, body = ["self", *(["*"] if kw_only and known else [])], ["pass"]
    for each in known:
        name, given = each.name, each.name
        if each.default is not MISSING:
            names[f"_of_{name}"] = each.default
            head.append(f"{name}=_of_{name}")
        elif each.default_factory is not MISSING:
            names[f"_of_{name}"] = each.default_factory
            head.append(f"{name}=_missing")
            given = f"_of_{name}() if {name} is _missing else {name}"
        else:
            head.append(name)
        body.append(f"_set_{name}(self, {given})")
    if hasattr(made, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(head)}):\n " + "\n ".join(body), names)  # noqa: S102 - of names of fields, as dataclasses do it
    return names["__init__"]


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
