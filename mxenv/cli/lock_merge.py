"""``mxenv lock-merge``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.lock_merge import Conflict, Merged

CONFLICTS = 1


@click.command("lock-merge", short_help="Merge two locks that came of one, as git's merge driver.")
@click.argument("base", type=_options.PATH)
@click.argument("ours", type=_options.PATH)
@click.argument("theirs", type=_options.PATH)
@click.option("--out", metavar="FILE", type=_options.PATH, help="The file to write; OURS else.")
@click.option("--name", metavar="NAME", default="", help="What the lock is called; git's %P.")
@answers(PLAIN)
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output, *, base: Path, ours: Path, theirs: Path, out: Path | None, name: str
) -> None:
    """Merge two locks by what they say: packages by name, tables by key, lists as sets.

    git runs it as `mxenv lock-merge --name %P %O %A %B`. What nobody resolved together is stale
    afterwards, and says so: run `mxenv lock`.

    Exits with 0 if nothing is left to decide; with 1 if both sides changed the same: each
    conflict is named, and stands in the file between git's marks, so that nobody takes it for a
    lock. If one of the three is no lock nothing is written.
    """
    from mxenv.api import lock_files  # noqa: PLC0415 - imported late: --help needs none of it

    merged = lock_files.merge(base, ours, theirs, out=out)
    state = "conflicts" if merged.conflicts else "stale" if merged.stale else "clean"
    called = name or str(out or ours)
    values: dict[str, object] = {"lock": called, "state": state}
    json = output.format == "json"
    values["conflicts"] = [_fields(c) if json else str(c) for c in merged.conflicts]
    values["notes"] = list(merged.notes)
    output.values("mxenv.merged/1", {name: said for name, said in values.items() if said or json})
    _advise(output, merged)
    sys.exit(CONFLICTS if merged.conflicts else 0)


def _fields(conflict: Conflict) -> dict[str, str]:
    return {name: getattr(conflict, name) for name in conflict.__dataclass_fields__}


def _advise(output: Output, merged: Merged) -> None:
    if merged.conflicts:
        output.note("solve the conflicts of image.toml first; then `mxenv lock` makes the lock")
    elif merged.stale:
        output.note("run `mxenv lock`: it keeps these versions where they go together")
