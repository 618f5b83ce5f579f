"""One layer as a stream of members: decompressed, verified, never unpacked."""

from __future__ import annotations

import hashlib
import posixpath
import zlib
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from mxenv.errors import LayoutError
from mxenv.frozen import frozen
from mxenv.stores._tar import Archive, Stream
from mxenv.stores._tar_header import DIRECTORY, REGULAR
from mxenv.stores._unpacking import ahead, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.stores import Descriptor, Source
    from mxenv.stores._tar_header import Header

_MOST = 2_000_000
"""Members of one layer; the largest images that are known have a fifth of it."""
_SPARSE = 1 << 30
"""Bytes of a file that is mostly holes: a small layer may claim any size."""
_CHUNK = 1 << 20
DEEPEST = 256
"""Directories above one another: Linux cannot name many more (``PATH_MAX``)."""

_KINDS = {
    **dict.fromkeys(REGULAR, "file"),
    DIRECTORY: "directory",
    ord("1"): "hard link",
    ord("2"): "link",
    ord("3"): "char",
    ord("4"): "block",
    ord("6"): "fifo",
}
"""What counts of a layer; a volume label and the like do not."""


class Readable(Protocol):
    """What can be read, from its beginning to its end."""

    def read(self, size: int, /) -> bytes:
        """Return the next bytes, at most ``size`` of them; none at the end only."""


@frozen
class Member:
    """One entry of a layer."""

    ordinal: int
    """Its place in the layer: a path may come twice, and the last one counts."""
    path: str
    """Normal and absolute; what leads outside begins again at the top, as engines do it."""
    kind: str
    """As in `mxenv.question.Status`, or ``hard link``."""
    mode: int
    size: int
    target: str
    """Of a link its text; of a hard link a path like `path`."""
    open: Callable[[], Readable] | None
    """Opens the content of a file, to be read before the next member is asked for.

    Of most nobody wants it.
    """


def members(
    source: Source, layer: Descriptor, diff_id: str, check: Callable[[], None] = lambda: None
) -> Iterator[Member]:
    """Yield what the layer holds; at its end, both its digests were right or this has raised.

    ``check`` is called before each piece that is read, and ends it by raising.
    """
    place = f"{source.name}: layer {layer.digest}"
    with damage(place), source.blob(layer) as blob:
        how = packed(blob)
        # What is not packed is hashed already, as a blob.
        digest = hashlib.sha256() if how else None
        with ahead(unpacked(blob, how, layer.digest)) as pieces:
            plain = _checked(pieces, digest, check)
            yield from _members(Archive(Stream(plain)))
            # The archive ends before the stream does: what pads it was announced too.
            for _ in plain:
                pass
        found = f"sha256:{digest.hexdigest()}" if digest else layer.digest
        if found != diff_id:
            raise LayoutError(f"holds {found}, its configuration says {diff_id}", context=place)


def _checked(
    pieces: Iterator[bytes], digest: hashlib._Hash | None, check: Callable[[], None]
) -> Iterator[bytes]:
    for piece in pieces:
        check()
        if digest is not None:
            digest.update(piece)
        yield piece


@contextmanager
def damage(place: str) -> Iterator[None]:
    """Say what is wrong with a layer when reading it, or a member of it, fails."""
    try:
        yield
    except (zlib.error, EOFError, OSError, ValueError) as error:
        raise LayoutError(f"is damaged: {str(error) or 'it ends early'}", context=place) from error


def _members(archive: Archive) -> Iterator[Member]:
    for ordinal in range(_MOST):
        header = archive.next()
        if header is None:
            return
        kind = _KINDS.get(header.type)
        if kind is None:
            continue
        path = confined(header.name)
        if path.count("/") > DEEPEST:
            raise ValueError("its folders are nested too deep")
        if header.sparse is not None and header.size > _SPARSE:
            raise ValueError(f"{path!r} claims {header.size} bytes, most of them holes")
        yield Member(
            ordinal=ordinal,
            path=path,
            kind=kind,
            mode=header.mode & 0o7777,
            size=header.size if kind == "file" else 0,
            target=confined(header.link) if kind == "hard link" else header.link,
            open=partial(_opened, archive, header) if kind == "file" else None,
        )
    raise ValueError(f"it has more than {_MOST} members")


def _opened(archive: Archive, header: Header) -> Readable:
    return _Content(archive, _runs(header))


def _runs(header: Header) -> Iterator[tuple[bool, int]]:
    """Yield what the content is made of: whether it is a hole, and how many bytes."""
    if header.sparse is None:
        yield False, header.size
        return
    end = 0
    for offset, size in zip(header.sparse[::2], header.sparse[1::2], strict=True):
        yield True, offset - end
        yield False, size
        end = offset + size
    yield True, header.size - end


class _Content:
    """The content of a member, its holes as zeros."""

    def __init__(self, archive: Archive, runs: Iterator[tuple[bool, int]]) -> None:
        self._archive = archive
        self._runs = runs
        self._hole, self._left = False, 0

    def read(self, size: int, /) -> bytes:
        while not self._left:
            run = next(self._runs, None)
            if run is None:
                return b""
            self._hole, self._left = run
        size = min(size, self._left, _CHUNK)
        data = bytes(size) if self._hole else self._archive.some(size)
        self._left -= len(data)
        return data


def confined(name: str) -> str:
    """Return ``name`` as an absolute path that leads nowhere above the top."""
    return posixpath.normpath(f"/{name.lstrip('/')}")
