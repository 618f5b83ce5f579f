"""``mxenv probe``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _asking, _options, _status
from mxenv.cli._output import PAGES, Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("probe", short_help="Show what a node is made of.")
@_asking.asking
@click.option(
    "--out",
    metavar="FILE|DIR",
    type=_options.PATH,
    help="Write the snapshot to FILE; of many nodes one file each into DIR.",
)
@answers(PAGES)
def COMMAND(output: Output, *, asked: _asking.Asked, out: Path | None) -> None:  # noqa: N802 - a constant
    """Show what a node is made of: versions, devices, environments.

    As JSON it is a snapshot, which `check`, `diff` and `lock` take. Of many nodes it is a table:
    which could be asked, which have the same stack, and what sets the others apart.
    """
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    if asked.many:
        from mxenv.api import fleets  # noqa: PLC0415 - imported late: one node needs none of it

        with output.nodes_done() as told:
            fleet = fleets.probe(asked.tour(told), out)
        output.fleet(fleet)
        sys.exit(_status.of_nodes(fleet))
    snapshot = nodes.probe(asked.address, now=_options.now(), wanted=asked.wanted())
    if out is None:
        output.snapshot(snapshot, nodes.keys())
    else:
        nodes.write_snapshot(snapshot, out)
        output.note(f"wrote {out}: {len(snapshot.facts)} facts of {snapshot.node}")
    if status := _status.of_snapshot(snapshot):
        output.note(f"nothing could be read of {snapshot.node}")
        sys.exit(status)
