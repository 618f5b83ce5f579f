"""In which number formats a card computes, by what the rows of a matrix say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv.matrix import FORMATS, SUPPORTS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.matrix import Format, Matrix

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """How a card computes in one format, and every row that speaks of it."""

    support: str
    """One of `mxenv.matrix.SUPPORTS`."""
    disputed: bool = False
    """True if sources contradict each other: the least that one of them says then counts."""
    rows: tuple[Format, ...] = ()


def support(matrix: Matrix, card: str, format: str) -> Support:  # noqa: A002 - what it is
    """Return how ``card`` computes in ``format``; of what no row speaks is unknown.

    A row that says ``unknown`` is somebody who looked and did not find out: it contradicts nobody.
    """
    rows = tuple(row for row in matrix.formats if card in row.cards and format in row.formats)
    said = {row.support for row in rows} - {UNKNOWN}
    return Support(
        support=min(said, key=SUPPORTS.index, default=UNKNOWN), disputed=len(said) > 1, rows=rows
    )


def cards(matrix: Matrix) -> tuple[str, ...]:
    """Return the models that any row speaks of, sorted."""
    return tuple(sorted({card for row in matrix.formats for card in row.cards}))


def table(matrix: Matrix) -> Mapping[str, Mapping[str, Support]]:
    """Return the support of every card in every format, for a person or a program to read."""
    return {
        card: {format: support(matrix, card, format) for format in FORMATS}  # noqa: A001 - as above
        for card in cards(matrix)
    }
