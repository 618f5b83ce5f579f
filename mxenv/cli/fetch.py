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
@_options.index
@_options.find_links
@_options.offline
@_options.only_binary
@answers(PLAIN)
def COMMAND(  # noqa: N802, PLR0913 - a constant; every option is an argument
    output: Output,
    *,
    lock: Path,
    wheelhouse: Path | None,
    index: tuple[str, ...],
    find_links: tuple[str, ...],
    offline: bool,
    only_binary: bool,
) -> None:
    """Fill the wheelhouse of a lock, by file name and hash, from the configured indexes.

    `uv pip install -r LOCK` and `pip install -r LOCK` then need no network.
    """
    from mxenv.api import fetching  # noqa: PLC0415 - imported late: --help needs none of it
    from mxenv.cli._progress import bytes_done  # noqa: PLC0415 - the same

    where = fetching.From(
        index=index, find_links=find_links, offline=offline, only_binary=only_binary
    )
    with bytes_done("wheels", quiet=output.quiet) as progress:
        fetched = fetching.fetch(lock, wheelhouse=wheelhouse, where=where, progress=progress)
    for note in fetched.notes:
        output.note(f"note: {note}")
    output.values(
        "mxenv.fetched/1",
        {
            "wheelhouse": str(fetched.wheelhouse),
            "wheels": [f"{name}  {how}" for name, how in fetched.wheels],
        },
    )
