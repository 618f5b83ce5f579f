"""``mxenv diff``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

import click

from mxenv.cli import _options, _status
from mxenv.cli._output import PAGES, Output, answers
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.facts import Snapshot
    from mxenv.lock import Lock

UNSURE = _status.STATUS[Outcome.UNKNOWN]
DIFFERENT = _status.STATUS[Outcome.INCOMPATIBLE]


@click.command("diff", short_help="Name every fact in which two nodes, or two locks, differ.")
@click.argument("a")
@click.argument("b")
@answers(PAGES)
def COMMAND(output: Output, *, a: str, b: str) -> None:  # noqa: N802 - a constant
    """Name every fact in which two nodes differ; A and B are snapshots, addresses, or locks.

    Where their vendors differ, each fact is shown beside what the other vendor has for it. Of two
    locks everything is compared; a lock and a node are compared in what the lock speaks of.

    Exits with 1 if there is one, with 0 if there is none; with 3 if too little could be read to
    say so.
    """
    from mxenv.api import lock_files  # noqa: PLC0415 - imported late: --help needs none of it
    from mxenv.lock import Lock  # noqa: PLC0415 - the same

    left, right = (lock_files.held(target, now=_options.now()) for target in (a, b))
    if isinstance(left, Lock) and isinstance(right, Lock):
        _locks(output, (a, left), (b, right))
    _nodes(output, *lock_files.as_nodes(left, right))


def _locks(output: Output, before: tuple[str, Lock], after: tuple[str, Lock]) -> NoReturn:
    from mxenv import lock_difference  # noqa: PLC0415 - imported late: only for locks

    changes = lock_difference.compare(before[1], after[1])
    output.locks(lock_difference.Locks(before=before[0], after=after[0], changes=changes))
    differ = "1 difference" if len(changes) == 1 else f"{len(changes) or 'no'} differences"
    output.note(f"{differ} between {before[0]} and {after[0]}")
    sys.exit(DIFFERENT if changes else 0)


def _nodes(output: Output, left: Snapshot, right: Snapshot) -> NoReturn:
    from mxenv.api import nodes  # noqa: PLC0415 - imported late: --help needs none of it

    comparison = nodes.compare(left, right)
    output.comparison(comparison)
    count = len(comparison.differences)
    status = _status.of_difference(left, right, count)
    facts = "1 fact differs" if count == 1 else f"{count} facts differ"
    unsure = "; not enough could be read to say that they are equal" if status == UNSURE else ""
    output.note(f"{facts} between {left.node} and {right.node}{unsure}")
    sys.exit(status)
