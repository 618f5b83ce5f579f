"""``mxenv cache``: the layers that are kept from build to build."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

import click

from mxenv.cli import _options
from mxenv.cli._output import CONTEXT, PLAIN, Output, answers


@click.group(
    "cache",
    short_help="Look after the layers that are kept from build to build.",
    context_settings=CONTEXT,
)
def COMMAND() -> None:  # noqa: N802 - a constant that a decorator makes
    """Look after the layers that are kept from build to build.

    They lie in MXENV_CACHE_DIR, or else in the user's cache folder.
    """


@COMMAND.command("show")
@answers(PLAIN)
def show(output: Output) -> None:
    """Show where they lie, how many there are, and how much room they take.

    With -v each of them is named, the one that was not used for longest first.
    """
    from mxenv.api import caching  # noqa: PLC0415 - imported late: --help needs none of it

    found = caching.show(caching.cache_root(os.environ))
    limit = caching.limit(os.environ)
    used: list[object] = []
    for layer in found.layers:
        if output.format == "json":
            used.append({"layer": layer.blob, "bytes": layer.size, "used": _when(layer.used)})
        elif output.verbose:
            used.append(f"{_when(layer.used)}  {layer.size:>12}  {layer.blob}")
    output.values(
        "mxenv.cache/1",
        {
            "folder": str(found.root),
            "layers": len(found.layers),
            "bytes": found.bytes,
            "limit": limit,
            "stray": found.stray,
            **({"used": used} if used or output.format == "json" else {}),
        },
    )


def _when(nanoseconds: int) -> str:
    return datetime.fromtimestamp(nanoseconds / 1e9, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@COMMAND.command("verify")
@answers(PLAIN)
def verify(output: Output) -> None:
    """Read all of them, and remove those that are not what was written.

    The status is 1 if there were any. The next build makes them anew.
    """
    from mxenv.api import caching  # noqa: PLC0415 - imported late: --help needs none of it
    from mxenv.cli._progress import bytes_done  # noqa: PLC0415 - the same

    found = caching.show(caching.cache_root(os.environ))
    done = 0
    with bytes_done("layers", quiet=output.quiet) as progress:

        def told(size: int) -> None:
            nonlocal done
            done += size
            if progress is not None:
                progress(done, found.bytes)

        damaged = caching.verify(found.root, told)
    output.values(
        "mxenv.cache-verified/1",
        {
            "folder": str(found.root),
            "layers": len(found.layers),
            "damaged": [layer.blob or layer.key for layer in damaged],
        },
    )
    sys.exit(1 if damaged else 0)


@COMMAND.command("prune")
@click.option(
    "--size",
    metavar="SIZE",
    type=_options.SIZE,
    envvar="MXENV_CACHE_SIZE",
    help="Leave no more than this, as 20G.",
)
@answers(PLAIN)
def prune(output: Output, *, size: int | None) -> None:
    """Remove those that were not used for longest, until few enough are left.

    What a running build uses stays.
    """
    from mxenv.api import caching  # noqa: PLC0415 - imported late: --help needs none of it

    _prune(output, caching.limit(os.environ) if size is None else size)


@COMMAND.command("clear")
@answers(PLAIN)
def clear(output: Output) -> None:
    """Remove all of them but those that a running build uses."""
    _prune(output, 0)


def _prune(output: Output, size: int) -> None:
    from mxenv.api import caching  # noqa: PLC0415 - imported late: --help needs none of it

    root = caching.cache_root(os.environ)
    freed = caching.prune(root, size)
    output.values(
        "mxenv.cache-pruned/1",
        {
            "folder": str(root),
            "removed": freed.layers,
            "freed": freed.bytes,
            "left": freed.left,
            "in use": freed.in_use,
        },
    )
