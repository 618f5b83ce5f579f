"""How far something is: on a terminal only, and never mixed with results."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def bytes_done(label: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give what is to be told how many bytes came, and how many will come."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - imported late: only for a terminal
    from rich.progress import (  # noqa: PLC0415 - the same
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(label, total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield told


@contextmanager
def nodes_done(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Give what is to be told how many nodes were asked, and how many there are."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - imported late: only for a terminal
    from rich.progress import (  # noqa: PLC0415 - the same
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("nodes", total=None)

        def told(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield told


@contextmanager
def steps_done(*, quiet: bool, verbose: bool) -> Iterator[Callable[[str], None] | None]:
    """Give what is to be told which step something long is at, and what is said in it.

    What is said begins with a blank, and is for those who want to see all. A log gets each step in
    a line of its own, or nobody could tell where something hangs.
    """
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        from mxenv.cli._output import tell  # noqa: PLC0415 - that module brings this one

        yield lambda text: tell(text) if verbose or not text.startswith(" ") else None
        return
    from rich.console import Console  # noqa: PLC0415 - imported late: only for a terminal
    from rich.markup import escape  # noqa: PLC0415 - the same

    console = Console(stderr=True)
    with console.status("") as status:

        def told(step: str) -> None:
            if step.startswith(" "):
                if verbose:
                    console.print(step, markup=False, highlight=False)
                return
            room = max(1, console.width - 4)
            status.update(escape(step if len(step) <= room else f"{step[: room - 1]}…"))

        yield told
