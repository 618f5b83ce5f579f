"""How the files of a layer become its blob, in one pass and in little memory."""

from __future__ import annotations

import hashlib
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from mxenv.archive import END, GZIP_HEADER, header, padding, stored, trailer
from mxenv.engines._wheel import text_of
from mxenv.errors import InvalidFile
from mxenv.layers import Entry, directories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

PENDING = 1024 * 1024
"""Stored bytes that go into one gzip member; part of the format, for it decides where they end."""

WORTH = 64
"""Bytes that a member must have saved for its own gzip member, of 18 bytes, to pay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One file that goes into a layer, and how its bytes are had."""

    path: str
    mode: int
    size: int
    hash: str
    """As a RECORD has it; other bytes are refused."""
    place: str
    """Where it comes from, for errors."""
    pieces: Callable[[], Iterator[tuple[bytes, bytes]]]
    """Packed bytes and what they unpack to; equal where nothing is packed."""
    packed: int | None = None
    """How many deflated bytes there are, if they are deflated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """What was written."""

    diff_id: str
    digest: str
    size: int
    entries: tuple[Entry, ...]


def write(file: BinaryIO, contents: Sequence[Content], *, skipped: frozenset[str]) -> Blob:
    """Write a layer with ``contents``, and entries for directories but those ``skipped``."""
    blob = _Writer(file)
    entries = []
    for item in _ordered(contents, directories((c.path for c in contents), skipped=skipped)):
        if isinstance(item, str):
            blob.plain(header(item, mode=0o755, directory=True))
        else:
            entries.append(_add(blob, item))
    return blob.finish(entries)


def _ordered(contents: Iterable[Content], folders: Iterable[str]) -> Iterator[str | Content]:
    """Yield directories and files sorted by path, so that a directory precedes what is in it."""
    items: dict[str, str | Content] = {folder: folder for folder in folders}
    for content in contents:
        if content.path in items:
            raise InvalidFile("would be written twice", context=f"{content.place}: {content.path}")
        items[content.path] = content
    for path in sorted(items):
        yield items[path]


def _add(blob: _Writer, content: Content) -> Entry:
    """Write one file, and compare its bytes with the hash that was promised."""
    blob.plain(header(content.path, size=content.size, mode=content.mode))
    algorithm = content.hash.partition("=")[0]
    sha256 = hashlib.sha256()
    promised = sha256 if algorithm == "sha256" else hashlib.new(algorithm)
    deflated = content.packed is not None and content.packed + WORTH <= content.size
    crc = size = 0
    if deflated:
        blob.begin()
    for packed, plain in content.pieces():
        size += len(plain)
        sha256.update(plain)
        if promised is not sha256:
            promised.update(plain)
        if deflated:
            crc = zlib.crc32(plain, crc)
            blob.deflated(packed, plain)
        else:
            blob.plain(plain)
    if size != content.size or text_of(promised.digest(), algorithm) != content.hash:
        raise InvalidFile("does not have the hash that was recorded", context=content.place)
    if deflated:
        blob.end(crc, size)
    blob.plain(padding(size))
    return Entry(path=content.path, sha256=sha256.hexdigest(), size=size, mode=content.mode)


class _Writer:
    """Keeps the two digests of a blob while it is written, and bytes that wait to be stored."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._diff = hashlib.sha256()
        self._digest = hashlib.sha256()
        self._size = 0
        self._pending = bytearray()

    def _out(self, data: bytes) -> None:
        self._file.write(data)
        self._digest.update(data)
        self._size += len(data)

    def plain(self, data: bytes) -> None:
        """Append bytes of the tar file that are to be stored."""
        self._diff.update(data)
        self._pending += data
        while len(self._pending) >= PENDING:
            self._store(bytes(self._pending[:PENDING]))
            del self._pending[:PENDING]

    def _store(self, data: bytes) -> None:
        self._out(b"".join(stored(data, crc=zlib.crc32(data))))

    def begin(self) -> None:
        """Begin a gzip member for deflated bytes."""
        if self._pending:
            self._store(bytes(self._pending))
            self._pending.clear()
        self._out(GZIP_HEADER)

    def deflated(self, packed: bytes, plain: bytes) -> None:
        """Append deflated bytes as they are; ``plain`` is what they mean."""
        self._diff.update(plain)
        self._out(packed)

    def end(self, crc: int, size: int) -> None:
        """End the gzip member."""
        self._out(trailer(crc, size))

    def finish(self, entries: Iterable[Entry]) -> Blob:
        """End the tar file, and say what was written."""
        self.plain(END)
        self._store(bytes(self._pending))
        return Blob(
            diff_id=f"sha256:{self._diff.hexdigest()}",
            digest=f"sha256:{self._digest.hexdigest()}",
            size=self._size,
            entries=tuple(entries),
        )
