"""``mxenv diff``."""

from __future__ import annotations

import sys

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers


@click.command("diff", short_help="Name every fact in which two nodes differ.")
@click.argument("a")
@click.argument("b")
@answers(PLAIN)
def COMMAND(output: Output, *, a: str, b: str) -> None:  # noqa: N802 - a constant
    """Name every fact in which two nodes differ; A and B are snapshots or addresses.

    Where their vendors differ, each fact is shown beside what the other vendor has for it.

    Exits with 1 if there is one, with 0 if there is none.
    """
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    left, right = (nodes.snapshot_of(target, now=_options.now()) for target in (a, b))
    comparison = nodes.compare(left, right)
    output.comparison(comparison)
    count = len(comparison.differences)
    output.note(f"{count} facts differ between {left.node} and {right.node}")
    sys.exit(1 if count else 0)
