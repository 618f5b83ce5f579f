"""How to read ``mx-smi -j``: a banner line, then one JSON object with a member for each card."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mxenv.facts import Reading, Unreadable
from mxenv.vendors._mxsmi import (
    AVAILABLE,
    Device,
    Output,
    banner,
    not_understood,
    quota,
    version,
)
from mxenv.vendors._words import address

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

JsonObject = dict[str, object]


def parse(text: str) -> Output | Unreadable:
    """Return what the JSON says; text that is not JSON to its end is not understood."""
    document = _document(text)
    if document is None:
        return not_understood(text)
    devices: dict[str, Device] = {}
    complaints: list[str] = []
    counted = True
    for name, member in document.items():
        bdf = address(name)
        if bdf is None:
            continue
        if not isinstance(member, dict) or bdf in devices:
            complaints.append(f"the member {name} is not a card")
            continue
        counted = counted and "sgpu_count" in member
        slices = tuple(_slices(member, complaints))
        devices[bdf] = _device(bdf, member, slices)
    count = document.get("attached_gpus")
    return Output(
        smi=_version(document, "smi_version") or banner(text),
        kmd=_version(document, "driver_version"),
        maca=_version(document, "maca_version") or _version(document, "hpcc_version"),
        attached=count if type(count) is int and count >= 0 else None,
        devices=tuple(devices.values()),
        lists_slices=counted,
        complaints=tuple(complaints),
    )


def _document(text: str) -> JsonObject | None:
    start = text.find("{")
    if start < 0:
        return None
    try:
        document = json.loads(text[start:], object_pairs_hook=_once)
    except (ValueError, RecursionError):
        return None
    known = isinstance(document, dict) and {"smi_version", "driver_version"} & document.keys()
    return document if known else None


def _once(members: list[tuple[str, object]]) -> JsonObject:
    """Return the members of an object; one that is there twice has lost the line between two."""
    found = dict(members)
    if len(found) < len(members):
        msg = "a member is there twice"
        raise ValueError(msg)
    return found


def _device(bdf: str, member: JsonObject, slices: tuple[tuple[str, Reading], ...]) -> Device:
    reason = member.get("unavailable_reason")
    state = (reason.strip() or AVAILABLE) if isinstance(reason, str) else None
    index = member.get("device_id")
    return Device(
        bdf=bdf,
        index=index if type(index) is int else None,
        state=state,
        bios=_version(member, "vbios_version"),
        slices=slices,
    )


def _version(members: Mapping[str, object], name: str) -> Reading | None:
    if name not in members:
        return None
    value = members[name]
    return version(value) if isinstance(value, str) else Unreadable(f"{name} is not a text")


def _slices(member: JsonObject, complaints: list[str]) -> Iterator[tuple[str, Reading]]:
    told = member.get("sgpu_info", [])
    read = 0
    for item in told if isinstance(told, list) else ():
        numbers = _numbers(item, ("sgpu_id", "compute_quota", "vram_quota"))
        if numbers is not None:
            read += 1
            yield str(numbers[0]), quota(numbers[1], numbers[2])
    count = member.get("sgpu_count", 0)
    if count != read:
        complaints.append(f"it counts {count} slices, {read} of them are understood")


def _numbers(item: object, names: tuple[str, ...]) -> tuple[int, ...] | None:
    if not isinstance(item, dict):
        return None
    values = tuple(item.get(name) for name in names)
    numbers = tuple(value for value in values if type(value) is int and 0 <= value < 1 << 31)
    return numbers if len(numbers) == len(names) else None
