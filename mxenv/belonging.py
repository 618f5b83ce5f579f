"""Whether the builds that the lines of a project pin for one environment belong together."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mxenv import marker, mixture, pins, replacement, ruling
from mxenv.facts import EVERY, Fact, Observed, Snapshot, Unreadable, View
from mxenv.frozen import frozen
from mxenv.nearness import nearest_row
from mxenv.selector import PACKAGE
from mxenv.stack import held, listed, named, stack
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.asked import Asked
    from mxenv.facts import Reading
    from mxenv.matrix import Matrix
    from mxenv.nearness import Row
    from mxenv.stack import Stack
    from mxenv.verdict import Place

_PLACE = ""
"""The environment that lines are installed into: no line tells where it is."""
MIXED = "MX110"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@frozen
class Pinned:
    """What is installed together, as far as lines and locks pin it."""

    lines: Mapping[str, Asked]
    """The line that pins each distribution."""
    beside: Mapping[str, str]
    """What the image holds, by its lock; what a line pins counts more."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Return every distribution of which the version is told."""
        return {**self.beside, **{name: pins.pin(one) for name, one in self.lines.items()}}

    def source(self, name: str) -> str:
        """Return what tells the version of a distribution."""
        return str(self.lines[name].place) if name in self.lines else "the lock"


def pinned(asked: Sequence[Asked], beside: Mapping[str, str], *, last: bool) -> Iterator[Pinned]:
    """Yield what ``asked``, the lines that meet in one environment, pin on each kind of system.

    Of two lines that pin one distribution differently the ``last`` counts, as in the stages of a
    Containerfile, or none: that they contradict is told elsewhere.
    """
    exact = [one for one in asked if one.name and not one.unclear and pins.pin(one)]
    seen: set[tuple[tuple[str, str], ...]] = set()
    for alternative in dict.fromkeys(("", *(one.alternative for one in exact))):
        meant = [one for one in exact if one.alternative in ("", alternative)]
        for system in marker.systems(one.marker for one in meant):
            lines = _agreed((one for one in meant if one.marker in system), last=last)
            key = tuple(sorted((name, pins.pin(one)) for name, one in lines.items()))
            if lines and key not in seen:
                seen.add(key)
                yield Pinned(lines=lines, beside=beside)


def _agreed(asked: Iterable[Asked], *, last: bool) -> dict[str, Asked]:
    """Return the one line that counts of each distribution, if one does."""
    lines: dict[str, Asked] = {}
    torn: set[str] = set()
    for one in asked:
        if one.name in lines and pins.pin(lines[one.name]) != pins.pin(one) and not last:
            torn.add(one.name)
        if last or one.name not in lines:
            lines[one.name] = one
    return {name: one for name, one in lines.items() if name not in torn}


def findings(given: Pinned, matrix: Matrix) -> Iterator[Finding]:
    """Yield what the matrix says against the set, or that it says nothing of a part of it.

    Of a set without a build of the vendor nothing is said: it may be for other cards.
    """
    if not any(map(replacement.vendors_own, given.lines.values())):
        return
    found = stack(_node(given), _PLACE)
    against = [
        replace(one, place=place)
        for one in _against(found, matrix)
        if (place := _first(one, given, found))
    ]
    yield from against or _uncovered(given, found, matrix)


def _node(given: Pinned) -> Snapshot:
    """Return an image of which is known what is pinned, and nothing else."""
    told: list[tuple[str, Reading, str]] = [
        *((name, Observed(text), given.source(name)) for name, text in given.versions.items()),
        (EVERY, Unreadable("no line tells"), "lines"),
    ]
    facts = tuple(
        Fact(
            key=PACKAGE,
            instance=name,
            reading=reading,
            source=source,
            view=View.IMAGE,
        )
        for name, reading, source in told
    )
    return Snapshot(node="lines", view=View.IMAGE, taken_at=_EPOCH, facts=facts)


def _against(found: Stack, matrix: Matrix) -> Iterator[Finding]:
    ruled = tuple(ruling.rule(found, matrix, ()))
    if mixed := mixture.mixture(found, matrix, ruled, ()):
        yield mixed
    every = (*map(ruling.finding, ruled), *ruling.known_broken(found, matrix))
    yield from (one for one in every if one.outcome is Outcome.INCOMPATIBLE)


def _first(finding: Finding, given: Pinned, found: Stack) -> Place | None:
    """Return the first line that pins something of what a finding is about, if a line does."""
    about = re.split(r", | and ", finding.subject)
    names = [one.name for one in found.packages if one.name in about]
    if finding.code == MIXED and not given.lines.keys() & names:
        # What is odd is in the lock, and a line brings the rest.
        names = [one.name for one in found.tagged]
    return min((given.lines[name].place for name in names if name in given.lines), default=None)


def _uncovered(given: Pinned, found: Stack, matrix: Matrix) -> Iterator[Finding]:
    """Yield the pins that no row has together with the others."""
    rows: tuple[Row, ...] = (*matrix.releases, *matrix.tested)
    fits = tuple(held(row, found.versions) for row in rows)
    covered = {name for fit in fits if not fit.contradicted for name in fit.matched}
    for component in named(found, fits, matrix):
        if component.name in covered or component.name not in given.lines:
            continue
        near = nearest_row(component, fits)
        expected = "a version that some row has with the others here"
        if near is not None and component.name in near.matched:
            beside = listed([f"{name} {near.pins[name]}" for name in near.contradicted])
            expected = f"beside it {beside}, as {near.row.row} has it"
        elif near is not None:
            expected = f"{component.name} {near.pins[component.name]}, as {near.row.row} has it"
        yield Finding(
            code="MX108",
            outcome=Outcome.UNKNOWN,
            subject=component.name,
            found=f"{component.name} {component.version}",
            expected=expected,
            because=near.row.evidence if near else (),
            remedy="take the set of one release, or add the pilot that has this one to the rows "
            "of --matrix",
            place=given.lines[component.name].place,
        )
