"""How accelerators and RDMA devices are attached: the link to each, and the memory near to it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.probe import Probe
from mxenv.probes._pci import ADDRESS, RDMA, address
from mxenv.probes._reading import SYSFS, line, number, understood, visible
from mxenv.question import File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.facts import Value
    from mxenv.question import Answers, Question

DEVICES = "/sys/bus/pci/devices"
VENDORS = Glob(f"{DEVICES}/*/vendor", Part.WHOLE, 64)
CLASSES = Glob(f"{DEVICES}/*/class", Part.WHOLE, 64)

MAKERS = ("0x9999", "0x10de")
"""MetaX, NVIDIA: of others a display controller may be no more than a console."""
DISPLAY, ACCELERATOR = "0x03", "0x12"
"""PCI classes (pci_ids.h); what else a maker puts on a card is no card."""

WIDTHS = (1, 2, 4, 8, 12, 16, 32)
SPEEDS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)
"""What PCI Express knows; a device that fell off the bus shows other numbers."""
UNKNOWN = "Unknown"


def _width(text: str) -> int | None:
    width = number(line(text) or "")
    return width if width in WIDTHS else None


def _speed(text: str) -> float | None:
    match = re.fullmatch(r"(\d{1,2}(?:\.\d)?) GT/s(?: PCIe)?", line(text) or "")
    return float(match[1]) if match and float(match[1]) in SPEEDS else None


def _node(text: str) -> int | None:
    node = line(text) or ""
    return -1 if node == "-1" else number(node)


ATTRIBUTES: dict[str, tuple[str, Callable[[str], Value | None]]] = {
    "pci.link.max_speed": ("max_link_speed", _speed),
    "pci.link.max_width": ("max_link_width", _width),
    "pci.link.speed": ("current_link_speed", _speed),
    "pci.link.width": ("current_link_width", _width),
    "pci.numa_node": ("numa_node", _node),
}
"""Where each fact is written, in the folder of a device, and how it is understood."""


def _key(
    name: str, meaning: str, *, unit: str = "", volatile: bool = False, node_only: bool = False
) -> FactKey:
    return FactKey(
        name=name,
        meaning=meaning,
        instance="@bdf",
        sources=f"{DEVICES}/*/{ATTRIBUTES[name][0]}",
        unit=unit,
        view=View.HOST,
        volatile=volatile,
        node_only=node_only,
    )


KEYS = (
    _key("pci.link.max_speed", "how fast the link to a device may be, a lane", unit="GT/s"),
    _key("pci.link.max_width", "how many lanes the link to a device may have"),
    # Many devices slow their link down while they have nothing to do.
    _key(
        "pci.link.speed", "how fast the link to a device is now, a lane", unit="GT/s", volatile=True
    ),
    _key(
        "pci.link.width",
        "how many lanes the link to a device has: fewer than it may have are a fault",
    ),
    # A container of the same kind may have been given a device of another socket.
    _key("pci.numa_node", "which memory is near to a device; absent if all is", node_only=True),
)


def more(answers: Answers) -> Iterator[Question]:
    """Ask for the few devices that matter: a server has hundreds."""
    for device in _devices(answers):
        for name, _ in ATTRIBUTES.values():
            yield File(f"{DEVICES}/{device}/{name}", limit=64)


def read(answers: Answers) -> Iterator[Fact]:
    """Read how each device is attached; where there is none, so is nothing."""
    devices = _devices(answers)
    for device in devices:
        for key, (name, parse) in ATTRIBUTES.items():
            question = File(f"{DEVICES}/{device}/{name}", limit=64)
            answer = answers[question]
            if isinstance(answer, Found) and answer.value.startswith(UNKNOWN):
                reading: Reading = Unreadable("the kernel does not know it")
            else:
                reading = understood(answer, parse, name)
            if reading == Observed(-1):
                reading = Absent()
            yield Fact(key=key, instance=device, reading=reading, source=question.path)
    unclear = _unclear(answers)
    if unclear or not devices:
        for key in ATTRIBUTES:
            yield Fact(key=key, reading=unclear or Absent(), source=VENDORS.pattern)


def _unclear(answers: Answers) -> Unreadable | None:
    """Return why there may be devices that nobody knows of, if there may."""
    for question, form in ((VENDORS, "0x[0-9a-f]{4}"), (CLASSES, "0x[0-9a-f]{6}"), (RDMA, "")):
        answer = visible(answers[question], answers[SYSFS])
        if isinstance(answer, Unreadable):
            return answer
        for path, content in answers.each(answer.value if isinstance(answer, Found) else ()):
            if isinstance(content, Unreadable):
                return replace(content, reason=f"{path}: {content.reason}")
            text = line(content.value) if isinstance(content, Found) and form else None
            if form and isinstance(content, Found) and not re.fullmatch(form, text or ""):
                return Unreadable(f"{path} holds {content.value[:40]!r}")
    return None


def _devices(answers: Answers) -> list[str]:
    """Return the addresses of accelerators and of RDMA devices."""
    vendors, classes = _by_address(answers, VENDORS), _by_address(answers, CLASSES)
    found = {
        device
        for device, kind in classes.items()
        if kind.startswith(ACCELERATOR)
        or (kind.startswith(DISPLAY) and vendors.get(device) in MAKERS)
    }
    answer = answers[RDMA]
    found |= {address(leads) for _, leads in (answer.value if isinstance(answer, Found) else ())}
    return sorted(found - {""})


def _by_address(answers: Answers, question: Glob) -> dict[str, str]:
    answer = answers[question]
    return {
        device: line(content.value) or ""
        for path, content in answers.each(answer.value if isinstance(answer, Found) else ())
        if isinstance(content, Found) and ADDRESS.fullmatch(device := path.split("/")[-2])
    }


PROBE = Probe(keys=KEYS, questions=(VENDORS, CLASSES, RDMA, SYSFS), read=read, more=more)
