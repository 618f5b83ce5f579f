"""``mxenv gate``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import Output, answers


@click.command("gate", short_help="Refuse what is not known to work, in CI.")
@click.argument("paths", nargs=-1, type=_options.PATH)
@_options.matrices_named
@click.option(
    "--allow-waivers",
    is_flag=True,
    help="Let the waivers of the judged locks count; whoever runs the gate decides.",
)
@answers()
def COMMAND(  # noqa: N802 - a constant
    output: Output, *, paths: tuple[Path, ...], matrix: _options.Matrices, allow_waivers: bool
) -> None:
    """Refuse what is not known to work together: for CI, offline, without an accelerator.

    PATHS are lockfiles, image.toml files, requirements files, pyproject.toml files, Containerfiles,
    snapshots, recordings, or directories, of which all of these but the last two are judged; the
    current directory unless given. `local:` is the node that this runs on. Nothing outside is read.
    More matrix rows come from --matrix and MXENV_MATRIX_PATH only: never from what is judged, nor
    from the user's own file.
    """
    from mxenv.api import gating  # noqa: PLC0415 - imported late: --help needs no api

    trust = gating.Trust(
        matrix=matrix.load(),
        today=_options.today(),
        now=_options.now(),
        waivers=allow_waivers,
    )
    verdicts = gating.gate(paths or (Path(),), trust)
    output.verdicts(verdicts)
    sys.exit(_status.STATUS[_status.worst(verdicts)])
