"""How mxenv's own texts are deflated: a small encoder of which there is one, and so one spelling.

No compressor is run over a layer, since each library writes other bytes. A lock is a text of mxenv
itself that goes over the line with every change; what packs it is part of `mxenv.layers.FORMAT`.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from mxenv.archive import GZIP_HEADER, trailer

if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST, LONGEST, WINDOW = 4, 258, 32768
"""Bytes that are worth being named as a copy, that one copy may have, and how far back it lies."""

_FLUSHED = 4096
"""Bits that are held together as one number, which would be slow if it grew for ever."""


def gzipped(data: bytes) -> bytes:
    """Return ``data`` as one gzip member: equal bytes everywhere, with every Python."""
    return GZIP_HEADER + deflated(data) + trailer(zlib.crc32(data), len(data))


def deflated(data: bytes) -> bytes:
    """Return ``data`` as a deflate stream of one block with the fixed codes (RFC 1951, 3.2.6)."""
    out = bytearray()
    # The last block (1), of the kind 01: written from the lowest bit on.
    bits, held = 0b011, 3
    for code, length in _codes(data):
        bits |= code << held
        held += length
        if held >= _FLUSHED:
            out += (bits & ((1 << _FLUSHED) - 1)).to_bytes(_FLUSHED // 8, "little")
            bits >>= _FLUSHED
            held -= _FLUSHED
    # The end of the block is seven zeros, and so is what fills up the last byte.
    return bytes(out + bits.to_bytes((held + 7 + 7) // 8, "little"))


def _codes(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the bits of every byte, or of a copy of bytes before it: the latest that begins so."""
    seen: dict[bytes, int] = {}
    at, end = 0, len(data)
    while at < end:
        start = data[at : at + SHORTEST]
        before = seen.get(start, -WINDOW - 1)
        seen[start] = at
        if len(start) < SHORTEST or at - before > WINDOW:
            yield _LITERALS[data[at]]
            at += 1
            continue
        length = _same(data, before, at)
        yield _LENGTHS[length]
        yield _distance(at - before)
        for inner in range(at + 1, min(at + length, end - SHORTEST)):
            seen[data[inner : inner + SHORTEST]] = inner
        at += length


def _same(data: bytes, before: int, at: int) -> int:
    """Return how many bytes, `LONGEST` at most, are the same from both places on."""
    most = min(LONGEST, len(data) - at)
    length = SHORTEST
    while length < most and data[before + length] == data[at + length]:
        length += 1
    return length


def _reversed(code: int, length: int) -> int:
    """Return a Huffman code as it stands in the stream: its highest bit first."""
    return int(f"{code:0{length}b}"[::-1], 2)


def _literal(symbol: int) -> tuple[int, int]:
    """Return the fixed code of a byte or of a length."""
    for least, first, length in ((280, 0xC0, 8), (256, 0, 7), (144, 0x190, 9)):
        if symbol >= least:
            return _reversed(first + symbol - least, length), length
    return _reversed(0x30 + symbol, 8), 8


def _steps(groups: int, wide: int, first: int) -> Iterator[tuple[int, int]]:
    """Yield from where on each symbol counts, and how many bits say how far behind that it is.

    The first two groups have none; each further one has one more, and twice as many values.
    """
    for group in range(groups):
        extra = max(0, group - 1)
        for _ in range(wide):
            yield first, extra
            first += 1 << extra


def _length(length: int) -> tuple[int, int]:
    """Return the bits of the length of a copy."""
    if length == LONGEST:
        return _literal(285)
    least, extra, symbol = max(
        (least, extra, symbol)
        for symbol, (least, extra) in enumerate(_steps(7, 4, 3), 257)
        if least <= length
    )
    code, bits = _literal(symbol)
    return code | (length - least) << bits, bits + extra


_LITERALS = tuple(_literal(symbol) for symbol in range(256))
_LENGTHS = {length: _length(length) for length in range(3, LONGEST + 1)}
_DISTANCES = tuple(_steps(15, 2, 1))


def _distance(distance: int) -> tuple[int, int]:
    """Return the bits that say how far back a copy begins."""
    # Symbols come in pairs, one pair for each power of two; 1 and 2 have one each.
    power = max(1, (distance - 1).bit_length() - 1)
    symbol = 2 * power + ((distance - 1) >> (power - 1)) - 2 if distance > 1 else 0
    least, extra = _DISTANCES[symbol]
    return _reversed(symbol, 5) | (distance - least) << 5, 5 + extra
