"""One layer as a stream of members: decompressed, verified, never unpacked."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import posixpath
import tarfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from mxenv.errors import LayoutError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.stores import Descriptor, Source

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
_BLOCKS = 1 << 14
"""`tarfile` copies all that it holds with each header that it reads: a little is faster."""
_MOST = 2_000_000
"""Members of one layer; the largest images that are known have a fifth of it."""
_HEADERS = 4 << 20
"""Bytes that one header may have, with all that extends it: longer ones would fill the memory."""
_SPARSE = 1 << 30
"""Bytes of a file that is mostly holes: a small layer may claim any size."""
DEEPEST = 256
"""Directories above one another: Linux cannot name many more (``PATH_MAX``)."""

_KINDS = {
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "hard link",
    tarfile.CHRTYPE: "char",
    tarfile.BLKTYPE: "block",
    tarfile.FIFOTYPE: "fifo",
}


@dataclass(frozen=True, slots=True, kw_only=True)
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
    open: Callable[[], IO[bytes]] | None
    """Opens the content of a file, to be read before the next member is asked for.

    Of most nobody wants it, and each open one takes several thousand bytes for a while.
    """


def members(
    source: Source, layer: Descriptor, diff_id: str, check: Callable[[], None] = lambda: None
) -> Iterator[Member]:
    """Yield what the layer holds; at its end, both its digests were right or this has raised.

    ``check`` is called before each piece that is read, and ends it by raising.
    """
    with damage(f"{source.name}: layer {layer.digest}"), source.blob(layer) as blob:
        plain = _Hashed(_decompressed(blob, layer), check)
        stream = cast("IO[bytes]", plain)  # `tarfile` only reads
        with tarfile.open(fileobj=stream, mode="r|", bufsize=_BLOCKS) as archive:
            yield from _members(archive, plain)
        # The archive ends before the stream does: what pads it was announced too.
        while plain.read(_CHUNK):
            pass
        while blob.read(_CHUNK):
            pass
        if plain.digest != diff_id:
            raise LayoutError(
                f"holds {plain.digest}, its configuration says {diff_id}",
                context=f"{source.name}: layer {layer.digest}",
            )


class _Hashed:
    """A stream that remembers the digest of what was read from it."""

    def __init__(self, stream: BinaryIO, check: Callable[[], None]) -> None:
        self._stream = stream
        self._check = check
        self._hash = hashlib.sha256()
        self._at = 0
        # The first header is read when the archive is opened.
        self.until: int | None = _HEADERS
        """Where reading has to stop, while only a header is looked for."""

    @property
    def digest(self) -> str:
        return "sha256:" + self._hash.hexdigest()

    def read(self, size: int = -1, /) -> bytes:
        self._check()
        data = self._stream.read(size)
        self._hash.update(data)
        self._at += len(data)
        if self.until is not None and self._at > self.until:
            raise ValueError(f"a header is longer than {_HEADERS} bytes")
        return data


def _decompressed(blob: BinaryIO, layer: Descriptor) -> BinaryIO:
    """Return the tar file in ``blob``, by how it begins: names of media types are often wrong."""
    start = cast("io.BufferedReader", blob).peek(len(_ZSTD))[: len(_ZSTD)]
    if start.startswith(_GZIP):
        return cast("BinaryIO", io.BufferedReader(gzip.GzipFile(fileobj=blob), _CHUNK))
    if start != _ZSTD:
        return blob
    try:
        zstd = importlib.import_module("compression.zstd")  # Python 3.14 has it
    except ImportError:
        raise LayoutError(
            "is compressed with zstd, which this Python cannot read",
            context=f"layer {layer.digest}",
            hint="run mxenv on Python 3.14 or newer, or push the image with gzip",
        ) from None
    return cast("BinaryIO", zstd.ZstdFile(blob))


@contextmanager
def damage(place: str) -> Iterator[None]:
    """Say what is wrong with a layer when reading it, or a member of it, fails."""
    try:
        yield
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise LayoutError(f"is damaged: {str(error) or 'it ends early'}", context=place) from error


def _members(archive: tarfile.TarFile, stream: _Hashed) -> Iterator[Member]:
    for ordinal in range(_MOST):
        # `tarfile` reads a header whole, however long it says that it is.
        stream.until = archive.offset + _HEADERS
        info = archive.next()
        stream.until = None
        if info is None:
            return
        # The archive keeps every header it has seen, and a layer has many.
        archive.members.clear()  # type: ignore[attr-defined]
        kind = _KINDS.get(info.type, "file")
        if kind == "file" and not info.isreg():
            continue  # a volume label and the like
        path = confined(info.name)
        if path.count("/") > DEEPEST:
            raise ValueError("its folders are nested too deep")
        if info.issparse() and info.size > _SPARSE:
            raise ValueError(f"{path!r} claims {info.size} bytes, most of them holes")
        yield Member(
            ordinal=ordinal,
            path=path,
            kind=kind,
            mode=info.mode & 0o7777,
            size=info.size if kind == "file" else 0,
            target=confined(info.linkname) if kind == "hard link" else info.linkname,
            open=partial(_content, archive, info) if kind == "file" else None,
        )
    raise ValueError(f"it has more than {_MOST} members")


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    return cast("IO[bytes]", archive.extractfile(info))  # it is a file


def confined(name: str) -> str:
    """Return ``name`` as an absolute path that leads nowhere above the top."""
    return posixpath.normpath(f"/{name.lstrip('/')}")
