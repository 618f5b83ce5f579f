"""How mxenv reads and writes a file that a user names: whole, or not at all."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from mxenv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NO_FILE = "not a file"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EIO}
"""The disk could not do it, whatever path had been named."""
WRITABLE = "name a file in a folder that you may write to"
PATIENCE = 30.0
"""Seconds in which whoever writes a file is done with it."""
LOOK = 0.05
"""Seconds between two looks at whether somebody still writes."""


def read(path: Path, *, limit: int) -> bytes:
    """Return the content of the file at ``path``; what is none raises `OSError`, as if missing.

    So does a file of more than ``limit`` bytes. A named pipe may never say anything, and a device
    never end; only a pipe from a running command (``<(…)`` in a shell) is read like a file.
    """
    # `Path.open` takes no opener.
    with open(path, "rb", buffering=0, opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode) and not _of_a_command(file.fileno()):
            raise OSError(errno.EINVAL, NO_FILE, str(path))
        os.set_blocking(file.fileno(), True)
        content = bytearray()
        while len(content) <= limit and (piece := file.read(limit + 1 - len(content))):
            content += piece
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"larger than {limit >> 20} MiB", str(path))
    return bytes(content)


def _at_once(path: str, flags: int) -> int:
    """Open without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _of_a_command(descriptor: int) -> bool:
    # Anonymous, so that it ends with the command that fills it.
    return os.readlink(f"/proc/self/fd/{descriptor}").startswith("pipe:")  # noqa: PTH115 - no path


def why(error: OSError | ValueError) -> str:
    """Return why the system could not do it, to follow a colon."""
    said = (error.strerror if isinstance(error, OSError) else "") or str(error)
    return said[:1].lower() + said[1:]


def unwritable(path: Path, error: OSError | ValueError, *, hint: str) -> Exception:
    """Return what to raise for a path that could not be written.

    A path that cannot be is the caller's fault, and a disk that is full is not.
    """
    if isinstance(error, OSError) and error.errno in FULL:
        return OSError(error.errno, error.strerror, str(path))
    return UsageError(f"cannot be written: {why(error)}", context=str(path), hint=hint)


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write ``data`` to ``path`` through a temporary file beside it; text becomes UTF-8.

    The folder is made if it is missing. A path that cannot be written raises `UsageError`.
    """
    content = data.encode() if isinstance(data, str) else data
    with whole(path) as file:
        file.write(content)


@contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """Give a temporary file beside ``path`` to write to, which takes its place if all went well."""
    try:
        # A link is written through, or a file elsewhere would quietly stop being updated.
        # Not `Path.resolve`, which raises another error for a loop of links in every Python.
        target = _behind(path)
        _keep(target)
        temporary = target.with_name(f".{os.urandom(8).hex()}.tmp")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _opened(temporary) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            # Ctrl-C as well: nothing half written is left behind.
            with suppress(OSError):
                temporary.unlink()
            raise
    except (OSError, ValueError) as error:
        raise unwritable(path, error, hint=WRITABLE) from error


def _behind(path: Path) -> Path:
    return type(path)(os.path.realpath(path)) if path.is_symlink() else path


@contextmanager
def alone(path: Path, *, patience: float = PATIENCE) -> Iterator[None]:
    """Hold ``path`` from reading it until it is written again, so that no one's change is lost.

    Whoever else holds it is waited for; after ``patience`` seconds it is a `UsageError`.
    """
    try:
        target = _behind(path)
        # Beside it: the file itself is replaced, and need not be there yet.
        lock = target.with_name(f".{target.name}.lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _held(lock, time.monotonic() + patience)
    except (OSError, ValueError) as error:
        raise unwritable(path, error, hint=WRITABLE) from error
    if descriptor is None:
        raise UsageError(
            f"somebody else has been writing it for {patience:g} seconds",
            context=str(path),
            hint=f"try again; if nobody is, remove {lock}",
        )
    try:
        yield
    finally:
        # While it is held: whoever gets it next sees that it is gone, and makes another.
        with suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def _held(lock: Path, deadline: float) -> int | None:
    """Return the descriptor of ``lock`` once it is ours; `None` if that takes too long."""
    while (descriptor := _locked(lock)) is None:
        if time.monotonic() >= deadline:
            return None
        time.sleep(LOOK)
    return descriptor


def _locked(lock: Path) -> int | None:
    """Take ``lock`` if nobody has it."""
    # For writing, without which a network file system locks nothing for one alone.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(lock, flags, 0o666)
    except PermissionError:
        if lock.exists():
            return None  # of another user, who is about to remove it
        raise
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Whoever had it before may have removed it between our two steps.
        if os.path.samestat(os.fstat(descriptor), lock.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _keep(path: Path) -> None:
    # To rename over it would replace it: for root, /dev/null as well.
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, f"is there and {NO_FILE}")


def _opened(path: Path) -> BinaryIO:
    # Not `tempfile`: its files are 0600 whatever the umask says.
    return os.fdopen(
        os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666), "wb"
    )
