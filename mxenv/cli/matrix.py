"""``mxenv matrix``: what is known to work together, and who says so."""

from __future__ import annotations

import difflib
from dataclasses import fields
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import CONTEXT, PLAIN, Output, answers
from mxenv.constraint import Agreement
from mxenv.errors import UsageError
from mxenv.verdict import Evidence, Outcome

if TYPE_CHECKING:
    from mxenv.matrix import Row


@click.group(
    "matrix", short_help="Look up what is known to work, and who says so.", context_settings=CONTEXT
)
def COMMAND() -> None:  # noqa: N802 - a constant that a decorator makes
    """Look up what is known to work together, and who says so."""


@COMMAND.command("show")
@_options.matrices
@answers(PLAIN)
def show(output: Output, *, matrix: _options.Matrices) -> None:
    """List every row in one line: its name, and what it says."""
    known = matrix.load()
    output.values("mxenv.rows/1", {row.row: _summary(row) for row in known.rows})
    output.note(f"matrix {known.digest}, revisions: {', '.join(' '.join(f) for f in known.files)}")


@COMMAND.command("why")
@click.argument("row")
@_options.matrices
@answers(PLAIN)
def why(output: Output, *, row: str, matrix: _options.Matrices) -> None:
    """Show all of one row, with its evidence.

    ROW is a name that a finding gives, or its end.
    """
    rows = {found.row: found for found in matrix.load().rows}
    named = [name for name in rows if name == row or name.endswith(f":{row}")]
    if len(named) != 1:
        ids = {name.rpartition(":")[2]: name for name in rows}
        near = difflib.get_close_matches(row.rpartition(":")[2], ids, n=1)
        hint = f"did you mean {ids[near[0]]}?" if near else "`mxenv matrix show` lists them"
        said = "several rows are" if named else "no row is"
        raise UsageError(
            f"{said} called {row!r}", hint=f"one of {', '.join(named)}" if named else hint
        )
    output.values("mxenv.row/1", _whole(rows[named[0]]))


def _summary(row: Row) -> str:
    whole = _whole(row)
    if text := whole.get("text"):
        return str(text)
    parts = [f"{name} {whole[name]}" for name in ("card", "kmd", "sdk") if whole.get(name)]
    listed = whole.get("components") or whole.get("packages") or whole.get("cards") or []
    return ", ".join([*parts, *(listed if isinstance(listed, list) else ())])


def _whole(row: Row) -> dict[str, object]:
    """Return every field that says something, as people write it."""
    told = {f.name: getattr(row, f.name) for f in fields(row) if f.name not in {"id", "file"}}
    shown = {name: _said(value) for name, value in told.items() if value not in {"", (), False}}
    return {"row": row.row, **shown}


def _said(value: object) -> object:
    match value:
        case Evidence():
            when = f", {value.when}" if value.when else ""
            return f"{value.who}{when} ({value.grade}) {value.link}"
        case Outcome():
            return value.word
        case Agreement():
            fields = f"the first {value.fields} fields of " if value.fields else ""
            but = f", but for {', '.join(value.but)}" if value.but else ""
            return f"{value.left} agrees with {fields}{value.right}{but}"
        case (str(), str()) as pair:
            return " ".join(pair)
        case tuple():
            return [_said(one) for one in value]
        case _:
            return str(value)
