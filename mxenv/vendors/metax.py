"""MetaX accelerators: what is asked about them, and how the answers become facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.probe import Probe
from mxenv.question import Answers, Command, Completed, Question
from mxenv.vendors import (
    Grant,
    Vendor,
    _metax_brand,
    _metax_devices,
    _metax_links,
    _metax_module,
    _metax_nodes,
    _metax_packages,
    _metax_place,
    _metax_sdk,
    _metax_tools,
    _mxsmi_forms,
)
from mxenv.vendors._metax_keys import KEYS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Fact

QUESTIONS: tuple[Question, ...] = (
    *(_mxsmi_forms.command(_metax_brand.METAX, form) for form in _mxsmi_forms.MAIN),
    *_metax_brand.QUESTIONS,
    *_metax_place.QUESTIONS,
    *_metax_module.QUESTIONS,
    *_metax_nodes.QUESTIONS,
    *_metax_packages.QUESTIONS,
    *_metax_sdk.QUESTIONS,
)
"""What is asked of every node: where there is nothing of MetaX's, each costs one look."""

COMMANDS: tuple[Command, ...] = tuple(
    dict.fromkeys(
        (
            *(_mxsmi_forms.command(b, f) for b in _metax_brand.BRANDS for f in _mxsmi_forms.ALL),
            _metax_module.MODINFO,
            _metax_packages.RPM,
            _metax_packages.RPMS,
            *_metax_sdk.COMMANDS,
            *_metax_tools.TOOLS.values(),
        )
    )
)
"""Everything that may ever be run; all of it only reads."""


def more(answers: Answers) -> Iterator[Question]:
    """Yield what to ask now that something of MetaX's was seen; nothing where there is nothing."""
    place = _metax_place.place(answers)
    brand = _metax_brand.spoken(answers)
    done = answers[brand.table]
    if isinstance(done, Completed) and not done.returncode:
        yield from (_mxsmi_forms.command(brand, form) for form in _mxsmi_forms.ALL)
    if place.driver or any(_metax_brand.there(answers, brand) for brand in _metax_brand.BRANDS):
        yield from _metax_packages.more(answers)
    if brand is _metax_brand.HPCC or _metax_brand.installed(answers, _metax_brand.HPCC):
        yield _metax_nodes.OTHER
    yield from _metax_module.more(answers, place)
    yield from _metax_sdk.more(answers)
    yield from _metax_tools.more(answers)


def read(answers: Answers) -> Iterator[Fact]:
    """Yield everything that the answers say of MetaX's cards, driver and SDK."""
    place = _metax_place.place(answers)
    brand = _metax_brand.spoken(answers)
    hearing = _mxsmi_forms.listen(answers, brand)
    yield from _metax_brand.facts(answers)
    yield from _metax_module.facts(answers, place, brand)
    yield from _metax_nodes.facts(answers, place)
    yield from _metax_packages.facts(answers)
    yield from _metax_sdk.facts(answers)
    yield from _metax_tools.facts(answers)
    drivers = _metax_module.drivers(answers, place)
    devices = _metax_devices.facts(hearing, place, drivers)
    yield from _metax_devices.once((*devices, *_metax_links.facts(hearing, place)))


VENDOR = Vendor(
    title="MetaX",
    pci_vendor=_metax_place.PCI_VENDOR,
    backend="maca",
    probe=Probe(keys=KEYS, questions=QUESTIONS, read=read, more=more),
    grant=Grant(devices=("/dev/mxcd", "/dev/dri"), groups=("video",)),
    read_only=tuple(command.argv for command in COMMANDS),
)
