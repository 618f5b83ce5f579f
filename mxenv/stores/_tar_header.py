"""What the blocks of a tar file say of its members: ustar, pax and GNU."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 512
REGULAR = frozenset(b"\x0007S")
"""Types of files with a content: as old as tar itself, POSIX's, a contiguous one, a sparse one."""
BARE = frozenset(b"123456")
"""Types that have no content, whatever their header says of its size."""
OLD, SPARSE, LONG_NAME, LONG_LINK, GLOBAL = b"\x00SLKg"
EXTENDED = frozenset(b"xX")
"""Types of a header that tells of the next one; the second is Solaris's."""
DIRECTORY = ord("5")

_USUAL = re.compile(
    rb"(?s).{100}([0-7]{7})[\0 ](?:[0-7]{7}[\0 ]){2}([0-7]{11})[\0 ][0-7]{11}[\0 ]"
    rb"([0-7]{6})\0 .{173}(?:\0{16}|(?:[0-7]{7}\0){2})"
)
"""How nearly all programs write the numbers of a header; mode, size and checksum are taken."""
_MODE, _SIZE = slice(100, 108), slice(124, 136)
_OTHERS = (slice(108, 116), slice(116, 124), slice(136, 148), slice(329, 337), slice(337, 345))
_SUM = slice(148, 156)
_RECORD = re.compile(rb"([0-9]{1,10}) ([^=]+)=")
_LIST = re.compile(rb"[0-9]{1,18}(?:,[0-9]{1,18})*")
_DIGITS = 18
_MOST = 1 << 62
_POSITIVE, _NEGATIVE = 0o200, 0o377
"""What a number begins with that is written in bytes, as GNU tar does it."""


@dataclass(slots=True, kw_only=True)
class Header:
    """What is told of one member before its content."""

    type: int
    name: str
    link: str
    mode: int
    size: int
    """Of a sparse file with its holes."""
    stored: int = 0
    """Bytes that follow, of a sparse file without its holes."""
    sparse: array[int] | None = None
    """Of a sparse file where each piece begins and how long it is, one after another."""


def parse(block: bytes) -> Header:
    """Return what one block says; raise `ValueError` if it is no header."""
    if len(block) < BLOCK:
        raise ValueError("truncated header")
    usual = _USUAL.match(block)
    if usual is not None:
        mode, size, told = (int(digits, 8) for digits in usual.groups())
    else:
        mode, size, told = number(block[_MODE]), number(block[_SIZE]), number(block[_SUM])
        for place in _OTHERS:
            number(block[place])
    plain = sum(block) - sum(block[_SUM]) + 8 * ord(" ")
    if told not in {plain, plain - _signs(block) if told != plain else plain}:
        raise ValueError("bad checksum")
    if size < 0:
        raise ValueError("a size below zero")
    kind = block[156]
    name = text(block[:100])
    if block[345] and kind not in {LONG_NAME, LONG_LINK, SPARSE}:
        name = f"{text(block[345:500])}/{name}"
    link = text(block[157:257]) if block[157] else ""
    return Header(type=kind, name=name, link=link, mode=mode, size=size)


def _signs(block: bytes) -> int:
    """Return what makes the difference for programs of old, which took bytes for signed."""
    return 256 * sum(byte > 127 for byte in block[:148] + block[156:])  # noqa: PLR2004 - a sign bit


def number(field: bytes) -> int:
    """Return what a field of digits says, or of bytes if its first one says so."""
    if field[0] in {_POSITIVE, _NEGATIVE}:
        value = int.from_bytes(field[1:], "big")
        return value - 256 ** (len(field) - 1) if field[0] == _NEGATIVE else value
    try:
        return int(field.partition(b"\0")[0].decode("ascii").strip() or "0", 8)
    except ValueError:
        raise ValueError("invalid header") from None


def text(content: bytes) -> str:
    """Return what a field says up to its first zero."""
    return content.partition(b"\0")[0].decode("utf-8", "surrogateescape")


def records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield what a pax header holds (POSIX, pax, "pax Extended Header")."""
    at = 0
    while at < len(content):
        match = _RECORD.match(content, at)
        end = at + int(match[1]) if match else 0
        whole = match is not None and match.end() < end <= len(content)
        if match is None or not whole or content[end - 1] != ord("\n"):
            raise ValueError("a record of an extended header is damaged")
        yield match[2], content[match.end() : end - 1]
        at = end


def tell(header: Header, fields: dict[bytes, bytes]) -> None:
    """Tell ``header`` what the records of a pax header say instead of it."""
    for key, value in fields.items():
        match key:
            case b"path":
                header.name = value.decode("utf-8", "surrogateescape")
            case b"linkpath":
                header.link = value.decode("utf-8", "surrogateescape")
            case b"size":
                header.size = integer(value)
            case _:
                pass
    if b"GNU.sparse.name" in fields:
        # Its ``path`` is one that programs which know no sparse files should take.
        header.name = fields[b"GNU.sparse.name"].decode("utf-8", "surrogateescape")


def integer(digits: bytes) -> int:
    """Return a number as pax writes it."""
    if not digits.isdigit() or len(digits) > _DIGITS:
        raise ValueError("an extended header has a wrong number")
    return int(digits)


def integers(listed: bytes) -> array[int]:
    """Return numbers with commas between them, however many, and one by one."""
    if not _LIST.fullmatch(listed):
        raise ValueError("an extended header has a wrong number")
    return array("Q", (int(match[0]) for match in re.finditer(rb"[0-9]+", listed)))


def pieces(block: bytes, at: int, most: int) -> array[int]:
    """Return where up to ``most`` pieces of a sparse file begin, and how long they are."""
    found = array("Q")
    for place in range(at, at + 24 * most, 24):
        offset, size = number(block[place : place + 12]), number(block[place + 12 : place + 24])
        if not 0 <= offset < _MOST or not 0 <= size < _MOST:
            raise ValueError("a piece of a sparse file lies nowhere")
        if size:
            found.extend((offset, size))
    return found
