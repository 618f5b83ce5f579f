"""How tables are laid out in lines: whole in a pipe, wrapped between words on a terminal."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING

from mxenv.reports._page import harmless, labelled, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.matrix_table import Section
    from mxenv.reports import Page

GAP = 2
"""Columns between two columns; one will do where that makes a table fit."""
INDENT = 4
"""Where the cells of a row begin that stand below one another."""


def tables(given: Sequence[Section], page: Page) -> str:
    """Return every table below its title; columns in which nothing stands are left out.

    Where even the longest words of all columns do not fit beside one another, the cells of a row
    stand below one another.
    """
    parts = []
    for section in given:
        title = page.paint(harmless(section.title), "bold")
        parts.append("\n".join([title, *_table(section, page)]) + "\n")
    return "\n".join(parts)


def _table(section: Section, page: Page) -> Iterator[str]:
    cells = [[harmless(cell) for cell in row] for row in (section.head, *section.rows)]
    kept = [i for i, column in enumerate(zip(*cells[1:], strict=True)) if any(column)]
    cells = [[row[i] for i in kept] for row in cells]
    for gap in (GAP, 1):
        if widths := _widths(cells, page.width, gap):
            for number, row in enumerate(cells):
                for line in _lines(row, widths, gap):
                    yield page.paint(line, "" if number else "dim")
            return
    yield from _below(cells[0], cells[1:], page)


def _widths(cells: Sequence[Sequence[str]], room: int, gap: int) -> list[int] | None:
    """Return how wide columns are: the widest give way until all fit, down to their longest word.

    `None` if they do not fit.
    """
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    room = room - gap * (len(widths) - 1) if room else sum(widths)
    least = [
        max(len(word) for cell in column for word in (cell.split() or [""])) for column in columns
    ]
    if sum(least) > room:
        return None
    while sum(widths) > room:
        _, widest = max((w, i) for i, w in enumerate(widths) if w > least[i])
        widths[widest] -= 1
    return widths


def _below(head: Sequence[str], rows: Sequence[Sequence[str]], page: Page) -> Iterator[str]:
    gap = max(map(len, head[1:]), default=0) + GAP
    for name, *cells in rows:
        yield from (page.paint(line, "bold") for line in wrapped(name, page, indent=INDENT))
        for label, cell in zip(head[1:], cells, strict=True):
            if cell:
                yield from labelled(label, cell, page, indent=INDENT, gap=gap)


def _lines(row: Sequence[str], widths: Sequence[int], gap: int) -> Iterator[str]:
    import textwrap  # noqa: PLC0415 - imported late: only a terminal needs it

    beside = [
        textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False)
        if len(cell) > width
        else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    for parts in zip_longest(*beside, fillvalue=""):
        padded = (part.ljust(width) for part, width in zip(parts, widths, strict=True))
        yield (" " * gap).join(padded).rstrip()
