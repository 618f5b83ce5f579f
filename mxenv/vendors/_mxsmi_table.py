"""How to read the table that ``mx-smi`` prints without options, of every release.

Columns moved from release to release (2.1.6: ``Temp Power``; 2.1.12: ``Pwr:Usage/Cap``; 2.2.6:
``Persistence-M``; 2.2.9: ``Board`` and ``GPU``), so a cell is known only by the name above it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.facts import Observed, Reading, Unreadable
from mxenv.frozen import frozen
from mxenv.vendors._mxsmi import (
    AVAILABLE,
    Device,
    Output,
    attached,
    banner,
    model,
    not_understood,
    quota,
    switch,
    version,
)
from mxenv.vendors._words import address, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RULE = re.compile(r"[+|][-=+]+[+|]")
_GAP = re.compile(r"\s{2,}")
_SMI = re.compile(r"(?:MX|HT)-SMI\s+(\S+)")
_KMD = re.compile(r"Kernel Mode Driver Version:\s*(.*)")
_MACA = re.compile(r"(?:MACA|HPCC) Version:\s*(.*?)\s*(?:BIOS Version:|$)", re.MULTILINE)
_BIOS = re.compile(r"BIOS Version:\s*(.*)")
_MEMORY = re.compile(r"\d+\s*/\s*(\d{1,9})\s*MiB", re.ASCII)
_CAP = re.compile(r"(?:\d+W|NA|N/A)\s*/\s*(\d{1,4})W", re.ASCII)
_PERCENT = re.compile(r"(\d{1,3})\s*%", re.ASCII)
_STATE = re.compile(r"Not Available\s*\((.+)\)")
_INDEX = re.compile(r"\d{1,3}", re.ASCII)
_SLICING = {"native": "off", "disabled": "off", "*sgpu": "on", "enabled": "on"}
"""Two spellings of the same mode, before and since release 2.2.9."""

Row = dict[str, str]


@frozen(kw_only=False)
class _Box:
    """A drawn box: the texts above its column names, and its rows by those names."""

    head: tuple[str, ...]
    rows: tuple[Row, ...]
    complaints: tuple[str, ...]


def parse(text: str) -> Output | Unreadable:
    """Return what the table says; a table that was cut says so."""
    boxes = [_box(lines) for lines in _drawn(text)]
    main = next((box for box in boxes if any(map(_SMI.search, box.head))), None)
    if main is None:
        return not_understood(text)
    head = "\n".join(main.head)
    devices: dict[str, Device] = {}
    indices: dict[str, str] = {}
    complaints = list(main.complaints)
    for row in main.rows:
        bdf = address(row.get("bus-id", ""))
        if bdf is None or bdf in devices:
            complaints.append(f"a row without an address of its own: {excerpt(str(row))}")
            continue
        devices[bdf] = _device(bdf, row)
        indices[row.get("gpu", "")] = bdf
    for box in boxes:
        if box is not main and any("Sliced GPU" in line for line in box.head):
            complaints.extend(box.complaints)
            complaints.extend(_slices(box.rows, devices, indices))
    return Output(
        smi=_first(_SMI, head) or banner(text),
        kmd=_first(_KMD, head),
        maca=_first(_MACA, head),
        attached=attached(text),
        devices=_with_bios(tuple(devices.values()), attached(text), _first(_BIOS, head)),
        lists_slices=all(card.slicing != Observed("on") for card in devices.values()),
        complaints=tuple(complaints),
    )


def _with_bios(
    devices: tuple[Device, ...], count: int | None, bios: Reading | None
) -> tuple[Device, ...]:
    # The header has room for one version: of which card, it does not say.
    if count == 1 and len(devices) == 1:
        return (replace(devices[0], bios=bios),)
    return devices


def _first(pattern: re.Pattern[str], text: str) -> Reading | None:
    found = pattern.search(text)
    return version(found[1]) if found else None


def _device(bdf: str, row: Row) -> Device:
    memory = _MEMORY.fullmatch(row.get("memory-usage", ""))
    power = row.get("pwr:usage/cap")
    cap = _CAP.fullmatch(power) if power else None
    persistence = row.get("persist-m", row.get("persistence-m"))
    slicing = _SLICING.get(row.get("sgpu-m", "").lower())
    index = row.get("gpu", "")
    return Device(
        bdf=bdf,
        index=int(index) if _INDEX.fullmatch(index) else None,
        model=model(row.get("name", "")),
        memory_mib=Observed(int(memory[1])) if memory else Unreadable("no memory size in its row"),
        state=_state(row.get("gpu-state", "")),
        slicing=Observed(slicing) if slicing else None,
        persistence=None if persistence is None else switch(persistence, "on", "off"),
        power_cap_w=Observed(int(cap[1])) if cap else None,
    )


def _state(cell: str) -> str | None:
    if cell.lower() == AVAILABLE:
        return AVAILABLE
    # Without a reason it is left to the forms that give one, or two of them would disagree.
    found = _STATE.fullmatch(cell)
    return found[1] if found else None


def _slices(
    rows: Sequence[Row], devices: dict[str, Device], indices: dict[str, str]
) -> Iterator[str]:
    """Add each slice to its card in ``devices``; yield what could not be placed."""
    for row in rows:
        bdf = indices.get(row.get("gpu", ""))
        number = row.get("sgpu-id", "")
        compute = _PERCENT.fullmatch(row.get("compute", ""))
        vram = _MEMORY.fullmatch(row.get("vram quota", ""))
        if bdf is None or not number.isdecimal() or compute is None or vram is None:
            yield f"a slice that is not understood: {excerpt(str(row))}"
            continue
        reading = quota(int(compute[1]), int(vram[1]))
        slices = (*devices[bdf].slices, (number, reading))
        devices[bdf] = replace(devices[bdf], slices=slices)


def _drawn(text: str) -> Iterator[list[str]]:
    """Yield the lines of each drawn box; anything else, as a blank line, ends one."""
    box: list[str] = []
    for line in (*map(str.strip, text.splitlines()), ""):
        if line[:1] in {"+", "|"} and line:
            box.append(line)
        elif box:
            yield box
            box = []


def _box(lines: list[str]) -> _Box:
    groups: list[list[str]] = [[]]
    titles: list[list[str]] = []
    complaints: list[str] = []
    for line in lines:
        if _RULE.fullmatch(line):
            if "=" in line and not titles:
                titles, groups = groups, []
            groups.append([])
        elif len(line) > 1 and line.endswith("|"):
            groups[-1].append(line)
        else:
            complaints.append(f"a row that was cut: {excerpt(line)}")
    titles = [group for group in titles or groups if group]
    columns = titles[-1] if titles else []
    rows: list[Row] = []
    for group in groups if columns else ():
        for start in range(0, len(group), len(columns)):
            row = _row(columns, group[start : start + len(columns)])
            if row is None:
                complaints.append(f"a row unlike its column names: {excerpt(group[start])}")
            else:
                rows.append(row)
    head = tuple(line.strip("|").strip() for group in titles for line in group)
    return _Box(head, tuple(rows), tuple(complaints))


def _row(columns: list[str], lines: list[str]) -> Row | None:
    """Return one row of as many lines as the column names have, or `None` if it is unlike them."""
    if len(columns) != len(lines):
        return None
    row: Row = {}
    for names, values in zip(map(_cells, columns), map(_cells, lines), strict=True):
        if len(names) != len(values):
            return None
        for name, value in zip(names, values, strict=True):
            cell = _cell(name, value)
            if cell is None:
                return None
            row.update(cell)
    return row


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line[1:-1].split("|")]


def _cell(names: str, values: str) -> Row | None:
    """Return the values of one cell by their names; only a model's name has a space in it."""
    labels = _GAP.split(names.lower())
    if len(labels) == 1:
        return {labels[0]: values} if labels[0] else {}
    parts = _GAP.split(values)
    if len(parts) != len(labels) and "name" in labels:
        words, at = values.split(), labels.index("name")
        after = len(labels) - at - 1
        end = len(words) - after
        parts = [*words[:at], " ".join(words[at:end]), *words[end:]]
    if len(parts) != len(labels):
        return None
    return dict(zip(labels, parts, strict=True))
