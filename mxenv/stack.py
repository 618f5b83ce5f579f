"""The named components of a node: driver, SDK, framework and the vendor's other wheels."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.environment import FRAMEWORKS, within
from mxenv.facts import Absent, Observed, Snapshot, Unreadable, View
from mxenv.frozen import frozen
from mxenv.matrix import SDK_FIELDS, same_family
from mxenv.selector import PACKAGE, Seen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.matrix import Matrix, Release, Tested
    from mxenv.version import Tag

KMD = "metax.kmd"
SDK = "metax.sdk"
_MANY = 3
"""How many of a list are named before the rest is counted."""
_CARDS = ("metax.device.model", "metax.device.pci_id")


@frozen
class Component:
    """One named component, and its version if that was read."""

    name: str
    """``metax.kmd``, ``metax.sdk``, or a distribution."""
    seen: Seen

    @property
    def version(self) -> str:
        """Return the version as it was read; empty if it was not."""
        reading = self.seen.reading
        return str(reading.value) if isinstance(reading, Observed) else ""

    @property
    def tag(self) -> Tag | None:
        """Return its vendor's build tag, if it has one."""
        return version.tag(self.version)


@frozen
class Stack:
    """What is judged: one environment of one node, or what an image holds."""

    snapshot: Snapshot
    """Of the selected environment only."""
    kmd: Component
    sdk: Component
    packages: tuple[Component, ...]
    """Every distribution of the environment, sorted by name."""
    versions: Mapping[str, str]
    """Of the distributions that were read."""
    unread: tuple[Seen, ...]
    """Distributions, or whole lists of them, that could not be read."""
    cards: tuple[str, ...]
    """The models that were read, each once."""
    no_cards: bool
    """True if it is known that there is none."""

    @property
    def image(self) -> bool:
        """Tell whether an image is judged: it has no driver and no card."""
        return self.snapshot.view is View.IMAGE

    @property
    def tagged(self) -> tuple[Component, ...]:
        """Return the distributions that carry a vendor's build tag."""
        return tuple(package for package in self.packages if package.tag)

    @property
    def nothing(self) -> bool:
        """Tell whether it is known that nothing of the vendor's is there."""
        bare = isinstance(self.sdk.seen.reading, Absent) and not self.tagged
        return bare and (self.image or self.no_cards)


def stack(snapshot: Snapshot, env: str | None, *, ambiguous: bool = False) -> Stack:
    """Return the components of ``env``; of no environment where it is ``ambiguous``."""
    facts = within(snapshot, env)
    if ambiguous:
        kept = tuple(fact for fact in facts.facts if fact.key != PACKAGE)
        facts = replace(facts, facts=kept)
    packages = _packages(facts)
    return Stack(
        snapshot=facts,
        kmd=_component(facts, KMD),
        sdk=_component(facts, SDK),
        packages=packages,
        versions={package.name: package.version for package in packages},
        unread=() if ambiguous else tuple(_unread(facts)),
        cards=_cards(facts),
        no_cards=_no_cards(facts),
    )


def _component(snapshot: Snapshot, key: str) -> Component:
    reading = snapshot.reading(key)
    fact = next((f for f in snapshot.of(key) if f.reading == reading), None)
    return Component(name=key, seen=Seen(label=key, reading=reading, fact=fact))


def _packages(snapshot: Snapshot) -> tuple[Component, ...]:
    found: dict[str, Component] = {}
    for fact in snapshot.of(PACKAGE):
        name = fact.instance.rpartition("/")[2]
        if isinstance(fact.reading, Observed):
            seen = Seen(label=fact.label, name=name, reading=fact.reading, fact=fact)
            found.setdefault(name, Component(name=name, seen=seen))
    return tuple(found[name] for name in sorted(found))


def _unread(snapshot: Snapshot) -> Iterator[Seen]:
    """Yield what hides a distribution; one that another source could read is not hidden."""
    facts = snapshot.of(PACKAGE)
    if not facts:
        yield Seen(label=PACKAGE, reading=Unreadable("not asked"))
    for fact in facts:
        reading = snapshot.reading(PACKAGE, fact.instance)
        if isinstance(reading, Unreadable) and reading == fact.reading:
            yield Seen(label=fact.label, reading=reading, fact=fact)


def _cards(snapshot: Snapshot) -> tuple[str, ...]:
    readings = (fact.reading for fact in snapshot.of(_CARDS[0]))
    return tuple(sorted({str(r.value) for r in readings if isinstance(r, Observed)}))


