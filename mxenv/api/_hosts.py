"""Whether a node is as a lock asks of its host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.api import nodes
from mxenv.constraint import Constraint
from mxenv.errors import LockError, UsageError
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.facts import Snapshot
    from mxenv.lock import Lock
    from mxenv.verdict import Place


def findings(
    lock: Lock, snapshot: Snapshot, context: str, places: Sequence[Place] = ()
) -> Iterator[Finding]:
    """Yield one finding for every fact that ``lock``, which ``context`` names, asks for.

    A fact that is not known is unknown, never passed by. ``places`` are the lines of what is asked.
    """
    for number, text in enumerate(lock.host):
        try:
            constraint = Constraint.parse(text, keys=nodes.keys())
        except UsageError as error:
            place = f"{context}: tool.mxenv.host[{number}]"
            raise LockError(error.message, context=place, hint=error.hint) from error
        for check in constraint.check(snapshot):
            fine = check.outcome is Outcome.COMPATIBLE
            yield Finding(
                code="MX331" if fine else "MX332",
                outcome=check.outcome,
                subject=check.subject,
                found=check.found,
                expected=check.expected,
                remedy="" if fine else "change the host, or the lock",
                place=places[number] if places else None,
            )
