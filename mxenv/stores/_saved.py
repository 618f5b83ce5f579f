"""Where the parts of a saved image lie in its archive, unpacking none of them."""

from __future__ import annotations

import gzip
import io
import posixpath
import tarfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from mxenv.errors import LayoutError
from mxenv.stores._digests import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_GZIP = b"\x1f\x8b"
_MOST = 100_000
"""Members; an image has 127 layers, and at most three files each."""
_HEADERS = 1 << 20
"""Bytes that one header may have, with all that extends it."""
_HOPS = 8
"""Links that are followed for one name; old versions of Docker link a layer that comes twice."""
_SMALL = 256 << 10
"""Bytes of a file that is kept when a packed archive is looked through: one that is no layer."""
_KEPT = 16 << 20
"""Bytes of all of them."""
_IDLE = 2
"""Files that are kept open, where they stand: what is packed can only be read forwards."""


@dataclass(slots=True, kw_only=True)
class Saved:
    """An archive, looked through once."""

    path: Path
    packed: bool
    files: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Where each file begins, and its size."""
    links: dict[str, str] = field(default_factory=dict)
    """What each link leads to, as a name of the archive."""
    small: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """What was kept: to go back for it would cost a pass from the beginning."""
    kept: int = 0
    _idle: list[BinaryIO] = field(default_factory=list)

    def find(self, name: str) -> tuple[int, int] | None:
        """Return where a file lies, whatever links lead to it; never outside the archive."""
        found = _inside(name)
        for _ in range(_HOPS):
            if found in self.files:
                return self.files[found]
            found = self.links.get(found, "")
        return None

    def read(self, name: str, most: int) -> bytes:
        """Return a small file, whole."""
        place = self.find(name)
        if place is None:
            raise self.wrong(f"has no file {name!r}")
        if place[1] > most:
            raise self.wrong(f"{name!r} is larger than any such file need be")
        with self.open(place) as stream:
            content = stream.read()
        if len(content) != place[1]:
            raise self.wrong(f"ends within {name!r}")
        return content

    def open(self, place: tuple[int, int]) -> BinaryIO:
        """Open a part of the archive; it goes on where another ended, if that was before it."""
        start, size = place
        if place in self.small:
            return io.BytesIO(self.small[place])
        ahead = [file for file in self._idle if file.tell() <= start]
        file = max(ahead, key=lambda one: one.tell(), default=None)
        if file is None:
            file = self._opened()
        else:
            self._idle.remove(file)
        with self.damage():
            file.seek(start)
        return cast("BinaryIO", io.BufferedReader(_Part(self, file, size), 1 << 18))

    def leave(self, file: BinaryIO) -> None:
        """Take back a file that was opened; the next part may lie behind it."""
        if not self.packed:
            file.close()
            return
        self._idle.append(file)
        if len(self._idle) > _IDLE:
            self._idle.pop(0).close()

    def __del__(self) -> None:
        """Close what was kept open: nobody asks any more."""
        for file in self._idle:
            file.close()

    def _opened(self) -> BinaryIO:
        file = self.path.open("rb")
        return cast("BinaryIO", _Unpacked(file)) if self.packed else file

    def names(self) -> tuple[str, ...]:
        """Return what files and links are called."""
        return (*self.files, *self.links)

    def wrong(self, message: str) -> LayoutError:
        """Return the error that names the archive."""
        return LayoutError(printable(message), context=str(self.path))

    def part(self, name: str) -> Callable[[str], LayoutError]:
        """Return what makes the error about a part of the archive."""
        return lambda message: self.wrong(f"{name}{' ' * bool(name)}{message}")

    @contextmanager
    def damage(self) -> Iterator[None]:
        """Say what is wrong with the archive when reading it fails."""
        try:
            yield
        except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
            raise self.wrong(
                f"is no archive, or damaged: {str(error) or 'it ends early'}"
            ) from error


class _Unpacked(gzip.GzipFile):
    """A packed archive; it closes the file beneath, as a file does."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(fileobj=file)
        self._beneath = file

    def close(self) -> None:
        super().close()
        self._beneath.close()


class _Part(io.RawIOBase):
    """A part of a file as a file; it derives from `io.RawIOBase` so that it can be buffered."""

    def __init__(self, saved: Saved, file: BinaryIO, size: int) -> None:
        super().__init__()
        self._saved, self._file, self._left = saved, file, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        with self._saved.damage():
            data = self._file.read(min(len(buffer), self._left))
        self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._saved.leave(self._file)
        super().close()


class _Bounded:
    """A file of which little may be read at once: `tarfile` reads a header of any length."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.left = _HEADERS

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise ValueError(f"a header is longer than {_HEADERS} bytes")
        return data

    def content(self, size: int) -> bytes:
        """Return what follows a header, which the caller found to be small."""
        return self._file.read(size)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()


def look(path: Path) -> Saved:
    """Look through the archive at ``path``, reading names only where that can be done."""
    if not path.is_file():
        what = "is not a file" if path.exists() else "is not there"
        raise LayoutError(what, context=str(path), hint="name what `docker save -o FILE` wrote")
    try:
        with path.open("rb") as file:
            packed = file.read(len(_GZIP)) == _GZIP
    except OSError as error:
        raise LayoutError(f"cannot be read: {error.strerror}", context=str(path)) from error
    saved = Saved(path=path, packed=packed)
    with saved.damage(), saved._opened() as file:  # noqa: SLF001 - the same module
        _list(saved, _Bounded(file))
    return saved


def _list(saved: Saved, file: _Bounded) -> None:
    with tarfile.open(fileobj=cast("IO[bytes]", file), mode="r:") as archive:
        for _ in range(_MOST):
            file.left = _HEADERS
            before = archive.offset
            info = archive.next()
            if info is None:
                return
            if archive.offset <= before and archive.offset <= info.offset:
                raise ValueError(f"{info.name!r} claims {info.size} bytes")
            # The archive keeps every header that it has seen.
            archive.members.clear()  # type: ignore[attr-defined]
            _note(saved, info)
            _keep(saved, info, file)
    raise ValueError(f"it has more than {_MOST} members")


def _note(saved: Saved, info: tarfile.TarInfo) -> None:
    """Note where a member lies; of two with the same name the last one counts."""
    name = _inside(info.name)
    if not name or info.issparse():
        return
    saved.files.pop(name, None)
    saved.links.pop(name, None)
    if info.isreg():
        saved.files[name] = (info.offset_data, info.size)
    elif info.issym():
        saved.links[name] = _inside(posixpath.join(posixpath.dirname(name), info.linkname))
    elif info.islnk():
        saved.links[name] = _inside(info.linkname)


def _keep(saved: Saved, info: tarfile.TarInfo, file: _Bounded) -> None:
    """Keep a small file of a packed archive, while it passes by."""
    if saved.packed and info.isreg() and info.size <= min(_SMALL, _KEPT - saved.kept):
        file.seek(info.offset_data)
        content = file.content(info.size)
        if len(content) == info.size:
            saved.small[info.offset_data, info.size] = content
            saved.kept += info.size


def _inside(name: str) -> str:
    """Return the normal form of a name, or nothing if it leads out of the archive."""
    normal = posixpath.normpath(name) if name else "."
    return "" if normal == "." or normal.startswith(("/", "../")) or normal == ".." else normal
