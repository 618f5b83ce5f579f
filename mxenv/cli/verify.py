"""``mxenv verify``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("verify", short_help="Compare an image, or a node, with its lock.")
@_options.lock_argument
@_options.on
@answers()
def COMMAND(output: Output, *, lock: Path, on: str | None) -> None:  # noqa: N802 - a constant
    """Compare an image, or a node, with the lock that it should be made from."""
    from mxenv.api import verifying  # noqa: PLC0415 - imported late: --help needs none of it

    verdict = verifying.verify(lock, on or "local:")
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])
