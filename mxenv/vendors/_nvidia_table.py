"""How to read the table that ``nvidia-smi`` prints without options, as people paste it.

A card's row has as many lines as the column names have; a cell is known by the name above it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.vendors._nvidia_smi import (
    AVAILABLE,
    DRIVER,
    RELEASE,
    Gpu,
    Output,
    amount,
    model,
    not_understood,
    switch,
)
from mxenv.vendors._words import address, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = (
    rf"(?a)NVIDIA-SMI ({DRIVER})\s+Driver Version: ({DRIVER})\s+"
    rf"CUDA Version: ({RELEASE}|N/A|ERR!)\s*\|"
)
_PROCESSES = r"(?m)^\| Processes:"
"""What follows once every card was listed."""
_RULE = r"[+|][-=+]+[+|]"
_CARD = r"(?a)(\d{1,3})\s+(\S.*?)\s+(On|Off)"
_BUS = r"(\S+)\s+(?:On|Off|N/A)"
_CAP = r".*/\s*(\d{1,5}W|N/A)"
_MEMORY = r".*/\s*(\d{1,9}MiB)"
_NAMES = (
    ("gpu name persistence-m", "bus-id disp.a", "volatile uncorr. ecc"),
    ("fan temp perf pwr:usage/cap", "memory-usage", "gpu-util compute m."),
    ("", "", "mig m."),
)
"""The names of the columns; releases before MIG have two lines of them."""

Row = list[list[str]]


def parse(text: str) -> Output | Unreadable:
    """Return what the table says, if it was printed to its end."""
    head = re.search(_HEAD, text)
    end = re.search(_PROCESSES, text)
    if head is None or end is None:
        return not_understood(text, "it is no table, or was cut")
    # What follows a blank line is another box: the slices, which name no card by its address.
    body, *_ = re.split(r"\n[ \t]*\n", text[head.end() : end.start()])
    groups = _groups(body)
    names = next(groups, [])
    if not names or [tuple(" ".join(c.lower().split()) for c in row) for row in names] != list(
        _NAMES[: len(names)]
    ):
        return not_understood(text, "its columns have other names")
    rows = list(groups)
    gpus = [_gpu(row) if len(row) == len(names) else None for row in rows]
    known = tuple(gpu for gpu in gpus if gpu is not None)
    one_each = len({gpu.bdf for gpu in known}) == len(gpus)
    if not one_each or any(row[0][0].split()[0] != str(n) for n, row in enumerate(rows)):
        return not_understood(text, "a row is unlike its column names")
    cuda: Reading = Unreadable("it says none")
    if re.fullmatch(RELEASE, head[3]):
        cuda = Observed(head[3])
    return Output(
        driver=Observed(head[2]), cuda=cuda, smi=Observed(head[1]), gpus=known, slices=False
    )


def _groups(text: str) -> Iterator[Row]:
    """Yield the cells of the lines between two rules: the column names, then each card."""
    group: Row = []
    for line in map(str.strip, text.splitlines()):
        if re.fullmatch(_RULE, line):
            if group:
                yield group
            group = []
        elif line.startswith("|"):
            group.append([cell.strip() for cell in line.strip("|").split("|")])
    if group:
        yield group


def _gpu(row: Row) -> Gpu | None:
    if [len(cells) for cells in row] != [len(names) for names in _NAMES[: len(row)]]:
        return None
    card = re.fullmatch(_CARD, row[0][0])
    bus = re.fullmatch(_BUS, row[0][1])
    cap = re.fullmatch(_CAP, row[1][0])
    memory = re.fullmatch(_MEMORY, row[1][1])
    bdf = address(bus[1]) if bus else None
    if card is None or bdf is None or cap is None or memory is None:
        return None
    name = model(card[2]) if not card[2].endswith("...") else Unreadable("its name was cut")
    return Gpu(
        bdf=bdf,
        model=name,
        memory_mib=_amount(memory[1], "MiB"),
        state=Observed(AVAILABLE),
        ecc=_ecc(row[0][2]),
        power_cap_w=_amount(cap[1], "W"),
        persistence=Observed(card[3].lower()),
        slicing=switch(row[2][2]) if len(row) == len(_NAMES) else None,
    )


def _amount(text: str, unit: str) -> Reading:
    if text == "N/A":
        return Absent()
    return amount(f"{text.removesuffix(unit)} {unit}", unit)


def _ecc(text: str) -> Reading:
    """Return whether ECC is on; where it is, the column counts its errors."""
    if text.isdecimal():
        return Observed("on")
    if text == "Off":
        return Observed("off")
    return Absent() if text == "N/A" else Unreadable(f"not a count of errors: {excerpt(text)}")
