"""What all outputs together say of the cards, and what it means that one of them is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mxenv.cards import MODELS
from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.vendors._metax_place import VENDORS, Place
from mxenv.vendors._mxsmi import AVAILABLE, Device, Heard, NoDevice, NoTool, Output, model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NOT_MAPPED = "not mapped"
_UNMAPPED_REASON = "MetaX Sysfs File Unaccessible"
"""What is said of every card of the host that was not mapped into a container."""

SYSFS = VENDORS.pattern
PER_CARD = (
    "metax.device.model",
    "metax.device.pci_id",
    "metax.device.memory_mib",
    "metax.device.state",
    "metax.device.bios",
)
"""What is said of every card, even if it is that nobody knows."""
IF_ANY = ("metax.device.firmware", "metax.device.slice", "metax.device.slicing")
OF_THE_NODE = ("metax.smi", "metax.kmd", "metax.smi_maca")
LIST = "mx-smi -L"
"""The form that tells nothing of the node but the version of ``mx-smi``."""

Sources = dict[str, Heard]
"""What each command of ``mx-smi`` said, by the command; the plain table comes first."""


def facts(heard: Sources, place: Place) -> Iterator[Fact]:
    """Yield the facts that ``mx-smi`` and the PCI bus tell."""
    told = [*_told(heard, place)]
    mapped = _mapped(told)
    told += _from_pci(place, mapped if _any_output(heard) else None)
    counts = [*_counts(heard, place, mapped)]
    yield from _once([*_node(heard, place), *told, *counts, *_gaps(told, heard, place)])


def _once(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield what ``mx-smi`` says in several forms once, unless it contradicts itself.

    They are one tool, not several sources: where one form could tell, that another could not
    is of no interest.
    """
    groups: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        if fact.source == SYSFS:
            yield fact
        else:
            groups.setdefault((fact.key, fact.instance), []).append(fact)
    for group in groups.values():
        known = {
            fact.reading: fact for fact in reversed(group) if isinstance(fact.reading, Observed)
        }
        yield from tuple(known.values()) or group[:1]


def _node(heard: Sources, place: Place) -> Iterator[Fact]:
    """Yield the versions that each command tells; a missing tool is told of once."""
    for source, said in heard.items():
        first = source == next(iter(heard))
        match said:
            case Output():
                readings = dict(zip(OF_THE_NODE, (said.smi, said.kmd, said.maca), strict=True))
            case Unreadable():
                readings = dict.fromkeys(OF_THE_NODE[:1] if source == LIST else OF_THE_NODE, said)
            case NoTool() if first:
                readings = {"metax.smi": Absent(), "metax.smi_maca": Absent()}
                readings["metax.kmd"] = _silent(place, "there is no mx-smi to ask")
            case NoDevice(smi) if first:
                readings = {"metax.smi": smi}
                readings["metax.smi_maca"] = Unreadable("mx-smi tells it only where it sees a card")
                readings["metax.kmd"] = _silent(place, "mx-smi sees no card")
            case NoTool() | NoDevice():
                continue
            case _:
                assert_never(said)
        for key, reading in readings.items():
            if reading is not None:
                yield Fact(key=key, reading=reading, source=source)


def _silent(place: Place, reason: str) -> Reading:
    return Absent() if place.driver is False else Unreadable(reason)


def _told(heard: Sources, place: Place) -> Iterator[Fact]:
    for source, said in heard.items():
        if isinstance(said, Output):
            for device in said.devices:
                yield from _device(device, source, place)


def _device(device: Device, source: str, place: Place) -> Iterator[Fact]:
    at = device.bdf
    state = _state(device.state, place)
    if state == Observed(NOT_MAPPED):
        yield Fact(key="metax.device.state", instance=at, reading=state, source=source)
        return
    readings = {
        "metax.device.model": device.model,
        "metax.device.memory_mib": device.memory_mib,
        "metax.device.state": state,
        "metax.device.bios": device.bios,
        "metax.device.slicing": device.slicing,
    }
    for key, reading in readings.items():
        if reading is not None:
            yield Fact(key=key, instance=at, reading=reading, source=source)
    for key, parts in (
        ("metax.device.firmware", device.firmware),
        ("metax.device.slice", device.slices),
    ):
        for name, reading in parts:
            yield Fact(key=key, instance=f"{at}/{name}", reading=reading, source=source)


def _state(state: str | None, place: Place) -> Reading | None:
    """Return the state of a card; whether one out of reach is a fault depends on the place."""
    if state is None:
        return None
    if state == AVAILABLE:
        return Observed(AVAILABLE)
    if state == _UNMAPPED_REASON and place.container:
        return Observed(NOT_MAPPED)
    if state == _UNMAPPED_REASON and place.container is None:
        return Unreadable(f"not available ({state}): usual in a container, a fault on a host")
    return Observed(f"not available: {state}")


def _mapped(told: Iterable[Fact]) -> frozenset[str]:
    return frozenset(
        fact.instance
        for fact in told
        if fact.key in PER_CARD and fact.reading != Observed(NOT_MAPPED)
    )


