"""A node as it answered once: a folder or a tar.gz that `mxenv record`, or somebody, made."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, assert_never

from mxenv import installed, recording
from mxenv.errors import RecordingError, UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.question import (
    NOT_FOUND,
    Answers,
    Command,
    Completed,
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
from mxenv.recording import Entry
from mxenv.transports import Transport
from mxenv.transports._disk import DiskTree
from mxenv.transports._memory import directories
from mxenv.transports._tree import DIRECTORY, Unanswered, Walker, of_an_image

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime

    from mxenv.probe import Host
    from mxenv.question import Answer, Given, Question
    from mxenv.recording import Recording
    from mxenv.transports import Terms
    from mxenv.transports._tree import Tree

NOT_RECORDED = Unreadable("not recorded")
LARGEST = 64 << 20
"""Bytes in a document of a recording."""
MODES = {"file": 0o644, "directory": 0o755, "link": 0o777}
"""What a version control system keeps of a mode is not what the node had."""


@dataclass(frozen=True, slots=True)
class RecordedTree:
    """The files of a recording, and the paths that are known without their content."""

    kept: Tree
    recording: Recording
    implied: Mapping[str, frozenset[str]]
    """The names in each directory that a known path lies in."""

    def lstat(self, path: str) -> Status | None:
        """Say what lies at ``path``; `Stat` itself is answered from what was recorded of it."""
        entry = self.recording.paths.get(path)
        status = self.kept.lstat(path)
        if status is not None:
            return Status(status.kind, status.size, MODES.get(status.kind, 0))
        if path in self.implied:
            return DIRECTORY
        if entry is not None and entry.kind not in {"", "link"}:
            return Status(entry.kind, entry.size, entry.mode)
        if path in self.recording.unreadable:
            return Status("file")
        if entry is not None:
            return Status("path of which no more was recorded")
        self._look_into(path.rpartition("/")[0])
        return None

    def readlink(self, path: str) -> str:
        """Return the text of a link."""
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


@dataclass(frozen=True, slots=True)
class RecordingHost:
    """A node that answers as it did when it was recorded."""

    recording: Recording
    tree: Tree

    @property
    def name(self) -> str:
        """The node's name."""
        return self.recording.node

    @property
    def view(self) -> View:
        """What was looked at."""
        return self.recording.view

    @property
    def taken_at(self) -> datetime:
        """When it was recorded."""
        return self.recording.taken_at

    @property
    def options(self) -> Mapping[str, str]:
        """What was wanted then beyond the usual."""
        return self.recording.options

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Look every answer up."""
        walker = Walker(self.tree)
        return Answers({question: self._answer(question, walker) for question in questions})

    def _answer(self, question: Question, walker: Walker) -> Given:
        given = self._recorded(question, walker)
        if not isinstance(given, Absent):
            return given
        if self.view is View.IMAGE and (reason := of_an_image(question)) is not None:
            return reason
        if not self.recording.knows(question):
            return NOT_RECORDED
        return Completed(NOT_FOUND) if isinstance(question, Command) else given

    def _recorded(self, question: Question, walker: Walker) -> Given:
        """Return the answer; `Absent` stands for all that is missing."""
        reason = self.recording.unreadable.get(recording.place(question))
        match question:
            case Command(argv):
                given: Given | None = self.recording.commands.get(argv)
            case Env(name):
                value = self.recording.environment.get(name)
                given = None if value is None else Found(value)
            case Space(path):
                free = self._entry(path).space
                given = None if free is None else Found(free)
            case Stat(path):
                entry = self._entry(path)
                given = Found(Status(entry.kind, entry.size, entry.mode)) if entry.kind else None
            case Symbols() | Option():
                given = reason or NOT_RECORDED
            case Glob():
                given = None if reason else self._glob(question, walker)
            case Link(path):
                given = self._part(walker, path, Part.LINK)
            case File(path, part, limit):
                given = self._part(walker, path, part, limit)
            case _:
                assert_never(question)
        if given is None:
            given = reason or (walker.answer(question) if isinstance(question, Stat) else Absent())
        return given

    def _entry(self, path: str) -> Entry:
        return self.recording.paths.get(path, Entry())

    def _glob(self, glob: Glob, walker: Walker) -> Given:
        if glob.part not in {Part.DIGEST, Part.LINK, Part.RECORD}:
            return walker.answer(glob)
        paths = walker.answer(Glob(glob.pattern))
        if not isinstance(paths, Found) or not isinstance(paths.value, tuple):
            return paths
        parts = ((path, self._part(walker, path, glob.part, glob.limit)) for path, _ in paths.value)
        return Found(tuple(parts))

    def _part(  # noqa: PLR0911 - one for each way in which a part was kept
        self, walker: Walker, path: str, part: Part, limit: int = 0
    ) -> Answer[str]:
        """Return a part of a file: a digest and a link as they were read, all else by the tree."""
        entry = self._entry(path)
        match part:
            case Part.DIGEST if entry.sha256:
                return Found(entry.sha256)
            case Part.RECORD if entry.sha256:
                return _record(entry.sha256, walker.part(path, Part.WHOLE, limit))
            case Part.LINK if entry.link:
                return Found(entry.link)
            case Part.DIGEST | Part.LINK | Part.RECORD if path in self.recording.unreadable:
                return self.recording.unreadable[path]
            case Part.WHOLE if entry.head and path in self.recording.unreadable:
                return self.recording.unreadable[path]
            case Part.DIGEST | Part.LINK | Part.RECORD if self.recording.asked is not None:
                # Masked content has another digest, and links were not kept as such.
                there = walker.part(path, Part.LINK)
                return NOT_RECORDED if isinstance(there, Found) else there
            case _:
                return walker.part(path, part, limit)


def _record(sha256: str, kept: Answer[str]) -> Answer[str]:
    """Return the excerpt of a list of files whose digest is that of the whole list."""
    if not isinstance(kept, Found):
        return kept
    return Found(f"{sha256}\n{installed.names(kept.value)}")


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:  # noqa: ARG001 - every transport's signature
    if not rest:
        raise UsageError("'recording:' names no recording", hint="say recording:DIR")
    path = Path(rest)
    try:
        missing = not path.exists()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", "") or str(error)
        raise RecordingError(f"cannot be read: {said.lower()}", context=rest) from None
    if missing:
        raise UsageError("there is no such recording", context=f"recording:{rest}")
    yield RecordingHost(*_read(path, rest))


def _read(path: Path, context: str) -> tuple[Recording, RecordedTree]:
    whole = _whole(path)
    documents = {}
    for name in recording.DOCUMENTS:
        text = _text(whole, name, context)
        if text is not None:
            documents[name] = text
    parsed = recording.parse(documents, context=context)
    root = whole.lstat(f"/{recording.ROOT}")
    if root is not None and root.kind != "directory":
        place = f"{context}/{recording.ROOT}"
        raise RecordingError(f"not a directory but a {root.kind}", context=place)
    known = [*parsed.paths, *(at for at in parsed.unreadable if at.startswith("/"))]
    return parsed, RecordedTree(_Below(whole, f"/{recording.ROOT}"), parsed, directories(known))


def _whole(path: Path) -> Tree:
    if path.is_dir():
        return DiskTree(os.fspath(path.resolve()))
    if not path.is_file():
        raise RecordingError("neither a folder nor a file", context=os.fspath(path))
    from mxenv.transports import _archive  # noqa: PLC0415 - imported late: most are folders

    return _archive.read(path)


def _text(whole: Tree, name: str, context: str) -> str | None:
    """Return a document of a recording, `None` if it has none of that name."""
    place = f"{context}/{name}"
    try:
        status = whole.lstat(f"/{name}")
        if status is None:
            return None
        if status.kind != "file" or status.size > LARGEST:
            raise RecordingError("not a file of reasonable size", context=place)
        with whole.open(f"/{name}") as file:
            return file.read(LARGEST).decode()
    except UnicodeDecodeError as error:
        raise RecordingError(f"not UTF-8 (byte {error.start})", context=place) from None
    except (OSError, Unanswered) as error:
        said = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise RecordingError(f"cannot be read: {said.lower()}", context=place) from None


@dataclass(frozen=True, slots=True)
class _Below:
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


TRANSPORT = Transport(title="a recorded node", address="DIR or FILE.tar.gz", open=_open)
