"""How questions about files are answered from a tree of files, whose links never leave it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cache
from typing import TYPE_CHECKING, BinaryIO, Protocol, assert_never

from mxenv.facts import Absent, Unreadable
from mxenv.question import (
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mxenv.question import Answer, Given, Matches, Question

HOPS = 40
"""How many links Linux follows for one path (``MAXSYMLINKS``)."""
DIRECTORY = Status("directory", mode=0o755)
OF_A_NODE = ("/proc", "/sys", "/dev")
"""What the kernel of a running node fills; in an image it is empty or left over."""


class Unanswered(Exception):
    """A tree cannot say; the reason becomes the answer."""

    def __init__(self, reason: str, *, passing: bool = False) -> None:
        """Keep ``reason``, worded to follow the path."""
        super().__init__(reason)
        self.answer = Unreadable(reason, passing)


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


def of_an_image(question: Question) -> Given | None:
    """Return why an image cannot answer ``question``, or `None`: its files can."""
    match question:
        case Command():
            return Unreadable("an image runs no command")
        case Env():
            return Unreadable("an image that does not run has no environment")
        case Space():
            return Unreadable("an image has no free space")
        case Option():
            return Unreadable("an image cannot say what is wanted of it")
        case File(path=path) | Glob(pattern=path) | Link(path) | Stat(path) | Symbols(path=path):
            if any(path == top or path.startswith(f"{top}/") for top in OF_A_NODE):
                return Unreadable(
                    f"an image's {'/'.join(path.split('/')[:2])} says nothing about a node"
                )
            return None
        case _:
            assert_never(question)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path leads; without a status there is nothing there."""

    path: str
    status: Status | None


@dataclass(frozen=True, slots=True)
class Walker:
    """One look at a tree that does not change meanwhile: directories are resolved once."""

    tree: Tree
    _directories: dict[str, Place] = field(default_factory=dict)
    seekable: Callable[[str], BinaryIO] | None = None
    """Opens a file to read here and there in it, where the tree's own `open` cannot."""

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
            return self._leads(path) if part is Part.LINK else self._read(path, part, limit)
        except (Unanswered, OSError, ValueError) as error:
            return _reason(error)

    def find(self, path: str, *, follow: bool = True, hops: Iterator[int] | None = None) -> Place:
        """Follow ``path`` through the links in it, inside the tree.

        ``..`` at the top stays there, and an absolute link begins at the top of the tree.
        """
        hops = iter(range(HOPS)) if hops is None else hops
        parent, _, name = path.rstrip("/").rpartition("/")
        if not name:
            return Place("/", DIRECTORY)
        above = self._directory(parent, hops)
        if name == ".":
            return above
        if name == "..":
            return Place(above.path.rpartition("/")[0] or "/", above.status)
        here = f"{above.path.rstrip('/')}/{name}"
        if above.status is None or above.status.kind != "directory":
            return Place(here, None)
        status = self.tree.lstat(here)
        if status is None or status.kind != "link" or not follow:
            return Place(here, status)
        if next(hops, None) is None:
            raise Unanswered("a loop of links")
        target = self.tree.readlink(here)
        return self.find(target if target[:1] == "/" else f"{above.path}/{target}", hops=hops)

    def _directory(self, path: str, hops: Iterator[int]) -> Place:
        known = self._directories.get(path)
        if known is None:
            known = self._directories[path] = self.find(path, hops=hops)
        return known

    def _leads(self, path: str) -> Answer[str]:
        if self.find(path, follow=False).status is None:
            return Absent()
        return Found(self.find(path).path)

    def _read(self, path: str, part: Part, limit: int) -> Answer[str]:
        place = self.find(path)
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
        matches: list[tuple[str, Answer[str]]] = []
        top, segments = _split(glob.pattern)
        if top and self.find(top).status is None:
            return Absent()
        for path, problem in self._walk(top, segments):
            if problem is not None and path == top:
                return _reason(problem)
            if problem is not None:
                matches.append((path, _reason(problem)))
            elif glob.part is None:
                matches.append((path, Found("")))
            else:
                matches.append((path, self.part(path, glob.part, glob.limit)))
        return Found(tuple(sorted(matches, key=lambda match: match[0]))) if matches else Absent()

    def _walk(self, at: str, segments: tuple[str, ...]) -> Iterator[tuple[str, Exception | None]]:
        """Yield the paths that match, and the places that could not be looked into."""
        if not segments:
            yield at, None
            return
        segment, *rest = segments
        try:
            names = self._names(at, segment, last=not rest)
        except (Unanswered, OSError, ValueError) as error:
            yield at, error
            return
        for name in names:
            yield from self._walk(f"{at}/{name}", tuple(rest))

    def _names(self, at: str, segment: str, *, last: bool) -> list[str]:
        place = self.find(at or "/")
        if place.status is None or place.status.kind != "directory":
            return []
        if not _wild(segment):
            if not last:
                return [segment]
            return [] if self.find(f"{at}/{segment}", follow=False).status is None else [segment]
        matches = _pattern(segment).match
        hidden = segment.startswith(".")
        return [
            name
            for name in self.tree.names(place.path)
            if matches(name) and (hidden or name[0] != ".")
        ]


def _wild(segment: str) -> bool:
    return any(sign in segment for sign in "*?[")


def _split(pattern: str) -> tuple[str, tuple[str, ...]]:
    """Return the directory before the first segment with a wildcard, and the segments after it."""
    segments = [segment for segment in pattern.split("/") if segment]
    fixed = next((n for n, segment in enumerate(segments) if _wild(segment)), len(segments) - 1)
    return "".join(f"/{segment}" for segment in segments[:fixed]), tuple(segments[fixed:])


@cache
def _pattern(segment: str) -> re.Pattern[str]:
    return re.compile(translate(segment))


def _reason(error: Exception) -> Unreadable:
    match error:
        case Unanswered():
            return error.answer
        case OSError():
            return Unreadable((error.strerror or str(error)).lower())
        case _:
            return Unreadable(f"not a path that can be asked for ({error})")
