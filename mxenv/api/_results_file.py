"""A file that results of runs are added to as they come, and that no end of mxenv spoils."""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

from mxenv import _files, operator_runs_file
from mxenv.errors import InventoryError, UsageError
from mxenv.operator_runs import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mxenv.operator_runs import Runs

FIRST = f'{{"schema":"{SCHEMA}",'.encode()
"""How such a file begins: whatever else is there is somebody's, and left alone."""


class Results:
    """The file, and what it had before."""

    def __init__(self, file: IO[bytes] | None, name: str) -> None:
        """Take ``file``, open for both; without one nothing is kept."""
        self.file, self.name = file, name
        self.before: Runs | None = None
        if file is not None:
            self._take(file)

    def _take(self, file: IO[bytes]) -> None:
        """Read what is there, and cut off what was not written to its end."""
        content = file.read()
        if not FIRST.startswith(content[: len(FIRST)]):
            said = "is there, and holds no results of running operators"
            raise InventoryError(said, context=self.name, hint="name another file")
        kept = content.rfind(b"\n") + 1
        if kept:
            self.before = parsed(content, self.name)
        if kept < len(content):
            file.truncate(kept)

    def add(self, line: str, *, safe: bool = False) -> None:
        """Add a line in one piece; ``safe``: it is there even if the machine falls."""
        if self.file is not None:
            self.file.write(line.encode(errors="replace"))
            if safe:
                os.fsync(self.file.fileno())


@contextmanager
def opened(out: Path | None) -> Iterator[Results]:
    """Give the file at ``out``, which nobody else holds; without one, what keeps nothing."""
    if out is None:
        yield Results(None, "")
        return
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(
            out, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o666
        )
    except (OSError, ValueError) as error:
        raise _files.unwritable(out, error, hint="name a file in a folder of yours") from None
    with os.fdopen(descriptor, "rb+", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            # A device may have no end, and none keeps what it is told.
            raise UsageError("is there, and is no file", context=str(out), hint="name a file")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            said = "somebody else is adding results to it"
            raise UsageError(said, context=str(out), hint="wait, or name another file") from None
        yield Results(file, str(out))


def parsed(content: bytes, context: str) -> Runs:
    """Return the results in what a file holds, but for a last line without an end."""
    try:
        text = content[: content.rfind(b"\n") + 1].decode()
    except UnicodeDecodeError as error:
        raise InventoryError(f"not UTF-8 (byte {error.start})", context=context) from None
    return operator_runs_file.from_text(text, context=context)
