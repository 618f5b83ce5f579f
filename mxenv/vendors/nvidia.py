"""NVIDIA accelerators: what is asked about them, and how the answers become facts."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.question import Answers, Command, Question
from mxenv.vendors import (
    Grant,
    Vendor,
    _nvidia_devices,
    _nvidia_driver,
    _nvidia_packages,
    _nvidia_sdk,
    _place,
)
from mxenv.vendors._nvidia_keys import KEYS
from mxenv.vendors._nvidia_smi import DRIVER, Heard, NoTool, Output, hear, no_device
from mxenv.vendors._words import failure, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.vendors._nvidia_topology import Topology

PCI_VENDOR = "10de"
_SECONDS = 20.0
"""Without its persistence daemon the driver takes seconds to wake each card."""

XML = Command(("nvidia-smi", "-q", "-x"), seconds=_SECONDS)
TABLE = Command(("nvidia-smi",), seconds=_SECONDS)
"""Asked only if the XML failed: a table is what people paste."""
TOPOLOGY = Command(("nvidia-smi", "topo", "-m"), seconds=_SECONDS)
TOOL = Command(("nvidia-smi", "--version"), seconds=_SECONDS)

_SMI = rf"(?m)^NVIDIA-SMI version[ \t]*:[ \t]*({DRIVER})[ \t]*\n"
_END = "</nvidia_smi_log>"

_SMI_XML = " ".join(XML.argv)
QUESTIONS: tuple[Question, ...] = (
    XML,
    TOPOLOGY,
    TOOL,
    *_place.QUESTIONS,
    *_nvidia_driver.QUESTIONS,
    *_nvidia_packages.QUESTIONS,
    *_nvidia_sdk.QUESTIONS,
)


def more(answers: Answers) -> Iterator[Question]:
    """Yield what to ask where the first answers did not tell."""
    done = answers[XML]
    told = not isinstance(done, Unreadable) and (
        done.missing or done.timed_out or (not done.returncode and _END in done.stdout)
    )
    if XML in answers.given and not told:
        yield TABLE
    yield from _nvidia_sdk.more(answers)
    yield from _nvidia_driver.more(answers, _place.cards(answers, PCI_VENDOR))


def read(answers: Answers) -> Iterator[Fact]:
    """Yield everything that the answers say of NVIDIA's cards, driver and toolkit."""
    place = _place.place(answers, PCI_VENDOR, _nvidia_driver.MODULE)
    if place.module is None:
        place = replace(place, module=_nvidia_driver.loaded(answers))
    heard: dict[str, Heard] = {_SMI_XML: hear(answers[XML], _xml)}
    if TABLE in answers.given:
        heard[TABLE.argv[0]] = hear(answers[TABLE], _table)
    yield from _nvidia_driver.facts(answers, place)
    yield from _nvidia_packages.facts(answers)
    yield from _nvidia_sdk.facts(answers)
    sources = _nvidia_devices.Sources(
        heard=heard,
        topology=_topology(answers),
        topology_source=" ".join(TOPOLOGY.argv),
        place=place,
        told=_nvidia_driver.information(answers),
        drivers=_nvidia_driver.drivers(answers, place),
        nothing=place.driver is False and isinstance(answers[XML], Unreadable),
    )
    yield from _nvidia_devices.facts(sources)
    yield from _node(answers, *sources.smi)


def _topology(answers: Answers) -> Topology | Unreadable | None:
    done = answers[TOPOLOGY]
    if isinstance(done, Unreadable):
        return done
    if done.missing or no_device(done):
        return None
    from mxenv.vendors import _nvidia_topology  # noqa: PLC0415 - imported late, as below

    return failure(done) or _nvidia_topology.parse(plain(done.stdout))


def _xml(text: str) -> Output | Unreadable:
    from mxenv.vendors import _nvidia_xml  # noqa: PLC0415 - imported late: few nodes need it

    return _nvidia_xml.parse(text)


def _table(text: str) -> Output | Unreadable:
    from mxenv.vendors import _nvidia_table  # noqa: PLC0415 - imported late: few nodes need it

    return _nvidia_table.parse(text)


def _node(answers: Answers, source: str, said: Heard) -> Iterator[Fact]:
    """Yield the versions that ``nvidia-smi`` tells beside the cards."""
    yield Fact(key="nvidia.smi", reading=_smi(answers), source=" ".join(TOOL.argv))
    cuda: Reading = Unreadable("nvidia-smi tells it only where it sees a card")
    match said:
        case Output():
            cuda = said.cuda
            yield Fact(key="nvidia.kmd", reading=said.driver, source=source)
            if said.smi is not None:
                yield Fact(key="nvidia.smi", reading=said.smi, source=source)
        case Unreadable():
            cuda = said
        case NoTool():
            cuda = Absent()
        case _:
            pass
    yield Fact(key="nvidia.smi_cuda", reading=cuda, source=source)


def _smi(answers: Answers) -> Reading:
    """Return the tool's own version, which it tells even where it cannot reach the driver."""
    done = answers[TOOL]
    if isinstance(done, Unreadable):
        return done
    if done.missing:
        return Absent()
    found = re.search(_SMI, plain(done.stdout))
    if found:
        return Observed(found[1])
    return failure(done) or Unreadable("this release does not tell its version")


VENDOR = Vendor(
    title="NVIDIA",
    pci_vendor=PCI_VENDOR,
    backend="cuda",
    probe=Probe(keys=KEYS, questions=QUESTIONS, read=read, more=more),
    grant=Grant(devices=("/dev/nvidiactl", "/dev/nvidia-uvm")),
    read_only=tuple(
        question.argv
        for question in (*QUESTIONS, TABLE, _nvidia_driver.MODINFO)
        if isinstance(question, Command)
    ),
)
