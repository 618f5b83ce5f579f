"""How an answer about a file becomes a reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, assert_never

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.question import Found, Stat

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.facts import Value
    from mxenv.question import Answer, Status

T = TypeVar("T")
EXCERPT = 60
DIGITS = 20
"""In the largest number that a kernel counts to."""
SYSFS = Stat("/sys/bus")
"""There wherever the kernel's view of its devices is to be seen at all."""


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


def line(text: str) -> str | None:
    """Return the one line that a file of the kernel holds; one that is cut short is none."""
    inner = text[:-1].strip(" \t\r")
    return inner if text.endswith("\n") and "\n" not in inner else None


def lines(text: str) -> list[str]:
    """Return the lines of a text without their ends; a last one that is cut short is none."""
    return text.split("\n")[:-1]


def number(text: str) -> int | None:
    """Return the whole number that is all of ``text``, if one of reasonable size is."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else None


def running(answer: Answer[str]) -> Answer[str]:
    """Return what was said of a file that every kernel shows: one that is missing is hidden."""
    return Unreadable("/proc is not to be seen") if isinstance(answer, Absent) else answer


def visible(answer: Answer[T], sysfs: Answer[Status]) -> Answer[T]:
    """Return what was said of /sys: that something is not there counts only if /sys itself is."""
    if not isinstance(answer, Absent) or isinstance(sysfs, Found):
        return answer
    return sysfs if isinstance(sysfs, Unreadable) else Unreadable("/sys is not to be seen")


def best(*readings: Reading) -> Reading:
    """Return what was read, else what could not be read, else that it is absent."""
    for kind in (Observed, Unreadable, Absent):
        for reading in readings:
            if isinstance(reading, kind):
                return reading
    return Unreadable("not asked")
