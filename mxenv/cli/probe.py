"""``mxenv probe``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("probe", short_help="Show what a node is made of.")
@_options.on
@click.option("--out", metavar="FILE", type=_options.PATH, help="Write the snapshot to FILE.")
@answers(PLAIN)
def COMMAND(output: Output, *, on: str | None, out: Path | None) -> None:  # noqa: N802 - a constant
    """Show what a node is made of: versions, devices, environments.

    As JSON it is a snapshot, which `check`, `diff` and `lock` take.
    """
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    snapshot = nodes.probe(on or "local:", now=_options.now())
    if out is None:
        output.snapshot(snapshot, nodes.keys())
    else:
        nodes.write_snapshot(snapshot, out)
        output.note(f"wrote {out}: {len(snapshot.facts)} facts of {snapshot.node}")
