"""Stand-ins for devices, and for facts of a card, that tell when a model's own code looks at them.

They are handed to nobody else: what torch asks of itself it gets as it is.
"""

from __future__ import annotations

from typing import Any, Callable

import torch

from mxenv_recording.asking import current, own

WHOLE = (
    *("__add__", "__contains__", "__getitem__", "__iter__", "__len__", "__mod__", "capitalize"),
    *("casefold", "count", "encode", "endswith", "find", "format", "index", "join", "lower"),
    *("lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind", "rpartition"),
    *("rsplit", "rstrip", "split", "startswith", "strip", "title", "translate", "upper"),
)
"""What text can do that shows which text it is."""


class Kind(str):
    """The kind of a device, as text: a question only once somebody compares it."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        asked = current()
        if asked is None or not isinstance(other, str) or isinstance(other, Kind) or not own():
            return str.__eq__(self, other)
        return asked.is_kind(_kind(self), _kind(other), "Tensor.device")

    def __ne__(self, other: object) -> Any:
        asked = current()
        if asked is None or not isinstance(other, str) or isinstance(other, Kind) or not own():
            return str.__ne__(self, other)
        return not asked.is_kind(_kind(self), _kind(other), "Tensor.device")

    def __hash__(self) -> int:
        return hash(_said(self) if own() else _plain(self))

    def __str__(self) -> str:
        return self

    def __format__(self, how: str) -> str:
        return (_said(self) if own() else _plain(self)).__format__(how)


def _plain(value: Any) -> str:
    """Return text that is a `str` and nothing else."""
    return "".join(str.__iter__(value))


def _kind(text: Any) -> str:
    return _plain(text).partition(":")[0]


def _said(text: Any) -> str:
    """Return the text that a device is said to have: of a card ``cuda``."""
    plain, asked = _plain(text), current()
    if asked is None:
        return plain
    kind = asked.kind(_kind(plain), "Tensor.device")
    return f"{kind}:0" if isinstance(text, (Named, Device)) and kind == "cuda" else kind


def _whole(name: str) -> Callable[..., Any]:
    kept = getattr(str, name)

    def method(text: Any, *args: Any, **kwargs: Any) -> Any:
        return kept(_said(text) if own() else _plain(text), *args, **kwargs)

    return method


for _name in WHOLE:
    if hasattr(str, _name):  # Python 3.8 lacks two of them
        setattr(Kind, _name, _whole(_name))


class Named(Kind):
    """A whole device as text, which has a number on a card."""

    __slots__ = ()


class Device(str):
    """A device that torch takes as one, since it is its name, and that tells who compares it."""

    __slots__ = ("real",)

    real: torch.device

    def __new__(cls, real: torch.device) -> Device:  # noqa: PYI034 - Python 3.8 has no Self
        """Stand in for ``real``."""
        made = str.__new__(cls, str(real))
        made.real = real
        return made

    @property
    def __class__(self) -> Any:  # what `isinstance` looks at
        return torch.device

    def __reduce__(self) -> Any:
        return self.real.__reduce__()

    def __deepcopy__(self, _memo: Any) -> Device:
        return self

    @property
    def type(self) -> Kind:
        """The kind of the device."""
        return Kind(self.real.type)

    @property
    def index(self) -> Any:  # type: ignore[override] # a device is no text
        """The number of the device among those of its kind."""
        asked = current()
        if asked is None or self.real.type != "meta" or not own():
            return self.real.index
        return 0 if asked.card("Tensor.device") else None

    def __eq__(self, other: object) -> Any:
        if type(other) is Device:
            return self.real == other.real
        if type(other) is not torch.device:
            return False
        asked = current()
        if asked is None or not own():
            return self.real == other
        return asked.is_kind(self.real.type, other.type, "Tensor.device")

    def __ne__(self, other: object) -> Any:
        if type(other) is torch.device and own():
            asked = current()
            if asked is not None:
                return not asked.is_kind(self.real.type, other.type, "Tensor.device")
        return not self == other

    def __hash__(self) -> int:
        return hash(self.real)

    def __str__(self) -> str:
        return Named(self.real)

    def __repr__(self) -> str:
        return repr(self.real)

    def __format__(self, how: str) -> str:
        return (_said(self) if own() else str.__str__(self)).__format__(how)

    def __enter__(self) -> Any:
        return self.real.__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: object) -> Any:
        return self.real.__exit__(*error)  # type: ignore[no-untyped-call]


class Unknown:
    """A fact of the card that nobody knows here: a comparison goes both ways, all else is a gap."""

    __slots__ = ("_subject", "_value")

    def __init__(self, subject: str, value: Any) -> None:
        """Stand for a fact that ``subject`` tells; ``value`` is one that it may have."""
        self._subject, self._value = subject, value

    def _compared(self, _other: object) -> Any:
        asked = current()
        return False if asked is None else asked.compared(self._subject)

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self._value)

    def _read(self) -> Any:
        asked = current()
        if asked is not None:
            asked.unknown(self._subject)
        return self._value

    def __hash__(self) -> int:
        return hash(self._read())

    def __index__(self) -> int:
        return int(self._read())

    def __int__(self) -> int:
        return int(self._read())

    def __float__(self) -> float:
        return float(self._read())

    def __str__(self) -> str:
        return str(self._read())

    def __format__(self, how: str) -> str:
        return format(self._read(), how)

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Any:
        return (Unknown(self._subject, one) for one in self._value)

    def __getitem__(self, place: Any) -> Any:
        return Unknown(self._subject, self._value[place])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        told = getattr(self._value, name)
        return getattr(self._read(), name) if callable(told) else Unknown(self._subject, told)

    def _combined(self, other: Any) -> Any:
        del other
        return Unknown(self._subject, self._value)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _combined
    __floordiv__ = __truediv__ = __mod__ = _combined
