"""What an ONNX file says of its tensors: names, types and sizes, and no element of them.

Fields and types are those of ONNX's own ``onnx.proto``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.wire import BYTES, VARINT, signed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.wire import Wire

DIMENSIONS = 64
LARGEST = 1 << 62
"""Bytes of one tensor."""
BITS = {
    1: ("f32", "F32", 32),
    2: ("u8", "U8", 8),
    3: ("i8", "I8", 8),
    4: ("u16", "U16", 16),
    5: ("i16", "I16", 16),
    6: ("i32", "I32", 32),
    7: ("i64", "I64", 64),
    8: ("string", "STRING", 0),
    9: ("bool", "BOOL", 8),
    10: ("f16", "F16", 16),
    11: ("f64", "F64", 64),
    12: ("u32", "U32", 32),
    13: ("u64", "U64", 64),
    14: ("c64", "C64", 64),
    15: ("c128", "C128", 128),
    16: ("bf16", "BF16", 16),
    17: ("f8_e4m3", "F8_E4M3", 8),
    18: ("f8_e4m3fnuz", "F8_E4M3FNUZ", 8),
    19: ("f8_e5m2", "F8_E5M2", 8),
    20: ("f8_e5m2fnuz", "F8_E5M2FNUZ", 8),
    21: ("u4", "U4", 4),
    22: ("i4", "I4", 4),
    23: ("f4_e2m1", "F4", 4),
    24: ("f8_e8m0", "F8_E8M0", 8),
    25: ("u2", "U2", 2),
    26: ("i2", "I2", 2),
}
"""The numbers of types: as uses have them, as files of weights have them, bits of an element."""
_OFFSET = re.compile(r"[0-9]{1,19}")
EXTERNAL = 1
"""Of ``data_location``: the elements lie in another file."""


@frozen
class Outside:
    """Where the elements of a tensor lie that are not in the file."""

    location: str
    end: int
    """Bytes that the other file has to have, if the model says so; else nothing."""


@frozen
class Held:
    """A tensor that a model brings along."""

    name: str
    type: int
    bytes: int
    outside: Outside | None = None

    @property
    def use(self) -> str:
        """Return its type as uses have it."""
        return BITS[self.type][0] if self.type in BITS else ""


def held(wire: Wire, start: int, end: int) -> Held:
    """Return the tensor that a ``TensorProto`` describes."""
    name, raw = "", None
    numbers = {2: 0, 14: 0}
    sizes: list[int] = []
    for what, kind, first, last in wire.fields(start, end):
        match what, kind:
            case ((1 | 2 | 14), 0):
                numbers[what] = first
                sizes += [first] if what == 1 else []
            case 1, 2:
                sizes += wire.numbers(first, min(last, first + 10 * DIMENSIONS))
            case 8, 2:
                name = wire.text(first, last)
            case 9, 2:
                raw = last - first
            case _:
                pass
        if len(sizes) > DIMENSIONS:
            raise ValueError(f"a tensor of more than {DIMENSIONS} dimensions, {name!r}")
    number, outside = numbers[2], numbers[14] == EXTERNAL
    total = _bytes(name, number, sizes)
    if raw is not None and not outside and number in BITS and raw != total:
        raise ValueError(f"the tensor {name!r} has {raw} bytes, and its shape {total}")
    return Held(
        name=name,
        type=number,
        bytes=total,
        outside=_outside(dict(pairs(wire, start, end, 13)), total) if outside else None,
    )


def _bytes(name: str, number: int, sizes: list[int]) -> int:
    count = 1
    for size in sizes:
        count *= signed(size)
        if not 0 <= count <= LARGEST:
            raise ValueError(f"the tensor {name!r} has a size of {count}")
    bits = BITS[number][2] if number in BITS else 0
    return (count * bits + 7) // 8


def _pair(wire: Wire, start: int, end: int) -> tuple[str, str]:
    """Return the two texts of a ``StringStringEntryProto``."""
    texts = {1: "", 2: ""}
    for what, kind, first, last in wire.fields(start, end):
        if what in texts and kind == BYTES:
            texts[what] = wire.text(first, last)
    return texts[1], texts[2]


def pairs(wire: Wire, start: int, end: int, field: int) -> Iterator[tuple[str, str]]:
    """Yield the pairs of texts that a message has in its field ``field``."""
    for what, kind, first, last in wire.fields(start, end):
        if what == field and kind == BYTES:
            yield _pair(wire, first, last)


def _outside(told: dict[str, str], total: int) -> Outside:
    def number(name: str, instead: int) -> int:
        said = told.get(name, "")
        return int(said) if _OFFSET.fullmatch(said) else instead

    end = number("offset", 0) + number("length", total)
    return Outside(location=told.get("location", ""), end=end)


def value(wire: Wire, start: int, end: int) -> tuple[str, str, str]:
    """Return name, type and shape of a value that a ``ValueInfoProto`` describes."""
    name = dtype = shape = ""
    for what, kind, first, last in wire.fields(start, end):
        if (what, kind) == (1, BYTES):
            name = wire.text(first, last)
        elif (what, kind) == (2, BYTES):
            for which, of, begin, stop in wire.fields(first, last):
                # Of a tensor alone: a sequence or a map of them has no type of its own here.
                if (which, of) == (1, BYTES):
                    dtype, shape = _tensor_type(wire, begin, stop)
    return name, dtype, shape


def _tensor_type(wire: Wire, start: int, end: int) -> tuple[str, str]:
    dtype, sizes = "", []
    for what, kind, first, last in wire.fields(start, end):
        if (what, kind) == (1, VARINT):
            dtype = BITS[first][0] if first in BITS else ""
        elif (what, kind) == (2, BYTES):
            sizes = [
                _dimension(wire, begin, stop)
                for which, of, begin, stop in wire.fields(first, last)
                if (which, of) == (1, BYTES)
            ]
    return dtype, "x".join(sizes[:DIMENSIONS])


def _dimension(wire: Wire, start: int, end: int) -> str:
    """Return a size, or its name if it may be any, or ``?``."""
    told = "?"
    for what, kind, first, last in wire.fields(start, end):
        if (what, kind) == (1, VARINT):
            told = str(signed(first))
        elif (what, kind) == (2, BYTES):
            told = wire.text(first, last) or told
    return told
