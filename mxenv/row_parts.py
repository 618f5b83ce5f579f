"""The parts that rows of several kinds are made of, and how each is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.constraint import Constraint
from mxenv.errors import UsageError
from mxenv.matrix import GRADES
from mxenv.verdict import Evidence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.facts import FactKey
    from mxenv.table import Table


def constraints(table: Table, name: str, keys: Mapping[str, FactKey]) -> tuple[Constraint, ...]:
    """Return the constraints of a field, of which each must be one that a probe can decide."""
    found = []
    for index, text in enumerate(table.texts(name)):
        try:
            found.append(Constraint.parse(text, keys=keys))
        except UsageError as error:
            table.fail(f"{name}[{index}]", error.message, hint=error.hint)
    return tuple(found)


def evidence(table: Table) -> tuple[Evidence, ...]:
    """Return who says what the row says; somebody must."""
    found = tuple(piece(inner) for inner in table.tables("evidence"))
    if not found:
        table.fail("evidence", "missing: a row without evidence is a guess")
    return found


def piece(table: Table) -> Evidence:
    """Return what one source is."""
    table.only("link", "who", "when", "grade")
    return Evidence(
        link=table.text("link"),
        who=table.text("who"),
        when=table.text("when", ""),
        grade=one_of(table, "grade", GRADES),
    )


def one_of(table: Table, name: str, known: tuple[str, ...], default: str | None = None) -> str:
    """Return a word of which only some are known."""
    value = table.text(name, default)
    if value not in known:
        table.fail(name, f"{value!r} is none of {', '.join(known)}")
    return value
