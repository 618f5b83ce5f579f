"""What a place needs beyond versions that go together, and what of it is so."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.constraint import equal
from mxenv.ruling import guard, looked, of_the_place
from mxenv.selector import PACKAGE
from mxenv.stack import listed
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.constraint import Check
    from mxenv.matrix import Matrix, Requirement, Tested
    from mxenv.selector import Selector
    from mxenv.stack import Stack

KERNEL = "kernel.release"


def findings(found: Stack, matrix: Matrix) -> Iterator[Finding]:
    """Yield what came of every requirement that is not excluded by what was read.

    What cannot be seen is advice: no doubt is cast on a node because nobody could look at the
    limits of a job that is yet to start.
    """
    for row in matrix.requirements:
        asked = (*row.when, *row.requires)
        if row.applies or (found.image and any(of_the_place(one.selector) for one in asked)):
            continue
        applies = guard(row.when, found)
        if applies is Outcome.INCOMPATIBLE:
            continue
        checks = tuple(chain.from_iterable(one.check(found.snapshot) for one in row.requires))
        worst = min((check.outcome for check in checks), default=Outcome.UNKNOWN)
        shown = tuple(check for check in checks if check.outcome is worst)
        if worst is Outcome.COMPATIBLE:
            yield _finding("MX125", worst, row, shown)
        elif worst is Outcome.UNKNOWN or applies is Outcome.UNKNOWN:
            yield _advice(row, shown or looked(row.when, found))
        elif tested := _seen_on(shown, found, matrix):
            yield _excused(row, shown, tested)
        else:
            yield _finding("MX126", row.severity, row, shown)


def _seen_on(checks: Sequence[Check], found: Stack, matrix: Matrix) -> Tested | None:
    """Return the row that has this driver working on this kernel, where the kernel is minded.

    A list of kernels is of those that somebody tried; one more that was tried is as good.
    """
    value = str(getattr(found.snapshot.reading(KERNEL), "value", ""))
    if {check.subject for check in checks} != {KERNEL}:
        return None
    for row in matrix.tested:
        same = version.parse(row.kmd) == version.parse(found.kmd.version)
        if row.kernel and same and equal(value, f"{row.kernel}-*") is Outcome.COMPATIBLE:
            return row
    return None


def _excused(row: Requirement, checks: Sequence[Check], tested: Tested) -> Finding:
    said = listed([check.found for check in checks], "; ")
    return Finding(
        code="MX118",
        outcome=Outcome.COMPATIBLE,
        subject=_subjects(checks),
        found=f"{said}; seen working all the same: {tested.row}",
        expected=row.text,
        because=(*tested.evidence, *row.evidence),
        row=row.row,
    )


def _finding(code: str, outcome: Outcome, row: Requirement, checks: Sequence[Check]) -> Finding:
    return Finding(
        code=code,
        outcome=outcome,
        subject=_subjects(checks),
        found=listed([check.found for check in checks], "; ") + _advised(code, row),
        expected=row.text,
        because=row.evidence,
        remedy="" if code == "MX125" else row.remedy,
        row=row.row,
        advice=code == "MX126" and outcome is Outcome.COMPATIBLE,
    )


def _advised(code: str, row: Requirement) -> str:
    """Return what a person is to know who sees only what was found, as with all that is fine."""
    return f"; {row.text}" if code == "MX126" and row.severity is Outcome.COMPATIBLE else ""


def _advice(row: Requirement, checks: Sequence[Check]) -> Finding:
    """Return what is to be known; what was looked at matters only where it should have told."""
    unread = [check.found for check in checks if check.outcome is Outcome.UNKNOWN]
    concerned = dict.fromkeys(_name(one.selector) for one in row.when)
    return Finding(
        code="MX127",
        outcome=Outcome.COMPATIBLE,
        subject=_subjects(checks) if row.requires else listed(list(concerned)),
        found="; ".join((row.text, *unread[:1])),
        expected=row.text,
        because=row.evidence,
        remedy=row.remedy,
        row=row.row,
        advice=True,
    )


def _name(selector: Selector) -> str:
    """Return the distribution that is meant, or what kind of fact."""
    return selector.instance if selector.key.name == PACKAGE else selector.key.name


def _subjects(checks: Sequence[Check]) -> str:
    return listed(list(dict.fromkeys(check.subject for check in checks)))
