"""What the rows of a matrix say against one another, or of nothing that can be."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import combinations
from typing import TYPE_CHECKING

from mxenv.facts import EVERY, Fact, Observed, Reading, Snapshot, Unreadable, View
from mxenv.matrix import (
    FAILS,
    WORKS,
    Broken,
    Operator,
    Requirement,
    Rule,
    same_family,
    stem,
)
from mxenv.ruling import guard
from mxenv.satisfaction import impossible, opposed
from mxenv.selector import PACKAGE
from mxenv.stack import KMD, SDK, stack
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.facts import FactKey
    from mxenv.matrix import Matrix, Release, Row, Tested

_DATE = re.compile(r"(\d{4})-(\d{2})(?:-(\d{2}))?")
_LAST_MONTH = 12
_PLACE = "/"
"""The environment of a node that a tested row describes: any would do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What is odd about a row."""

    row: str
    kind: str
    message: str
    hint: str = ""


def remarks(
    matrix: Matrix, keys: Mapping[str, FactKey], *, today: date, stale: int | None = None
) -> Iterator[Remark]:
    """Yield what people should look at; rows that are sound one by one are taken together."""
    yield from _releases(matrix)
    yield from _same(matrix)
    yield from _ranges(matrix)
    yield from _opposed(matrix)
    yield from _operators(matrix)
    yield from _tested(matrix, keys)
    yield from _days(matrix, today)
    if stale is not None:
        yield from _stale(matrix, today, stale)


def _releases(matrix: Matrix) -> Iterator[Remark]:
    """Yield releases of which one set of builds is said to be for two SDKs."""
    first: dict[tuple[tuple[str, str], ...], Release] = {}
    for row in matrix.releases:
        exact = tuple(pair for pair in row.components if "+" in pair[1])
        if not exact or not row.sdk:
            continue
        other = first.setdefault(exact, row)
        if not same_family(row.sdk, other.sdk):
            said = f"has the builds of {other.row} for the SDK {row.sdk}, and not {other.sdk}"
            yield Remark(row=row.row, kind="contradiction", message=said, hint="one is wrong")


def _same(matrix: Matrix) -> Iterator[Remark]:
    """Yield rows that say what another one says already."""
    first: dict[object, Row] = {}
    for row in matrix.rows:
        said = _content(row)
        other = first.setdefault(said, row)
        if other is not row:
            hint = "leave one, with the evidence of both"
            yield Remark(
                row=row.row, kind="duplicate", message=f"says what {other.row} says", hint=hint
            )


def _content(row: Row) -> object:
    """Return what a row says, whoever says it and in whatever words."""
    left_out = {"id", "file", "evidence", "note", "remedy"}
    if isinstance(row, Rule | Broken | Operator) or (isinstance(row, Requirement) and row.requires):
        left_out.add("text")
    fields = [name for name in type(row).__dataclass_fields__ if name not in left_out]
    return (type(row), *((name, getattr(row, name)) for name in fields))


def _ranges(matrix: Matrix) -> Iterator[Remark]:
    """Yield rows that can never apply, and those that can never be kept."""
    rows: tuple[Rule | Requirement, ...] = (*matrix.rules, *matrix.requirements)
    for row in (*rows, *matrix.broken, *matrix.operators):
        if never := impossible(row.when):
            yield Remark(
                row=row.row,
                kind="impossible",
                message=f"never applies: nothing can be {never}",
                hint="see the range, and the other guards of the row",
            )
        elif isinstance(row, Rule | Requirement) and (never := impossible(row.requires)):
            said = f"can never be kept: nothing can be {never}"
            yield Remark(row=row.row, kind="impossible", message=said, hint="see the range")


def _opposed(matrix: Matrix) -> Iterator[Remark]:
    """Yield rows that ask the opposite of another one that applies at the same time."""
    rows: tuple[Rule | Requirement, ...] = (*matrix.rules, *matrix.requirements)
    for one, other in combinations(rows, 2):
        fact = opposed(one.requires, other.requires) if one.requires and other.requires else ""
        if fact and impossible((*one.when, *other.when)) is None:
            said = f"asks of {fact} what {other.row} excludes, and both can apply"
            hint = "narrow one of them with a guard"
            yield Remark(row=one.row, kind="contradiction", message=said, hint=hint)


def _operators(matrix: Matrix) -> Iterator[Remark]:
    """Yield what was seen working though a row has it failing at the same time."""
    for row in matrix.operators:
        if row.kind != WORKS:
            continue
        for other in matrix.operators:
            if other.kind in FAILS and _meet(row, other):
                said = f"was seen working, and {other.row} has it as {other.kind}"
                hint = "narrow one of them with a guard"
                yield Remark(row=row.row, kind="contradiction", message=said, hint=hint)


def _meet(one: Operator, other: Operator) -> bool:
    """Return whether two rows may speak of one call."""
    named = {(left, right) for left in one.operators for right in other.operators}
    same = any(a == b or stem(a) == b or stem(b) == a for a, b in named)
    formats = not one.dtypes or not other.dtypes or set(one.dtypes) & set(other.dtypes)
    together = impossible((*one.when, *other.when)) is None
    return bool(same and formats and one.by == other.by and together)


def _tested(matrix: Matrix, keys: Mapping[str, FactKey]) -> Iterator[Remark]:
    """Yield what was seen working though a row has it as broken."""
    for row in matrix.tested:
        found = stack(_node(row, keys), _PLACE)
        for broken in matrix.broken:
            if guard(broken.when, found) is Outcome.COMPATIBLE:
                said = f"was seen working, and {broken.row} has it as broken"
                hint = "narrow the broken row, or see what else was different"
                yield Remark(row=row.row, kind="contradiction", message=said, hint=hint)


def _node(row: Tested, keys: Mapping[str, FactKey]) -> Snapshot:
    """Return a node of which is known what the row tells, and nothing else."""
    exact = [(name, pin) for name, pin in row.packages if not pin.endswith("*")]
    told: list[tuple[str, str, Reading]] = [
        (KMD, "", Observed(row.kmd)),
        (SDK, "", Observed(row.sdk)),
        ("metax.device.model", "0", Observed(row.card)),
        *((PACKAGE, f"{_PLACE}/{name}", Observed(pin)) for name, pin in exact),
        (PACKAGE, f"{_PLACE}/{EVERY}", Unreadable("the row does not tell")),
    ]
    facts = (
        Fact(key=key, instance=instance, reading=reading, source=row.row)
        for key, instance, reading in told
        if key in keys
    )
    taken_at = datetime(1970, 1, 1, tzinfo=UTC)
    return Snapshot(node=row.row, view=View.HOST, taken_at=taken_at, facts=tuple(facts))


def _days(matrix: Matrix, today: date) -> Iterator[Remark]:
    """Yield rows with evidence of a day that is not, or is not yet: it would never be stale."""
    for row in matrix.rows:
        for when in dict.fromkeys(piece.when for piece in row.evidence):
            if not _DATE.fullmatch(when):
                continue
            # A month without a day may be the running one.
            first = dated(when if when.count("-") > 1 else f"{when}-01")
            if first is None or first > today:
                said = "no day" if first is None else "a day that is yet to come"
                hint = "write down when it was seen"
                message = f"has evidence of {when}, which is {said}"
                yield Remark(row=row.row, kind="date", message=message, hint=hint)


def _stale(matrix: Matrix, today: date, days: int) -> Iterator[Remark]:
    """Yield rows whose newest dated evidence is older than ``days``."""
    for row in matrix.rows:
        dates = [day for piece in row.evidence if (day := dated(piece.when))]
        if dates and (today - max(dates)).days > days:
            said = f"its newest evidence is of {max(dates).isoformat()}"
            hint = "look again, and write down when"
            yield Remark(row=row.row, kind="stale", message=said, hint=hint)


def dated(when: str) -> date | None:
    """Return the day that evidence is of, the last of a month if no day is told."""
    match = _DATE.match(when)
    if match is None or not 1 <= int(match[2]) <= _LAST_MONTH or match[1] == "0000":
        return None
    last = monthrange(int(match[1]), int(match[2]))[1]
    day = int(match[3] or last)
    return date(int(match[1]), int(match[2]), day) if 1 <= day <= last else None
