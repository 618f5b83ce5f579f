"""How questions about files are answered from a tree of files, whose links never leave it."""

from __future__ import annotations

from dataclasses import field
from operator import itemgetter
from typing import TYPE_CHECKING, BinaryIO, Protocol, assert_never

from mxenv.facts import Absent, Unreadable
from mxenv.frozen import frozen
from mxenv.question import (
    TOO_MUCH,
    Answers,
    Command,
    Env,
    File,
    Found,
    Glob,
    Link,
    Option,
    Part,
    Space,
    Stat,
    Status,
    Symbols,
)
from mxenv.transports._parts import taken
from mxenv.transports._patterns import matching, split, wild

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mxenv.question import Answer, Given, Matches, Question

HOPS = 40
"""How many links Linux follows for one path (``MAXSYMLINKS``)."""
MATCHES, CONTENT = 1 << 17, 24 << 20
"""Paths, and characters of what is in them, of one pattern: more than any node means."""
THERE: Found[str] = Found("")
"""What is said of a path of which no more is wanted; one for all of them."""
LISTINGS = 64
"""Directories whose names are kept at hand."""
RESOLVED = 1 << 15
"""Directories of which it is kept where they lead; a pattern takes every file for one."""
DIRECTORY = Status("directory", mode=0o755)


class Unanswered(Exception):
    """A tree cannot say; the reason becomes the answer."""

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        """Keep ``reason``, worded to follow the path."""
        super().__init__(reason)
        self.answer = Unreadable(reason, passing)


class Over(Unanswered):
    """Nobody waits for what a tree says any more: of many entries none needs to be looked at."""


