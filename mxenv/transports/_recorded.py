"""The files of a recording, as a tree, and the paths that are known without their content."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO

from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.question import Status
from mxenv.transports._tree import DIRECTORY, Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.recording import Recording
    from mxenv.transports._tree import Tree

MODES = {"file": 0o644, "directory": 0o755, "link": 0o777}
"""What a version control system keeps of a mode is not what the node had."""
NOWHERE = "/\0"
"""A path that nothing can lie at."""


@frozen(kw_only=False)
class RecordedTree:
    """The files of a recording, and the paths that are known without their content."""

    kept: Tree
    recording: Recording
    implied: Mapping[str, frozenset[str]]
    """The names in each directory that a known path lies in."""

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``; `Stat` itself is answered from what was recorded of it."""
        if path == NOWHERE:
            return None
        status = self.kept.lstat(path)
        if status is not None:
            return Status(status.kind, status.size, MODES.get(status.kind, 0))
        if path in self.implied:
            return DIRECTORY
        if (known := self._known(path)) is not None:
            return known
        self._look_into(path.rpartition("/")[0])
        return None

    def _known(self, path: str) -> Status | None:
        """Say what lies at a path whose content was not kept, if anything does."""
        entry = self.recording.paths.get(path)
        if entry is not None and entry.nowhere:
            return Status("link")
        if entry is not None and entry.kind not in {"", "link"}:
            return Status(entry.kind, entry.size, entry.mode)
        if path in self.recording.unreadable:
            return Status("file")
        return None if entry is None else Status("path of which no more was recorded")

    def readlink(self, path: str) -> str:
        """Return the text of a link; one that leads nowhere was kept without it."""
        if self.kept.lstat(path) is None:
            return NOWHERE
        return self.kept.readlink(path)

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory."""
        names = set(self.implied.get(path, ()))
        if self.kept.lstat(path) is not None:
            names.update(self.kept.names(path))
        if not names:
            self._look_into(path)
        return names

    def _look_into(self, path: str) -> None:
        """Raise if ``path`` is a directory that could not be looked into."""
        entry = self.recording.paths.get(path)
        reason = self.recording.unreadable.get(path)
        if reason is not None and entry is not None and entry.kind == "directory":
            raise Unanswered(reason.reason, passing=reason.passing)

    def open(self, path: str) -> BinaryIO:
        """Open a file; beyond what was recorded of it, it cannot be read."""
        if self.kept.lstat(path) is None:
            reason = self.recording.unreadable.get(path, Unreadable("its content was not recorded"))
            raise Unanswered(reason.reason, passing=reason.passing)
        file = self.kept.open(path)
        entry = self.recording.paths.get(path)
        if entry is None or not entry.head:
            return file
        with file:
            return _Head(file.read(), entry.head)


class _Head(io.BytesIO):
    """The first bytes of a file."""

    def __init__(self, content: bytes, head: int) -> None:
        super().__init__(content)
        self._head = head

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0 or size > self._head:
            raise Unanswered(f"only its first {self._head} bytes were recorded")
        # What was recorded may be longer than it was: each byte that is no text became three.
        return super().read(-1 if size == self._head else size)


@frozen(kw_only=False)
class Below:
    """A directory of a tree, as a tree."""

    tree: Tree
    top: str

    def _at(self, path: str) -> str:
        return self.top if path == "/" else f"{self.top}{path}"

    def lstat(self, path: str) -> Status | None:
        return self.tree.lstat(self._at(path))

    def readlink(self, path: str) -> str:
        return self.tree.readlink(self._at(path))

    def names(self, path: str) -> Iterable[str]:
        return self.tree.names(self._at(path))

    def open(self, path: str) -> BinaryIO:
        return self.tree.open(self._at(path))
