"""What somebody takes for granted of a node, so that another one is not judged in its place.

``accelerators >= 1`` counts the cards of every vendor; anything else is a constraint on a fact.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, assert_never

from mxenv.constraint import Constraint
from mxenv.errors import UsageError
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.selector import nearest
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.facts import FactKey, Snapshot

ACCELERATORS = "accelerators"
COUNT = ".device.count"
_OF_CARDS = re.compile(rf"\s*{ACCELERATORS}\b\s*(?P<test>.*)", re.DOTALL)
_WORD = re.compile(r"\s*(\w+)(?![\w.\[]).*", re.DOTALL)
"""One without a dot, as `ACCELERATORS` is and nearly no fact."""


class Expectation:
    """One thing that has to be so of the right node."""

    __slots__ = ("cards", "constraint", "text")

    def __init__(self, text: str, *, keys: Mapping[str, FactKey]) -> None:
        """Read ``text``, or say what in it is wrong."""
        self.text = text
        self.cards: tuple[str, ...] = ()
        if match := _OF_CARDS.fullmatch(text):
            self.cards = tuple(name for name in keys if name.endswith(COUNT))
            text = f"{next(iter(self.cards), f'cards{COUNT}')} {match['test']}"
        elif (match := _WORD.fullmatch(text)) and match[1] not in keys:
            hint = nearest(match[1].lower(), (*keys, ACCELERATORS))
            raise UsageError(f"{match[1]!r} is neither a fact nor {ACCELERATORS!r}", hint=hint)
        self.constraint = Constraint.parse(text, keys=keys)

    @property
    def keys(self) -> frozenset[str]:
        """Return the facts that are looked at."""
        return frozenset(self.cards or (self.constraint.selector.key.name,))

    def found(self, snapshot: Snapshot) -> tuple[Outcome, str]:
        """Return whether the node is as expected, and what is there."""
        if self.cards:
            return self._counted(snapshot)
        checks = tuple(self.constraint.check(snapshot))
        worst = min(check.outcome for check in checks)
        return worst, "; ".join(c.found for c in checks if c.outcome is worst)

    def _counted(self, snapshot: Snapshot) -> tuple[Outcome, str]:
        """Return what all vendors' cards together come to; a count that is not known may be any."""
        number, said, dark = 0, [], False
        for key in self.cards:
            reading = snapshot.reading(key)
            match reading:
                case Observed(value):
                    if isinstance(value, int):
                        number += value
                    else:
                        dark = True
                    said.append(f"{key}: {value}")
                case Unreadable(reason):
                    # That nobody looked is no more a count of none than that nobody could.
                    dark = True
                    said.append(f"{key}: unreadable, {reason}")
                case Absent():
                    continue
                case _:
                    assert_never(reading)
        outcome = min(clause.hold(number) for clause in self.constraint.clauses)
        more = min(clause.hold(number + 10**6) for clause in self.constraint.clauses)
        if dark and not outcome == more == Outcome.COMPATIBLE:
            outcome = Outcome.UNKNOWN
        listed = ", ".join(said) or "no vendor's tool or driver tells of any"
        return outcome, f"{ACCELERATORS}: {number} ({listed})"


def findings(expected: Iterable[Expectation], snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what came of each expectation."""
    for one in expected:
        outcome, found = one.found(snapshot)
        fine = outcome is Outcome.COMPATIBLE
        yield Finding(
            code="MX191" if fine else "MX192",
            outcome=outcome,
            subject=ACCELERATORS if one.cards else str(one.constraint.selector),
            found=found,
            expected=one.text.strip(),
            remedy="" if fine else "name the right node, or look why it is not as it should be",
        )
