"""What mxenv exits with, and what each number means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Unreadable, observed
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mxenv.facts import Snapshot
    from mxenv.fleet import Fleet
    from mxenv.verdict import Verdict

STATUS = {Outcome.COMPATIBLE: 0, Outcome.INCOMPATIBLE: 1, Outcome.UNKNOWN: 3}
USAGE = 2
UNREACHABLE = 4
INVALID = 5
FAILED = 6
BUG = 70
INTERRUPTED = 130
"""128 + SIGINT, as shells report it."""
NO_READER = 141
"""128 + SIGPIPE: the reader of a pipe went away."""

MEANING = {
    0: "compatible, or done",
    1: "incompatible, or different",
    2: "the command line asks for something that cannot be",
    3: "unknown: what was read does not decide it",
    4: "the host cannot be reached",
    5: "a file is invalid",
    6: "an engine, a registry or an index failed",
    70: "a bug in mxenv",
    78: "the start gate of an image refused to start it",
    130: "interrupted",
}
"""Also in the README and in docs/reference/cli.md."""

GRAVITY = (BUG, FAILED, INVALID, USAGE, UNREACHABLE, 1, 3, 0)
"""Of several, the first of these is the status of all.

What could not be done comes before what was found: a verdict on some nodes is none on all. What
is known to be bad comes before what is not known.
"""

NAGIOS = {Outcome.COMPATIBLE: 0, Outcome.INCOMPATIBLE: 2, Outcome.UNKNOWN: 3}
NAGIOS_WARNING = 1
NAGIOS_WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")


def worst(verdicts: Sequence[Verdict]) -> Outcome:
    """Return the worst outcome; no verdict at all is no good news."""
    return min((verdict.outcome for verdict in verdicts), default=Outcome.UNKNOWN)


def gravest(statuses: Iterable[int]) -> int:
    """Return the status of many nodes together; of none at all it is unknown."""
    known = set(statuses) or {STATUS[Outcome.UNKNOWN]}
    return next((status for status in GRAVITY if status in known), BUG)


def of_snapshot(snapshot: Snapshot) -> int:
    """Return the status of having looked at a node; it was not if nothing could be read."""
    return 0 if any(observed(snapshot.facts)) else STATUS[Outcome.UNKNOWN]


def of_nodes(fleet: Fleet) -> int:
    """Return the status of having looked at many nodes."""
    asked = (member for member in fleet.members if member.failure is None)
    seen = (0 if member.read else STATUS[Outcome.UNKNOWN] for member in asked)
    return gravest((*fleet.statuses, *seen))


def of_difference(before: Snapshot, after: Snapshot, count: int) -> int:
    """Return the status of a comparison: what was not read is no proof that nothing differs."""
    if count:
        return STATUS[Outcome.INCOMPATIBLE]
    known = not any(of_snapshot(one) or _late(one) for one in (before, after))
    return STATUS[Outcome.COMPATIBLE if known else Outcome.UNKNOWN]


def _late(snapshot: Snapshot) -> bool:
    """Return whether asking again may tell more."""
    readings = (snapshot.reading(fact.key, fact.instance) for fact in snapshot.facts)
    return any(isinstance(one, Unreadable) and one.passing for one in readings)


def of_fleet(fleet: Fleet, verdicts: Iterable[Verdict]) -> int:
    """Return the status of many nodes that were judged, or could not be."""
    judged = (STATUS[verdict.outcome] for verdict in verdicts)
    return gravest((*fleet.statuses, *judged))


def nagios(verdict: Verdict) -> int:
    """Return the status that a Nagios plug-in has for ``verdict``; waived findings warn."""
    status = NAGIOS[verdict.outcome]
    waived = any(finding.waiver is not None for finding in verdict.findings)
    return NAGIOS_WARNING if status == 0 and waived else status
