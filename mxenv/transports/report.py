"""A bug report that somebody pasted: what was printed on a node, between whatever was written."""

from __future__ import annotations

import errno
import math
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mxenv import _files
from mxenv.errors import InvalidFile, UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.frozen import frozen
from mxenv.question import Answers, Command, Env, Found, Glob, Link, Space, Stat
from mxenv.transports import Transport
from mxenv.transports import _report_answers as answered
from mxenv.transports._report_text import decoded
from mxenv.transports._tree import Walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.probe import Host
    from mxenv.question import Given, Question
    from mxenv.transports import Terms
    from mxenv.transports._report_answers import Report

LARGEST = 16 << 20
"""Bytes in a report; the largest that a forge takes has a hundredth of it."""
LINES = 100_000
STDIN = "-"
CUT = "paste only what shows how the node is made, and leave logs out"


@frozen(kw_only=False)
class ReportHost:
    """A node as a report shows it: of what is not in the report, nothing is known."""

    name: str
    report: Report
    deadline: float = math.inf
    """When all has to be over."""

    @property
    def view(self) -> View:
        """Whose view it is."""
        return self.report.view

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer what the report answers."""
        walker = Walker(self.report.tree)
        return Answers({question: self._answer(question, walker) for question in questions})

    def _answer(self, question: Question, walker: Walker) -> Given:
        match question:
            case Command(argv):
                return self.report.outputs.get(argv, answered.MISSING)
            case Env(name):
                return _found(self.report.variables, name)
            case Link(path):
                return _found(self.report.links, path)
            case Stat(path):
                return self.report.directories.get(path, answered.MISSING)
            case Glob(part=part) if part is None or question in self.report.globs:
                # What lies in a directory beside what was shown of it, a report never says.
                matches = self.report.globs.get(question)
                return Found(matches) if matches else answered.MISSING
            case _:
                given = None if isinstance(question, Space) else walker.answer(question)
                return answered.MISSING if given is None or isinstance(given, Absent) else given


def _found(known: dict[str, str | Unreadable], name: str) -> Found[str] | Unreadable:
    value = known.get(name, answered.MISSING)
    return Found(value) if isinstance(value, str) else value


@frozen(kw_only=False)
class DatedReportHost:
    """A node as a report shows it that says when it was so."""

    host: ReportHost
    taken_at: datetime

    @property
    def name(self) -> str:
        """The node's name."""
        return self.host.name

    @property
    def view(self) -> View:
        """Whose view it is."""
        return self.host.view

    @property
    def deadline(self) -> float:
        """When all has to be over."""
        return self.host.deadline

    def gather(self, questions: Iterable[Question]) -> Answers:
        """Answer what the report answers."""
        return self.host.gather(questions)


@contextmanager
def _open(rest: str, terms: Terms) -> Iterator[Host]:
    deadline = time.monotonic() + (math.inf if terms.seconds is None else terms.seconds)
    if not rest:
        raise UsageError("'report:' names no file", hint="say report:FILE, or report:- to paste it")
    text = decoded(_content(rest))
    if text.count("\n") > LINES:
        raise UsageError(f"more than {LINES:,} lines", context=f"report:{rest}", hint=CUT)
    report = answered.understood(text)
    if report.machines:
        raise InvalidFile(
            f"shows several machines: {', '.join(report.machines)}",
            context=f"report:{rest}",
            hint="make a file of each: what is of one is not of the other",
        )
    name = "report" if rest == STDIN else Path(rest).stem or Path(rest).name
    host = ReportHost(name, report, deadline)
    date = _date(report.dates)
    yield host if date is None else DatedReportHost(host, date)


def _content(rest: str) -> bytes:
    try:
        if rest == STDIN:
            return _whole(sys.stdin.buffer)
        return _files.read(Path(rest), limit=LARGEST)
    except (OSError, ValueError) as error:
        large = isinstance(error, ValueError) or error.errno == errno.EFBIG
        raise UsageError(
            f"cannot be read: {_files.why(error)}",
            context=f"report:{rest}",
            hint=CUT if large else "say report:FILE, with the file that the text was saved in",
        ) from None


def _whole(file: BinaryIO) -> bytes:
    content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise ValueError(f"larger than {LARGEST >> 20} MiB")
    return content


def _date(dates: Iterable[str]) -> datetime | None:
    """Return the latest time at which ``mx-smi`` was asked; its zone is not told, so it is UTC."""
    found = []
    for text in dates:
        try:
            found.append(datetime.strptime(text, "%a %b %d %H:%M:%S %Y").replace(tzinfo=UTC))
        except ValueError:
            continue
    return max(found, default=None)


TRANSPORT = Transport(title="a bug report, as it was pasted", address="FILE or -", open=_open)
