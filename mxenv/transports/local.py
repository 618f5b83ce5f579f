"""This machine, as seen by this process."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from mxenv.errors import UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.question import Answers, Command, Env, Found, Space
from mxenv.transports import Transport
from mxenv.transports._commands import run
from mxenv.transports._disk import DiskTree
from mxenv.transports._tree import Walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.probe import Host
    from mxenv.question import Answer, Given, Question
    from mxenv.transports import Allowed, Terms

READERS = 4
"""Threads that read files, at most: one to begin with, since on a fast disk more are slower."""
RUNNERS = 6
"""Commands that run at once; a vendor's tool may take a second to start."""
SECONDS = 20.0
"""How long one question about files may take: a dead network mount answers never."""
GRACE = 2.0
"""Seconds more for what was told to stop, until it is left behind."""


@dataclass(frozen=True, slots=True)
class LocalHost:
    """This machine."""

    allowed: Allowed
    environment: Mapping[str, str]
    seconds: float = SECONDS
    name: str = field(default_factory=lambda: os.uname().nodename)
    view: View = View.HOST
    _walker: Walker = field(default_factory=lambda: Walker(DiskTree()))

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer every question; commands run meanwhile, and none waits for a slow one."""
        return _Work(self).done(dict.fromkeys(questions))

    def answer(self, question: Question, stop: threading.Event) -> Given:
        """Answer one question."""
        match question:
            case Command():
                return run(question, self.allowed, self.environment, stop)
            case Env(name):
                value = self.environment.get(name)
                return Absent() if value is None else Found(value)
            case Space(path):
                return _space(path)
            case _:
                return self._walker.answer(question)

    def limit(self, question: Question) -> float:
        """Return how many seconds ``question`` may take before it is given up."""
        return question.seconds + GRACE if isinstance(question, Command) else self.seconds


class _Work:
    """Questions that are being answered by threads; one that hangs is left behind."""

    def __init__(self, host: LocalHost) -> None:
        self._host = host
        self._answered: SimpleQueue[tuple[Question, Given]] = SimpleQueue()
        self._started: dict[Question, float] = {}
        self._stop = threading.Event()
        self._through = threading.Event()
        """Set by a thread that has nothing left to do: until then nobody is woken by an answer,
        which would cost more than most answers do."""
        self._threads: list[threading.Thread] = []
        self._readers = 1

    def done(self, questions: Iterable[Question]) -> Answers:
        """Return all answers; what was not answered in time has a passing reason."""
        pending = set(questions)
        given: dict[Question, Given] = {}
        queues = self._queues(pending)
        try:
            for queue, threads in queues:
                self._serve(queue, min(threads, queue.qsize()))
            while pending:
                for question, answer in self._next(pending, queues):
                    given[question] = answer
                    pending.discard(question)
        except BaseException:
            # Ctrl-C: what runs is ended before we are.
            self._stop.set()
            deadline = time.monotonic() + GRACE
            for thread in self._threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            raise
        self._stop.set()
        return Answers({question: given[question] for question in questions})

    def _queues(self, questions: set[Question]) -> list[tuple[SimpleQueue[Question], int]]:
        commands: SimpleQueue[Question] = SimpleQueue()
        files: SimpleQueue[Question] = SimpleQueue()
        for question in questions:
            (commands if isinstance(question, Command) else files).put(question)
        return [(commands, RUNNERS), (files, self._readers)]

    def _next(
        self, pending: set[Question], queues: list[tuple[SimpleQueue[Question], int]]
    ) -> Iterator[tuple[Question, Given]]:
        woken = self._through.wait(0.2)
        self._through.clear()
        answers = list(self._arrived())
        yield from ((question, answer) for question, answer in answers if question in pending)
        if woken:
            return
        if not answers and self._readers < READERS:
            # A slow file system: others read on meanwhile.
            self._readers += 1
            self._serve(queues[-1][0], 1)
        now = time.monotonic()
        for late in list(pending):
            if now - self._started.get(late, now) > self._host.limit(late):
                yield late, Unreadable("not answered in time", passing=True)
                # Its thread may never come back, so another takes up what is left.
                for queue, _ in queues:
                    self._serve(queue, 1)

    def _arrived(self) -> Iterator[tuple[Question, Given]]:
        with suppress(Empty):
            while True:
                yield self._answered.get_nowait()

    def _serve(self, queue: SimpleQueue[Question], threads: int) -> None:
        for _ in range(threads):
            # Not a pool: its threads would be waited for when the program ends.
            thread = threading.Thread(target=self._work, args=(queue,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self, queue: SimpleQueue[Question]) -> None:
        while not self._stop.is_set():
            try:
                question = queue.get_nowait()
            except Empty:
                self._through.set()
                return
            self._started[question] = time.monotonic()
            try:
                answer = self._host.answer(question, self._stop)
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


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    if rest:
        raise UsageError(
            f"'local:' is this machine and nothing follows it, not {rest!r}",
            hint="for a mounted root file system say root:DIR",
        )
    yield LocalHost(terms.allowed, os.environ)


TRANSPORT = Transport(title="this machine", address="", open=_open)
