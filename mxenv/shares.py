"""How much of a model's work becomes what: every class with its part, the unknown among them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.matrix_table import Section

if TYPE_CHECKING:
    from collections.abc import Iterator

HEAD = ("class", "operators", "calls", "share of calls")
LEAST, MOST = 0.1, 99.9
"""Percent; what is less is not none, and what is more is not all."""


@frozen
class Share:
    """One class of operators."""

    name: str
    operators: int
    """How many, kernels past the dispatcher among them."""
    calls: int
    """How often they are called in one run of every phase."""


@frozen
class Shares:
    """Every class, the worst first; none is left out because nothing is in it."""

    classes: tuple[Share, ...]
    gaps: int = 0
    """How many things of the model nobody has looked at: they are no part of any share."""

    @property
    def calls(self) -> int:
        """Return how many calls there are in all."""
        return sum(share.calls for share in self.classes)


def section(shares: Shares, title: str) -> Section:
    """Return the shares as a table."""
    return Section(kind="coverage", title=title, head=HEAD, rows=tuple(_rows(shares)))


def _rows(shares: Shares) -> Iterator[tuple[str, ...]]:
    total = shares.calls
    for one in shares.classes:
        part = percent(one.calls, total) if total else ""
        yield one.name, str(one.operators), str(one.calls), part
    if shares.gaps:
        things = f"{shares.gaps} thing{'s' * (shares.gaps != 1)} of the model"
        yield "not looked at", things, "", "no part of these"


def percent(part: int, whole: int) -> str:
    """Return a part in percent, in words that make no small thing nothing and no large one all."""
    value = 100 * part / whole
    if 0 < value < LEAST:
        return f"< {LEAST} %"
    if value > MOST and part < whole:
        return f"> {MOST} %"
    return f"{value:.1f} %"