class Tree(Protocol):
    """Files as they lie somewhere.

    Every path given is absolute and normal, and no directory in it is a link. `open`, `names` and
    `readlink` are only asked of what `lstat` called a file, a directory, a link. Each may raise
    `Unanswered` or `OSError`.
    """

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``; `None` if nothing does."""

    def readlink(self, path: str) -> str:
        """Return the text of a link."""

    def names(self, path: str) -> Iterable[str]:
        """Return the names in a directory, in any order."""

    def open(self, path: str) -> BinaryIO:
        """Open a regular file to read it once, from the beginning."""


def answer(
    tree: Tree,
    questions: Iterable[Question],
    beside: Callable[[Question], Given | None] = lambda _: None,
) -> Answers:
    """Answer ``questions`` from ``tree``, except those to which ``beside`` has an answer."""
    walker = Walker(tree)
    given: dict[Question, Given] = {}
    for question in questions:
        said = beside(question)
        given[question] = walker.answer(question) if said is None else said
    return Answers(given)


Sorts = tuple[frozenset[str], frozenset[str]]
"""The names in a directory: of regular files, and of all else."""
SEVERAL = "-info"
"""How the name of a directory ends of which several files are asked for, one after the other."""
FILE = Status("file")


@frozen(kw_only=False)
class Place:
    """Where a path leads; without a status there is nothing there."""

    path: str
    status: Status | None


@frozen(kw_only=False)
class Walker:
    """One look at a tree that does not change meanwhile: directories are resolved once."""

    tree: Tree
    _directories: dict[str, Place] = field(default_factory=dict)
    _listings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    seekable: Callable[[str], BinaryIO] | None = None
    """Opens a file to read here and there in it, where the tree's own `open` cannot."""
    sorts: Callable[[str], Sorts] | None = None
    """Tells files from what else lies in a directory, for less than a look at some of it costs."""
    _sorted: dict[str, Sorts] = field(default_factory=dict)
    _shared: dict[Sorts, Sorts] = field(default_factory=dict)
    """What lies in thousands of directories has the same few names in nearly all of them."""

    def answer(self, question: Question) -> Given:  # noqa: PLR0911 - one for each kind
        """Answer one question; whatever goes wrong on the way is the answer."""
        try:
            match question:
                case File(path, part, limit):
                    return self.part(path, part, limit)
                case Glob():
                    return self._matches(question)
                case Link(path):
                    return self.part(path, Part.LINK)
                case Stat(path):
                    status = self.find(path, follow=False).status
                    return Absent() if status is None else Found(status)
                case Symbols(path, providers):
                    return self._symbols(path, providers)
                case Command() | Env() | Space() | Option():
                    return Unreadable("a tree of files cannot say")
                case _:
                    assert_never(question)
        except (Unanswered, OSError, ValueError) as error:
            return _reason(error)

    def part(self, path: str, part: Part, limit: int = 0) -> Answer[str]:
        """Return a part of the file that ``path`` leads to, or why not."""
        try:
            return self._part(path, part, limit)
        except (Unanswered, OSError, ValueError) as error:
            return _reason(error)

    def find(self, path: str, *, follow: bool = True, hops: Iterator[int] | None = None) -> Place:
        """Follow ``path`` through the links in it, inside the tree.

        ``..`` at the top stays there, and an absolute link begins at the top of the tree.
        """
        parent, _, name = (path if path[-1:] != "/" else path.rstrip("/")).rpartition("/")
        if not name:
            return Place("/", DIRECTORY)
        above = self._directories.get(parent) or self._directory(parent, hops)
        if name == ".":
            return above
        if name == "..":
            return Place(above.path.rpartition("/")[0] or "/", above.status)
        here = f"{above.path if above.path != '/' else ''}/{name}"
        if above.status is None or above.status.kind != "directory":
            return Place(here, None)
        status = self.tree.lstat(here)
        if status is None or status.kind != "link" or not follow:
            return Place(here, status)
        return self._beyond(here, hops)

    def _beyond(self, link: str, hops: Iterator[int] | None = None) -> Place:
        """Return where a link leads, whose own path has none in it."""
        # Counted from the first link on: nearly no path has one.
        hops = iter(range(HOPS)) if hops is None else hops
        if next(hops, None) is None:
            raise Unanswered("a loop of links")
        target = self.tree.readlink(link)
        if target[:1] != "/":
            target = f"{link.rpartition('/')[0]}/{target}"
        return self.find(target, hops=hops)

    def _directory(self, path: str, hops: Iterator[int] | None) -> Place:
        if len(self._directories) >= RESOLVED:
            self._directories.clear()
        known = self._directories[path] = self.find(path, hops=hops)
        return known

    def _leads(self, path: str) -> Answer[str]:
        if self.find(path, follow=False).status is None:
            return Absent()
        return Found(self.find(path).path)

    def _part(self, path: str, part: Part, limit: int) -> Answer[str]:
        if part is Part.LINK:
            return self._leads(path)
        return self._taken(self.find(path), part, limit)

    def _taken(self, place: Place, part: Part, limit: int) -> Answer[str]:
        if place.status is None:
            return Absent()
        if place.status.kind != "file":
            # To open a FIFO would wait for ever, and a device may do anything.
            return Unreadable(f"not a file but a {place.status.kind}")
        with self._opened(place.path, seek=part is Part.ELF) as file:
            return taken(file, part, limit)

    def _opened(self, path: str, *, seek: bool) -> BinaryIO:
        return self.seekable(path) if seek and self.seekable else self.tree.open(path)

    def _symbols(self, path: str, providers: tuple[str, ...]) -> Answer[str]:
        from mxenv.transports import _symbols  # noqa: PLC0415 - imported late: most nodes need none

        def opened(path: str) -> BinaryIO:
            place = self.find(path)
            if place.status is None or place.status.kind != "file":
                raise Unanswered(f"{path} is no file")
            return self._opened(place.path, seek=True)

        return _symbols.unprovided(opened, path, providers)

    def _matches(self, glob: Glob) -> Answer[Matches]:
        top, segments = split(glob.pattern)
        if not segments or (top and self.find(top).status is None):
            return Absent()
        try:
            matches = _bounded(self._walk(top, segments, glob))
        except _Closed as closed:
            return _reason(closed.problem)
        return Found(tuple(sorted(matches, key=itemgetter(0)))) if matches else Absent()

    def _walk(
        self, at: str, segments: tuple[str, ...], glob: Glob
    ) -> Iterator[tuple[str, Answer[str]]]:
        """Yield what matches, and the places that could not be looked into."""
        segment, rest = segments[0], segments[1:]
        try:
            names = self._names(at, segment, literal=not wild(segment), last=not rest)
        except Over:
            raise
        except (Unanswered, OSError, ValueError) as error:
            if len(segments) == len(split(glob.pattern)[1]):
                raise _Closed(error) from None
            yield at, _reason(error)
            return
        single = rest[0] if len(rest) == 1 and not wild(rest[0]) else ""
        for name, place in names:
            path = f"{at}/{name}"
            if single:
                # Metadata lies so: one file by its name in each of thousands of directories.
                if match := self._inside(path, single, glob):
                    yield match
            elif rest:
                yield from self._walk(path, rest, glob)
            elif glob.part is None:
                yield path, THERE
            else:
                yield path, self._wanted(path, place, glob.part, glob.limit)

    def _inside(self, at: str, name: str, glob: Glob) -> tuple[str, Answer[str]] | None:
        """Return the one file of that name in a directory, or why it cannot be looked into."""
        path = f"{at}/{name}"
        try:
            place = self._among(at, name) or self.find(path, follow=False)
        except Over:
            raise
        except (Unanswered, OSError, ValueError) as error:
            return at, _reason(error)
        if place.status is None:
            return None
        if glob.part is None:
            return path, THERE
        try:
            if place.status.kind == "link":
                place = self._beyond(place.path)
        except Over:
            raise
        except (Unanswered, OSError, ValueError) as error:
            return path, _reason(error)
        return path, self._wanted(path, place, glob.part, glob.limit)

    def _among(self, at: str, name: str) -> Place | None:
        """Return what lies at a name in a directory, if that can be told without a look at it."""
        if self.sorts is None or not at.endswith(SEVERAL):
            return None
        above = self._directories.get(at) or self._directory(at, None)
        if above.status is None or above.status.kind != "directory":
            return None
        path = above.path
        known = self._sorted.get(path)
        if known is None:
            if len(self._sorted) >= RESOLVED:
                self._sorted.clear()
            try:
                sorts = self.sorts(path)
            except OSError:
                return None
            known = self._sorted[path] = self._shared.setdefault(sorts, sorts)
        files, others = known
        if name in others:
            return None
        return Place(f"{path}/{name}", FILE if name in files else None)

    def _wanted(self, path: str, place: Place | None, part: Part, limit: int) -> Answer[str]:
        """Return a part of what lies at ``place``, which is no link, or at ``path``."""
        try:
            if place is None:
                return self._part(path, part, limit)
            return Found(place.path) if part is Part.LINK else self._taken(place, part, limit)
        except Over:
            raise
        except (Unanswered, OSError, ValueError) as error:
            return _reason(error)

    def _names(
        self, at: str, segment: str, *, literal: bool, last: bool
    ) -> Iterable[tuple[str, Place | None]]:
        """Return the names in ``at`` that match, with what lies there if it is known, no link."""
        place = self._directories.get(at) or self._directory(at or "/", None)
        if place.status is None or place.status.kind != "directory":
            return ()
        if literal and not last:
            return ((segment, None),)
        if literal:
            there = self.find(f"{at}/{segment}", follow=False)
            if there.status is None:
                return ()
            return ((segment, None if there.status.kind == "link" else there),)
        names = self._listing(place.path)
        return [(name, None) for name in matching(names, segment)]

    def _listing(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, which several patterns ask for in a row."""
        known = self._listings.get(path)
        if known is None:
            if len(self._listings) >= LISTINGS:
                self._listings.clear()
            known = self._listings[path] = tuple(self.tree.names(path))
        return known


class _Closed(Exception):
    """The directory that a pattern begins with cannot be looked into."""

    def __init__(self, problem: Exception) -> None:
        super().__init__()
        self.problem = problem


def _bounded(matches: Iterable[tuple[str, Answer[str]]]) -> list[tuple[str, Answer[str]]]:
    kept, size = [], 0
    for match in matches:
        kept.append(match)
        size += len(match[1].value) if isinstance(match[1], Found) else 0
        if len(kept) > MATCHES or size > CONTENT:
            raise Unanswered(f"matches {TOO_MUCH}")
    return kept


def _reason(error: Exception) -> Unreadable:
    match error:
        case Unanswered():
            return error.answer
        case OSError():
            return Unreadable((error.strerror or str(error)).lower())
        case _:
            return Unreadable(f"not a path that can be asked for ({error})")
