"""Whether the rows of a matrix together cover the named components of a stack, and what is near."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mxenv import version
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.matrix import Release, Tested, same_family
from mxenv.selector import PACKAGE
from mxenv.stack import (
    KMD,
    SDK,
    contradicted,
    exactly_tested,
    listed,
    matched,
    named,
    sdk_family,
    seen_working,
)
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.matrix import Matrix, Rule
    from mxenv.stack import Component, Stack

Row = Release | Tested
_GRADES = ("site", "vendor", "partner", "os-vendor", "observed", "third-party")
"""Whose word is named where several say the same."""


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
    rows = [row for row in _all(matrix) if same_family(row.sdk, text)]
    if rows:
        yield _covered(found.sdk, _best(rows, found), f"an SDK of the family {sdk_family(text)}")
        return
    nearest = _nearest_sdk(text, matrix)
    yield Finding(
        code="MX107",
        outcome=Outcome.UNKNOWN,
        subject=SDK,
        found=found.sdk.seen.found,
        expected=f"an SDK of a family that the matrix knows; nearest: {nearest}",
        remedy="take an SDK of a known family, or a newer matrix (--matrix FILE)",
    )


def _all(matrix: Matrix) -> tuple[Row, ...]:
    return (*matrix.releases, *matrix.tested)


def _nearest_sdk(text: str, matrix: Matrix) -> str:
    families = {sdk_family(row.sdk) for row in _all(matrix)} - {""}
    below = [family for family in families if version.parse(family) < version.parse(text)]
    above = families.difference(below)
    older = f"{max(below, key=version.parse)}, older" if below else ""
    newer = f"{min(above, key=version.parse)}, newer" if above else ""
    return "; ".join(filter(None, (older, newer))) or "none, the matrix knows no SDK"


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
    said = f"{found.kmd.seen.found}; {found.sdk.seen.found}; cards: {_cards(found)}"
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
    nearest = _nearest_pair(found, matrix)
    apart = f"; nearest: {_apart(nearest, found, matrix)}" if nearest else ""
    return Finding(
        code="MX105",
        outcome=Outcome.UNKNOWN,
        subject=KMD,
        found=said,
        expected=f"a driver and an SDK that were seen working together{apart}",
        because=nearest.evidence if nearest else (),
        remedy="take a tested pair, or add this node's pilot to the site's matrix as a tested row",
    )


def _cards(found: Stack) -> str:
    return ", ".join(found.cards) or "unknown"


def _nearest_pair(found: Stack, matrix: Matrix) -> Tested | None:
    """Return the tested row that differs least: in the card only, in the driver, in the SDK."""

    def distance(row: Tested) -> tuple[int, bool, tuple[int, ...], str]:
        return (
            (not same_family(row.sdk, found.sdk.version))
            + (version.parse(row.kmd) != version.parse(found.kmd.version)),
            not same_family(row.sdk, found.sdk.version),
            _gap(row.kmd, found.kmd.version) + _gap(row.sdk, found.sdk.version),
            row.id,
        )

    return min(matrix.tested, key=distance, default=None)


def _gap(left: str, right: str) -> tuple[int, ...]:
    """Return how far two versions are apart, field by field."""
    a, b = version.fields(left), version.fields(right)
    width = max(len(a), len(b))
    padded = (x + (0,) * (width - len(x)) for x in (a, b))
    return tuple(abs(x - y) for x, y in zip(*padded, strict=True))


def _apart(row: Tested, found: Stack, matrix: Matrix) -> str:
    """Return what separates the node from the row."""
    parts = []
    if version.parse(row.kmd) != version.parse(found.kmd.version):
        newest = max((version.parse(r.kmd) for r in matrix.tested), default=None)
        newer = newest is not None and version.parse(found.kmd.version) > newest
        parts.append(
            f"driver {row.kmd}, here {found.kmd.version}{', newer than any tested' * newer}"
        )
    if not same_family(row.sdk, found.sdk.version):
        parts.append(f"SDK {row.sdk}, here {found.sdk.version}")
    if not found.cards or not all(matrix.alike(card, row.card) for card in found.cards):
        parts.append(f"card {row.card}, here {_cards(found)}")
    return f"{row.row} ({'; '.join(parts)})"


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
    rows = _speaking(found, matrix)
    usable = _usable(found, matrix, rows)
    for component in named(found, rows):
        fitting = [row for row in usable if component.name in matched(row, found.versions)]
        if fitting:
            yield _covered(component, _best(fitting, found), "this version, with the others here")
        else:
            yield _uncovered(component, found, matrix, rows)


def _speaking(found: Stack, matrix: Matrix) -> tuple[Row, ...]:
    """Return the rows that speak of this SDK, and of this driver if they name one."""
    releases = (row for row in matrix.releases if same_family(row.sdk, found.sdk.version))
    return (*releases, *seen_working(found, matrix))


def _usable(found: Stack, matrix: Matrix, rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows that contradict nothing that is installed.

    A row that pins another version of one component says nothing good of its others beside that
    one; unless exactly that component was tested on this very node.
    """
    excused = {name for row in exactly_tested(found, matrix) for name, _ in row.packages}
    return tuple(row for row in rows if excused.issuperset(contradicted(row, found.versions)))


