"""What all outputs together say of the cards, and what it means that one of them is silent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

from mxenv.cards import MODELS
from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.vendors import _mxsmi_forms as forms
from mxenv.vendors._metax_brand import METAX
from mxenv.vendors._metax_count import counts
from mxenv.vendors._metax_place import SYSFS, Place
from mxenv.vendors._mxsmi import AVAILABLE, Device, NoDevice, NoTool, Output, model

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.vendors._mxsmi import Heard
    from mxenv.vendors._mxsmi_forms import Hearing

NOT_MAPPED = "not mapped"
_UNMAPPED_REASON = "MetaX Sysfs File Unaccessible"
"""What is said of every card of the host that was not mapped into a container."""

DRIVER = "metax.device.driver"
DRIVERS = "/sys/bus/pci/devices/*/driver/module"
STATE = "metax.device.state"
PER_CARD = (
    "metax.device.model",
    "metax.device.pci_id",
    DRIVER,
    "metax.device.memory_mib",
    STATE,
    "metax.device.bios",
)
"""What is said of every card, even if it is that nobody knows."""
IF_ONE = (
    "metax.device.ecc",
    "metax.device.persistence",
    "metax.device.power_cap_w",
    "metax.device.slicing",
    "metax.device.sriov",
)
"""What not every release tells; if it is said of one card, it is said of every card."""
LISTS = ("metax.device.firmware", "metax.device.slice")
OF_THE_NODE = ("metax.smi", "metax.kmd", "metax.smi_maca")
TOLD_BY: Mapping[str, tuple[str, ...]] = {
    "metax.device.bios": (forms.JSON, forms.VERSIONS),
    "metax.device.ecc": (forms.ECC,),
    "metax.device.firmware": (forms.VERSIONS,),
    "metax.device.power_cap_w": (forms.POWER,),
    "metax.device.slice": (forms.JSON,),
    "metax.device.sriov": (forms.VBIOS,),
    STATE: (forms.JSON, forms.LIST),
}
"""By which forms a thing is told, beside the plain table."""


def facts(hearing: Hearing, place: Place, drivers: Mapping[str, Reading]) -> Iterator[Fact]:
    """Yield the facts that ``mx-smi`` and the PCI bus tell; ``drivers`` are those of its cards."""
    told = [*_told(hearing, place)]
    mapped = _mapped(told)
    known = mapped if any(hearing.outputs) else None
    on_bus = {*place.pci} if isinstance(place.pci, dict) else set()
    if place.container is not False and known is not None:
        on_bus &= known
    told += _from_pci(place, on_bus, named=hearing.smi == METAX.smi)
    for bdf in sorted(on_bus & drivers.keys()):
        reading = drivers[bdf]
        told.append(Fact(key=DRIVER, instance=bdf, reading=reading, source=DRIVERS))
    yield from once(
        [
            *_node(hearing, place),
            *told,
            *counts(hearing, place, mapped),
            *_gaps(told, hearing, place),
        ]
    )


def once(facts: Iterable[Fact]) -> Iterator[Fact]:
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


def _node(hearing: Hearing, place: Place) -> Iterator[Fact]:
    """Yield the versions that each form tells; a missing tool is told of once."""
    smi = hearing.smi
    for form, said in hearing.said.items():
        readings: dict[str, Reading | None]
        match said:
            case Output():
                readings = dict(zip(OF_THE_NODE, (said.smi, said.kmd, said.maca), strict=True))
            case Unreadable() if form in forms.MAIN:
                silent = OF_THE_NODE[:1] if form == forms.LIST else OF_THE_NODE
                readings = dict.fromkeys(silent, said)
            case NoTool() if form == forms.TABLE:
                readings = {"metax.smi": Absent(), "metax.smi_maca": Absent()}
                readings["metax.kmd"] = _silent(place, f"there is no {smi} to ask")
            case NoDevice(version) if form == forms.TABLE:
                readings = {"metax.smi": version}
                readings["metax.smi_maca"] = Unreadable(f"{smi} tells it only where it sees a card")
                readings["metax.kmd"] = _silent(place, f"{smi} sees no card")
            case NoTool() | NoDevice() | Unreadable():
                continue
            case _:
                assert_never(said)
        for key, reading in readings.items():
            if reading is not None:
                yield Fact(key=key, reading=reading, source=hearing.source(form))


def _silent(place: Place, reason: str) -> Reading:
    return Absent() if place.driver is False else Unreadable(reason)


def _told(hearing: Hearing, place: Place) -> Iterator[Fact]:
    capped = {
        device.bdf
        for form, said in hearing.outputs
        for device in said.devices
        if form == forms.POWER and isinstance(device.power_cap_w, Observed)
    }
    for form, said in hearing.outputs:
        for device in said.devices:
            believed = device
            if form != forms.LIST and not said.all_there:
                # Its lines may be those of a card that was lost.
                believed = Device(bdf=device.bdf, index=device.index, model=device.model)
            elif form == forms.TABLE and device.bdf in capped:
                believed = replace(device, power_cap_w=None)  # the table rounds it
            yield from _device(believed, hearing.source(form), place)


def _device(device: Device, source: str, place: Place) -> Iterator[Fact]:
    at = device.bdf
    state = _state(device.state, place)
    if state == Observed(NOT_MAPPED):
        yield Fact(key=STATE, instance=at, reading=state, source=source)
        return
    readings = {
        "metax.device.model": device.model,
        "metax.device.memory_mib": device.memory_mib,
        STATE: state,
        "metax.device.bios": device.bios,
        "metax.device.ecc": device.ecc,
        "metax.device.persistence": device.persistence,
        "metax.device.power_cap_w": device.power_cap_w,
        "metax.device.slicing": device.slicing,
        "metax.device.sriov": device.sriov,
    }
    for key, reading in readings.items():
        if reading is not None:
            yield Fact(key=key, instance=at, reading=reading, source=source)
    for key, parts in zip(LISTS, (device.firmware, device.slices), strict=True):
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


def _from_pci(place: Place, usable: set[str], *, named: bool) -> list[Fact]:
    """Return what the bus tells; in a container only of the cards that ``mx-smi`` can use.

    By a PCI id a card has MetaX's name, whatever the brand it is sold under calls it: only where
    it is ``named`` so is that its model.
    """
    facts: list[Fact] = []
    for bdf, device in place.pci.items() if isinstance(place.pci, dict) else ():
        if bdf not in usable:
            continue
        pci_id: Reading = Observed(f"9999:{device}") if device else Unreadable("no id in sysfs")
        facts.append(Fact(key="metax.device.pci_id", instance=bdf, reading=pci_id, source=SYSFS))
        name = MODELS.get(device)
        unknown = Unreadable(f"no model is known for the PCI id 9999:{device or '????'}")
        reading = model(name) if name else unknown
        if named or not name:
            fact = Fact(key="metax.device.model", instance=bdf, reading=reading, source=SYSFS)
            facts.append(fact)
    return facts


def _gaps(told: list[Fact], hearing: Hearing, place: Place) -> Iterator[Fact]:
    """Yield what is missing for each known card, and for the node if it has none."""
    addresses = sorted(_mapped(told))
    if not addresses:
        reason = next(filter(None, (_reason(hearing, key) for key in PER_CARD)), None)
        none = place.pci == {} and reason is None
        reading: Reading = Absent() if none else Unreadable(reason or "no card could be listed")
        for key in (*PER_CARD, *IF_ONE, *LISTS):
            yield Fact(key=key, reading=reading, source=SYSFS)
        return
    spoken = {(fact.key, fact.instance) for fact in told}
    keys = {fact.key for fact in told}
    for key in (*PER_CARD, *(key for key in IF_ONE if key in keys)):
        for at in addresses:
            if (key, at) not in spoken:
                missing = _missing(key, place, hearing)
                yield Fact(key=key, instance=at, reading=missing, source=hearing.smi)
    for key in (key for key in IF_ONE if key not in keys):
        yield Fact(key=key, reading=_missing(key, place, hearing), source=hearing.smi)
    for key in LISTS:
        yield from _cut(key, hearing, told=key in keys)
    for form, said in _telling(hearing, STATE):
        if isinstance(said, Unreadable) and said.passing:
            # Only one form lists those that are not mapped.
            yield Fact(key=STATE, reading=said, source=hearing.source(form))


def _missing(key: str, place: Place, hearing: Hearing) -> Reading:
    if key in {"metax.device.pci_id", DRIVER}:
        return place.pci if isinstance(place.pci, Unreadable) else Absent()
    return Unreadable(_reason(hearing, key) or f"no output of {hearing.smi} tells it")


def _cut(key: str, hearing: Hearing, *, told: bool) -> Iterator[Fact]:
    """Yield a reading of the whole node where a list may have been longer than what was read."""
    cut = [(f, s) for f, s in _telling(hearing, key) if isinstance(s, Output) and s.complaints]
    for form, said in cut:
        why = f"not all of it was read: {said.complaints[0]}"
        yield Fact(key=key, reading=Unreadable(why), source=hearing.source(form))
    if told or cut:
        return
    known = key == "metax.device.slice" and any(
        isinstance(said, Output) and said.lists_slices and isinstance(said.count, Observed)
        for _, said in _telling(hearing, key)
    )
    missing = Unreadable(_reason(hearing, key) or f"no output of {hearing.smi} tells it")
    yield Fact(key=key, reading=Absent() if known else missing, source=hearing.smi)


def _telling(hearing: Hearing, key: str) -> Iterator[tuple[str, Heard]]:
    """Yield what was said in the forms that tell of ``key``."""
    for form in (forms.TABLE, *TOLD_BY.get(key, ())):
        if form in hearing.said:
            yield form, hearing.said[form]


def _reason(hearing: Hearing, key: str) -> str | None:
    """Return why ``mx-smi`` did not tell of ``key``, if it did not."""
    for form, said in _telling(hearing, key):
        match said:
            case Unreadable(reason):
                return f"{hearing.source(form)}: {reason}"
            case Output() if not said.all_there and form != forms.LIST:
                listed = f"{len(said.devices)} listed of {said.attached or 'an unknown number'}"
                return f"{hearing.source(form)}: cards are missing in it ({listed})"
            case _:
                pass
    return None
