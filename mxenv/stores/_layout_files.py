"""The files of an OCI image layout: where they lie, how they are read and written."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from mxenv._files import unwritable
from mxenv.errors import LayoutError
from mxenv.stores import _documents
from mxenv.stores._digests import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SETTLED = 0
"""When every blob was last changed, as every image was made: whoever changes one leaves a clock's
time."""
_STALE = 3600.0
"""Seconds after which nobody goes on writing a file."""


def sweep(folder: Path) -> None:
    """Remove what writers that were killed left behind; a living one writes all the time."""
    with suppress(OSError):
        for path in folder.glob(".*.tmp"):
            if path.stat().st_mtime < time.time() - _STALE:
                path.unlink()


def check_version(folder: Path) -> None:
    """Refuse a folder that is no layout, or one of a version that is not known."""
    marker = folder / "oci-layout"
    if not marker.is_file():
        what = "has no file 'oci-layout'" if folder.is_dir() else "is not a folder"
        if not os.path.lexists(folder):
            what = "is not there"
        raise LayoutError(
            what, context=str(folder), hint="name an OCI image layout, as `mxenv build` writes it"
        )
    document = _documents.parse(read(marker), complaint(marker))
    version = document.get("imageLayoutVersion")
    if not isinstance(version, str) or not version.startswith("1."):
        raise LayoutError(f"imageLayoutVersion is {version!r}, not 1.x", context=str(marker))


def complaint(path: Path) -> Callable[[str], LayoutError]:
    """Return what makes the error that names ``path``."""
    return lambda message: LayoutError(printable(message), context=str(path))


def read(path: Path) -> bytes:
    """Return a small file, whole."""
    check_file(path)
    try:
        with path.open("rb") as file:
            content = file.read(_documents.LARGEST + 1)
    except OSError as error:
        raise LayoutError(f"cannot be read: {error.strerror}", context=str(path)) from error
    if len(content) > _documents.LARGEST:
        raise LayoutError("is larger than any such file need be", context=str(path))
    return content


def check_file(path: Path) -> None:
    """Refuse what lies at ``path`` if that is no file."""
    # To open a FIFO would wait for ever.
    if path.exists() and not path.is_file():
        raise LayoutError("is not a file", context=str(path))


def blob_path(folder: Path, digest: str) -> Path:
    """Return where the blob lies."""
    algorithm, _, value = digest.partition(":")
    return folder / "blobs" / algorithm / value


@contextmanager
def writing(target: Path) -> Iterator[BinaryIO]:
    """Write beside ``target``, then rename; whatever goes wrong, nothing is left behind."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                yield file
            temporary.replace(target)
            _settle(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise unwritable(target, error, hint="name a folder that you may write to") from error


def is_whole(path: Path) -> bool:
    """Return whether a blob is there as it was written; else it is to be written again.

    What was altered since, or cut short, has another age. So has a copy: what has, is read once,
    to see whether it is what its name says.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            return False
        if found.st_mtime_ns == SETTLED:
            return True
        with path.open("rb") as file:
            if hashlib.file_digest(file, path.parent.name).hexdigest() != path.name:
                return False
        with suppress(OSError):
            _settle(path)
    except (OSError, ValueError):
        return False
    return True


def _settle(path: Path) -> None:
    # Under its own name only: a temporary file of that age would be swept away.
    os.utime(path, ns=(path.stat().st_atime_ns, SETTLED))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two writers of its index lose neither's entry."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
