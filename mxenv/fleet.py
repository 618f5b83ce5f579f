"""Many nodes looked at together: which are the same, and what sets the others apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Unreadable
from mxenv.fingerprint import fingerprint, stack_apart
from mxenv.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mxenv.errors import MxenvError
    from mxenv.facts import FactKey, Snapshot
    from mxenv.fingerprint import Difference
    from mxenv.verdict import Finding, Outcome

READ, UNREADABLE, ABSENT = range(3)
KINDS = {Observed: READ, Unreadable: UNREADABLE, Absent: ABSENT}
"""What counts of several readings of one fact: the first of these."""
NAMED = 4
"""Nodes that are named by one verdict on several."""
SHOWN = 100
"""Differences of one group that are kept; nodes that have more in common with nothing exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a node could not be looked at."""

    message: str
    hint: str = ""
    status: int
    """What mxenv exits with if it is the only node."""

    @classmethod
    def of(cls, error: MxenvError) -> Failure:
        """Return what a user is told of ``error``."""
        return cls(message=str(error), hint=error.hint, status=error.exit_code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One node of a fleet, in short."""

    address: str
    seconds: float
    """How long it took."""
    failure: Failure | None = None
    """Set if nothing is known of it."""
    node: str = ""
    """What it calls itself."""
    file: str = ""
    """Where what it said was written, if it was."""
    stack: str | None = None
    """Its stack digest; `None` if a reading failed for a passing reason."""
    digest: str = ""
    """Its node digest."""
    read: int = 0
    absent: int = 0
    unreadable: int = 0
    outcome: Outcome | None = None
    """What a check of it came to, if there was one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Nodes with one stack digest."""

    name: str
    """``A`` is the largest."""
    stack: str
    members: tuple[str, ...]
    """Their addresses."""
    differences: tuple[Difference, ...] = ()
    """From the largest group, which is ``before``; the first `SHOWN`, those that tell most."""
    count: int = 0
    """How many differences there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """What came of looking at many nodes."""

    members: tuple[Member, ...]
    groups: tuple[Group, ...] = ()
    _names: dict[str | None, str] = field(init=False, repr=False, compare=False, hash=False)

    def __post_init__(self) -> None:
        """Remember which group is which: there may be as many as nodes."""
        names: dict[str | None, str] = {group.stack: group.name for group in self.groups}
        object.__setattr__(self, "_names", names)

    @property
    def statuses(self) -> tuple[int, ...]:
        """Return the exit status of every node that failed."""
        return tuple(m.failure.status for m in self.members if m.failure is not None)

    def group(self, member: Member) -> str:
        """Return the name of the group of ``member``; empty if it is in none."""
        return self._names.get(member.stack, "")


def member(
    snapshot: Snapshot, keys: Mapping[str, FactKey], *, address: str, seconds: float
) -> Member:
    """Return ``snapshot`` in short."""
    digests = fingerprint(snapshot, keys)
    best: dict[tuple[str, str], int] = {}
    for fact in snapshot.facts:
        label = (fact.key, fact.instance)
        best[label] = min(best.get(label, ABSENT), KINDS[type(fact.reading)])
    counts = list(best.values())
    return Member(
        address=address,
        seconds=seconds,
        node=snapshot.node,
        stack=digests.stack,
        digest=digests.node,
        read=counts.count(READ),
        absent=counts.count(ABSENT),
        unreadable=counts.count(UNREADABLE),
    )


def groups(
    members: Iterable[Member], one_of: Callable[[str], Snapshot], keys: Mapping[str, FactKey]
) -> tuple[Group, ...]:
    """Return the groups by stack digest, the largest first; the last are the odd ones out.

    ``one_of`` gives the snapshot of any node with a stack digest.
    """
    by_stack: dict[str, list[str]] = {}
    for one in members:
        if one.stack is not None:
            by_stack.setdefault(one.stack, []).append(one.address)
    # Sorting keeps the order of equals: of two groups of one size the first named comes first.
    ordered = sorted(by_stack.items(), key=lambda entry: -len(entry[1]))
    if not ordered:
        return ()
    apart = stack_apart(one_of(ordered[0][0]), keys)
    return tuple(
        _group(number, stack, addresses, apart(one_of(stack)) if number else ())
        for number, (stack, addresses) in enumerate(ordered)
    )


def _group(
    number: int, stack: str, members: Sequence[str], differences: tuple[Difference, ...]
) -> Group:
    return Group(
        name=_letters(number),
        stack=stack,
        members=tuple(members),
        differences=tuple(sorted(differences, key=lambda difference: difference.rank)[:SHOWN]),
        count=len(differences),
    )


def _letters(number: int) -> str:
    """Return A to Z, then AA, AB and so on, as columns of a sheet are named."""
    letters = ""
    while number >= 0:
        number, letter = divmod(number, len(ascii_uppercase))
        letters = ascii_uppercase[letter] + letters
        number -= 1
    return letters


def together(verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return each verdict once, whatever number of nodes it is on; the first of them are named."""
    alike: dict[tuple[tuple[Finding, ...], str], list[str]] = {}
    # What is one value is equal, and of thousands comparing each would take its time.
    known: dict[tuple[int, str], list[str]] = {}
    kept = tuple(verdicts)
    for verdict in kept:
        same = known.get((id(verdict.findings), verdict.matrix))
        if same is None:
            same = alike.setdefault((verdict.findings, verdict.matrix), [])
            known[id(verdict.findings), verdict.matrix] = same
        same.append(verdict.subject)
    return tuple(
        Verdict(subject=_subject(subjects), findings=findings, matrix=matrix)
        for (findings, matrix), subjects in alike.items()
    )


def _subject(subjects: Sequence[str]) -> str:
    left = len(subjects) - NAMED
    return ", ".join(subjects[:NAMED]) + (f" and {left} more" if left > 0 else "")
