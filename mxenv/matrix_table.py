"""A matrix as tables that a person reads: what stands in which column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.matrix import FORMATS
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.constraint import Constraint
    from mxenv.matrix import Matrix, Release, Row, Rule, Tested

_OWN = (("torch",), ("vllm",), ("vllm-metax", "paddle-metax-gpu"))
"""Distributions that people look for, each with a column; the last ones are plug-ins."""
_SETS = ("SDK", "torch", "vLLM", "plug-in", "others")
ADVICE = "advice"
MOST = 3
"""Operators of a row that are named; the rest is counted."""


@frozen
class Section:
    """The rows of one kind."""

    kind: str
    """As files have it: ``release``; ``override`` for what stands in the place of what."""
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def sections(matrix: Matrix, kind: str = "", *, whole: bool = False) -> tuple[Section, ...]:
    """Return a table of each kind of row that there is, or of ``kind`` alone.

    Distributions without a column are counted, and named if the ``whole`` is wanted.
    """
    made = (section for section in _sections(matrix, whole) if section.rows)
    return tuple(section for section in made if kind in ("", section.kind))


def _sections(matrix: Matrix, whole: bool) -> Iterator[Section]:  # noqa: FBT001 - passed on
    yield Section(
        kind="release",
        title="Published together",
        head=("row", *_SETS, "Python", "who says so"),
        rows=tuple((*_set(r, whole), r.python, _who(r)) for r in matrix.releases),
    )
    yield Section(
        kind="tested",
        title="Seen working",
        head=("row", *_SETS, "card", "driver", "OS", "kernel", "who says so"),
        rows=tuple(
            (*_set(row, whole), row.card, row.kmd, row.os, row.kernel, _who(row))
            for row in matrix.tested
        ),
    )
    yield from _held(matrix)
    yield _formats(matrix)
    yield _operators(matrix, whole)
    yield Section(
        kind="series",
        title="Cards that are served alike",
        head=("row", "cards", "who says so"),
        rows=tuple((r.row, ", ".join(r.cards), _who(r)) for r in matrix.series),
    )
    yield Section(
        kind="override",
        title="In the place of other rows",
        head=("row", "in the place of", "reason"),
        rows=tuple((o.by, o.row, o.reason) for o in matrix.overrides),
    )


def _held(matrix: Matrix) -> Iterator[Section]:
    """Yield what nodes are held against, beside sets of versions."""
    yield Section(
        kind="rule",
        title="What must be so",
        head=("row", "says", "when", "asks for", "if not", "who says so"),
        rows=tuple(
            (r.row, r.text, _all(r.when), _asked(r), r.severity.word, _who(r)) for r in matrix.rules
        ),
    )
    yield Section(
        kind="broken",
        title="Known not to work",
        head=("row", "says", "when", "then", "who says so"),
        rows=tuple((r.row, r.text, _all(r.when), r.severity.word, _who(r)) for r in matrix.broken),
    )
    yield Section(
        kind="requirement",
        title="What a place needs",
        head=("row", "says", "for", "asks for", "if not", "who says so"),
        rows=tuple(
            (r.row, r.text, r.applies or _all(r.when), _all(r.requires), _met(r.severity), _who(r))
            for r in matrix.requirements
        ),
    )


def _set(row: Release | Tested, whole: bool) -> tuple[str, ...]:  # noqa: FBT001 - passed on
    pins = dict(row.components)
    shown = [next((n for n in names if n in pins), "") for names in _OWN]
    cells = [pins.get(name, "") for name in shown]
    if shown[-1] not in ("", _OWN[-1][0]):
        cells[-1] = f"{shown[-1]} {cells[-1]}"
    others = [f"{name} {pin}" for name, pin in row.components if name not in shown]
    return (row.row, row.sdk, *cells, ", ".join(others) if whole else _counted(others))


def _counted(others: Sequence[str]) -> str:
    return f"{len(others)} more" if len(others) > 1 else "".join(others)


def _few(names: Sequence[str], whole: bool) -> str:  # noqa: FBT001 - passed on
    more = len(names) - MOST
    return ", ".join(names) if whole or more <= 0 else f"{', '.join(names[:MOST])} and {more} more"


def _all(constraints: Iterable[Constraint]) -> str:
    return "; ".join(map(str, constraints))


def _asked(row: Rule) -> str:
    agreed = [
        f"{one.left} agrees with {one.right} in {one.fields} fields"
        + (f", but for {', '.join(one.but)}" if one.but else "")
        for one in row.agree
    ]
    return "; ".join([*map(str, row.requires), *agreed])


def _met(severity: Outcome) -> str:
    return ADVICE if severity is Outcome.COMPATIBLE else severity.word


def _who(row: Row) -> str:
    return ", ".join(dict.fromkeys(piece.grade for piece in row.evidence))


def _formats(matrix: Matrix) -> Section:
    """Return what each card makes of each number format; sources that differ are all shown."""
    said: dict[str, dict[str, list[str]]] = {}
    for row in matrix.formats:
        for card in row.cards:
            for name in row.formats:
                cell = said.setdefault(card, {}).setdefault(name, [])
                if row.support not in cell:
                    cell.append(row.support)
    return Section(
        kind="format",
        title="How cards compute",
        head=("card", *FORMATS),
        rows=tuple(
            (card, *(" or ".join(said[card].get(name, [])) for name in FORMATS))
            for card in sorted(said)
        ),
    )


def _operators(matrix: Matrix, whole: bool) -> Section:  # noqa: FBT001 - passed on
    return Section(
        kind="operator",
        title="What is known of operators",
        head=("row", "says", "operators", "is", "kernels of", "when", "who says so"),
        rows=tuple(
            (r.row, r.text, _few(r.operators, whole), r.kind, r.by, _all(r.when), _who(r))
            for r in matrix.operators
        ),
    )
