"""``mxenv record``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("record", short_help="Record what a node answers, to replay it anywhere.")
@_options.on
@click.option(
    "--out", metavar="DIR", type=_options.PATH, required=True, help="The recording to make."
)
@answers(("text",))
def COMMAND(output: Output, *, on: str | None, out: Path) -> None:  # noqa: N802 - a constant
    """Record everything that a node answers, to be replayed anywhere.

    `mxenv check --on recording:DIR` then says what it would have said on the node.
    """
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    snapshot = nodes.record(on or "local:", out, now=_options.now())
    output.note(f"wrote {out}: a recording of {snapshot.node}, {len(snapshot.facts)} facts")
