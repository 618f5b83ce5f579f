"""How the cards are linked with one another and with network devices, by their addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Reading, Unreadable
from mxenv.vendors import _mxsmi_forms as forms
from mxenv.vendors._mxsmi import NoDevice, NoTool, Output
from mxenv.vendors._mxsmi_topology import Topology

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.vendors._metax_place import Place
    from mxenv.vendors._mxsmi_forms import Hearing

LINK = "metax.link"
NUMA = "metax.device.numa_node"
CPUS = "metax.device.cpus"


def facts(hearing: Hearing, place: Place) -> Iterator[Fact]:
    """Yield what the matrices say, and for what they do not say, why."""
    addresses = _addresses(hearing)
    told: list[Fact] = []
    for form, said in hearing.links.items():
        if isinstance(said, Topology):
            told += _links(said, addresses, hearing.source(form))
        elif isinstance(said, Unreadable) and said.passing:
            # Another form knows of cards only, or of network devices only.
            told.append(Fact(key=LINK, reading=said, source=hearing.source(form)))
    yield from told
    keys = {fact.key for fact in told}
    for key in (LINK, NUMA, CPUS):
        if key not in keys:
            yield Fact(key=key, reading=_silence(key, hearing, place), source=hearing.smi)


def _addresses(hearing: Hearing) -> dict[str, str]:
    """Return the address of each card by the number that the tool calls it by, if it is one."""
    found: dict[str, set[str]] = {}
    for _, said in hearing.outputs:
        for device in said.devices:
            if device.index is not None:
                found.setdefault(f"GPU{device.index}", set()).add(device.bdf)
    return {label: min(known) for label, known in found.items() if len(known) == 1}


def _links(said: Topology, addresses: dict[str, str], source: str) -> Iterator[Fact]:
    names = {**said.nics, **addresses}
    lost: set[str] = set()
    for pair, reading in said.links.items():
        lost.update(label for label in pair if label not in names)
        if lost.isdisjoint(pair):
            one, other = (names[label] for label in pair)
            # A card's address comes before a NIC's name, and of two cards the lower one.
            ends = (one, other) if pair[1] in said.nics else sorted((one, other))
            yield Fact(key=LINK, instance="/".join(ends), reading=reading, source=source)
    for key, near in ((NUMA, said.nodes), (CPUS, said.cpus)):
        for label, reading in near.items():
            if label in names:
                yield Fact(key=key, instance=names[label], reading=reading, source=source)
    if lost or said.complaints:
        which = f"which one is {min(lost)} is not known" if lost else said.complaints[0]
        reading = Unreadable(f"not all of it was read: {which}")
        yield Fact(key=LINK, reading=reading, source=source)


def _silence(key: str, hearing: Hearing, place: Place) -> Reading:
    for form, said in hearing.links.items():
        match said:
            case Unreadable(reason, passing):
                return Unreadable(f"{hearing.source(form)}: {reason}", passing)
            case Topology() if key == LINK:
                return Absent()
            case _:
                pass
    match hearing.said[forms.TABLE]:
        case Unreadable(reason, passing):
            return Unreadable(f"{hearing.smi}: {reason}", passing)
        case NoTool() | NoDevice() if place.pci == {}:
            return Absent()
        case Output() | NoTool() | NoDevice():
            return Unreadable(f"no output of {hearing.smi} tells it")
