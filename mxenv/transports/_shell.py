"""A node that is asked through one POSIX shell on it, whatever carries the shell's streams."""

from __future__ import annotations

import io
import re
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING, assert_never

from mxenv import installed
from mxenv.facts import Absent, Unreadable, View
from mxenv.frozen import slotted
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
    Symbols,
)
from mxenv.transports._commands import clean, permitted
from mxenv.transports._parts import taken
from mxenv.transports._shell_ahead import foreseen
from mxenv.transports._shell_looks import looks, prefix
from mxenv.transports._shell_talk import Lost, Talk
from mxenv.transports._shell_tree import ShellTree
from mxenv.transports._tree import Unanswered, Walker
from mxenv.transports._watched import LATE, Watch, until, weight
from mxenv.transports.local import CARRIED, SHARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.question import Answer, Given, Matches, Question
    from mxenv.transports import Allowed, Terms
    from mxenv.transports._shell_pipe import Pipe

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
REFUSED = Unreadable("not on the list of commands that only read")
FEW = 500
"""Things that one question may ask for without having to wait for others."""
MANY = 4000
"""Things that are asked for at once, if there are questions that ask for more than a few."""
NOT_BINARY = "a shell does not read the tables of a binary file; ask on the node itself"


@slotted(kw_only=True)
class ShellHost:
    """A node as its shell tells of it."""

    talk: Talk
    name: str
    allowed: Allowed
    loads: Mapping[str, str]
    """Of the node's environment what may say which libraries a vendor's tool loads."""
    variables: Mapping[str, str] | None = None
    """The environment, if something better than the shell knows it."""
    view: View = View.HOST
    tree: ShellTree = field(default_factory=ShellTree)
    walker: Walker = field(init=False)
    carried: int = 0

    def __post_init__(self) -> None:
        self.walker = Walker(self.tree)

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.talk.watch.end

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer every question; commands run while files are looked at."""
        asked = tuple(dict.fromkeys(questions))
        whole = self.talk.watch
        self.talk.watch = Watch(time.monotonic() + whole.left() * SHARE, whole.stop, whole.end)
        try:
            given = self._answers(asked)
        finally:
            self.talk.watch = whole
            self.tree.forget()
        missing = Unreadable(self._why(), passing=True)
        return Answers({question: self._kept(given.get(question, missing)) for question in asked})

    def _answers(self, asked: Iterable[Question]) -> dict[Question, Given]:
        commands = [question for question in asked if isinstance(question, Command)]
        may = [command for command in commands if permitted(command.argv, self.allowed)]
        given: dict[Question, Given] = dict.fromkeys(commands, REFUSED)
        runs = self.talk.board.start(may, clean(self.loads)) if may else {}
        with suppress(Lost):
            self._look([q for q in asked if not isinstance(q, Command)], given)
        self.talk.settle()
        return given | {command: run.result(self._why()) for command, run in runs.items()}

    def _why(self) -> str:
        """Return why what was not answered was not."""
        return f"the node answers no more: {self.talk.lost}" if self.talk.lost else LATE

    def _kept(self, given: Given) -> Given:
        self.carried += (size := weight(given))
        if self.carried <= CARRIED:
            return given
        self.carried -= size
        return Unreadable(TOO_MUCH)

    def _look(self, questions: Iterable[Question], given: dict[Question, Given]) -> None:
        """Answer from what is known; ask for what is not, until nothing is missing."""
        pending = dict.fromkeys(questions, 0)
        ahead = list(pending)
        while pending:
            ahead = [
                question for question in ahead if not foreseen(self.walker, self.tree, question)
            ]
            pending = self._tried(pending, given)
            if self.tree.wanting > MANY and max(pending.values()) > FEW:
                # What asks for little is answered first, then one of the others after the other:
                # where time is short, most of them are known, and not the half of each.
                self.tree.satisfied()
                ahead = []
                pending = self._tried(pending, given)
            if pending:
                try:
                    self._ask()
                except Lost:
                    # What came before the end is worth no less.
                    self._tried(dict.fromkeys(pending, 0), given)
                    raise

    def _tried(
        self, questions: Mapping[Question, int], given: dict[Question, Given]
    ) -> dict[Question, int]:
        """Answer what can be answered from what is known; return the rest.

        Of each question it is known how much it asked for when it was last tried; one that asked
        for much has to wait while enough is asked for.
        """
        later: dict[Question, int] = {}
        for question in sorted(questions, key=questions.__getitem__):
            if (asked := questions[question]) > FEW and self.tree.wanting > MANY:
                later[question] = asked
                continue
            before = self.tree.missed.times
            answer = self._answer(question)
            if self.tree.missed.times == before:
                given[question] = answer
            else:
                later[question] = self.tree.missed.times - before
        return later

    def _ask(self) -> None:
        wanted, setup = looks(self.tree, prefix())
        came = self.talk.ask([look.item for look in wanted], setup)
        for look, sections in zip(wanted, came, strict=True):
            look.take(sections)

    def _answer(self, question: Question) -> Given:
        try:
            return self._asked(question)
        except Unanswered as error:
            return error.answer
        except RecursionError:
            return Unreadable("its links are nested too deep")
        except ValueError as error:
            return Unreadable(f"not a path that can be asked for ({error})")

    def _asked(self, question: Question) -> Given:  # noqa: PLR0911 - one for each kind
        match question:
            case File(path, part, limit):
                return self._part(path, part, limit)
            case Glob(pattern, part, limit):
                return self._matches(pattern, part, limit)
            case Link() | Stat():
                return self.walker.answer(question)
            case Env(name):
                return self._variable(name)
            case Space(path):
                return self._space(path)
            case Symbols():
                return Unreadable(NOT_BINARY)
            case Command() | Option():
                return Unreadable("not a question for a shell's files")
            case _:
                assert_never(question)

    def _matches(self, pattern: str, part: Part | None, limit: int) -> Answer[Matches]:
        only_paths = Glob(pattern)
        paths = Answers({only_paths: self.walker.answer(only_paths)})[only_paths]
        if part is None or not isinstance(paths, Found):
            return paths

        def attempt(path: str) -> Answer[str]:
            try:
                return self._part(path, part, limit)
            except Unanswered as error:
                return error.answer

        return Found(
            tuple(
                (path, attempt(path) if isinstance(there, Found) else there)
                for path, there in paths.value
            )
        )

    def _part(self, path: str, part: Part, limit: int) -> Answer[str]:
        """Return a part of the file that ``path`` leads to, or why not."""
        if part is Part.LINK:
            return self.walker.part(path, part)
        place = self.walker.find(path)
        if place.status is None:
            return Absent()
        if place.status.kind != "file":
            return Unreadable(f"not a file but a {place.status.kind}")
        return self._content(place.path, part, limit)

    def _content(self, path: str, part: Part, limit: int) -> Answer[str]:
        match part:
            case Part.ELF:
                return Unreadable(NOT_BINARY)
            case Part.DIGEST:
                return Found(self.tree.digests.get(path))
            case Part.PACKAGES:
                content = self.tree.packages.get((path, limit))
                return taken(io.BytesIO(content), part, limit)
            case Part.RECORD if self.tree.size(path) <= limit:
                return self._record(path, limit)
            case _:
                return taken(self.tree.open(path), part, limit)

    def _record(self, path: str, limit: int) -> Answer[str]:
        """Return what is wanted of a ``RECORD``; thousands of them are too much to be carried."""
        told = self.tree.records.known.get(path, b"")
        if isinstance(told, Unreadable) or not self.tree.size(path):
            return taken(self.tree.open(path), Part.RECORD, limit)
        digest, lines = self.tree.digests, self.tree.records
        if path not in digest.known or path not in lines.known:
            digest.wanted[path] = None
        names = installed.names(lines.get(path).decode(errors="replace"))
        return Found(f"{digest.get(path)}\n{names}")

    def _variable(self, name: str) -> Answer[str]:
        if self.variables is not None:
            value = self.variables.get(name)
        elif NAME.fullmatch(name):
            value = self.tree.variables.get(name)
        else:
            return Unreadable("a shell has no variable of that name")
        return Absent() if value is None else Found(value)

    def _space(self, path: str) -> Answer[int]:
        place = self.walker.find(path)
        return Absent() if place.status is None else Found(self.tree.spaces.get(place.path))


@contextmanager
def opened(  # noqa: PLR0913 - what differs between the ways to a node
    pipe: Pipe,
    terms: Terms,
    *,
    deadline: float,
    name: str = "",
    view: View = View.HOST,
    variables: Mapping[str, str] | None = None,
) -> Iterator[ShellHost]:
    """Talk to the shell at the other end of ``pipe``; raise `Lost` if there is none.

    ``name`` is the node's if it does not say one itself.
    """
    talk = Talk(pipe, until(deadline, terms.stop))
    allowed = frozenset(terms.allowed)  # which has its time while the connection is made
    try:
        told, number, home, libraries = talk.hello()
        host = ShellHost(
            talk=talk,
            name=name or " ".join(told.split()) or "?",
            allowed=allowed,
            loads=variables or {"MACA_PATH": home, "LD_LIBRARY_PATH": libraries},
            variables=variables,
            view=view,
        )
        host.tree.itself(number)
        yield host
    finally:
        talk.close()
