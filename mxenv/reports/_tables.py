"""How tables are laid out in lines: whole in a pipe, wrapped within their columns on a terminal."""

from __future__ import annotations

import textwrap
from itertools import zip_longest
from typing import TYPE_CHECKING

from mxenv.reports._page import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.matrix_table import Section
    from mxenv.reports import Page

GAP = 2
NARROWEST = 8
"""Columns that a column keeps, however little room there is."""


def tables(given: Sequence[Section], page: Page) -> str:
    """Return every table below its title; columns in which nothing stands are left out."""
    parts = []
    for section in given:
        title = page.paint(harmless(section.title), "bold")
        parts.append("\n".join([title, *_table(section, page)]) + "\n")
    return "\n".join(parts)


def _table(section: Section, page: Page) -> Iterator[str]:
    cells = [[harmless(cell) for cell in row] for row in (section.head, *section.rows)]
    kept = [i for i, column in enumerate(zip(*cells[1:], strict=True)) if any(column)]
    cells = [[row[i] for i in kept] for row in cells]
    widths = _widths([max(map(len, column)) for column in zip(*cells, strict=True)], page.width)
    for number, row in enumerate(cells):
        for line in _lines(row, widths):
            yield page.paint(line, "" if number else "dim")


def _widths(wanted: Sequence[int], room: int) -> list[int]:
    """Return how wide columns are: the widest give way until all fit."""
    widths = list(wanted)
    room -= GAP * (len(widths) - 1)
    while room > 0 and sum(widths) > room and max(widths) > NARROWEST:
        widest = widths.index(max(widths))
        widths[widest] -= 1
    return widths


def _lines(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    wrapped = [
        textwrap.wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    for parts in zip_longest(*wrapped, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield (" " * GAP).join(padded).rstrip()
