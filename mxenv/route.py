"""The shortest ways from a node to a set of versions that is known to work.

A way is what would have to change for a release or tested row to describe the node: a wheel is
soon replaced, an SDK is another image, a driver is a node taken out of service.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.environment import FRAMEWORKS
from mxenv.matrix import Tested, same_family
from mxenv.nearness import gap, rows_with_sdk
from mxenv.stack import KMD, SDK, pins, sdk_family

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.matrix import Matrix, Release
    from mxenv.stack import Stack

COSTS = {KMD: 1000, SDK: 50}
WHEEL = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One component that has to be another."""

    component: str
    """``metax.kmd``, ``metax.sdk``, or a distribution."""
    before: str
    """Empty if it is not there, or nobody knows its version."""
    after: str
    """Empty if it has to go."""
    exact: bool = True
    """False if the row tells a line or a family only, and ``after`` is one of it."""

    @property
    def cost(self) -> int:
        """Return how much work it is, compared with one wheel."""
        return COSTS.get(self.component, WHEEL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How a row would come to describe the node."""

    row: Release | Tested
    changes: tuple[Change, ...]

    @property
    def cost(self) -> int:
        """Return how much work all of it is."""
        return sum(change.cost for change in self.changes)


def ways(found: Stack, matrix: Matrix) -> tuple[Way, ...]:
    """Return a way to every set that these cards can have, the shortest first.

    What was tested on other cards is no way: a card is not replaced to please a matrix. Where no
    card is, nothing leads to one.
    """
    if found.no_cards and not found.image:
        return ()
    rows: list[Release | Tested] = [row for row in matrix.releases if sdk_family(row.sdk)]
    rows += (row for row in matrix.tested if _serves(row, found, matrix))
    there: dict[tuple[Change, ...], Way] = {}
    for row in rows:
        driver = () if found.image else tuple(_driver(row, found, matrix))
        changes = tuple(_changes(row, found, matrix))
        variants = [(*driver, *changes)]
        if driver and not isinstance(row, Tested):
            # A driver that nobody saw with this SDK may still be vouched for by a rule.
            variants.append(changes)
        for variant in variants:
            way = Way(row=row, changes=variant)
            there[variant] = min(there.get(variant, way), way, key=_rank)
    return tuple(sorted(there.values(), key=_rank))


def _rank(way: Way) -> tuple[int, int, int, str]:
    """Return the order of ways: of equal ones, that which leads on, and that which is told well."""
    back = [c for c in way.changes if c.after and version.parse(c.after) < version.parse(c.before)]
    return (way.cost, len(back), sum(not c.exact for c in way.changes), way.row.row)


def _serves(row: Tested, found: Stack, matrix: Matrix) -> bool:
    return all(matrix.alike(card, row.card) for card in found.cards)


def _changes(row: Release | Tested, found: Stack, matrix: Matrix) -> Iterator[Change]:
    sdk = found.sdk.version
    if not same_family(row.sdk, sdk):
        sdk = _sdk(row, found, matrix)
        exact = not row.sdk.endswith("*")
        yield Change(component=SDK, before=found.sdk.version, after=sdk, exact=exact)
    # What a set brings beyond what is here has no need to be here, unless nothing of it is.
    here = any(name in found.versions for name, _ in row.components)
    for name, pin in row.components:
        installed = found.versions.get(name, "")
        if not (pins(pin, installed, row.sdk) if installed else here):
            after, exact = _build(name, pin, row, matrix)
            yield Change(component=name, before=installed, after=after, exact=exact)
    yield from _left(row, found, matrix)


def _sdk(row: Release | Tested, found: Stack, matrix: Matrix) -> str:
    """Return one SDK of the row's family, tested with this driver if there is such a one."""
    if not row.sdk.endswith("*"):
        return row.sdk
    tested = [o for o in matrix.tested if same_family(o.sdk, row.sdk) and _serves(o, found, matrix)]
    own = [o.sdk for o in tested if version.parse(o.kmd) == version.parse(found.kmd.version)]
    exact = [o.sdk for o in rows_with_sdk(matrix) if not o.sdk.endswith("*")]
    known = own or [sdk for sdk in exact if same_family(sdk, row.sdk)]
    return max(known, key=version.parse, default=f"{sdk_family(row.sdk)}.0")


def _driver(row: Release | Tested, found: Stack, matrix: Matrix) -> Iterator[Change]:
    """Yield the driver that was seen with the row's SDK, if this one was not."""
    here = found.kmd.version
    if isinstance(row, Tested):
        drivers = [row.kmd]
    else:
        tested = [o for o in matrix.tested if same_family(o.sdk, row.sdk)]
        drivers = [other.kmd for other in tested if _serves(other, found, matrix)]
    if not drivers or any(version.parse(kmd) == version.parse(here) for kmd in drivers):
        return
    nearest = min(sorted(drivers), key=lambda kmd: gap(kmd, here))
    yield Change(component=KMD, before=here, after=nearest)


def _build(name: str, pin: str, row: Release | Tested, matrix: Matrix) -> tuple[str, bool]:
    """Return one version that the row means, and whether it is the only one."""
    line = pin.endswith("*")
    if not line and ("+" in pin or name not in FRAMEWORKS):
        return pin, True
    known = [
        other
        for others in rows_with_sdk(matrix)
        for own, other in others.components
        if own == name and "+" in other and pins(pin, other, row.sdk)
    ]
    if known:
        return max(known, key=version.parse), False
    plain = f"{pin.removesuffix('.*')}.0" if line else pin
    return f"{plain}+metax{sdk_family(row.sdk)}.0", False


def _left(row: Release | Tested, found: Stack, matrix: Matrix) -> Iterator[Change]:
    """Yield what was built for another SDK, and that the row does not name."""
    named = {name for name, _ in row.components}
    for component in found.tagged:
        tag = component.tag
        built = sdk_family(tag.sdk) if tag else ""
        if component.name in named or not built or same_family(built, row.sdk):
            continue
        known = _published(component.name, row.sdk, matrix.releases)
        newest = max(known, key=version.parse, default="")
        yield Change(
            component=component.name, before=component.version, after=newest, exact=not newest
        )


def _published(name: str, sdk: str, releases: Iterable[Release]) -> list[str]:
    """Return the builds of a distribution that were published for an SDK."""
    return [
        pin
        for release in releases
        if same_family(release.sdk, sdk)
        for own, pin in release.components
        if own == name and "+" in pin
    ]