def _no_cards(snapshot: Snapshot) -> bool:
    """Tell whether it was seen that there is no card: a count of 0, and no card on the bus."""
    if any(isinstance(f.reading, Observed) for key in _CARDS for f in snapshot.of(key)):
        return False
    return snapshot.reading("metax.device.count") in (Observed(0), Absent())


@lru_cache(maxsize=8192)
def pins(pin: str, installed: str, sdk: str) -> bool:
    """Tell whether a row for ``sdk`` that says ``pin`` means the version that is installed.

    With a build tag it means that very build; without one the public version, built for the
    row's SDK or without a tag; ``2.8.*`` any build of the line for that SDK. An untagged build
    never stands for a line: upstream's torch 2.8 is not the vendor's.
    """
    tag = version.tag(installed)
    built_for_it = tag is not None and bool(tag.sdk) and same_family(tag.sdk, sdk)
    if pin.endswith(".*"):
        count = len(version.fields(pin))
        return built_for_it and version.fields(installed)[:count] == version.fields(pin)
    if "+" in pin:
        return version.parse(pin) == version.parse(installed)
    same = version.parse(pin) == version.parse(version.public(installed))
    return same and (tag is None or built_for_it)


@frozen
class Fit:
    """A row held against what is installed."""

    row: Release | Tested
    pins: Mapping[str, str]
    """Every distribution that the row names, with what it says of it."""
    matched: frozenset[str]
    """Those that are installed as the row has them."""
    contradicted: tuple[str, ...]
    """Those that are installed otherwise."""


def held(row: Release | Tested, versions: Mapping[str, str]) -> Fit:
    """Hold a row against the versions of the distributions that are installed."""
    common = [(name, pin) for name, pin in row.components if name in versions]
    matched = frozenset(name for name, pin in common if pins(pin, versions[name], row.sdk))
    return Fit(
        row=row,
        pins=dict(row.components),
        matched=matched,
        contradicted=tuple(name for name, _ in common if name not in matched),
    )


def seen_working(found: Stack, matrix: Matrix) -> tuple[Tested, ...]:
    """Return the tested rows that have this driver, an SDK of this family and these cards."""
    return tuple(
        row
        for row in matrix.tested
        if same_family(row.sdk, found.sdk.version)
        and (found.image or (_driver(row, found) and _serves(row, found, matrix)))
    )


def _driver(row: Tested, found: Stack) -> bool:
    # Driver versions have three fields, so that the family of the first three is the version
    # itself; nothing public says that two of them are alike.
    return version.parse(row.kmd) == version.parse(found.kmd.version)


def _serves(row: Tested, found: Stack, matrix: Matrix) -> bool:
    return bool(found.cards) and all(matrix.alike(card, row.card) for card in found.cards)


def exactly_tested(found: Stack, matrix: Matrix) -> tuple[Tested, ...]:
    """Return the tested rows that are this very node: same driver, same SDK, same packages.

    What an image holds is no node, so that it is never one that was tested.
    """
    versions = found.versions
    return tuple(
        row
        for row in seen_working(found, matrix)
        if not found.image
        and version.parse(row.sdk) == version.parse(found.sdk.version)
        and len(held(row, versions).matched) == len(row.packages)
    )


def named(found: Stack, fits: Iterable[Fit], matrix: Matrix) -> tuple[Component, ...]:
    """Return the distributions that must be covered.

    They are the frameworks, whatever carries a build tag, whatever is pinned by a row that is
    recognised by a tagged distribution, and whatever a release pins for any SDK: a plug-in
    without a tag, or upstream's build over the vendor's, is part of the stack as well.
    """
    tagged = {package.name for package in found.tagged}
    names = tagged.union(
        FRAMEWORKS, matrix.publishing, *(f.pins for f in fits if f.matched & tagged)
    )
    return tuple(package for package in found.packages if package.name in names)


def sdk_family(text: str) -> str:
    """Return the SDK family of a version, or of a wheel's tag; empty if it names none."""
    family = version.family(text, SDK_FIELDS)
    return family if family.count(".") == SDK_FIELDS - 1 else ""


def read_in(components: Iterable[Component]) -> str:
    """Return where the versions of components were read: environments, or files, and whose."""
    facts = [c.seen.fact for c in components if c.seen.fact is not None]
    places = dict.fromkeys(f.instance.rpartition("/")[0] or f.source for f in facts)
    views = dict.fromkeys(fact.view.value for fact in facts)
    return f"{' and '.join(places)}, {' and '.join(views)}"


def listed(words: Sequence[str], separator: str = ", ") -> str:
    """Return the first of ``words``, and how many more there are."""
    more = f" and {len(words) - _MANY} more" if len(words) > _MANY else ""
    return separator.join(words[:_MANY]) + more
