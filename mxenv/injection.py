"""Whether an image can load what a host puts into its containers: the driver's own libraries."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.elf import NUMBER, order
from mxenv.facts import Observed, Unreadable, observed
from mxenv.linkage import HOST
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Fact, Snapshot

DRIVER = re.compile(rf"/opt/mxdriver/lib|/usr/lib(?:64|/[^/]+)/{HOST.pattern}")
"""Whose objects a container is given: a driver's folder, or a library of one among the system's."""
FLOOR, OBJECTS, LIBC = "elf.glibc", "elf.objects", "libc.version"
REMEDY = "take a base image with a newer system, or a node with an older driver"
LOOK = "take the snapshot with `mxenv probe` on the node itself: a plain shell reads no libraries"


def finding(snapshot: Snapshot, provided: str) -> Finding:
    """Return whether the glibc ``provided`` by the image (empty: not known) is new enough."""
    needs = {fact.source: number for fact, number in _needs(snapshot)}
    newest = max(needs.values(), key=order, default="")
    wanting = next((source for source, number in needs.items() if number == newest), "")
    expected = f"glibc {newest} or newer in the image" if newest else "libraries that can be loaded"
    if not NUMBER.fullmatch(provided):
        said = "which glibc the image has is not known"
        return _said(Outcome.UNKNOWN, said, expected, "lock it anew: the lock then says it")
    if newest and order(newest) > order(provided):
        said = f"{wanting} of the host needs glibc {newest}, and the image has {provided}"
        return _said(Outcome.INCOMPATIBLE, said, expected, REMEDY)
    if unread := _unread(snapshot):
        host = snapshot.reading(LIBC)
        number = str(host.value) if isinstance(host, Observed) else ""
        if NUMBER.fullmatch(number) and order(number) <= order(provided):
            # What runs there needs no newer one than is there.
            said = f"the host itself has glibc {number}, and the image {provided}"
            return _said(Outcome.COMPATIBLE, said)
        said = f"what the driver's libraries need is not known: {unread}; the image has {provided}"
        return _said(Outcome.UNKNOWN, said, expected, LOOK)
    said = f"the driver's libraries need glibc {newest}" if newest else "the host has none to give"
    return _said(Outcome.COMPATIBLE, f"{said}, and the image has {provided}")


def _needs(snapshot: Snapshot) -> Iterator[tuple[Fact, str]]:
    """Yield what the driver's libraries need, one fact a folder or library."""
    for fact, value in observed(snapshot.of(FLOOR)):
        if DRIVER.fullmatch(fact.instance) and NUMBER.fullmatch(str(value)):
            yield fact, str(value)


def _unread(snapshot: Snapshot) -> str:
    """Return why there may be a library that needs more, if there may."""
    if not snapshot.of(FLOOR):
        return "not asked"
    for key in (FLOOR, OBJECTS):
        for fact in snapshot.of(key):
            mine = not fact.instance or DRIVER.fullmatch(fact.instance)
            if mine and isinstance(fact.reading, Unreadable):
                return fact.reading.reason
    return ""


def _said(outcome: Outcome, found: str, expected: str = "", remedy: str = "") -> Finding:
    return Finding(
        code="MX333",
        outcome=outcome,
        subject="libraries of the driver",
        found=found,
        expected=expected,
        remedy=remedy,
    )


def machine(snapshot: Snapshot, wanted: str) -> Finding:
    """Return whether the node is of the kind of machine that the image is for."""
    reading = snapshot.reading("machine.arch")
    match reading:
        case Observed(value):
            fits = str(value) == wanted
            outcome, found = Outcome.COMPATIBLE if fits else Outcome.INCOMPATIBLE, str(value)
        case Unreadable(reason):
            outcome, found = Outcome.UNKNOWN, reason
        case _:
            outcome, found = Outcome.UNKNOWN, "absent"
    return Finding(
        code="MX334",
        outcome=outcome,
        subject="machine.arch",
        found=found,
        expected=wanted,
        remedy="" if outcome is Outcome.COMPATIBLE else "take the image for this kind of machine",
    )
