"""How rows of requirements, of number formats and of operators are read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.matrix import (
    ELEMENTS,
    FORMATS,
    SEEN_KINDS,
    SUPPORTS,
    Format,
    Operator,
    Requirement,
)
from mxenv.row_parts import constraints, evidence, one_of
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.facts import FactKey
    from mxenv.table import Table

_NAME = re.compile(r"[\w.]+::\w+(?:\.\w+)?", re.ASCII)
SEVERITIES = {
    "incompatible": Outcome.INCOMPATIBLE,
    "unknown": Outcome.UNKNOWN,
    "advice": Outcome.COMPATIBLE,
}


def requirement(table: Table, keys: Mapping[str, FactKey]) -> Requirement:
    """Return what a place needs; one that is for whom nobody can tell asks for no fact."""
    table.only("id", "text", "applies", "when", "requires", "severity", "remedy", "evidence")
    applies = table.text("applies", "")
    for name in ("when", "requires"):
        if applies and name in table.values:
            table.fail(name, "beside 'applies': it is held against no node", hint="leave one out")
    when, requires = constraints(table, "when", keys), constraints(table, "requires", keys)
    if not (applies or when or requires):
        table.fail("when", "missing, and 'requires' and 'applies' as well: it is for nobody")
    return Requirement(
        id=table.text("id"),
        file=table.context,
        text=table.text("text"),
        applies=applies,
        when=when,
        requires=requires,
        severity=SEVERITIES[one_of(table, "severity", tuple(SEVERITIES), _severity(requires))],
        remedy=table.text("remedy", ""),
        evidence=evidence(table),
    )


def _severity(requires: tuple[object, ...]) -> str:
    return "unknown" if requires else "advice"


def number_format(table: Table) -> Format:
    """Return how cards compute in some formats."""
    table.only("id", "cards", "formats", "support", "note", "evidence")
    cards, formats = table.texts("cards"), table.texts("formats")
    for name, values in (("cards", cards), ("formats", formats)):
        if not values:
            table.fail(name, "empty")
    if odd := [word for word in formats if word not in FORMATS]:
        table.fail("formats", f"{odd[0]!r} is none of {', '.join(FORMATS)}")
    return Format(
        id=table.text("id"),
        file=table.context,
        cards=cards,
        formats=formats,
        support=one_of(table, "support", SUPPORTS),
        note=table.text("note", ""),
        evidence=evidence(table),
    )


def operator(table: Table, keys: Mapping[str, FactKey]) -> Operator:
    """Return what is known of some operators."""
    table.only("id", "text", "operators", "kind", "dtypes", "by", "when", "remedy", "evidence")
    operators, dtypes = table.texts("operators"), table.texts("dtypes")
    if not operators:
        table.fail("operators", "empty")
    for index, name in enumerate(operators):
        if not _NAME.fullmatch(name):
            hint = "as 'aten::mm.default', or 'aten::mm' for every overload"
            table.fail(f"operators[{index}]", f"{name!r} is no operator", hint=hint)
    if odd := [word for word in dtypes if word not in ELEMENTS]:
        table.fail("dtypes", f"{odd[0]!r} is none of {', '.join(ELEMENTS)}")
    return Operator(
        id=table.text("id"),
        file=table.context,
        text=table.text("text"),
        operators=operators,
        kind=one_of(table, "kind", SEEN_KINDS),
        dtypes=dtypes,
        by=table.text("by", ""),
        when=constraints(table, "when", keys),
        remedy=table.text("remedy", ""),
        evidence=evidence(table),
    )
