"""How good the news is: outcomes, the findings behind them, and a verdict over all of them."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from datetime import date

    from mxenv.shares import Shares


class Outcome(IntEnum):
    """Ordered so that ``min`` is "and"."""

    INCOMPATIBLE = 0
    UNKNOWN = 1
    COMPATIBLE = 2

    @property
    def word(self) -> str:
        """Return the lower-case name, as files and reports have it."""
        return self.name.lower()


@frozen
class Evidence:
    """Who says so, where, when, and how it is known."""

    link: str
    who: str
    when: str = ""
    """ISO date, or a revision of the source, or empty if the source has none."""
    grade: str
    """``vendor``, ``partner``, ``os-vendor``, ``third-party``, ``observed`` or ``site``."""


@frozen
class Waiver:
    """A finding that somebody answers for, until a day."""

    code: str
    subject: str = ""
    """What the waived finding must be about; empty: any subject."""
    reason: str
    owner: str
    expires: date

    def holds(self, today: date) -> bool:
        """Tell whether the waiver counts; on its last day it does."""
        return today <= self.expires


@frozen(order=True)
class Place:
    """Where in a file something stands."""

    file: str
    """As reports name it: relative to where mxenv runs, if it lies below."""
    line: int = 1
    """The first is 1."""

    def __str__(self) -> str:
        """Return ``file:line``."""
        return f"{self.file}:{self.line}"


@frozen
class Finding:
    """One thing that was checked, and what came of it."""

    code: str
    """Stable, as ``MX101``; `mxenv explain` knows each."""
    outcome: Outcome
    subject: str
    """What it is about: a component or a fact's label."""
    found: str
    """What is there, with its source and view."""
    expected: str = ""
    because: tuple[Evidence, ...] = ()
    remedy: str = ""
    """What to do, a command where one exists."""
    row: str = ""
    """The matrix row, as ``metax.toml:rule:wheel-same-maca``."""
    advice: bool = False
    """True if nobody could look, or all may be well without it: told, and counted neither way."""
    waiver: Waiver | None = None
    """Set if the finding stands but does not count."""
    place: Place | None = None
    """Where in a file it is to be corrected, if a line of one says it."""

    @property
    def word(self) -> str:
        """Return what came of it in a word, for people."""
        if self.waiver is not None:
            return "waived"
        return "advice" if self.advice else self.outcome.word

    @property
    def counts(self) -> bool:
        """Return whether a verdict follows from it: nobody answers for it, somebody could look."""
        return self.waiver is None and not self.advice


@frozen
class Verdict:
    """Everything that was checked about one thing."""

    subject: str
    """The node, image or lock that was judged."""
    findings: tuple[Finding, ...]
    matrix: str = ""
    """The digest of the matrix that was used, if any."""
    shares: Shares | None = None
    """Of a model: how much of its operators is in which class."""

    @property
    def outcome(self) -> Outcome:
        """The worst finding; having checked nothing is not compatibility."""
        return min((f.outcome for f in self.findings if f.counts), default=Outcome.UNKNOWN)
