"""MetaX accelerators: what is asked about them, and how the answers become facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, View
from mxenv.probe import Probe
from mxenv.question import Answers, Command, Question
from mxenv.vendors import (
    Grant,
    Vendor,
    _metax_devices,
    _metax_driver,
    _metax_place,
    _metax_sdk,
    _mxsmi_json,
    _mxsmi_lists,
    _mxsmi_table,
)
from mxenv.vendors._mxsmi import Output, hear

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.facts import Unreadable

_SECONDS = 20.0
"""A node of eight cards answers within a few seconds, one with a hanging card within none."""

TABLE = Command(("mx-smi",), seconds=_SECONDS)
JSON = Command(("mx-smi", "-j"), seconds=_SECONDS)
VERSIONS = Command(("mx-smi", "--show-version"), seconds=_SECONDS)
LIST = Command(("mx-smi", "-L"), seconds=_SECONDS)

PARSERS: dict[Command, Callable[[str], Output | Unreadable]] = {
    TABLE: _mxsmi_table.parse,
    JSON: _mxsmi_json.parse,
    VERSIONS: _mxsmi_lists.parse_versions,
    LIST: _mxsmi_lists.parse_list,
}

KEYS = (
    FactKey(
        name="metax.kmd",
        meaning="version of the kernel-mode driver (the module; not of the driver package)",
        view=View.HOST,
    ),
    FactKey(
        name="metax.driver_package",
        meaning="version of the package metax-driver, which counts differently from the module",
    ),
    FactKey(name="metax.sdk", meaning="version of the MACA SDK, as its Version.txt has it"),
    FactKey(name="metax.sdk_path", meaning="where /opt/maca leads to"),
    FactKey(name="metax.smi", meaning="version of mx-smi"),
    FactKey(
        name="metax.smi_maca",
        meaning="version that mx-smi believes the SDK to have, where it was run",
    ),
    FactKey(name="metax.compiler", meaning="build of the compiler mxcc"),
    FactKey(name="metax.compiler_path", meaning="folder that mxcc says it is installed in"),
    FactKey(name="metax.mccl", meaning="version of the collective library MCCL"),
    FactKey(
        name="metax.module.loaded", meaning="that the driver's module is loaded", view=View.HOST
    ),
    FactKey(
        name="metax.module.parameter",
        meaning="value of a parameter of the driver's module",
        instance="name",
        view=View.HOST,
    ),
    FactKey(
        name="metax.module.built",
        meaning="where the module that was built for a kernel lies among its modules",
        instance="kernel",
        view=View.HOST,
    ),
    FactKey(name="metax.device.model", meaning="model of a card, as C500", instance="@bdf"),
    FactKey(name="metax.device.pci_id", meaning="PCI ids, vendor:device", instance="@bdf"),
    FactKey(
        name="metax.device.memory_mib",
        meaning="memory of a whole card, slices or not",
        instance="@bdf",
        unit="MiB",
    ),
    FactKey(
        name="metax.device.state",
        meaning="available, not mapped (into this container), or not available and why",
        instance="@bdf",
    ),
    FactKey(
        name="metax.device.bios",
        meaning="version of a card's BIOS",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.firmware",
        meaning="version of one of a card's firmware units",
        instance="@bdf/unit",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.slicing",
        meaning="whether a card is set to be sliced, on or off",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(name="metax.device.slice", meaning="quotas of a slice of a card", instance="@bdf/n"),
    FactKey(
        name="metax.device.count", meaning="number of cards that can be used here", node_only=True
    ),
    FactKey(
        name="metax.node",
        meaning="that a device node is there",
        instance="path",
        node_only=True,
    ),
)

QUESTIONS: tuple[Question, ...] = (
    *PARSERS,
    *_metax_place.QUESTIONS,
    *_metax_driver.QUESTIONS,
    *_metax_sdk.QUESTIONS,
)


def read(answers: Answers) -> Iterator[Fact]:
    """Yield everything that the answers say of MetaX's cards, driver and SDK."""
    place = _metax_place.place(answers)
    heard = {
        " ".join(command.argv): hear(answers[command], parse) for command, parse in PARSERS.items()
    }
    yield from _metax_driver.facts(answers, place)
    yield from _metax_sdk.facts(answers)
    yield from _metax_devices.facts(heard, place)


VENDOR = Vendor(
    title="MetaX",
    pci_vendor=_metax_place.PCI_VENDOR,
    backend="maca",
    probe=Probe(keys=KEYS, questions=QUESTIONS, read=read, more=_metax_sdk.more),
    grant=Grant(devices=("/dev/mxcd", "/dev/dri"), groups=("video",)),
    read_only=tuple(question.argv for question in QUESTIONS if isinstance(question, Command)),
)
