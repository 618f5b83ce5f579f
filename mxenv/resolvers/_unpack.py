"""How a source distribution is unpacked: nothing leaves its folder, and nothing tells the time."""

from __future__ import annotations

import os
import tarfile
import zlib
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NoReturn

from mxenv.errors import WheelError

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo

MOST_FILES = 200_000
MOST_BYTES = 1 << 33
_EXECUTABLE = 0o111


def unpack(sdist: Path, folder: Path, epoch: int) -> Path:
    """Unpack ``sdist`` into the new ``folder``; return the one folder that lies in it."""
    folder.mkdir()
    links = []
    try:
        with tarfile.open(sdist, "r:gz") as archive:
            size = 0
            for count, member in enumerate(archive):
                size += member.size
                if count >= MOST_FILES or size > MOST_BYTES:
                    _refuse(sdist, "is larger than any source distribution should be")
                path = folder / _inside(sdist, member.name)
                if member.issym() or member.islnk():
                    links.append((member, path))
                elif member.isdir():
                    path.mkdir(parents=True, exist_ok=True)
                elif member.isfile():
                    _write(archive, member, path)
                else:
                    _refuse(sdist, f"holds {member.name!r}, which is no file")
    except (tarfile.TarError, EOFError, zlib.error, FileExistsError, NotADirectoryError) as error:
        _refuse(sdist, f"cannot be unpacked: {error}")
    # At the end, so that nothing was written through one.
    for member, path in links:
        _link(sdist, member, path, folder)
    for path in folder.rglob("*"):
        os.utime(path, (epoch, epoch), follow_symlinks=False)
    roots = list(folder.iterdir())
    if len(roots) != 1 or not roots[0].is_dir():
        _refuse(sdist, "does not hold one folder and nothing else")
    return roots[0]


def _inside(sdist: Path, name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts or "\0" in name:
        _refuse(sdist, f"holds {name!r}, which leaves its folder")
    return path


def _write(archive: TarFile, member: TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    mode = 0o755 if member.mode & _EXECUTABLE else 0o644
    # A name that comes twice is another archive to every tool that reads it.
    with content, path.open("xb") as file:  # type: ignore[union-attr] # it is a file
        while chunk := content.read(1 << 16):  # type: ignore[union-attr] # the same
            file.write(chunk)
    path.chmod(mode)


def _link(sdist: Path, member: TarInfo, path: Path, folder: Path) -> None:
    start = path.parent if member.issym() else folder
    target = Path(os.path.normpath(start / member.linkname))
    if Path(member.linkname).is_absolute() or not target.is_relative_to(folder):
        _refuse(sdist, f"holds {member.name!r}, a link out of its folder")
    if not target.exists() or path.exists():
        _refuse(sdist, f"holds {member.name!r}, a link that cannot be made")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(os.path.relpath(target, path.parent))


def _refuse(sdist: Path, what: str) -> NoReturn:
    raise WheelError(what, context=sdist.name, hint="ask for another version of it")
