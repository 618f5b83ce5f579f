"""How one row of a matrix is told: every field that says something, as people write it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from mxenv.constraint import Agreement
from mxenv.matrix import Format
from mxenv.verdict import Evidence, Outcome

if TYPE_CHECKING:
    from mxenv.matrix import Row


def summary(row: Row) -> str:
    """Return what a row says, in one line."""
    whole = told(row)
    if text := whole.get("text"):
        return str(text)
    if isinstance(row, Format):
        return f"{', '.join(row.formats)}: {row.support} on {', '.join(row.cards)}"
    parts = [f"{name} {whole[name]}" for name in ("card", "kmd", "sdk") if whole.get(name)]
    listed = whole.get("components") or whole.get("packages") or whole.get("cards") or []
    return ", ".join([*parts, *(listed if isinstance(listed, list) else ())])


def told(row: Row) -> dict[str, object]:
    """Return the name of a row and every field that says something."""
    given = {f.name: getattr(row, f.name) for f in fields(row) if f.name not in {"id", "file"}}
    said = {name: value for name, value in given.items() if value not in {"", (), False}}
    shown = {name: _each(value) for name, value in said.items()}
    return {"row": row.row, **shown}


def _each(value: object) -> object:
    # Two cards are no pair of a name and a version.
    return [_said(one) for one in value] if isinstance(value, tuple) else _said(value)


def _said(value: object) -> object:
    match value:
        case Evidence():
            when = f", {value.when}" if value.when else ""
            return f"{value.who}{when} ({value.grade}) {value.link}"
        case Outcome():
            return value.word
        case Agreement():
            count = f"the first {value.fields} fields of " if value.fields else ""
            but = f", but for {', '.join(value.but)}" if value.but else ""
            return f"{value.left} agrees with {count}{value.right}{but}"
        case (str(), str()) as pair:
            return " ".join(pair)
        case _:
            return str(value)
