"""``mxenv record``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _asking, _options, _status
from mxenv.cli._output import PLAIN, Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("record", short_help="Record what a node answers, to replay it anywhere.")
@_asking.asking
@click.option(
    "--out",
    metavar="DIR",
    type=_options.PATH,
    required=True,
    help="The recording to make; of many nodes, the folder of their recordings.",
)
@answers(PLAIN)
def COMMAND(output: Output, *, asked: _asking.Asked, out: Path) -> None:  # noqa: N802 - a constant
    """Record everything that a node answers, to be replayed anywhere.

    `mxenv check --on recording:DIR` then says what it would have said on the node.
    """
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    if asked.many:
        from mxenv.api import fleets  # noqa: PLC0415 - imported late: one node needs none of it

        with output.nodes_done() as told:
            fleet = fleets.record(asked.tour(told), out)
        output.fleet(fleet)
        sys.exit(_status.of_nodes(fleet))
    snapshot = nodes.record(asked.address, out, now=_options.now(), wanted=asked.wanted())
    if output.format == "json":
        made = {"node": snapshot.node, "out": str(out), "facts": len(snapshot.facts)}
        output.values("mxenv.recorded/1", made)
    output.note(f"wrote {out}: a recording of {snapshot.node}, {len(snapshot.facts)} facts")
    if status := _status.of_snapshot(snapshot):
        output.note(f"nothing could be read of {snapshot.node}")
        sys.exit(status)
