"""How lines are laid out: indented, wrapped, harmless to a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.reports import Page
    from mxenv.verdict import Evidence, Finding

STYLES = {
    Outcome.INCOMPATIBLE: "bold red",
    Outcome.UNKNOWN: "bold yellow",
    Outcome.COMPATIBLE: "bold green",
}
NARROWEST = 24
"""Columns that a text gets at least, however far it is indented."""


def harmless(text: str) -> str:
    """Return ``text`` in one line, control characters spelt out: a node may say anything."""
    if text.isprintable():
        return text  # as nearly all are, and a look at each character takes far longer
    return "".join(
        " " if c in "\n\r\t" else c.encode("unicode_escape").decode() if _controls(c) else c
        for c in text
    )


def _controls(character: str) -> bool:
    import unicodedata  # noqa: PLC0415 - imported late: most texts are printable

    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def wrapped(text: str, page: Page, *, indent: int) -> list[str]:
    """Return the lines of ``text``, all but the first indented; links stay whole."""
    text = harmless(text)
    if not page.width:
        return [text]
    import textwrap  # noqa: PLC0415 - imported late: only a terminal needs it

    lines = textwrap.wrap(
        text,
        width=max(page.width - indent, NARROWEST),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line if i == 0 else " " * indent + line for i, line in enumerate(lines)] or [""]


def labelled(label: str, text: str, page: Page, *, indent: int = 4, gap: int = 10) -> Iterator[str]:
    """Yield the lines of ``label  text``, the label dimmed and the text wrapped beside it."""
    head = page.paint(f"{label:<{gap}}", "dim")
    lines = wrapped(text, page, indent=indent + gap)
    yield f"{' ' * indent}{head}{lines[0]}"
    yield from lines[1:]


def said(evidence: Evidence) -> str:
    """Return who says so, and when, as one phrase."""
    when = f", {evidence.when}" if evidence.when else ""
    return f"{evidence.who}{when} ({evidence.grade})"


def table(rows: Sequence[Sequence[str]], *, gap: int = 2) -> list[str]:
    """Return ``rows`` as aligned lines; the last column is as long as it is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    space = " " * gap
    return [
        space.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def counted(findings: Sequence[Finding]) -> str:
    """Return how many findings there are of each outcome, worst first, then what does not count."""
    told = [finding.word for finding in findings]
    words = (*(outcome.word for outcome in Outcome), "advice", "waived")
    counts = (f"{told.count(word)} {word}" for word in words if word in told)
    return ", ".join(counts) or "nothing was checked"
