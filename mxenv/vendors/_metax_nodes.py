"""Which device nodes of MetaX's cards are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Found, Glob, Question, Stat
from mxenv.vendors._metax_brand import HPCC, METAX
from mxenv.vendors._metax_place import DRM, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = Glob("/dev/mx*")
DRI = Glob("/dev/dri/*")
OTHER = Stat(HPCC.node)
"""The control node of the other brand; asked where that brand was seen."""
QUESTIONS: tuple[Question, ...] = (NODES, DRI)

_NODE = re.compile(r"/dev/(?:mxcd|mxgvm|mxnd|mxgd)")


def facts(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield the device nodes: the control node, and those that sysfs gives to MetaX's cards."""
    missing: Reading = Absent()
    if OTHER in answers.given:
        match answers[OTHER]:
            case Found():
                yield _node(HPCC.node)
                missing = Unreadable(f"{HPCC.name} has {HPCC.node} in its place")
            case Absent() | Unreadable() as reading:
                yield _node(HPCC.node, reading)
    yield from _control(answers, missing)
    present, owned = answers[DRI], answers[DRM]
    yield from _rest(answers[NODES], present, owned, place.pci)
    if not (isinstance(present, Found) and isinstance(owned, Found)) or not place.pci:
        return
    paths = {path for path, _ in present.value}
    for path, _ in owned.value:
        bdf, _, name = path.removeprefix("/sys/bus/pci/devices/").partition("/drm/")
        node = f"/dev/dri/{name}"
        if isinstance(place.pci, dict) and bdf.lower() in place.pci and node in paths:
            yield _node(node)


def _control(answers: Answers, missing: Reading) -> Iterator[Fact]:
    match answers[NODES]:
        case Found(matches):
            found = sorted({path for path, _ in matches if _NODE.fullmatch(path)})
            yield from map(_node, found)
            if METAX.node not in found:
                yield _node(METAX.node, missing)
        case Absent():
            yield _node(METAX.node, missing)
        case Unreadable() as unreadable:
            yield _node(METAX.node, unreadable)


def _rest(*asked: object) -> Iterator[Fact]:
    """Yield that there may be more nodes than were found, if an answer did not come in time."""
    for blind in asked:
        if isinstance(blind, Unreadable) and blind.passing:
            yield Fact(key="metax.node", reading=blind, source=DRI.pattern)
            return


def _node(path: str, reading: Reading | None = None) -> Fact:
    return Fact(
        key="metax.node", instance=path, reading=reading or Observed("present"), source=path
    )
