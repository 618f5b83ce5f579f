"""A recording packed into one file, read into memory with limits; nothing is ever unpacked."""

from __future__ import annotations

import tarfile
import zlib
from typing import TYPE_CHECKING, BinaryIO, NoReturn, cast

from mxenv.errors import RecordingError
from mxenv.transports._memory import MemoryTree, tree

if TYPE_CHECKING:
    from pathlib import Path

MEMBERS = 50_000
TOTAL = 256 << 20
"""Bytes of content: a recording holds small files and the heads of big ones."""
RATIO = 200
"""How many times smaller than its content an archive may be, beyond `SMALL`."""
SMALL = 16 << 20


def read(path: Path) -> MemoryTree:
    """Read the archive at ``path``; whatever is not a plain file or link in it is refused."""
    files: dict[str, bytes] = {}
    links: dict[str, str] = {}
    try:
        budget = min(TOTAL, max(SMALL, RATIO * path.stat().st_size))
        with tarfile.open(path, "r:gz") as archive:
            for count, member in enumerate(archive):
                name = _name(member, path)
                if count >= MEMBERS:
                    _refuse(path, name, f"more than {MEMBERS} files")
                if name in files or name in links:
                    _refuse(path, name, "is there twice")
                if member.issym():
                    links[name] = member.linkname
                elif member.isreg() and not member.issparse():
                    budget -= member.size
                    if budget < 0:
                        _refuse(path, name, "too much content for a recording of this size")
                    files[name] = _content(archive, member)
                elif not member.isdir():
                    _refuse(path, name, "neither a file, nor a directory, nor a symbolic link")
            _finish(archive, path)
    except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
        raise RecordingError(f"not a readable tar.gz: {error}", context=str(path)) from error
    return tree(*_from_its_folder(files, links))


def _finish(archive: tarfile.TarFile, path: Path) -> None:
    """Read what follows the last file: the checksum of everything is at the very end."""
    stream = cast("BinaryIO", archive.fileobj)
    if len(stream.read(SMALL)) == SMALL:
        _refuse(path, "", "too much follows the last file")


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    content = b"" if file is None else file.read()
    if len(content) != member.size:
        raise EOFError("it ends too early")
    return content


def _name(member: tarfile.TarInfo, path: Path) -> str:
    segments = [segment for segment in member.name.split("/") if segment not in {"", "."}]
    if member.name.startswith("/") or ".." in segments:
        _refuse(path, member.name, "would lie outside the recording")
    return "/" + "/".join(segments)


def _refuse(path: Path, name: str, message: str) -> NoReturn:
    raise RecordingError(message, context=f"{path}: {name.lstrip('/')!r}")


def _from_its_folder(
    files: dict[str, bytes], links: dict[str, str]
) -> tuple[dict[str, bytes], dict[str, str]]:
    """Return both without the one folder that everything may lie in, as ``tar czf x.tgz x``."""
    tops = {name.split("/")[1] for name in (*files, *links)}
    top = f"/{next(iter(tops), '')}"
    if len(tops) != 1 or top in files or top in links:
        return files, links
    return (
        {name.removeprefix(top): content for name, content in files.items()},
        {name.removeprefix(top): target for name, target in links.items()},
    )
