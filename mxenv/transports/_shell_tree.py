"""A tree of files as a shell tells of it: what is not known yet is noted, and asked for at once."""

from __future__ import annotations

import os
from dataclasses import field
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, TypeVar, cast

from mxenv.facts import Unreadable
from mxenv.frozen import frozen, slotted
from mxenv.question import Status
from mxenv.transports._tree import Unanswered

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

K = TypeVar("K")
V = TypeVar("V")


@frozen(kw_only=False)
class Entry:
    """What lies at a path, and where it leads if it is a link."""

    status: Status
    target: str | Unreadable = ""


@slotted
class Missed:
    """How often something was looked up that is not known yet."""

    times: int = 0


@slotted
class Shelf(Generic[K, V]):
    """What is known of one kind, and what of it is wanted."""

    missed: Missed
    known: dict[K, V | Unreadable] = field(default_factory=dict)
    wanted: dict[K, None] = field(default_factory=dict)

    def get(self, key: K) -> V:
        """Return what is known; raise `Unanswered` if that is nothing, or not yet anything."""
        value = self.known.get(key, _UNKNOWN)
        if isinstance(value, _Unknown):
            self.wanted[key] = None
            self.missed.times += 1
            raise Unanswered("not asked yet")
        if isinstance(value, Unreadable):
            raise Unanswered(value.reason, passing=value.passing)
        return value


class _Unknown:
    """Stands for what was never asked; what lies nowhere is known to be `None`."""


_UNKNOWN = _Unknown()


@slotted
class ShellTree:
    """The files of a node, as `mxenv.transports._tree.Tree` asks for them."""

    missed: Missed = field(default_factory=Missed)
    entries: Shelf[str, Entry | None] = field(init=False)
    listed: set[str] = field(default_factory=set)
    """The paths that were put to ``ls``, whatever came of it."""
    listings: Shelf[str, tuple[str, ...]] = field(init=False)
    heads: dict[int, Shelf[str, bytes]] = field(default_factory=dict)
    """The first bytes of files, by how many of them."""
    digests: Shelf[str, str] = field(init=False)
    packages: Shelf[tuple[str, int], bytes] = field(init=False)
    records: Shelf[str, bytes] = field(init=False)
    """Of each ``RECORD`` the lines on which its names depend, a small part of them."""
    variables: Shelf[str, str | None] = field(init=False)
    spaces: Shelf[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.records = Shelf(self.missed)
        self.variables = Shelf(self.missed)
        self.spaces = Shelf(self.missed)
        self.entries = Shelf(self.missed)
        self.listings = Shelf(self.missed)
        self.digests = Shelf(self.missed)
        self.packages = Shelf(self.missed)

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``."""
        entry = self.entries.known.get(path)
        if not isinstance(entry, Entry):
            entry = self.entries.get(_nameable(path))
        return None if entry is None else entry.status

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
        entry = self.entries.get(path)
        target = "" if entry is None else entry.target
        if isinstance(target, Unreadable):
            raise Unanswered(target.reason, passing=target.passing)
        return target

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory."""
        return self.listings.get(path)

    def open(self, path: str) -> BinaryIO:
        """Open a file; every reading of it may turn out not to be known yet."""
        return cast("BinaryIO", _Remote(self, path))

    def head(self, path: str, size: int) -> bytes:
        """Return the first ``size`` bytes of a file, or all if it has fewer."""
        for asked, shelf in self.heads.items():
            content = shelf.known.get(path)
            if isinstance(content, bytes) and (asked >= size or len(content) < asked):
                return content[:size]
        return self.heads.setdefault(size, Shelf(self.missed)).get(path)

    def size(self, path: str) -> int:
        """Return how large a file is, as far as that is known."""
        entry = self.entries.known.get(path)
        return entry.status.size if isinstance(entry, Entry) else 0

    def forget(self) -> None:
        """Let go of contents; what lies where is kept."""
        self.heads.clear()
        self.packages.known.clear()
        self.records.known.clear()
        self.spaces.known.clear()

    @property
    def wanting(self) -> int:
        """How much is wanted."""
        return sum(map(len, self._wanted()))

    def satisfied(self) -> None:
        """Want nothing any more."""
        for wanted in self._wanted():
            wanted.clear()

    def _wanted(self) -> Iterator[dict[Any, None]]:
        for shelf in (self.entries, self.listings, self.digests, self.variables, self.spaces):
            yield shelf.wanted
        yield self.packages.wanted
        yield self.records.wanted
        for head in self.heads.values():
            yield head.wanted

    def along(self, at: str, names: Iterable[str]) -> str:
        """Want everything on the way from ``at`` by ``names``, not step by step; return its end.

        Raise `Unanswered` where that depends on what is not known yet.
        """
        for name in names:
            if name == "..":
                raise Unanswered("not asked yet")
            if name not in {"", "."}:
                at += f"/{name}"
                if at not in self.entries.known:
                    self.entries.wanted[_nameable(at)] = None
        return at

    def itself(self, number: str) -> None:
        """Know what ``/proc/self`` is: the shell, not each of the programs that look there."""
        for name, target in (("self", number), ("thread-self", f"{number}/task/{number}")):
            link = Status("link", mode=0o777)
            self.entries.known[f"/proc/{name}"] = Entry(link, target)


def _nameable(path: str) -> str:
    """Return ``path``; raise `ValueError` for what no file system can name."""
    if "\0" in path:
        raise ValueError("embedded null byte")
    os.fsencode(path)
    return path


@slotted
class _Remote:
    """A file of the node, of which only what is read is fetched."""

    tree: ShellTree
    path: str
    at: int = 0

    def read(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        content = self.tree.head(self.path, self.at + size)[self.at :]
        self.at += len(content)
        return content
