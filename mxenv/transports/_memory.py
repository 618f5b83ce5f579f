"""A tree of files that is held in memory."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, BinaryIO

from mxenv.frozen import frozen
from mxenv.question import Status
from mxenv.transports._tree import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@frozen(kw_only=False)
class MemoryTree:
    """Files and links by their paths; a directory is what something lies in."""

    files: Mapping[str, bytes]
    links: Mapping[str, str]
    directories: Mapping[str, frozenset[str]]
    """The names in each."""

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        if path in self.files:
            return Status("file", len(self.files[path]), 0o644)
        if path in self.links:
            return Status("link", mode=0o777)
        return DIRECTORY if path in self.directories else None

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        return self.links[path]

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory."""
        return self.directories.get(path, ())

    def open(self, path: str) -> BinaryIO:
        """Open a file."""
        return io.BytesIO(self.files[path])


def tree(files: Mapping[str, bytes], links: Mapping[str, str]) -> MemoryTree:
    """Return the tree of ``files`` and ``links``, by absolute path."""
    return MemoryTree(files, links, directories([*files, *links]))


def directories(paths: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return every directory that ``paths`` imply, with the names in it."""
    names: dict[str, set[str]] = {"/": set()}
    for path in paths:
        at = path
        while at != "/":
            above, _, name = at.rpartition("/")
            above = above or "/"
            known = names.setdefault(above, set())
            if name in known:
                break
            known.add(name)
            at = above
    return {path: frozenset(inside) for path, inside in names.items()}
