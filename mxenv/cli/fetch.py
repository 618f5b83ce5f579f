"""``mxenv fetch``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from mxenv.cli import _options
from mxenv.cli._output import PLAIN, Output, answers

if TYPE_CHECKING:
    from pathlib import Path


@click.command("fetch", short_help="Fill the wheelhouse of a lock.")
@_options.lock_argument
@_options.wheelhouse
@answers(PLAIN)
def COMMAND(output: Output, *, lock: Path, wheelhouse: Path | None) -> None:  # noqa: N802 - a constant
    """Fill the wheelhouse of a lock, by file name and hash, from the configured indexes.

    `uv pip install -r LOCK` and `pip install -r LOCK` then need no network.
    """
    from mxenv.api import locking  # noqa: PLC0415 - imported late: --help needs none of it

    fetched = locking.fetch(lock, wheelhouse=wheelhouse)
    output.values("mxenv.fetched/1", {"wheelhouse": str(fetched)})
