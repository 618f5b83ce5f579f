"""Ways to write a result down: one file each, the format's name is the file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mxenv.comparison import Comparison
    from mxenv.facts import FactKey, Snapshot
    from mxenv.fleet import Fleet
    from mxenv.lock_difference import Locks
    from mxenv.matrix_table import Section
    from mxenv.verdict import Verdict


def plain(text: str, style: str) -> str:  # noqa: ARG001 - paper takes no paint
    """Return ``text`` without any style."""
    return text


@frozen
class Page:
    """What a result is written on; only formats for people look at it."""

    width: int = 0
    """Columns; 0 leaves every line as long as it is, so that ``grep`` finds it whole."""
    verbose: bool = False
    """True if findings that are fine are wanted one by one."""
    paint: Callable[[str, str], str] = plain
    """Gives a text a style, ``bold red`` or ``link …``, in whatever way the page knows."""


@frozen
class Report:
    """A format; a plug-in file holds one as ``REPORT``.

    Equal values on equal pages give equal text: no clock and no terminal is asked.
    """

    title: str
    verdicts: Callable[[Sequence[Verdict], Page], str]
    snapshot: Callable[[Snapshot, Mapping[str, FactKey], Page], str] | None = None
    """`None`: the format is for verdicts only."""
    comparison: Callable[[Comparison, Page], str] | None = None
    locks: Callable[[Locks, Page], str] | None = None
    fleet: Callable[[Fleet, Page], str] | None = None
    tables: Callable[[Sequence[Section], Page], str] | None = None
