"""This machine, as seen by this process."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from mxenv.errors import UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.frozen import slotted
from mxenv.question import TOO_MUCH, Answers, Command, Completed, Env, Found, Space
from mxenv.transports import Terms, Transport
from mxenv.transports._commands import DIRECTORIES, Runner
from mxenv.transports._disk import DiskTree
from mxenv.transports._tree import Walker
from mxenv.transports._watched import GRACE, LATE, Watch, WatchedTree, until, weight

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.probe import Host
    from mxenv.question import Answer, Given, Question

READERS = 1
"""Threads that read files, to begin with: on a fast disk more are slower."""
RUNNERS = 6
"""Commands that run at once, to begin with; a vendor's tool may take a second to start."""
MOST = 24
"""Threads of each kind; another one starts when nothing was answered for `PAUSE`."""
PAUSE = 0.2
SECONDS = 15.0
"""How long all of the asking may take: a dead network mount answers never."""
SHARE = 0.6
"""Of the time that is left, for one round: what hangs in it does not cost the rounds after it."""
CARRIED = 48 << 20
"""Bytes of all answers together; twenty environments of 300 distributions give half of it."""


@slotted(kw_only=True)
class LocalHost:
    """This machine."""

    watch: Watch
    runner: Runner
    environment: Mapping[str, str]
    walker: Walker
    root: str = ""
    asker: threading.Event = field(default_factory=threading.Event)
    """Set when whoever asks has gone."""
    name: str = field(default_factory=lambda: os.uname().nodename)
    view: View = View.HOST
    carried: int = 0

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.watch.end

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer every question; commands run meanwhile, and none waits for a slow one."""
        return _Round(self).answers(dict.fromkeys(questions))

    def answer(self, question: Question, seconds: float) -> Given:
        """Answer one question, a command within ``seconds``."""
        match question:
            case Command():
                return self._ran(question, seconds)
            case Env(name):
                value = self.environment.get(name)
                return Absent() if value is None else Found(value)
            case Space(path):
                return _space(f"{self.root}{path}")
            case _:
                return self.walker.answer(question)

    def _ran(self, command: Command, seconds: float) -> Given:
        given = self.runner.run(command, min(seconds, command.seconds), self.watch.stop)
        # Whatever it had said by then is no answer: it was given less than it may need.
        cut = isinstance(given, Completed) and given.timed_out and seconds < command.seconds
        return Unreadable(LATE, passing=True) if cut else given

    def kept(self, given: Given) -> Given:
        """Return ``given``, unless it is more than can be carried with all that is there."""
        self.carried += (size := weight(given))
        if self.carried <= CARRIED:
            return given
        self.carried -= size
        return Unreadable(TOO_MUCH)

    def end(self) -> None:
        """End whatever was started and is not through."""
        self.watch.stop.set()
        self.runner.end()


class _Round:
    """Questions that are being answered by threads; one that hangs is left behind."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host
        self._answered: SimpleQueue[tuple[Question, Given]] = SimpleQueue()
        self._deadline = time.monotonic() + host.watch.left() * SHARE
        self._through = threading.Event()
        """Set by a thread that has nothing left to do: until then nobody is woken by an answer,
        which would cost more than most answers do."""
        self._threads: list[threading.Thread] = []
        self._commands: SimpleQueue[Question] = SimpleQueue()
        self._files: SimpleQueue[Question] = SimpleQueue()

    def answers(self, questions: Iterable[Question]) -> Answers:
        """Return all answers; what was not answered in time has a passing reason."""
        # In the order in which they were asked: what matters most comes first.
        pending = dict.fromkeys(questions)
        given: dict[Question, Given] = {}
        for question in pending:
            (self._commands if isinstance(question, Command) else self._files).put(question)
        try:
            self._serve(self._commands, RUNNERS)
            self._serve(self._files, READERS)
            while pending and not self._over():
                for question, answer in self._next():
                    given[question] = self._host.kept(answer)
                    pending.pop(question, None)
        except BaseException:
            # Ctrl-C: what runs is ended before we are.
            self._host.watch.stop.set()
            self._join(GRACE)
            raise
        if pending:
            self._leave()
        late = Unreadable(LATE, passing=True)
        return Answers({question: given.get(question, late) for question in questions})

    def _over(self) -> bool:
        if self._host.asker.is_set():
            self._host.watch.stop.set()
        return self._host.watch.stop.is_set() or time.monotonic() > self._deadline

    def _leave(self) -> None:
        """Start nothing more, and wait for what is being ended."""
        for queue in (self._commands, self._files):
            with suppress(Empty):
                while True:
                    queue.get_nowait()
        self._join(GRACE / 2, kind="command")

    def _join(self, seconds: float, *, kind: str = "") -> None:
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            if thread.name.startswith(kind):
                thread.join(max(0.0, deadline - time.monotonic()))

    def _next(self) -> Iterator[tuple[Question, Given]]:
        left = max(0.0, self._deadline - time.monotonic())
        woken = self._through.wait(min(PAUSE, left))
        self._through.clear()
        answers = list(self._arrived())
        yield from answers
        if not woken and not answers:
            # A slow file system, or one that hangs, or a tool that does: others go on meanwhile.
            self._serve(self._commands, 1)
            self._serve(self._files, 1)

    def _arrived(self) -> Iterator[tuple[Question, Given]]:
        with suppress(Empty):
            while True:
                yield self._answered.get_nowait()

    def _serve(self, queue: SimpleQueue[Question], threads: int) -> None:
        kind = "command" if queue is self._commands else "file"
        serving = sum(thread.is_alive() for thread in self._threads if thread.name == kind)
        for _ in range(min(threads, queue.qsize(), MOST - serving)):
            # Not a pool: its threads would be waited for when the program ends.
            thread = threading.Thread(target=self._work, args=(queue,), name=kind, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self, queue: SimpleQueue[Question]) -> None:
        self._host.watch.hurry(self._deadline)
        while True:
            try:
                question = queue.get_nowait()
            except Empty:
                self._through.set()
                return
            seconds = max(0.0, self._deadline - time.monotonic())
            try:
                answer = self._host.answer(question, seconds)
            except Exception as error:  # noqa: BLE001 - costs this question and no other
                answer = Unreadable(f"could not be asked ({type(error).__name__}: {error})")
            self._answered.put((question, answer))


def _space(path: str) -> Answer[int]:
    try:
        free = os.statvfs(path)
    except FileNotFoundError:
        return Absent()
    except OSError as error:
        return Unreadable((error.strerror or str(error)).lower())
    return Found(free.f_bavail * free.f_frsize)


def host(
    terms: Terms,
    environment: Mapping[str, str],
    *,
    root: str = "",
    directories: tuple[str, ...] = DIRECTORIES,
) -> LocalHost:
    """Return this machine, its clock running; its files from ``root`` down, its tools in there."""
    seconds = SECONDS if terms.seconds is None else terms.seconds
    disk = DiskTree(root)
    watch = until(time.monotonic() + seconds, threading.Event())
    return LocalHost(
        watch=watch,
        runner=Runner(terms.allowed, environment, directories),
        environment=environment,
        walker=Walker(WatchedTree(disk, watch), sorts=disk.sorts),
        root=root,
        asker=terms.stop,
    )


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    if rest:
        raise UsageError(
            f"'local:' is this machine and nothing follows it, not {rest!r}",
            hint="for a mounted root file system say root:DIR",
        )
    machine = host(terms, os.environ)
    try:
        yield machine
    finally:
        machine.end()


TRANSPORT = Transport(title="this machine", address="", open=_open)
