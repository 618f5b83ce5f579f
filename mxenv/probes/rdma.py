"""Network devices that reach memory directly: their firmware, and whether their ports are up."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Unreadable, View
from mxenv.probe import Probe
from mxenv.probes._pci import RDMA, address
from mxenv.probes._reading import SYSFS, line, understood, visible
from mxenv.question import Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.facts import Reading, Value
    from mxenv.question import Answer, Answers

DEVICES = "/sys/class/infiniband"


def _word(text: str) -> str | None:
    match = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._:()+-]{0,63}", line(text) or "")
    return match[0] if match else None


def _titled(text: str) -> str | None:
    """Return what a number stands for: ``4: ACTIVE``."""
    match = re.fullmatch(r"\d: ?([A-Za-z][A-Za-z0-9_ -]{0,31})", line(text) or "")
    return match[1] if match else None


def _rate(text: str) -> float | None:
    match = re.fullmatch(r"(\d{1,4}(?:\.\d)?) Gb/sec \(\d{1,2}X[^()]*\)", line(text) or "")
    return float(match[1]) if match else None


ATTRIBUTES: dict[str, tuple[str, Callable[[str], Value | None]]] = {
    "rdma.firmware": ("fw_ver", _word),
    "rdma.model": ("hca_type", _word),
    "rdma.board": ("board_id", _word),
    "rdma.kind": ("node_type", _titled),
    "rdma.port.state": ("ports/*/state", _titled),
    "rdma.port.rate": ("ports/*/rate", _rate),
    "rdma.port.link_layer": ("ports/*/link_layer", _word),
}
"""Where each fact is written, below the folder of a device, and how it is understood."""
ASKED = {key: Glob(f"{DEVICES}/*/{name}", Part.WHOLE, 256) for key, (name, _) in ATTRIBUTES.items()}


def _key(name: str, meaning: str, *, unit: str = "", node_only: bool = False) -> FactKey:
    return FactKey(
        name=name,
        meaning=meaning,
        instance="@device/port" if ".port." in name else "@device",
        sources=ASKED[name].pattern if name in ASKED else RDMA.pattern,
        unit=unit,
        view=View.HOST,
        node_only=node_only,
    )


KEYS = (
    _key("rdma.firmware", "version of the firmware of an RDMA device"),
    _key("rdma.model", "model of an RDMA device, as MT4129"),
    _key("rdma.board", "what board an RDMA device is on, which decides what firmware fits"),
    _key("rdma.kind", "what an RDMA device is: CA, RNIC"),
    _key("rdma.pci", "PCI address of an RDMA device", node_only=True),
    # A cable decides, not what is installed.
    _key("rdma.port.state", "whether a port is up: ACTIVE, DOWN", node_only=True),
    _key("rdma.port.rate", "how fast a port is", unit="Gb/s", node_only=True),
    _key("rdma.port.link_layer", "what a port speaks: InfiniBand, Ethernet"),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read every device; without any, all is absent."""
    for key, question in ASKED.items():
        answer = visible(answers[question], answers[SYSFS])
        if not isinstance(answer, Found):
            yield Fact(key=key, reading=answer, source=question.pattern)
            continue
        for path, content in answers.each(answer.value):
            reading = understood(content, ATTRIBUTES[key][1], key.rpartition(".")[2])
            yield Fact(key=key, instance=_instance(path), reading=reading, source=path)
    yield from _places(answers)


def _instance(path: str) -> str:
    """Return ``mlx5_0``, or ``mlx5_0/1`` of a port; of a folder that is closed what is known."""
    parts = path.removeprefix(f"{DEVICES}/").split("/")
    return "/".join([parts[0], *parts[2:3]]) if parts[1:2] == ["ports"] else parts[0]


def _places(answers: Answers) -> Iterator[Fact]:
    answer = visible(answers[RDMA], answers[SYSFS])
    if not isinstance(answer, Found):
        yield Fact(key="rdma.pci", reading=answer, source=RDMA.pattern)
        return
    for path, leads in answers.each(answer.value):
        yield Fact(key="rdma.pci", instance=_instance(path), reading=_at(leads), source=path)


def _at(leads: Answer[str]) -> Reading:
    if not isinstance(leads, Found):
        return leads
    found = address(leads)
    if found:
        return Observed(found)
    # One that is made of software lies elsewhere.
    ours = leads.value.startswith("/sys/devices/")
    return Absent() if ours else Unreadable(f"leads to {leads.value[:40]!r}")


PROBE = Probe(keys=KEYS, questions=(*ASKED.values(), RDMA, SYSFS), read=read)
