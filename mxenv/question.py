"""What a probe may ask of a node, and what comes back."""

from __future__ import annotations

from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from mxenv.facts import Absent, Unreadable
from mxenv.frozen import frozen
from mxenv.patience import ENDLESS, Patience

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NOT_FOUND = 127
"""What a POSIX shell exits with when there is no such command."""
TIMED_OUT = 124
"""What ``timeout(1)`` exits with when the time limit was reached."""

TOO_MUCH = "more than is carried from one node"
"""How a reason ends that stands for an answer beyond all measure."""
NOT_ASKED = Unreadable("not asked")
"""The answer to what was never asked."""

T = TypeVar("T")


class Part(StrEnum):
    """How much of a file is wanted; big files are never carried whole."""

    WHOLE = "whole"
    PACKAGES = "packages"
    """Of dpkg's database of packages their names, states and versions, a sixth of it all."""
    BOOT = "boot"
    """Of the kernel's command line the parameters that `mxenv.excerpt.boot` keeps."""
    RUNTIMES = "runtimes"
    """Of a container engine's set-up the names that `mxenv.excerpt.runtimes` keeps."""
    METADATA = "metadata"
    """Of a distribution's ``METADATA`` the name and the version (`mxenv.installed.metadata`)."""
    RECORD = "record"
    """Of its ``RECORD`` the digest, and what it installs at the top (`mxenv.installed.record`)."""
    ORIGIN = "origin"
    """Of its ``direct_url.json``, or conda's record of it, what tells no secret
    (`mxenv.installed.origin`)."""
    PROGRAM = "program"
    """Of a process's command line its Python (`mxenv.installed.program`)."""
    HEAD = "head"
    DIGEST = "digest"
    ELF = "elf"
    """Of a shared object what a dynamic linker reads first, as `mxenv.elf` writes it."""
    LINK = "link"
    """Not the content but where the path leads in the end, as `Link` has it."""

    __hash__ = str.__hash__
    """An enumeration's own is a function, called several times for every question."""


@frozen(kw_only=False)
class Found(Generic[T]):
    """What was asked for is there, and this is it."""

    value: T


Answer = Found[T] | Absent | Unreadable


@frozen(kw_only=False)
class Completed:
    """A command that ran to its end, or to its time limit; a failing command is an answer."""

    returncode: int
    stdout: str = ""
    stderr: str = ""

    @property
    def missing(self) -> bool:
        """True if there is no such command."""
        return self.returncode == NOT_FOUND

    @property
    def timed_out(self) -> bool:
        """True if the time limit ended it."""
        return self.returncode == TIMED_OUT


@frozen(kw_only=False)
class File:
    """The content of a file: text (``WHOLE``, ``HEAD``), what is wanted of it, or its SHA-256.

    ``limit`` is in bytes; of a larger file ``HEAD`` gives the first ``limit`` bytes, and all
    other texts are unreadable, but ``METADATA`` and ``PROGRAM``, which are taken from the first
    ``limit`` bytes as well. What ``BOOT``, ``RUNTIMES``, ``ORIGIN`` and ``PROGRAM`` leave out may
    be secret: a transport drops it as soon as it has read the file, and hands on the excerpt
    (`mxenv.excerpt`, `mxenv.installed`) of the whole text, the end of its last line included.
    Of ``RECORD`` the bytes count: its digest is that of the file.
    """

    path: str
    part: Part = Part.WHOLE
    limit: int = 1 << 20


@frozen(kw_only=False)
class Glob:
    """Every path that matches a pattern, each with the part of it that is wanted.

    ``*``, ``?`` and ``[…]`` match within one path segment, as in sh(1) (no leading dot); ``**``
    is not known. With ``part=None`` only the paths are wanted. No match at all is `Absent`. A
    directory on the way that cannot be looked into stands among the matches itself, unreadable.
    """

    pattern: str
    part: Part | None = None
    limit: int = 1 << 20


@frozen(kw_only=False)
class Link:
    """Where a path leads in the end (its real path inside the node), there or not."""

    path: str


@frozen(kw_only=False)
class Stat:
    """What kind of file lies there; a link at the end of the path is not followed."""

    path: str


@frozen(kw_only=False)
class Command:
    """An argv to run; only those on a read-only allow-list are ever run."""

    argv: tuple[str, ...]
    seconds: float = 10.0


@frozen(kw_only=False)
class Env:
    """The value of an environment variable."""

    name: str


@frozen(kw_only=False)
class Space:
    """How many bytes are free on the file system that holds a path."""

    path: str


@frozen(kw_only=False)
class Symbols:
    """The symbols that a shared object needs and none of ``providers`` defines, one a line."""

    path: str
    providers: tuple[str, ...]
    """Paths of shared objects, in the order in which a dynamic linker would look."""


@frozen(kw_only=False)
class Option:
    """What whoever asks wants beyond the usual; it is no node that answers it."""

    name: str


Question = File | Glob | Link | Stat | Command | Env | Space | Symbols | Option


@frozen(kw_only=False)
class Status:
    """What ``stat(2)`` says of a path."""

    kind: str
    """``file``, ``directory``, ``link``, ``char``, ``block``, ``fifo`` or ``socket``."""
    size: int = 0
    mode: int = 0
    """The permission bits."""


Matches = tuple[tuple[str, Answer[str]], ...]
"""The paths that a `Glob` matched, sorted, each with its content (empty if only paths)."""
Given = Answer[str] | Answer[Matches] | Answer[Status] | Answer[int] | Completed


@frozen(kw_only=False)
class Answers:
    """What came back for every question that was asked."""

    given: Mapping[Question, Given] = field(default_factory=dict)
    otherwise: Unreadable = NOT_ASKED
    """The answer to every other question."""
    patience: Patience = field(default=ENDLESS, compare=False)
    """How long whoever looks at them may take; `Late` ends that."""

    @overload
    def __getitem__(self, question: Command) -> Completed | Unreadable: ...
    @overload
    def __getitem__(self, question: Glob) -> Answer[Matches]: ...
    @overload
    def __getitem__(self, question: Stat) -> Answer[Status]: ...
    @overload
    def __getitem__(self, question: Space) -> Answer[int]: ...
    @overload
    def __getitem__(self, question: File | Link | Env | Symbols | Option) -> Answer[str]: ...
    def __getitem__(self, question: Question) -> Given:
        """Return the answer to ``question``; one that was never asked is unreadable.

        Raise `mxenv.patience.Late` if nobody waits any more.
        """
        self.patience.check()
        return self.given.get(question, self.otherwise)

    def __iter__(self) -> Iterator[Question]:
        """Yield every question that has an answer."""
        return iter(self.given)

    def __or__(self, other: Answers) -> Answers:
        """Return the answers of both; where both know, ``other`` counts."""
        return replace(self, given={**self.given, **other.given})

    def each(self, items: Iterable[T]) -> Iterator[T]:
        """Yield ``items``, of which there may be many, for as long as somebody waits."""
        return self.patience.each(items)
