"""Where the fields of a protocol buffer lie, found without reading what is not wanted.

The encoding is that of protocol buffers' documentation: a field is a number and a type, then a
number of up to ten bytes, four or eight bytes, or a length and so many bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK = 1 << 16
"""Bytes that are read at a time."""
TEXT = 64
"""Bytes of a text that take no more than a field does."""
MORE = 0x80
"""The bit of a byte that says that more follow of the same number."""
HEAD = 20
"""Bytes of the longest beginning of a field: its number, and its length."""
VARINT, EIGHT, BYTES, FOUR = 0, 1, 2, 5
"""The types of fields that are in use."""
FIXED = {EIGHT: 8, FOUR: 4}

Field = tuple[int, int, int, int]
"""The number of a field, its type, and its value (then 0), or where its bytes begin and end."""


class Wire:
    """Bytes of which a few are read, those of one message and of what it holds.

    Whatever cannot be raises `ValueError`: a field that ends past the message that it is in, more
    fields than ``most`` in all that is looked at.
    """

    def __init__(self, read: Callable[[int, int], bytes], size: int, *, most: int) -> None:
        """Take what reads: ``read(offset, length)``, of ``size`` bytes in all."""
        self.size = size
        self._read = read
        self._left = most
        self._most = most
        self._block = b""
        self._base = 0

    def fields(self, start: int, end: int) -> Iterator[Field]:
        """Yield the fields of the message between ``start`` and ``end``."""
        at = start
        block, base = b"", 0
        there = 0
        while at < end:
            self._spend(1)
            if at + HEAD > there and there < end:
                block, base = self._around(at, end)
                there = base + len(block)
            place, limit = at - base, end - base
            # Nearly all numbers have one byte, and a call for each takes as long as all else.
            key = block[place]
            place += 1
            if key >= MORE:
                key, place = _varint(block, place - 1, limit, base)
            number, kind = key >> 3, key & 7
            if not number:
                raise ValueError(f"a field without a number at byte {at}")
            value = FIXED.get(kind, -1)
            if kind in {VARINT, BYTES}:
                if place < limit and block[place] < MORE:
                    value = block[place]
                    place += 1
                else:
                    value, place = _varint(block, place, limit, base)
            elif value < 0:
                raise ValueError(f"a field of the type {kind} at byte {at}")
            first = base + place
            if kind == VARINT:
                at = first
                yield number, kind, value, 0
                continue
            if value > end - first:
                raise ValueError(f"{value} bytes at byte {at}, where {end - first} are left")
            at = first + value
            yield number, kind, first, at

    def text(self, start: int, end: int) -> str:
        """Return a text; a long one counts as several fields."""
        self._spend((end - start) // TEXT)
        return self.piece(start, end).decode(errors="replace")

    def piece(self, start: int, end: int) -> bytes:
        """Return the bytes between ``start`` and ``end``."""
        block, base = self._around(start, end)
        if end <= base + len(block):
            return block[start - base : end - base]
        return self._read(start, end - start)

    def numbers(self, start: int, end: int) -> Iterator[int]:
        """Yield numbers that are packed one after another."""
        content = self.piece(start, end)
        at = 0
        while at < len(content):
            number, at = _varint(content, at, len(content), start)
            yield number

    def _spend(self, fields: int) -> None:
        self._left -= fields
        if self._left < 0:
            raise ValueError(f"it has more than {self._most} fields")

    def _around(self, at: int, end: int) -> tuple[bytes, int]:
        """Return bytes that hold the beginning of a field at ``at``, and where they lie."""
        needed = min(at + HEAD, end)
        if at < self._base or needed > self._base + len(self._block):
            self._block, self._base = self._read(at, min(BLOCK, self.size - at)), at
            if needed > at + len(self._block):
                raise ValueError(f"it ends at byte {at + len(self._block)}, and became shorter")
        return self._block, self._base


def _varint(block: bytes, at: int, end: int, base: int) -> tuple[int, int]:
    """Return the number at ``at`` of ``block``, and where what follows begins."""
    number = shift = 0
    # No number has more than ten bytes; an eleventh would be another field's.
    for place in range(at, min(end, len(block), at + 10)):
        byte = block[place]
        number |= (byte & 0x7F) << shift
        if byte < MORE:
            return number & 0xFFFF_FFFF_FFFF_FFFF, place + 1
        shift += 7
    raise ValueError(f"a number that does not end, at byte {base + at}")


def signed(number: int) -> int:
    """Return a number of 64 bits that may be less than nothing."""
    return number - (1 << 64) if number >> 63 else number
