"""Whether the rows of a matrix together cover the named components of a stack, and what is near."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mxenv.facts import Absent, Observed, Unreadable
from mxenv.matrix import GRADES, same_family
from mxenv.nearness import apart, card_names, nearest_pair, nearest_row, nearest_sdk, rows_with_sdk
from mxenv.selector import PACKAGE
from mxenv.stack import (
    KMD,
    SDK,
    exactly_tested,
    held,
    listed,
    named,
    pins,
    read_in,
    sdk_family,
    seen_working,
)
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.matrix import Matrix, Release, Rule, Tested
    from mxenv.nearness import Row
    from mxenv.stack import Component, Fit, Stack


def cover(found: Stack, matrix: Matrix, kept: Sequence[Rule]) -> Iterator[Finding]:
    """Yield what covers each named component, or that nothing does and what is nearest.

    ``kept`` are the rules that hold here and by which the vendor vouches for driver and SDK.
    """
    yield from _sdk(found, matrix)
    yield from _driver(found, matrix, kept)
    if found.unread:
        yield _hidden(found)
    if found.sdk.version:
        yield from _packages(found, matrix)


def _sdk(found: Stack, matrix: Matrix) -> Iterator[Finding]:
    if problem := _unread(found.sdk, Outcome.UNKNOWN, "an SDK; images bring one"):
        yield problem
        return
    text = found.sdk.version
    rows = [row for row in rows_with_sdk(matrix) if same_family(row.sdk, text)]
    if rows:
        best = _best(held(row, found.versions) for row in rows)
        yield _covered(found.sdk, best, f"an SDK of the family {sdk_family(text)}")
        return
    nearest = nearest_sdk(text, matrix)
    yield Finding(
        code="MX107",
        outcome=Outcome.UNKNOWN,
        subject=SDK,
        found=found.sdk.seen.found,
        expected=f"an SDK of a family that the matrix knows; nearest: {nearest}",
        remedy="take an SDK of a known family, or a newer matrix (--matrix FILE)",
    )


def _driver(found: Stack, matrix: Matrix, kept: Sequence[Rule]) -> Iterator[Finding]:
    if found.image:
        yield Finding(
            code="MX117",
            outcome=Outcome.COMPATIBLE,
            subject=KMD,
            found="not asked: an image holds no driver and no card",
            expected="a host that meets the lock's host requirements",
            remedy="check the node that will run it",
        )
        return
    if found.no_cards:
        return
    missing = Outcome.INCOMPATIBLE if found.cards else Outcome.UNKNOWN
    if problem := _unread(found.kmd, missing, "the driver that the cards need"):
        yield problem
    elif found.sdk.version:
        yield _pair(found, matrix, kept)


def _pair(found: Stack, matrix: Matrix, kept: Sequence[Rule]) -> Finding:
    """Return whether driver and SDK were seen together, on these cards."""
    said = f"{found.kmd.seen.found}; {found.sdk.seen.found}; cards: {card_names(found)}"
    tested = (*exactly_tested(found, matrix), *seen_working(found, matrix))
    row: Tested | Rule | None = next(iter(tested), None) or next(iter(kept), None)
    if row is not None:
        return Finding(
            code="MX106",
            outcome=Outcome.COMPATIBLE,
            subject=KMD,
            found=said,
            expected="a driver and an SDK that were seen working together, or are vouched for",
            because=row.evidence,
            row=row.row,
        )
    nearest = nearest_pair(found, matrix)
    near = f"; nearest: {apart(nearest, found, matrix)}" if nearest else ""
    return Finding(
        code="MX105",
        outcome=Outcome.UNKNOWN,
        subject=KMD,
        found=said,
        expected=f"a driver and an SDK that were seen working together{near}",
        because=nearest.evidence if nearest else (),
        remedy="take a tested pair, or add this node's pilot to the site's matrix as a tested row",
    )


def _hidden(found: Stack) -> Finding:
    return Finding(
        code="MX103",
        outcome=Outcome.UNKNOWN,
        subject=PACKAGE,
        found=listed([seen.found for seen in found.unread], "; "),
        expected="every distribution of the environment can be read",
        remedy="make them readable, or probe where they can be read",
    )


def _packages(found: Stack, matrix: Matrix) -> Iterator[Finding]:
    fits = _speaking(found, matrix)
    usable = _usable(found, matrix, fits)
    beside: dict[str, tuple[Fit, list[Component]]] = {}
    for component in named(found, fits, matrix):
        fitting = [fit for fit in usable if component.name in fit.matched]
        if fitting:
            yield _covered(component, _best(fitting), "this version, with the others here")
            continue
        near = nearest_row(component, fits)
        if near and component.name in near.matched:
            beside.setdefault(near.row.row, (near, []))[1].append(component)
        else:
            yield _uncovered(component, near, found, matrix)
    for fit, group in beside.values():
        yield _beside(fit, group, found)


def _speaking(found: Stack, matrix: Matrix) -> tuple[Fit, ...]:
    """Return the rows that speak of this SDK, and of this driver if they name one."""
    releases = [row for row in matrix.releases if same_family(row.sdk, found.sdk.version)]
    rows: tuple[Row, ...] = (*releases, *seen_working(found, matrix))
    return tuple(held(row, found.versions) for row in rows)


def _usable(found: Stack, matrix: Matrix, fits: Iterable[Fit]) -> tuple[Fit, ...]:
    """Return the rows that contradict nothing that is installed.

    A row that pins another version of one component says nothing good of its others beside that
    one; unless exactly that component was tested on this very node.
    """
    excused = {name for row in exactly_tested(found, matrix) for name, _ in row.packages}
    return tuple(fit for fit in fits if excused.issuperset(fit.contradicted))


def _best(fits: Iterable[Fit]) -> Row:
    """Return the row that says most of the node: by fitting parts, then by who says it."""

    def rank(fit: Fit) -> tuple[int, int, str]:
        grade = min(GRADES.index(piece.grade) for piece in fit.row.evidence)
        return (-len(fit.matched), grade, fit.row.row)

    return min(fits, key=rank).row


def _covered(component: Component, row: Row, expected: str) -> Finding:
    return Finding(
        code="MX109",
        outcome=Outcome.COMPATIBLE,
        subject=component.name,
        found=component.seen.found,
        expected=expected,
        because=row.evidence,
        row=row.row,
    )


def _uncovered(component: Component, near: Fit | None, found: Stack, matrix: Matrix) -> Finding:
    expected = f"a version that some row names for the SDK {found.sdk.version}"
    remedy = "take what a release names, or add this node's pilot to the site's matrix"
    if near is not None:
        expected = f"{_pinned(near, [component.name])}, as {near.row.row} has it"
        remedy = f"install the set of {near.row.id}, or add this node's pilot to the site's matrix"
    return Finding(
        code="MX108",
        outcome=Outcome.UNKNOWN,
        subject=component.name,
        found=component.seen.found + _elsewhere(component, found, matrix),
        expected=expected,
        because=near.row.evidence if near else (),
        remedy=remedy,
    )


def _beside(fit: Fit, group: Sequence[Component], found: Stack) -> Finding:
    """Return that a row has these components, but beside other versions than those here."""
    here = listed([f"{name} {found.versions[name]}" for name in fit.contradicted])
    return Finding(
        code="MX108",
        outcome=Outcome.UNKNOWN,
        subject=listed([component.name for component in group]),
        found=f"{len(group)} as {fit.row.row} has them, beside {here} ({read_in(group)})",
        expected=f"beside {_pinned(fit, fit.contradicted)}",
        because=fit.row.evidence,
        remedy=f"install the set of {fit.row.id}, or add this node's pilot to the site's matrix",
    )


def _pinned(fit: Fit, names: Sequence[str]) -> str:
    return listed([f"{name} {fit.pins[name]}" for name in names])


def _elsewhere(component: Component, found: Stack, matrix: Matrix) -> str:
    """Return which other SDKs the version is published for."""
    rows = releases_of(component, matrix)
    others = [row for row in rows if not same_family(row.sdk, found.sdk.version)]
    if not others:
        return ""
    return f"; it comes with {listed([f'{row.id} (SDK {row.sdk})' for row in others])}"


def releases_of(component: Component, matrix: Matrix) -> tuple[Release, ...]:
    """Return the releases that have the component exactly as it is."""
    name, installed = component.name, component.version
    rows = matrix.publishing.get(name, ())
    return tuple(row for row in rows if pins(dict(row.components)[name], installed, row.sdk))


def _unread(component: Component, missing: Outcome, expected: str) -> Finding | None:
    match component.seen.reading:
        case Observed():
            return None
        case Absent():
            code, outcome, remedy = "MX104", missing, f"install {expected}, or look where it is"
        case Unreadable():
            code, outcome = "MX103", Outcome.UNKNOWN
            remedy = "make it readable, or probe where it can be read"
        case _:
            assert_never(component.seen.reading)
    return Finding(
        code=code,
        outcome=outcome,
        subject=component.name,
        found=component.seen.found,
        expected=expected,
        remedy=remedy,
    )
