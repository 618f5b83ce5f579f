"""``mxenv lock``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("lock", short_help="Turn what an image wants into exact wheels.")
@click.argument("image_toml", type=_options.PATH)
@click.option("--out", metavar="FILE", type=_options.PATH, help="The lockfile to write.")
@click.option(
    "--snapshot",
    metavar="FILE",
    type=_options.PATH,
    help="What the base image holds, if its registry cannot be asked.",
)
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 if the lock is stale.")
@_options.matrices
@answers(PLAIN)
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    image_toml: Path,
    out: Path | None,
    snapshot: Path | None,
    check: bool,
    matrices: tuple[Path, ...],
) -> None:
    """Turn what an image wants into exact wheels: lockfiles/pylock.NAME.toml.

    What the base image provides is never replaced.
    """
    from mxenv.api import checking, locking  # noqa: PLC0415 - imported late: --help needs no api

    if check:
        reasons = locking.stale(image_toml, locking.lock_path(image_toml, out))
        output.values("mxenv.stale/1", {"stale": list(reasons) or "no"})
        sys.exit(1 if reasons else 0)
    result = locking.lock(
        image_toml,
        out=out,
        snapshot=snapshot,
        matrix=checking.load_matrix(matrices),
        today=_options.today(),
    )
    output.values("mxenv.locked/1", {"lock": str(result.path)})
