"""How the files of a layer are laid out as its blob; nothing is inflated, hashed or compressed."""

from __future__ import annotations

import json
import zlib
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, BinaryIO

from mxenv.archive import END, GZIP_HEADER, header, padding, stored, trailer
from mxenv.errors import InvalidFile
from mxenv.frozen import frozen
from mxenv.layers import Entry, directories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PENDING = 1024 * 1024
"""Stored bytes that go into one gzip member; part of the format, for it decides where they end."""

WORTH = 64
"""Bytes that a member must have saved for its own gzip member, of 18 bytes, to pay."""


@frozen
class Packed:
    """Deflated bytes that are carried over as they are."""

    size: int
    crc: int
    """Of what they inflate to; whoever reads the layer back compares."""
    pieces: Callable[[], Iterable[bytes]]


@frozen
class Content:
    """One file that goes into a layer, and how its bytes are had."""

    path: str
    mode: int
    size: int
    hash: str
    """As a RECORD has it; a layer that holds other bytes is refused."""
    place: str
    """Where it comes from, for errors."""
    pieces: Callable[[], Iterable[bytes]]
    """Its bytes."""
    packed: Packed | None = None


@frozen
class Blob:
    """A layer that was written, and read back."""

    diff_id: str
    digest: str
    size: int
    listed: bytes
    """Its files, as a record of the cache has them: most builds need not know them."""
    distributions: tuple[tuple[str, str], ...] = ()
    """Name and version of each that was found in it, as its own metadata has them."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """Return its files, in their order."""
        return tuple(
            Entry(path=path, sha256=sha256, size=size, mode=mode)
            for path, sha256, size, mode in json.loads(self.listed)
        )


def listed(entries: Iterable[Entry]) -> bytes:
    """Return files as a record of the cache has them."""
    return json.dumps([[one.path, one.sha256, one.size, one.mode] for one in entries]).encode()


@dataclass(slots=True, kw_only=True)
class Draft:
    """What was meant to be written, which is believed when it has been read back."""

    items: tuple[str | Content, ...]
    """Directories (by their paths) and files, in their order."""
    packed: array[int] = field(default_factory=lambda: array("Q"))
    """How long each gzip member is."""
    plain: array[int] = field(default_factory=lambda: array("Q"))
    """How many bytes each holds."""
    owners: array[int] = field(default_factory=lambda: array("q"))
    """Whose content it is, by its number among the items; -1 for what is stored."""


def write(
    file: BinaryIO,
    contents: Sequence[Content],
    *,
    skipped: frozenset[str],
    pack: Callable[[bytes], bytes] | None = None,
) -> Draft:
    """Write a layer with ``contents``, and entries for directories but those ``skipped``.

    What does not lie deflated in a wheel is stored, or made a gzip member by ``pack``.
    """
    folders = directories((content.path for content in contents), skipped=skipped)
    draft = Draft(items=_ordered(contents, folders))
    writer = _Writer(file, draft, pack or _stored)
    for number, item in enumerate(draft.items):
        if isinstance(item, str):
            writer.plain(header(item, mode=0o755, directory=True))
            continue
        writer.plain(header(item.path, size=item.size, mode=item.mode))
        if item.packed is not None and item.packed.size + WORTH <= item.size:
            writer.deflated(item.packed, item.size, number)
        else:
            for piece in item.pieces():
                writer.plain(piece)
        writer.plain(padding(item.size))
    writer.plain(END)
    writer.flush()
    return draft


def _ordered(contents: Iterable[Content], folders: Iterable[str]) -> tuple[str | Content, ...]:
    """Return directories and files sorted by path, so that a directory precedes what is in it."""
    items: dict[str, str | Content] = {folder: folder for folder in folders}
    for content in contents:
        if content.path in items:
            raise InvalidFile("would be written twice", context=f"{content.place}: {content.path}")
        items[content.path] = content
    return tuple(items[path] for path in sorted(items))


def _stored(data: bytes) -> bytes:
    return b"".join(stored(data, crc=zlib.crc32(data)))


class _Writer:
    """Writes gzip members, and keeps bytes that wait to be stored."""

    def __init__(self, file: BinaryIO, draft: Draft, pack: Callable[[bytes], bytes]) -> None:
        self._file = file
        self._draft = draft
        self._pack = pack
        self._pending = bytearray()

    def plain(self, data: bytes) -> None:
        """Append bytes of the tar file that are to be stored."""
        self._pending += data
        while len(self._pending) >= PENDING:
            self._store(bytes(self._pending[:PENDING]))
            del self._pending[:PENDING]

    def flush(self) -> None:
        """Store what waits."""
        if self._pending:
            self._store(bytes(self._pending))
            self._pending.clear()

    def _store(self, data: bytes) -> None:
        member = self._pack(data)
        self._file.write(member)
        self._note(len(member), len(data), -1)

    def deflated(self, packed: Packed, size: int, owner: int) -> None:
        """Append deflated bytes as they are, as a gzip member of their own."""
        self.flush()
        self._file.write(GZIP_HEADER)
        for piece in packed.pieces():
            self._file.write(piece)
        end = trailer(packed.crc, size)
        self._file.write(end)
        self._note(len(GZIP_HEADER) + packed.size + len(end), size, owner)

    def _note(self, packed: int, plain: int, owner: int) -> None:
        self._draft.packed.append(packed)
        self._draft.plain.append(plain)
        self._draft.owners.append(owner)
