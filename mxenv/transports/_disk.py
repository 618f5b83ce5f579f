"""A tree of files on a disk of this machine, from ``/`` or from another directory down."""

from __future__ import annotations

import io
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

from mxenv.frozen import frozen
from mxenv.question import Status
from mxenv.transports._tree import Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable

SMALL = 1 << 16
"""Bytes of a file that is small."""
PAGE = 1 << 12
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFCHR: "char",
    stat.S_IFBLK: "block",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}


@frozen(kw_only=False)
class DiskTree:
    """The files below ``root``, which has no slash at its end: ``""`` is the whole machine."""

    root: str = ""

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        try:
            found = os.lstat(f"{self.root}{path}")
        except (FileNotFoundError, NotADirectoryError, ProcessLookupError):
            return None
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "file")
        return Status(kind, found.st_size, stat.S_IMODE(found.st_mode))

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        return os.readlink(f"{self.root}{path}")  # noqa: PTH115 - text in, text out; 6,000 a probe

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory."""
        return os.listdir(f"{self.root}{path}")  # noqa: PTH208 - text in, text out; 6,000 a probe

    def sorts(self, path: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of the files in a directory, and of what else is there."""
        files: list[str] = []
        others: list[str] = []
        with os.scandir(f"{self.root}{path}") as entries:
            for entry in entries:
                (files if entry.is_file(follow_symlinks=False) else others).append(entry.name)
        return frozenset(files), frozenset(others)

    def open(self, path: str) -> BinaryIO:
        """Open a regular file, and nothing that took its place since it was looked at."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
        number = os.open(f"{self.root}{path}", flags)
        try:
            found = os.fstat(number)
            if not stat.S_ISREG(found.st_mode):
                raise Unanswered("not a file any more")
            if found.st_size <= SMALL:
                # What is small is read at once: thousands are, and a reader costs more than that.
                content = os.read(number, max(found.st_size, PAGE) + 1)
                # Of what the kernel makes up on the way the size is 0 or a page, whatever it is.
                if len(content) == found.st_size or not (len(content) > PAGE or os.read(number, 1)):
                    return io.BytesIO(content)
                os.lseek(number, 0, os.SEEK_SET)
            file = os.fdopen(number, "rb")
            number = -1
            return file
        finally:
            if number >= 0:
                os.close(number)
