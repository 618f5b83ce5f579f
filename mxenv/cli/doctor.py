"""``mxenv doctor``."""

from __future__ import annotations

import os
import sys
from dataclasses import replace

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import Output, answers


@click.command("doctor", short_help="Say whether mxenv itself works here.")
@_options.matrices
@answers()
def COMMAND(output: Output, *, matrix: _options.Matrices) -> None:  # noqa: N802 - a constant
    """Say whether mxenv itself works here: cache, uv, index, engine, matrix.

    Nothing is asked over a network.
    """
    from mxenv.api import doctoring  # noqa: PLC0415 - imported late: --help needs none of it

    verdict = doctoring.examine(os.environ, matrix.site, matrix.keys)
    replace(output, verbose=True).verdicts((verdict,))
    sys.exit(_status.STATUS[verdict.outcome])
