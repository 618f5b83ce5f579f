"""What all sources together say of NVIDIA's cards, and what it means that one of them is silent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.frozen import frozen
from mxenv.vendors._nvidia_driver import INFORMATION
from mxenv.vendors._nvidia_smi import (
    Gpu,
    Heard,
    NoDevice,
    NoTool,
    Output,
    bios,
    driver,
    model,
)
from mxenv.vendors._place import VENDORS, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.vendors._nvidia_topology import Topology

SYSFS = VENDORS.pattern
DRIVERS = "/sys/bus/pci/devices/*/driver/module"
DRIVER = "nvidia.device.driver"
NOT_MAPPED = "not mapped"
COUNT = "nvidia.device.count"
NEAR = ("nvidia.device.cpus", "nvidia.device.numa_node")
STATE = "nvidia.device.state"
PER_CARD = (
    "nvidia.device.model",
    "nvidia.device.pci_id",
    "nvidia.device.memory_mib",
    STATE,
    "nvidia.device.bios",
    "nvidia.device.ecc",
    "nvidia.device.power_cap_w",
    "nvidia.device.persistence",
    "nvidia.device.slicing",
    "nvidia.device.fabric",
    DRIVER,
    *NEAR,
)
"""What is said of every card, even if it is that nobody knows."""
IF_ANY = ("nvidia.device.firmware", "nvidia.device.slice")
LINK = "nvidia.link"


@frozen
class Sources:
    """What was heard of the cards, and where."""

    heard: Mapping[str, Heard]
    """What each form of ``nvidia-smi`` said, by the command; the best one first."""
    topology: Topology | Unreadable | None
    """`None` if there is no ``nvidia-smi`` to ask, or it has no card."""
    topology_source: str
    place: Place
    told: Mapping[str, Mapping[str, str]] | Unreadable
    """What the driver itself shows of each card, by its address."""
    drivers: Mapping[str, Reading]
    """The module that drives each card on the bus."""
    nothing: bool
    """True if ``nvidia-smi`` was not asked, and neither bus nor kernel has anything to ask of."""

    @property
    def smi(self) -> tuple[str, Heard]:
        """Return the form that said most."""
        for source, said in self.heard.items():
            if isinstance(said, Output):
                return source, said
        return next(iter(self.heard.items()))

    @property
    def usable(self) -> frozenset[str] | None:
        """Return the cards that can be used here; `None` if nobody told."""
        _, said = self.smi
        if isinstance(said, Output):
            return frozenset(gpu.bdf for gpu in said.gpus)
        if isinstance(said, NoDevice):
            return frozenset()
        # The container toolkit shows a container no card of the driver but its own.
        if isinstance(self.told, dict) and self.told:
            return frozenset(self.told)
        return None


def facts(sources: Sources) -> Iterator[Fact]:
    """Yield the facts that ``nvidia-smi``, the driver and the PCI bus tell of the cards."""
    told = [*_from_smi(sources), *_from_driver(sources), *_from_bus(sources), *_links(sources)]
    yield from told
    yield from _counts(sources)
    yield from _gaps(told, sources)


def _from_smi(sources: Sources) -> Iterator[Fact]:
    source, said = sources.smi
    for gpu in said.gpus if isinstance(said, Output) else ():
        for key, reading in _readings(gpu).items():
            if reading is not None:
                yield Fact(key=key, instance=gpu.bdf, reading=reading, source=source)
        for key, parts in zip(IF_ANY, (gpu.firmware, gpu.slices), strict=True):
            for name, reading in parts:
                yield Fact(key=key, instance=f"{gpu.bdf}/{name}", reading=reading, source=source)


def _readings(gpu: Gpu) -> dict[str, Reading | None]:
    values = (
        gpu.model,
        gpu.pci_id,
        gpu.memory_mib,
        gpu.state,
        gpu.bios,
        gpu.ecc,
        gpu.power_cap_w,
        gpu.persistence,
        gpu.slicing,
        gpu.fabric,
    )
    return dict(zip(PER_CARD, values, strict=False))


def _from_driver(sources: Sources) -> Iterator[Fact]:
    """Yield what the driver shows without ``nvidia-smi``, broken as that may be."""
    told = sources.told
    for bdf, labels in told.items() if not isinstance(told, Unreadable) else ():
        source = INFORMATION.pattern.replace("*", bdf)
        for label, key, understand in (
            ("Model", "nvidia.device.model", model),
            ("Video BIOS", "nvidia.device.bios", bios),
        ):
            if label in labels and "?" not in labels[label]:
                yield Fact(key=key, instance=bdf, reading=understand(labels[label]), source=source)
        firmware = labels.get("GPU Firmware", "N/A")
        if firmware != "N/A":
            at, reading = f"{bdf}/gsp", driver(firmware)
            yield Fact(key=IF_ANY[0], instance=at, reading=reading, source=source)


def _from_bus(sources: Sources) -> Iterator[Fact]:
    pci, usable = sources.place.pci, sources.usable
    source, said = sources.smi
    for bdf, device in pci.items() if isinstance(pci, dict) else ():
        unlisted = usable is not None and bdf not in usable
        if unlisted and isinstance(said, Output | NoDevice):
            state = _unlisted(sources.place)
            yield Fact(key=STATE, instance=bdf, reading=state, source=source)
        if unlisted and sources.place.container is not False:
            continue
        pci_id: Reading = Observed(f"10de:{device}") if device else Unreadable("no id in sysfs")
        yield Fact(key="nvidia.device.pci_id", instance=bdf, reading=pci_id, source=SYSFS)
        yield Fact(key=DRIVER, instance=bdf, reading=sources.drivers[bdf], source=DRIVERS)


def _unlisted(place: Place) -> Reading:
    """Return the state of a card that is on the bus, and that ``nvidia-smi`` does not list."""
    if place.container:
        return Observed(NOT_MAPPED)
    if place.container is None:
        return Unreadable("nvidia-smi does not list it: usual in a container, a fault on a host")
    return Observed("not available: nvidia-smi does not list it")


def _counts(sources: Sources) -> Iterator[Fact]:
    source, said = sources.smi
    if isinstance(said, Output):
        yield Fact(key=COUNT, reading=Observed(len(said.gpus)), source=source)
    elif isinstance(said, Unreadable):
        yield Fact(key=COUNT, reading=said, source=source)
    reading = _count_of_bus(sources)
    if reading is not None:
        yield Fact(key=COUNT, reading=reading, source=SYSFS)


def _count_of_bus(sources: Sources) -> Reading | None:
    place = sources.place
    _, said = sources.smi
    if isinstance(place.pci, Unreadable):
        return None if isinstance(said, Output) else place.pci
    count = len(place.pci)
    if not count:
        return Observed(0) if sources.nothing else _empty_bus(said, place)
    if isinstance(said, NoDevice):
        # The driver answered: in a container that was given none, that is how it should be.
        none = "on the PCI bus, nvidia-smi sees none"
        return Observed(0) if place.container else Unreadable(f"{count} {none}")
    if place.container is False:
        return Observed(count)
    if isinstance(said, Output):
        return None
    return Unreadable(f"{count} on the PCI bus; which are mapped into a container, it does not say")


def _empty_bus(said: Heard, place: Place) -> Reading | None:
    match said:
        case Output():
            # A virtual machine's bus may be hidden, as in WSL; nvidia-smi has told.
            return None
        case Unreadable(reason):
            return Unreadable(f"none on the PCI bus, but nvidia-smi did not say: {reason}")
        case _ if place.module:
            return Unreadable("none on the PCI bus, but the driver is loaded")
        case _:
            return Observed(0)


def _links(sources: Sources) -> Iterator[Fact]:
    """Yield the ways between the cards; ``nvidia-smi`` numbers them in the order of its list."""
    _, said = sources.smi
    topology, source = sources.topology, sources.topology_source
    gpus = said.gpus if isinstance(said, Output) else ()
    missing: Reading = Unreadable("which cards it speaks of, nvidia-smi did not say")
    if topology is None or sources.nothing:
        missing = _missing(sources)
    elif isinstance(topology, Unreadable):
        missing = topology
    elif gpus and topology.count == len(gpus):
        for (a, b), way in topology.ways.items():
            at = f"{gpus[a].bdf}/{gpus[b].bdf}"
            yield Fact(key=LINK, instance=at, reading=Observed(way), source=source)
        for number, (cpus, node) in topology.near.items():
            for key, reading in zip(NEAR, (Observed(cpus), Observed(node)), strict=True):
                yield Fact(key=key, instance=gpus[number].bdf, reading=reading, source=source)
        if topology.ways:
            return
        missing = Absent()
    yield Fact(key=LINK, reading=missing, source=source)


def _gaps(told: Iterable[Fact], sources: Sources) -> Iterator[Fact]:
    """Yield what is missing for each card that can be used, and for the node if it has none."""
    spoken = {(fact.key, fact.instance) for fact in told}
    off = {fact.instance for fact in told if fact.reading == Observed(NOT_MAPPED)}
    addresses = sorted({fact.instance.partition("/")[0] for fact in told} - off - {""})
    source, said = sources.smi
    missing = _missing(sources)
    for key in PER_CARD:
        for at in addresses:
            if (key, at) not in spoken:
                reading = _unspoken(key, sources)
                yield Fact(key=key, instance=at, reading=reading, source=source)
        if not addresses:
            yield Fact(key=key, reading=missing, source=source)
    for silent in (said, sources.place.pci) if addresses else ():
        if isinstance(silent, Unreadable) and silent.passing:
            # Those that are on the bus, and that nobody can use here, are not among them.
            yield Fact(key=STATE, reading=silent, source=source)
    for key in IF_ANY:
        # What the driver shows is not all of it.
        if not isinstance(said, Output) or not any(fact.key == key for fact in told):
            listed = isinstance(said, Output) and said.slices
            gap = Absent() if listed else _untold(said) if addresses else missing
            yield Fact(key=key, reading=gap, source=source)


def _unspoken(key: str, sources: Sources) -> Reading:
    """Return why one thing is not known of a card that is there."""
    pci = sources.place.pci
    if key in {"nvidia.device.pci_id", DRIVER}:
        return pci if isinstance(pci, Unreadable) else Absent()
    return _untold(sources.smi[1])


def _untold(said: Heard) -> Unreadable:
    """Return why nothing is known of a card that is there."""
    match said:
        case Unreadable(reason, passing):
            return Unreadable(f"nvidia-smi did not say: {reason}", passing=passing)
        case NoTool():
            return Unreadable("there is no nvidia-smi to ask")
        case NoDevice():
            return Unreadable("nvidia-smi sees no card")
        case Output():
            return Unreadable("no output of nvidia-smi tells it")


def _missing(sources: Sources) -> Reading:
    """Return what it means of the whole node that no card is known."""
    place = sources.place
    _, said = sources.smi
    if sources.nothing:
        return Absent()
    if isinstance(said, Unreadable):
        return _untold(said)
    if isinstance(said, NoDevice) and place.container:
        return Absent()
    if place.driver is False and not isinstance(sources.told, Unreadable):
        return Absent()
    return place.pci if isinstance(place.pci, Unreadable) else _untold(said)
