"""How one file of a matrix changes the rows of others: in the place of one, or vouching for it.

A row with ``overrides`` stands in the place of another file's row, and says why; a table of
``[[evidence]]`` adds what somebody says to a row that stays. Both name the row as findings do,
``metax.toml:rule:wheel-same-maca``, and neither can name one that is not there.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mxenv.table import Table

Rows = dict[str, list["Table"]]
"""The tables of the rows by kind, each with the place ``rule 'wheel-same-maca'``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Override:
    """A row that another file put its own in the place of."""

    row: str
    by: str
    reason: str


def lay(
    rows: Mapping[str, Sequence[Table]], added: Iterable[Table], piece: Callable[[Table], object]
) -> tuple[Rows, tuple[Override, ...]]:
    """Return the rows that count, and which of them stand in the place of others.

    ``added`` are the ``[[evidence]]`` tables, and ``piece`` reads one strictly.
    """
    named = {_name(kind, table): (kind, table) for kind in rows for table in rows[kind]}
    gone: dict[str, str] = {}
    overrides = []
    for name, (kind, table) in named.items():
        if "overrides" in table.values or "reason" in table.values:
            override = _override(name, kind, table, named)
            if earlier := gone.get(override.row):
                table.fail("overrides", f"{earlier} stands in the place of that row already")
            gone[override.row] = name
            overrides.append(override)
    more: dict[str, list[object]] = {}
    for table in added:
        piece(_without(table, "row"))
        row = _target(table, "row", table.text("row"), named)
        more.setdefault(row, []).append(_without(table, "row").values)
    for override in overrides:
        more.setdefault(override.by, []).append(_reason(override))
    kept: Rows = {
        kind: [
            _grown(table, more.get(name, []))
            for table in rows[kind]
            if (name := _name(kind, table)) not in gone
        ]
        for kind in rows
    }
    return kept, tuple(overrides)


def _name(kind: str, table: Table) -> str:
    return f"{table.context}:{kind}:{table.values['id']}"


def _override(
    name: str, kind: str, table: Table, named: Mapping[str, tuple[str, Table]]
) -> Override:
    row = _target(table, "overrides", table.text("overrides"), named)
    of, other = named[row]
    if other.context == table.context:
        table.fail("overrides", "a row of the same file", hint="change that row instead")
    if of != kind:
        table.fail("overrides", f"a {of} row, and this is a {kind} row")
    return Override(row=row, by=name, reason=table.text("reason"))


def _target(table: Table, field: str, wanted: str, named: Iterable[str]) -> str:
    """Return the name of the row that is meant; a file may be named without its folders."""
    known = list(named)
    meant = [name for name in known if wanted in (name, _short(name))]
    if len(meant) > 1:
        table.fail(field, f"{wanted!r} could be {' or '.join(meant)}", hint="name its folder too")
    if not meant:
        near = difflib.get_close_matches(wanted, [*map(_short, known)], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "`mxenv matrix show` lists the rows"
        table.fail(field, f"no row is called {wanted!r}", hint=hint)
    return meant[0]


def _short(name: str) -> str:
    file, kind, row = name.rsplit(":", 2)
    return f"{file.rpartition('/')[2]}:{kind}:{row}"


def _reason(override: Override) -> Mapping[str, object]:
    who = f"stands in the place of {override.row}: {override.reason}"
    return {"link": override.row, "who": who, "grade": "site"}


def _grown(table: Table, more: Sequence[object]) -> Table:
    plain = _without(table, "overrides", "reason")
    if not more:
        return plain
    said = plain.values.get("evidence", [])
    # What is no list stays, and is refused by whoever reads the row.
    grown = [*said, *more] if isinstance(said, list) and said else said
    return replace(plain, values={**plain.values, "evidence": grown})


def _without(table: Table, *names: str) -> Table:
    values = {name: value for name, value in table.values.items() if name not in names}
    return replace(table, values=values)
