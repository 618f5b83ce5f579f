"""How many cards there are, by the tool and by the bus, and which of them may be believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Fact, Observed, Reading, Unreadable
from mxenv.vendors import _mxsmi_forms as forms
from mxenv.vendors._metax_place import SYSFS, Place
from mxenv.vendors._mxsmi import NoDevice, Output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.vendors._mxsmi_forms import Hearing


def counts(hearing: Hearing, place: Place, mapped: frozenset[str]) -> Iterator[Fact]:
    """Yield the number of cards that can be used; ``mapped`` are those that the tool can use."""
    key = "metax.device.count"
    for form in forms.MAIN:
        match hearing.said[form]:
            case Output() as said if said.attached is not None:
                yield Fact(key=key, reading=said.count, source=hearing.source(form))
            case Unreadable() as said if form != forms.LIST:
                yield Fact(key=key, reading=said, source=hearing.source(form))
            case _:
                pass
    reading = _of_the_bus(hearing, place, mapped)
    if reading is not None:
        yield Fact(key=key, reading=reading, source=SYSFS)


def _of_the_bus(hearing: Hearing, place: Place, mapped: frozenset[str]) -> Reading | None:
    if isinstance(place.pci, Unreadable):
        return place.pci
    if not place.pci:
        return _empty_bus(hearing)
    count = len(place.pci)
    if any(isinstance(said, NoDevice) for said in hearing.said.values()):
        return Unreadable(f"{count} on the PCI bus, {hearing.smi} sees none")
    if place.container is False or mapped == set(place.pci):
        return Observed(count)
    if any(hearing.outputs):
        # A container sees its host's bus; mx-smi says which cards are mapped.
        return None
    return Unreadable(f"{count} on the PCI bus; which are mapped into a container, it does not say")


def _empty_bus(hearing: Hearing) -> Reading:
    if any(hearing.outputs):
        return Unreadable(f"{hearing.smi} lists cards that the PCI bus does not have")
    for form in forms.MAIN:
        said = hearing.said[form]
        if isinstance(said, Unreadable):
            return Unreadable(f"none on the PCI bus, but {hearing.smi} did not say: {said.reason}")
    return Observed(0)