def _best(rows: Iterable[Row], found: Stack) -> Row:
    """Return the row that says most of the node: by fitting parts, then by who says it."""

    def rank(row: Row) -> tuple[int, int, str]:
        grade = min(_GRADES.index(piece.grade) for piece in row.evidence)
        return (-len(matched(row, found.versions)), grade, row.row)

    return min(rows, key=rank)


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


def _uncovered(component: Component, found: Stack, matrix: Matrix, rows: Sequence[Row]) -> Finding:
    nearest = _nearest_row(component, found, rows)
    elsewhere = _elsewhere(component, found, matrix)
    if nearest is None:
        expected = f"a version that some row names for the SDK {found.sdk.version}"
        remedy = "take what a release names, or add this node's pilot to the site's matrix"
    else:
        pin = dict(nearest.components)[component.name]
        others = [n for n in contradicted(nearest, found.versions) if n != component.name]
        clash = f", with {_pinned(nearest, others)}" if others else ""
        expected = f"{component.name} {pin}{clash}, as {nearest.row} has it"
        remedy = f"install the set of {nearest.id}, or add this node's pilot to the site's matrix"
    return Finding(
        code="MX108",
        outcome=Outcome.UNKNOWN,
        subject=component.name,
        found=component.seen.found + elsewhere,
        expected=expected,
        because=nearest.evidence if nearest else (),
        remedy=remedy,
    )


def _pinned(row: Row, names: Sequence[str]) -> str:
    pins = dict(row.components)
    return listed([f"{name} {pins[name]}" for name in names])


def _nearest_row(component: Component, found: Stack, rows: Iterable[Row]) -> Row | None:
    """Return the row that has the component and fits the rest of the node best."""

    def rank(row: Row) -> tuple[int, tuple[int, ...], str]:
        pin = dict(row.components)[component.name]
        return (-len(matched(row, found.versions)), _gap(pin, component.version), row.row)

    having = [row for row in rows if component.name in dict(row.components)]
    return min(having, key=rank, default=None)


def _elsewhere(component: Component, found: Stack, matrix: Matrix) -> str:
    """Return which other SDKs the version is published for."""
    rows = releases_of(component, matrix)
    others = [row for row in rows if not same_family(row.sdk, found.sdk.version)]
    if not others:
        return ""
    return f"; it comes with {listed([f'{row.id} (SDK {row.sdk})' for row in others])}"


def releases_of(component: Component, matrix: Matrix) -> tuple[Release, ...]:
    """Return the releases that have the component exactly as it is."""
    versions = {component.name: component.version}
    return tuple(row for row in matrix.releases if matched(row, versions))


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
