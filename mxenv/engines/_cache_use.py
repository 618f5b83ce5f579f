"""Who uses a cache just now: nothing that a running build found or made is taken from it."""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUNNING = "running"
"""Holds a file for each build: locked while it runs, as old as the build."""


@contextmanager
def using(root: Path) -> Iterator[None]:
    """Mark that a build runs; where nothing can be written, nothing can be taken away either."""
    path = root / RUNNING / f"{os.getpid()}-{secrets.token_hex(4)}"
    descriptor = None
    try:
        with suppress(OSError), shared(root):
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        if descriptor is not None:
            with suppress(OSError):
                path.unlink()
            os.close(descriptor)


def oldest(root: Path) -> int | None:
    """Return since when the longest of the builds has been running, in nanoseconds.

    Asked by whoever has the cache for itself: the marks of builds that were killed are removed.
    """
    found = []
    for path in (root / RUNNING).glob("*"):
        with suppress(OSError):
            if _is_held(path):
                found.append(path.stat().st_mtime_ns)
            else:
                path.unlink()
    return min(found, default=None)


def _is_held(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def shared(root: Path) -> Iterator[None]:
    """Keep everybody from removing anything meanwhile; for a moment only."""
    with _locked(root, fcntl.LOCK_SH):
        yield


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Have the cache for oneself, to remove something; no longer than that takes."""
    with _locked(root, fcntl.LOCK_EX):
        yield


@contextmanager
def _locked(root: Path, how: int) -> Iterator[None]:
    path = root / "lock"
    try:
        # For writing, without which a network file system locks nothing for one alone.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError:
        try:
            # Another user's, or on a disk that is not to be written.
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            yield
            return
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)
