"""A tree of files that is read only as long as somebody waits for it."""

from __future__ import annotations

import io
import math
import sys
import threading
import time
from dataclasses import field
from typing import TYPE_CHECKING, BinaryIO, cast

from mxenv.frozen import frozen
from mxenv.question import Completed, Found
from mxenv.transports._tree import Over

if TYPE_CHECKING:
    from collections.abc import Iterable
    from threading import Event

    from mxenv.question import Given, Status
    from mxenv.transports._tree import Tree

LATE = "not answered in time"
ENDING = 0.2
"""Of the time, for ending what hangs and understanding what came; no more than `GRACE`."""
GRACE = 2.0
"""Seconds for what was told to stop, until it is left behind."""


@frozen(kw_only=False)
class Watch:
    """Until when answers are waited for."""

    deadline: float
    """As `time.monotonic` has it."""
    stop: Event
    """Set when nobody waits any more, however early it is."""
    end: float = math.inf
    """When all has to be over, what understands the answers as well."""
    own: threading.local = field(default_factory=threading.local, compare=False, repr=False)
    """Holds of a thread until when it works: nobody waits for it any longer than that."""

    def hurry(self, deadline: float) -> None:
        """Let what this thread does end earlier than what others do."""
        self.own.deadline = deadline

    def left(self) -> float:
        """Return how many seconds are left."""
        return 0.0 if self.stop.is_set() else max(0.0, self.deadline - time.monotonic())

    def check(self) -> None:
        """Raise `Over` if nobody waits any more."""
        if self.stop.is_set() or time.monotonic() > getattr(self.own, "deadline", self.deadline):
            raise Over(LATE, passing=True)


def until(end: float, stop: Event) -> Watch:
    """Return until when answers are waited for if all has to be over at ``end``."""
    seconds = max(0.0, end - time.monotonic())
    return Watch(end - min(GRACE, seconds * ENDING), stop, end)


@frozen(kw_only=False)
class WatchedTree:
    """What lies in another tree; every look at it is the last one once time is over.

    So a directory with no end of entries, or a file with no end, ends.
    """

    tree: Tree
    watch: Watch

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        self.watch.check()
        return self.tree.lstat(path)

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        return self.tree.readlink(path)

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory."""
        return self.tree.names(path)

    def open(self, path: str) -> BinaryIO:
        """Open a file that can be read until time is over."""
        self.watch.check()
        file = self.tree.open(path)
        if isinstance(file, io.BytesIO):
            return file  # it has been read
        # A reader of its own, so that whatever else is done with the file is done through it.
        return cast("BinaryIO", io.BufferedReader(_Watched(file, self.watch)))


class _Watched(io.RawIOBase):
    """It derives from `io.RawIOBase` so that it is a file itself."""

    def __init__(self, file: BinaryIO, watch: Watch) -> None:
        super().__init__()
        self._file, self._watch = file, watch

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._file.seekable()

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def fileno(self) -> int:
        return self._file.fileno()

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._watch.check()
        piece = self._file.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


def weight(given: Given) -> int:
    """Return how many bytes of memory the texts of an answer take."""
    match given:
        case Found(tuple() as matches):
            return sum(
                sys.getsizeof(part.value) + sys.getsizeof(path)
                for path, part in matches
                if isinstance(part, Found)
            )
        case Found(str(text)):
            return sys.getsizeof(text)
        case Completed(_, stdout, stderr):
            return sys.getsizeof(stdout) + sys.getsizeof(stderr)
        case _:
            return 0
