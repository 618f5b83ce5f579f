"""What the rules and the known breakages of a matrix say of a stack."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from mxenv.facts import View
from mxenv.stack import listed
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.constraint import Agreement, Check, Constraint
    from mxenv.matrix import Broken, Matrix, Rule, Tested
    from mxenv.selector import Selector
    from mxenv.stack import Stack

_OF_THE_PLACE = (
    "boot.",
    "cgroup.",
    "container.",
    "cpu.",
    "disk.",
    "env",
    "iommu.",
    "kernel.",
    "limit.",
    "memory.",
    "metax.device.",
    "metax.module.",
    "metax.node",
    "pci.",
    "rdma.",
    "runtime",
)
"""Keys of the place where an image will run; what is asked of them is asked of the host."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruled:
    """What came of one rule that could apply."""

    rule: Rule
    checks: tuple[Check, ...]
    """What it required, as it was found; the guards of an undecided rule as well."""
    outcome: Outcome
    tested: Tested | None = None
    """The row that has exactly these versions working, though the rule is broken."""


def rule(found: Stack, matrix: Matrix, tested: Sequence[Tested]) -> Iterator[Ruled]:
    """Yield what came of every rule that is not excluded by what was read.

    A rule is an implication: one whose requirement holds is kept, whether it applies or not; one
    that may apply and may be broken is undecided.
    """
    for row in matrix.rules:
        if found.image and any(map(of_the_place, _selectors(row))):
            continue
        applies = guard(row.when, found)
        if applies is Outcome.INCOMPATIBLE:
            continue
        asked: tuple[Constraint | Agreement, ...] = (*row.requires, *row.agree)
        checks = tuple(chain.from_iterable(one.check(found.snapshot) for one in asked))
        if not checks:
            continue
        worst = min(check.outcome for check in checks)
        if worst is Outcome.COMPATIBLE or applies is Outcome.COMPATIBLE:
            shown = tuple(check for check in checks if check.outcome is worst)
            broken = worst is Outcome.INCOMPATIBLE
            exact = _exact((*shown, *looked(row.when, found)), tested) if broken else None
            yield Ruled(rule=row, checks=shown, outcome=worst, tested=exact)
        else:
            guards = looked(row.when, found)
            unread = tuple(check for check in guards if check.outcome is Outcome.UNKNOWN)
            yield Ruled(rule=row, checks=unread, outcome=Outcome.UNKNOWN)


def _exact(checks: Sequence[Check], tested: Sequence[Tested]) -> Tested | None:
    """Return the tested row that has everything the rule looked at, if one has."""
    about = frozenset[str]().union(*(check.about for check in checks))
    for row in tested:
        if about <= {"metax.kmd", "metax.sdk", *dict(row.packages)}:
            return row
    return None


def guard(when: Sequence[Constraint], found: Stack) -> Outcome:
    """Return whether all guards are met, each by some instance."""
    outcome = Outcome.COMPATIBLE
    # Most rows speak of what is not here, and one guard tells: nothing else is worked out then.
    for constraint in when:
        outcome = min(outcome, constraint.best(found.snapshot))
        if outcome is Outcome.INCOMPATIBLE:
            break
    return outcome


def looked(when: Sequence[Constraint], found: Stack) -> tuple[Check, ...]:
    """Return what the guards looked at: of each, the instances that meet it best."""
    shown: list[Check] = []
    for constraint in when:
        checks = tuple(constraint.check(found.snapshot))
        met = max(check.outcome for check in checks)
        shown += (check for check in checks if check.outcome is met)
    return tuple(shown)


def of_the_place(selector: Selector) -> bool:
    """Tell whether what is selected is of the place where an image runs, not of the image."""
    return selector.key.view is View.HOST or selector.key.name.startswith(_OF_THE_PLACE)


def _selectors(row: Rule) -> Iterator[Selector]:
    yield from (constraint.selector for constraint in (*row.when, *row.requires))
    for relation in row.agree:
        yield relation.left
        yield relation.right


def finding(ruled: Ruled) -> Finding:
    """Return what a person is told of a rule."""
    row, outcome = ruled.rule, ruled.outcome
    code = {Outcome.COMPATIBLE: "MX113", Outcome.UNKNOWN: "MX112"}.get(outcome, "MX111")
    evidence = row.evidence
    found = listed([check.found for check in ruled.checks], "; ")
    if outcome is Outcome.INCOMPATIBLE:
        outcome = row.severity
    if ruled.tested is not None:
        code, outcome = "MX118", Outcome.COMPATIBLE
        evidence = (*ruled.tested.evidence, *evidence)
        found = f"{found}; seen working all the same: {ruled.tested.row}"
    return Finding(
        code=code,
        outcome=outcome,
        subject=listed(list(dict.fromkeys(check.subject for check in ruled.checks))),
        found=found,
        expected=row.text,
        because=evidence,
        remedy="" if outcome is Outcome.COMPATIBLE else row.remedy,
        row=row.row,
    )


def known_broken(found: Stack, matrix: Matrix) -> Iterator[Finding]:
    """Yield the known breakages that the node is in, or may be in."""
    for row in matrix.broken:
        if found.image and any(of_the_place(constraint.selector) for constraint in row.when):
            continue
        outcome = guard(row.when, found)
        if outcome is not Outcome.INCOMPATIBLE:
            yield _breakage(row, outcome, looked(row.when, found))


def _breakage(row: Broken, met: Outcome, guards: Sequence[Check]) -> Finding:
    certain = met is Outcome.COMPATIBLE
    shown = [check for check in guards if certain or check.outcome is Outcome.UNKNOWN]
    return Finding(
        code="MX114" if certain else "MX115",
        outcome=row.severity if certain else Outcome.UNKNOWN,
        subject=listed(list(dict.fromkeys(check.subject for check in shown))),
        found=listed([check.found for check in shown], "; "),
        expected=f"not this: {row.text}",
        because=row.evidence,
        remedy=row.remedy,
        row=row.row,
    )
