"""The files of a container as the engine hands them out, running or not, shell or not."""

from __future__ import annotations

import base64
import io
import json
import os
import stat
import tarfile
from contextlib import closing, contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, BinaryIO, cast

from mxenv.frozen import slotted
from mxenv.question import Status
from mxenv.transports._disk import KINDS
from mxenv.transports._tree import Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from docker import APIClient

    from mxenv.transports._watched import Watch

LARGEST = 64 << 20
"""Bytes of one file that are held; of a larger one only its beginning is."""
LISTED = 512 << 20
"""Bytes of an archive that are passed over for the names in one directory."""
GO_KINDS = {
    31: stat.S_IFDIR,
    27: stat.S_IFLNK,
    26: stat.S_IFBLK,
    25: stat.S_IFIFO,
    24: stat.S_IFSOCK,
}
"""The bits of Go's ``io/fs.FileMode`` that say what lies there."""
GO_CHAR = 21
GO_SPECIAL = {23: 0o4000, 22: 0o2000, 20: 0o1000}
TAR_KINDS = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
    tarfile.CHRTYPE: "char",
    tarfile.BLKTYPE: "block",
    tarfile.FIFOTYPE: "fifo",
}
"""Of a hard link the engine has to be asked."""
NOT_THERE = 404
STAT = "X-Docker-Container-Path-Stat"


@slotted
class ContainerTree:
    """The files of a container, as `mxenv.transports._tree.Tree` asks for them."""

    api: APIClient
    container: str
    watch: Watch
    known: dict[str, Status | None] = field(default_factory=dict)
    targets: dict[str, str] = field(default_factory=dict)
    listings: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        if path not in self.known:
            self.watch.check()
            url = f"{self.api.base_url}/containers/{self.container}/archive"
            answer = self.api.head(url, params={"path": path}, timeout=max(0.1, self.watch.left()))
            if answer.status_code == NOT_THERE:
                self.known[path] = None
            elif not answer.ok:
                raise Unanswered(f"the engine does not tell ({answer.status_code})")
            else:
                said = json.loads(base64.b64decode(answer.headers[STAT]))
                self.known[path] = _status(said["mode"], said["size"])
        return self.known[path]

    def readlink(self, path: str) -> str:
        """Return where a link leads."""
        if path not in self.targets:
            with self._archive(path) as archive:
                member = archive.next()
                if member is None or not member.issym():
                    raise Unanswered("not a link any more")
                self.targets[path] = member.linkname
        return self.targets[path]

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory; all that lies below it passes by meanwhile."""
        if path not in self.listings:
            self._list(path)
        return self.listings.get(path, ())

    def open(self, path: str) -> BinaryIO:
        """Open a regular file."""
        with self._archive(path) as archive:
            member = archive.next()
            file = archive.extractfile(member) if member is not None and member.isreg() else None
            if file is None:
                raise Unanswered("not a file any more")
            content = io.BytesIO(file.read(LARGEST + 1))
        return (
            cast("BinaryIO", _Begun(content)) if content.getbuffer().nbytes > LARGEST else content
        )

    def _list(self, path: str) -> None:
        """Note all that lies below ``path``: the engine sends it in any case."""
        below: dict[str, set[str]] = {path: set()}
        with self._archive(f"{path.rstrip('/')}/.") as archive:
            for member in archive:
                self.watch.check()
                if archive.offset > LISTED:
                    raise Unanswered(f"more than {LISTED >> 20} MiB lie in it to be passed over")
                self._note(below, path, member)
        self.listings.update({name: tuple(names) for name, names in below.items()})

    def _note(self, below: dict[str, set[str]], path: str, member: tarfile.TarInfo) -> None:
        at = path
        for part in member.name.split("/"):
            if part not in {"", "."}:
                below.setdefault(at, set()).add(part)
                at = f"{at.rstrip('/')}/{part}"
        kind = TAR_KINDS.get(member.type)
        if member.isdir():
            below.setdefault(at, set())
        if member.issym():
            self.targets[at] = member.linkname
        if kind is not None and at != path:
            size = len(os.fsencode(member.linkname)) if member.issym() else member.size
            self.known[at] = Status(kind, size, member.mode & 0o7777)

    @contextmanager
    def _archive(self, path: str) -> Iterator[tarfile.TarFile]:
        """Open what the engine sends of ``path``, as a stream."""
        from docker import errors  # noqa: PLC0415 - imported late: with the first archive

        self.watch.check()
        try:
            stream, _ = self.api.get_archive(self.container, path)
        except errors.NotFound:
            raise Unanswered("is not there any more") from None
        except errors.APIError as error:
            raise Unanswered(f"the engine refuses ({error.explanation or error})") from None
        source = _Stream(iter(stream), self.watch)
        try:
            with (
                closing(stream),
                tarfile.open(fileobj=cast("BinaryIO", source), mode="r|") as archive,
            ):
                yield archive
        except tarfile.TarError as error:
            raise Unanswered(f"the engine's archive is damaged ({error})") from None


def _status(mode: int, size: int) -> Status:
    kind = next((kind for bit, kind in GO_KINDS.items() if mode >> bit & 1), stat.S_IFREG)
    if kind == stat.S_IFBLK and mode >> GO_CHAR & 1:
        kind = stat.S_IFCHR
    special = sum(bits for bit, bits in GO_SPECIAL.items() if mode >> bit & 1)
    return Status(KINDS[kind], size, mode & 0o777 | special)


class _Begun(io.BytesIO):
    """The beginning of a large file; it derives from `io.BytesIO` so that it is a file itself."""

    def __init__(self, content: io.BytesIO) -> None:
        super().__init__(content.getvalue())

    def read(self, size: int | None = -1, /) -> bytes:
        """Read on, but take the end of what is held for no end of the file."""
        data = super().read(size)
        if size is None or size < 0 or len(data) < size:
            raise Unanswered(f"larger than {LARGEST} bytes")
        return data


@slotted
class _Stream:
    """What an engine sends, to be read from the beginning to the end."""

    pieces: Iterator[bytes]
    watch: Watch
    rest: bytes = b""

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes, fewer at the end."""
        parts, have = [self.rest], len(self.rest)
        while have < size:
            self.watch.check()
            piece = next(self.pieces, b"")
            if not piece:
                break
            parts.append(piece)
            have += len(piece)
        data = b"".join(parts)
        self.rest = data[size:]
        return data[:size]
