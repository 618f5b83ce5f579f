"""A node as it answered once: a folder or a tar.gz that `mxenv record`, or somebody, made."""

from __future__ import annotations

import math
import os
import time
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, assert_never

from mxenv import installed, recording
from mxenv.errors import RecordingError, UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.frozen import frozen
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
from mxenv.transports._recorded import Below, RecordedTree
from mxenv.transports._silent import of_an_image
from mxenv.transports._tree import Unanswered, Walker
from mxenv.transports._watched import LATE, Watch, WatchedTree, until

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
MAKE = "say recording:DIR, or recording:FILE.tar.gz; `mxenv record --out` makes one"


@frozen(kw_only=False)
class RecordingHost:
    """A node that answers as it did when it was recorded."""

    recording: Recording
    tree: Tree
    watch: Watch = field(default_factory=lambda: Watch(math.inf, Event()))

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.watch.end

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
        walker = Walker(WatchedTree(self.tree, self.watch))
        late = Unreadable(LATE, passing=True)
        return Answers(
            {
                question: self._answer(question, walker) if self.watch.left() else late
                for question in questions
            }
        )

    def _answer(self, question: Question, walker: Walker) -> Given:
        given = self._recorded(question, walker)
        if not isinstance(given, Absent):
            return NOT_RECORDED if self._partial(question, given) else given
        known = self.recording.knows(question)
        told = known and self.recording.asked is not None
        if not told and self.view is View.IMAGE and (reason := of_an_image(question)) is not None:
            return reason
        if not known:
            return NOT_RECORDED
        return Completed(NOT_FOUND) if isinstance(question, Command) else given

    def _partial(self, question: Question, given: Given) -> bool:
        """Return whether a listing is put together from what was asked for other reasons."""
        listing = isinstance(question, Glob) and question.part is None and isinstance(given, Found)
        asked = self.recording.asked
        return listing and asked is not None and recording.name(question) not in asked

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
                given = self._symbols(question) or reason or NOT_RECORDED
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

    def _symbols(self, question: Question) -> Found[str] | None:
        missing = self.recording.symbols.get(recording.name(question))
        return None if missing is None else Found("".join(f"{name}\n" for name in missing))

    def _object(self, walker: Walker, path: str) -> Answer[str]:
        """Return what was read of a shared object; it may lie in a recording itself."""
        text = self.recording.objects.get(path)
        if text is not None:
            return Found(text)
        question = File(path, Part.ELF)
        reason = self.recording.unreadable.get(recording.place(question))
        if reason is None and self.recording.asked is None:
            return walker.part(path, Part.ELF)
        return reason or Absent()

    def _entry(self, path: str) -> Entry:
        return self.recording.paths.get(path, Entry())

    def _glob(self, glob: Glob, walker: Walker) -> Given:
        if glob.part not in {Part.DIGEST, Part.LINK, Part.RECORD, Part.ELF}:
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
            case Part.ELF:
                return self._object(walker, path)
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
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    if not rest:
        raise UsageError("'recording:' names no recording", hint=MAKE)
    path = Path(rest)
    watch = until(
        time.monotonic() + (math.inf if terms.seconds is None else terms.seconds), terms.stop
    )
    try:
        missing = not path.exists()
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", "") or str(error)
        raise RecordingError(f"cannot be read: {said.lower()}", context=rest) from None
    if missing:
        raise UsageError("there is no such recording", context=f"recording:{rest}", hint=MAKE)
    yield RecordingHost(*_read(path, rest), watch)


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
    known = [
        *parsed.paths,
        *parsed.objects,
        *(at for at in parsed.unreadable if at.startswith("/")),
    ]
    return parsed, RecordedTree(Below(whole, f"/{recording.ROOT}"), parsed, directories(known))


def _whole(path: Path) -> Tree:
    if path.is_dir():
        return DiskTree(os.fspath(path.resolve()))
    if not path.is_file():
        raise RecordingError("neither a folder nor a file", context=os.fspath(path), hint=MAKE)
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


TRANSPORT = Transport(title="a recorded node", address="DIR or FILE.tar.gz", open=_open)
