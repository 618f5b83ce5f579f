"""``mxenv diff``."""

from __future__ import annotations

import sys

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import PLAIN, Output, answers
from mxenv.verdict import Outcome

UNSURE = _status.STATUS[Outcome.UNKNOWN]


@click.command("diff", short_help="Name every fact in which two nodes differ.")
@click.argument("a")
@click.argument("b")
@answers(PLAIN)
def COMMAND(output: Output, *, a: str, b: str) -> None:  # noqa: N802 - a constant
    """Name every fact in which two nodes differ; A and B are snapshots or addresses.

    Where their vendors differ, each fact is shown beside what the other vendor has for it.

    Exits with 1 if there is one, with 0 if there is none; with 3 if too little could be read to
    say so.
    """
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    left, right = (nodes.snapshot_of(target, now=_options.now()) for target in (a, b))
    comparison = nodes.compare(left, right)
    output.comparison(comparison)
    count = len(comparison.differences)
    status = _status.of_difference(left, right, count)
    facts = "1 fact differs" if count == 1 else f"{count} facts differ"
    unsure = "; not enough could be read to say that they are equal" if status == UNSURE else ""
    output.note(f"{facts} between {left.node} and {right.node}{unsure}")
    sys.exit(status)
