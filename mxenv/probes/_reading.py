"""How an answer about a file becomes a reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.question import Found

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.facts import Value
    from mxenv.question import Answer

EXCERPT = 60


def understood(answer: Answer[str], parse: Callable[[str], Value | None], what: str) -> Reading:
    """Return what ``parse`` finds in the answer; `None` means that ``what`` is not in it."""
    match answer:
        case Found(text):
            value = parse(text)
            if value is None:
                return Unreadable(f"no {what} in it: {text[:EXCERPT]!r}")
            return Observed(value)
        case Absent() | Unreadable():
            return answer
        case _:
            assert_never(answer)


def running(answer: Answer[str]) -> Answer[str]:
    """Return what was said of a file that every kernel shows: one that is missing is hidden."""
    return Unreadable("/proc is not to be seen") if isinstance(answer, Absent) else answer


def best(*readings: Reading) -> Reading:
    """Return what was read, else what could not be read, else that it is absent."""
    for kind in (Observed, Unreadable, Absent):
        for reading in readings:
            if isinstance(reading, kind):
                return reading
    return Unreadable("not asked")
