"""``mxenv lock-export``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import emit

if TYPE_CHECKING:
    from pathlib import Path


@click.command("lock-export", short_help="Write a lock for tools that read no PEP 751 file.")
@_options.lock_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(("requirements",)),
    default="requirements",
    help="requirements: a file for `pip install --require-hashes -r`.",
)
@click.option("--out", metavar="FILE", type=_options.PATH, help="The file to write; stdout else.")
def COMMAND(*, lock: Path, form: str, out: Path | None) -> None:  # noqa: N802 - a constant
    """Write a lock for tools that read no PEP 751 file, with the hash of every wheel.

    What the base provides stands there as comments. No index is named: fill a folder with
    `mxenv fetch`, and install with --no-index --find-links.
    """
    from mxenv.api import lock_files  # noqa: PLC0415 - imported late: --help needs none of it

    text = lock_files.export(lock, form=form, out=out)
    if out is None:
        emit(text)
