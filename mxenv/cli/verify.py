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
@_options.env
@_options.wheelhouse
@answers()
def COMMAND(  # noqa: N802 - a constant
    output: Output, *, lock: Path, on: str | None, env: str | None, wheelhouse: Path | None
) -> None:
    """Compare an image, or a node, with the lock that it should be made from.

    An image is compared file by file with the wheels; nothing of it is run.
    """
    from mxenv.api import verifying  # noqa: PLC0415 - imported late: --help needs none of it

    verdict = verifying.verify(
        lock, on or "local:", now=_options.now(), wheelhouse=wheelhouse, env=env
    )
    output.verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])
