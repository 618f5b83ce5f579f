"""How two nodes compare: what differs, and what stands for what where their vendors differ.

Two vendors' facts have names of one shape (`FactKey.alike`, or else what follows the vendor's
prefix), so a node of one can be read beside a node of the other, line by line.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Unreadable, observed
from mxenv.fingerprint import diff
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from mxenv.facts import Reading, Snapshot, Value
    from mxenv.fingerprint import Difference


@frozen(kw_only=False)
class Item:
    """One reading, and on how many of a node's cards it is the same."""

    of: str
    """What of a card, or of the node, it is; empty if the name says it."""
    reading: Reading
    count: int
    """0 if it is a reading of the node."""


@frozen
class Side:
    """What one node has for one name."""

    vendor: str
    """The prefix of its facts; empty if they are no vendor's."""
    key: str
    """Empty if the vendor has nothing of that name."""
    items: tuple[Item, ...] = ()
    unit: str = ""


@frozen
class Counterpart:
    """Facts of two nodes that stand for each other."""

    name: str
    before: Side
    after: Side


@frozen
class Comparison:
    """Two nodes, side by side."""

    differences: tuple[Difference, ...]
    """Every fact that differs: none exactly if the node digests are equal."""
    counterparts: tuple[Counterpart, ...] = ()
    """What stands for what: everything that two vendors have, or of one vendor what differs on
    cards in other places. Empty if it cannot be told whose the nodes are."""
    others: tuple[Difference, ...] = ()
    """The differences that no counterpart speaks of."""


def compare(
    before: Snapshot, after: Snapshot, keys: Mapping[str, FactKey], vendors: Collection[str]
) -> Comparison:
    """Compare two nodes; ``vendors`` are the prefixes of the facts that each vendor has."""
    differences = diff(before, after, keys)
    one, other = vendor(before, vendors), vendor(after, vendors)
    # A fact of a card in another place differs by its address alone.
    named = sorted({d.key for d in differences if _per_card(d.key, keys)})
    if not (one and other) or (one == other and _same_places(one, before, after, keys)):
        return Comparison(differences=differences, others=differences)
    if one == other:
        return Comparison(
            differences=differences,
            counterparts=tuple(_of_cards(named, before, after, keys)),
            others=tuple(d for d in differences if d.key not in named),
        )
    shared = [name for name in named if name.partition(".")[0] not in vendors]
    counterparts = (
        *_counterparts(one, _by_name(one, before, keys), other, _by_name(other, after, keys)),
        *_of_cards(shared, before, after, keys),
    )
    told = {
        difference
        for difference in differences
        if difference.key in shared
        or (difference.key in keys and _told(difference, one, other, vendors))
    }
    others = tuple(difference for difference in differences if difference not in told)
    return Comparison(differences=differences, counterparts=counterparts, others=others)


def vendor(snapshot: Snapshot, vendors: Collection[str]) -> str:
    """Return whose node it is: whose cards it has, or else whose software; empty if unclear."""
    present = {
        prefix: {fact.key for fact, value in observed(facts) if _something(fact.key, value)}
        for prefix in vendors
        if (facts := [f for f in snapshot.facts if f.key.startswith(f"{prefix}.")])
    }
    cards = [p for p, names in present.items() if any(n.startswith(f"{p}.device.") for n in names)]
    anything = [prefix for prefix, names in present.items() if names]
    candidates = cards or anything
    return candidates[0] if len(candidates) == 1 else ""


def _same_places(
    vendor: str, before: Snapshot, after: Snapshot, keys: Mapping[str, FactKey]
) -> bool:
    """Return whether the cards of two nodes have the same addresses."""
    one, other = (
        {
            part
            for fact, _ in observed(snapshot.facts)
            if fact.key.startswith(f"{vendor}.") and _per_card(fact.key, keys)
            for name, part in _named_parts(keys[fact.key], fact.instance)
            if name.startswith("@")
        }
        for snapshot in (before, after)
    )
    return one == other


def _of_cards(
    names: Iterable[str], before: Snapshot, after: Snapshot, keys: Mapping[str, FactKey]
) -> Iterator[Counterpart]:
    for name in names:
        sides = (_side("", keys[name], snapshot) for snapshot in (before, after))
        yield Counterpart(name=name, before=next(sides), after=next(sides))


def _told(difference: Difference, one: str, other: str, vendors: Collection[str]) -> bool:
    """Return whether the counterparts say all that ``difference`` says."""
    prefix = difference.key.partition(".")[0]
    if prefix not in vendors:
        return False
    # What a node has of the other's vendor as well is no counterpart of anything.
    foreign = {one: difference.after, other: difference.before}.get(
        prefix, difference.before + difference.after
    )
    return not any(
        isinstance(reading, Observed) and _something(difference.key, reading.value)
        for reading in foreign
    )


def _something(key: str, value: Value) -> bool:
    """Return whether anything is there: having counted none is to have nothing."""
    return value != 0 or not key.endswith(".count")


def _per_card(name: str, keys: Mapping[str, FactKey]) -> bool:
    return name in keys and keys[name].instance.startswith("@")


def _by_name(prefix: str, snapshot: Snapshot, keys: Mapping[str, FactKey]) -> dict[str, Side]:
    """Return what the vendor's node has, by the names that vendors share."""
    return {
        key.alike or key.name.removeprefix(f"{prefix}."): _side(prefix, key, snapshot)
        for key in keys.values()
        if key.name.startswith(f"{prefix}.") and not key.volatile
    }


def _counterparts(
    one: str, left: Mapping[str, Side], other: str, right: Mapping[str, Side]
) -> Iterator[Counterpart]:
    """Yield what is known on one side at least, or could not be read: the node, then its cards."""
    for name in sorted(left.keys() | right.keys(), key=lambda name: ("." in name, name)):
        before = left.get(name, Side(vendor=one, key=""))
        after = right.get(name, Side(vendor=other, key=""))
        if any(not isinstance(item.reading, Absent) for item in (*before.items, *after.items)):
            yield Counterpart(name=name, before=before, after=after)


def _side(prefix: str, key: FactKey, snapshot: Snapshot) -> Side:
    return Side(
        vendor=prefix, key=key.name, items=tuple(_items(key, snapshot.of(key.name))), unit=key.unit
    )


def _items(key: FactKey, facts: Iterable[Fact]) -> Iterator[Item]:
    """Yield each reading once, what most cards say first; of sources, those that could read."""
    best: dict[str, dict[Reading, None]] = {}
    for fact in facts:
        if not fact.volatile:
            best.setdefault(fact.instance, {})[fact.reading] = None
    cards = key.instance.startswith("@")
    counted: Counter[tuple[str, Reading]] = Counter(
        (apart(key, instance), reading)
        for instance, readings in best.items()
        for reading in _counting(readings)
    )
    for (of, reading), count in sorted(counted.items(), key=lambda item: (item[0][0], -item[1])):
        yield Item(of, reading, count if cards and best.keys() != {""} else 0)


def _counting(readings: Collection[Reading]) -> Collection[Reading]:
    for kind in (Observed, Unreadable):
        found: list[Reading] = [reading for reading in readings if isinstance(reading, kind)]
        if found:
            return found
    return readings


def apart(key: FactKey, instance: str) -> str:
    """Return what of ``instance`` is no address: a firmware unit, a parameter's name."""
    return "/".join(part for name, part in _named_parts(key, instance) if not name.startswith("@"))


def _named_parts(key: FactKey, instance: str) -> Iterator[tuple[str, str]]:
    # Of an instance that is nobody's, the last parts are missing.
    return zip(key.instance.split("/"), key.parts(instance), strict=False)
