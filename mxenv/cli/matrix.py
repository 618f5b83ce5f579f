"""``mxenv matrix``: what is known to work together, and who says so."""

from __future__ import annotations

import difflib

import click

from mxenv.cli import _matrix_files, _matrix_nodes, _options
from mxenv.cli._output import CONTEXT, PAGES, PLAIN, Output, answers
from mxenv.errors import UsageError

KINDS = (
    *("release", "tested", "rule", "broken", "requirement", "format", "operator", "series"),
    "override",
)


@click.group(
    "matrix", short_help="Look up what is known to work, and who says so.", context_settings=CONTEXT
)
def COMMAND() -> None:  # noqa: N802 - a constant that a decorator makes
    """Look up what is known to work together, and who says so."""


@COMMAND.command("show")
@click.argument("kind", required=False, type=click.Choice(KINDS))
@_options.matrices
@answers(PAGES)
def show(output: Output, *, kind: str | None, matrix: _options.Matrices) -> None:
    """Show all that is known as tables: sets of versions, rules, what is broken, number formats.

    With -v every distribution of a set is named.
    """
    from mxenv.cli import _rows  # noqa: PLC0415 - imported late: --help needs none of it
    from mxenv.matrix_table import sections  # noqa: PLC0415 - the same

    known = matrix.load()
    if output.format == "json":
        rows = (row for row in known.rows if not kind or row.row.split(":")[-2] == kind)
        output.values("mxenv.rows/1", {row.row: _rows.summary(row) for row in rows})
    else:
        whole = output.verbose or output.format == "html"
        output.tables(sections(known, kind or "", whole=whole))
    output.note(f"matrix {known.digest}, revisions: {', '.join(' '.join(f) for f in known.files)}")


@COMMAND.command("why")
@click.argument("row")
@_options.matrices
@answers(PLAIN)
def why(output: Output, *, row: str, matrix: _options.Matrices) -> None:
    """Show all of one row, with its evidence.

    ROW is a name that a finding gives, or its end.
    """
    from mxenv.cli import _rows  # noqa: PLC0415 - imported late: --help needs none of it

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
    output.values("mxenv.row/1", _rows.told(rows[named[0]]))


for _one in (*_matrix_files.COMMANDS, *_matrix_nodes.COMMANDS):
    COMMAND.add_command(_one)
