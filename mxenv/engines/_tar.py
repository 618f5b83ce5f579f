"""What a tar file says that lies in it, entry by entry, read as its bytes come.

It knows of `mxenv.archive` nothing: what that writes is held against it before it is kept.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

BLOCK = 512
NOTHING = bytes(BLOCK)
KINDS = {b"0": "file", b"\0": "file", b"5": "directory"}
"""Which kinds of entries a layer of mxenv may have (POSIX, ``ustar``)."""
LARGEST_RECORD = 1024 * 1024
"""Bytes of a pax record; a path has 4095."""

_NUMBER = re.compile(rb"[0-7]+")


@frozen
class Found:
    """An entry of a tar file."""

    path: str
    """As it is written there, without a slash at its end."""
    kind: str
    mode: int
    size: int
    sha256: str
    """Of its content, in hexadecimal; empty for a directory."""
    start: bytes
    """The beginning of its content, or nothing where it was not asked for."""


class Reader:
    """Takes the bytes of a tar file in pieces, and calls ``found`` for each entry.

    Whatever is not as POSIX has it, or no kind that a layer has, is a `ValueError`.
    """

    def __init__(
        self, found: Callable[[Found], None], *, keep: Callable[[str], bool] | None = None
    ) -> None:
        """Call ``found``; of files whose path ``keep`` likes, keep the beginning."""
        self._found = found
        self._keep = keep
        self._part = b""
        """The beginning of a block."""
        self._header: tuple[str, str, int, int] = ("", "", 0, 0)
        self._left = self._padding = self._zeros = 0
        self._records: dict[bytes, bytes] = {}
        self._extended: bytearray | None = None
        self._hash = hashlib.sha256()
        self._start: bytes | None = None

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        at, end = 0, len(data)
        while at < end:
            if self._left:
                taken = min(self._left, end - at)
                self._content(data if taken == end else data[at : at + taken])
            elif self._padding:
                taken = min(self._padding, end - at)
                if data.count(0, at, at + taken) != taken:
                    raise ValueError("its padding is not empty")
                self._padding -= taken
            else:
                taken = min(BLOCK - len(self._part), end - at)
                self._part += data[at : at + taken]
                if len(self._part) == BLOCK:
                    block, self._part = self._part, b""
                    self._block(block)
            at += taken

    def close(self) -> None:
        """Refuse a tar file that has not ended."""
        if self._zeros < 2 or self._left or self._part:  # noqa: PLR2004 - POSIX has two
            raise ValueError("it ends early")

    def _content(self, data: bytes) -> None:
        self._left -= len(data)
        if self._extended is not None:
            self._extended += data
        else:
            self._hash.update(data)
            if self._start == b"":
                self._start = data[:LARGEST_RECORD]
        if not self._left:
            self._end()

    def _end(self) -> None:
        if self._extended is not None:
            self._records = _records(bytes(self._extended))
            self._extended = None
            return
        path, kind, mode, size = self._header
        sha256 = self._hash.hexdigest() if kind == "file" else ""
        start = self._start or b""
        self._found(Found(path=path, kind=kind, mode=mode, size=size, sha256=sha256, start=start))

    def _block(self, block: bytes) -> None:
        """Understand a header."""
        if block == NOTHING:
            self._zeros += 1
            return
        if self._zeros or (self._records and block[156:157] == b"x"):
            raise ValueError("something follows its end" if self._zeros else "two pax records")
        if block[257:265] != b"ustar\x0000":
            raise ValueError("a header is not in the format ustar")
        if sum(block) - sum(block[148:156]) + 8 * 32 != _number(block[148:156]):
            raise ValueError("the checksum of a header is wrong")
        size = _number(block[124:136])
        if block[156:157] == b"x":
            if not 0 < size <= LARGEST_RECORD:
                raise ValueError("a pax record is too long")
            self._extended = bytearray()
        else:
            size = self._entry(block, size)
        self._left, self._padding = size, -size % BLOCK
        if not size:
            self._end()

    def _entry(self, block: bytes, size: int) -> int:
        """Take in an entry, and return how long its content is."""
        kind = KINDS.get(block[156:157])
        if kind is None:
            raise ValueError(f"an entry is of kind {block[156:157]!r}")
        records, self._records = self._records, {}
        prefix, name = _text(block[345:500]), _text(block[:100])
        raw = records.get(b"path") or (prefix + b"/" + name if prefix else name)
        size = int(records.get(b"size", size))
        if kind == "directory" and size:
            raise ValueError("a directory has content")
        path = raw.decode()
        self._header = (path.rstrip("/"), kind, _number(block[100:108]), size)
        self._hash = hashlib.sha256()
        self._start = b"" if self._keep is not None and self._keep(path) else None
        return size


def _text(data: bytes) -> bytes:
    return data.partition(b"\0")[0]


def _number(data: bytes) -> int:
    digits = data.strip(b" \0")
    if not _NUMBER.fullmatch(digits):
        raise ValueError("a number in a header is none")
    return int(digits, 8)


def _records(data: bytes) -> dict[bytes, bytes]:
    """Return the pax records in ``data``; each begins with its own length."""
    found = {}
    while data:
        digits, space, _ = data.partition(b" ")
        length = int(digits)
        record = data[len(digits) + 1 : length]
        key, equals, value = record.partition(b"=")
        if not (space and equals and value.endswith(b"\n")) or length > len(data):
            raise ValueError("a pax record is none")
        found[key] = value[:-1]
        data = data[length:]
    return found
