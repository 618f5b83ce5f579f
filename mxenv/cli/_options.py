"""Arguments and options that several commands have."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from mxenv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., object]")

PATH = click.Path(path_type=Path)

on = click.option("--on", metavar="ADDRESS", help="What to ask; this machine unless given.")
env = click.option(
    "--env", metavar="PREFIX", help="The Python environment to judge, as /opt/conda."
)
matrices = click.option(
    "--matrix",
    metavar="FILE",
    type=PATH,
    multiple=True,
    envvar="MXENV_MATRIX_PATH",
    help="More rows, for this site; may be given several times.",
)
index = click.option(
    "--index", metavar="URL", multiple=True, help="An index to ask, before those configured for uv."
)
find_links = click.option(
    "--find-links", metavar="DIR|URL", multiple=True, help="Where wheels lie, beside the indexes."
)
offline = click.option(
    "--offline", is_flag=True, help="Ask no index; take wheels from --find-links only."
)
wheelhouse = click.option(
    "--wheelhouse",
    metavar="DIR",
    type=PATH,
    help="Where the wheels lie; beside the lock unless given.",
)


def lock_argument(function: F) -> F:
    """Give a command its argument LOCK."""
    return click.argument("lock", metavar="LOCK", type=PATH)(function)


def target(given: str | None, on: str | None, *, word: str) -> str:
    """Return what is to be asked: a file, an address, or this machine; never two of them."""
    if given is not None and on is not None:
        raise UsageError(f"{word} and --on both say what to look at", hint="give one of them")
    return given or on or "local:"


def now() -> datetime:
    """Return the time; the one place that asks the clock."""
    return datetime.now(UTC).replace(microsecond=0)


def today() -> date:
    """Return the day that waivers are held against."""
    return now().date()