def _any_output(heard: Sources) -> bool:
    return any(isinstance(said, Output) for said in heard.values())


def _from_pci(place: Place, mapped: frozenset[str] | None) -> list[Fact]:
    """Return what the bus tells; in a container only of the cards that ``mx-smi`` can use."""
    facts: list[Fact] = []
    for bdf, device in place.pci.items() if isinstance(place.pci, dict) else ():
        at = bdf
        if place.container is not False and mapped is not None and at not in mapped:
            continue
        pci_id: Reading = Observed(f"9999:{device}") if device else Unreadable("no id in sysfs")
        facts.append(Fact(key="metax.device.pci_id", instance=at, reading=pci_id, source=SYSFS))
        name = MODELS.get(device)
        unknown = Unreadable(f"no model is known for the PCI id 9999:{device or '????'}")
        reading = model(name) if name else unknown
        facts.append(Fact(key="metax.device.model", instance=at, reading=reading, source=SYSFS))
    return facts


def _counts(heard: Sources, place: Place, mapped: frozenset[str]) -> Iterator[Fact]:
    key = "metax.device.count"
    for source, said in heard.items():
        match said:
            case Output() if said.attached is not None:
                yield Fact(key=key, reading=said.count, source=source)
            case Unreadable() if source != LIST:
                yield Fact(key=key, reading=said, source=source)
            case _:
                pass
    reading = _count_of_bus(heard, place, mapped)
    if reading is not None:
        yield Fact(key=key, reading=reading, source=SYSFS)


def _count_of_bus(heard: Sources, place: Place, mapped: frozenset[str]) -> Reading | None:
    if isinstance(place.pci, Unreadable):
        return place.pci
    if not place.pci:
        return _empty_bus(heard)
    count = len(place.pci)
    if any(isinstance(said, NoDevice) for said in heard.values()):
        return Unreadable(f"{count} on the PCI bus, mx-smi sees none")
    if place.container is False or mapped == set(place.pci):
        return Observed(count)
    if _any_output(heard):
        # A container sees its host's bus; mx-smi says which cards are mapped.
        return None
    return Unreadable(f"{count} on the PCI bus; which are mapped into a container, it does not say")


def _empty_bus(heard: Sources) -> Reading:
    if _any_output(heard):
        return Unreadable("mx-smi lists cards that the PCI bus does not have")
    for said in heard.values():
        if isinstance(said, Unreadable):
            return Unreadable(f"none on the PCI bus, but mx-smi did not say: {said.reason}")
    return Observed(0)


def _gaps(told: list[Fact], heard: Sources, place: Place) -> Iterator[Fact]:
    """Yield what is missing for each known card, and for the node if it has none."""
    addresses = sorted(_mapped(told))
    reason = _reason(heard)
    none = place.pci == {} and not addresses and reason is None
    if not addresses:
        reading: Reading = Absent() if none else Unreadable(reason or "no card could be listed")
        for key in (*PER_CARD, *IF_ANY):
            yield Fact(key=key, reading=reading, source=SYSFS)
        return
    spoken = {(fact.key, fact.instance) for fact in told}
    for key in PER_CARD:
        for at in addresses:
            if (key, at) not in spoken:
                missing = _missing(key, place, reason)
                yield Fact(key=key, instance=at, reading=missing, source="mx-smi")
    yield from _cut(told, heard, reason)


def _missing(key: str, place: Place, reason: str | None) -> Reading:
    if key == "metax.device.pci_id":
        return place.pci if isinstance(place.pci, Unreadable) else Absent()
    return Unreadable(reason or "no output of mx-smi tells it")


def _cut(told: list[Fact], heard: Sources, reason: str | None) -> Iterator[Fact]:
    """Yield a reading of the whole node where a list may have been longer than what was read."""
    keys = {fact.key for fact in told}
    for source, said in heard.items():
        if isinstance(said, Output) and said.complaints:
            key = _speaks_of(source)
            why = f"not all of it was read: {said.complaints[0]}"
            yield Fact(key=key, reading=Unreadable(why), source=source)
            keys.add(key)
    for key in IF_ANY:
        if key not in keys:
            known = key == "metax.device.slice" and _whole(heard.values())
            unread = Unreadable(reason or "no output of mx-smi tells it")
            yield Fact(key=key, reading=Absent() if known else unread, source="mx-smi")


_LISTS: Mapping[str, str] = {"mx-smi --show-version": "metax.device.firmware"}


def _speaks_of(source: str) -> str:
    return _LISTS.get(source, "metax.device.slice")


def _whole(heard: Iterable[Heard]) -> bool:
    """Whether an output that would have listed slices was read to its end."""
    outputs = [said for said in heard if isinstance(said, Output) and said.attached is not None]
    return any(isinstance(output.count, Observed) for output in outputs)


def _reason(heard: Sources) -> str | None:
    """Return why ``mx-smi`` did not tell, if it did not."""
    for source, said in heard.items():
        if isinstance(said, Unreadable):
            return f"{source}: {said.reason}"
    return None
