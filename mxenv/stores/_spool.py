"""Contents of files on their way through, kept on a disk as long as somebody reads them."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, BinaryIO, cast

if TYPE_CHECKING:
    from mxenv.stores._layer import Readable

MOST = 8 << 30
"""Bytes of all contents together."""
LARGEST = 4 << 30
"""Bytes of one; the largest library of a framework has half of it."""
SPARED = 1 << 30
"""Bytes that are left free on the disk for others."""
_CHUNK = 1 << 20


@dataclass(slots=True, kw_only=True)
class Spool:
    """One temporary file without a name, which is gone when it is closed or the process ends."""

    most: int = MOST
    largest: int = LARGEST
    spared: int = SPARED
    _file: IO[bytes] | None = None
    _end: int = 0
    _places: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Where a content begins in the file, and its size."""

    def take(self, key: tuple[int, int], content: Readable, size: int) -> None:
        """Keep ``size`` bytes of ``content``, unless there is no room for them."""
        if key in self._places or size > self.largest or self._end + size > self.most:
            return
        place = _place()
        if shutil.disk_usage(place).free < size + self.spared:
            return
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=place)  # noqa: SIM115 - closed by `close`
        self._file.seek(self._end)
        left = size
        while left and (chunk := content.read(min(_CHUNK, left))):
            if not _written(self._file, chunk):
                return
            left -= len(chunk)
        self._places[key] = (self._end, size - left)
        self._end += size - left

    def holds(self, key: tuple[int, int]) -> bool:
        """Return whether a content was kept."""
        return key in self._places

    def open(self, key: tuple[int, int]) -> BinaryIO:
        """Open a content that was kept."""
        start, size = self._places[key]
        piece = _Piece(cast("IO[bytes]", self._file), start, size)
        return cast("BinaryIO", io.BufferedReader(piece))

    def close(self) -> None:
        """Drop everything."""
        self._places.clear()
        if self._file is not None:
            self._file.close()
            self._file = None


def _place() -> str:
    """Return a directory for what is large: the usual one is often kept in memory."""
    told = os.environ.get("TMPDIR", "") or "/var/tmp"  # noqa: S108 - nothing in it has a name
    return told if os.access(told, os.W_OK) else tempfile.gettempdir()


def _written(file: IO[bytes], chunk: bytes) -> bool:
    """Write ``chunk``; a disk that is full all the same is no fault of what is read."""
    try:
        file.write(chunk)
    except OSError:
        return False
    return True


class _Piece(io.RawIOBase):
    """A part of a file as a file; it derives from `io.RawIOBase` so that it is one itself."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        super().__init__()
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        wanted = max(0, min(len(buffer), self._size - self._at))
        self._file.seek(self._start + self._at)
        data = self._file.read(wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
