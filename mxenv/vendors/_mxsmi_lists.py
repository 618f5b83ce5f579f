"""How to read the lists of ``mx-smi``: ``-L`` and ``--show-version``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv.vendors._mxsmi import (
    AVAILABLE,
    BDF,
    CHIP,
    END,
    Device,
    Output,
    address,
    agreed,
    attached,
    banner,
    excerpt,
    model,
    not_understood,
    quota,
    version,
)

if TYPE_CHECKING:
    from mxenv.facts import Reading, Unreadable

_CARD = re.compile(rf"GPU#\d+\s+({CHIP})\s+({BDF})", re.ASCII)
_STATE = re.compile(r"Available(?:\s*\(UUID: [^()]*\))?|Not Available\s*\((.+)\)")
_SLICE = re.compile(r"SGPU#(\d+)\s+(\d{1,3})%\s+(\d{1,6}(?:\.\d{1,6})?)gb\s", re.ASCII)
_UNIT = re.compile(r"([A-Za-z][A-Za-z0-9_ -]{0,30}?)\s*:\s*(.*)")
_MIB = 1024


@dataclass(slots=True)
class _Card:
    bdf: str
    model: Reading
    state: str | None = None
    slices: dict[str, Reading] = field(default_factory=dict)
    units: dict[str, Reading] = field(default_factory=dict)


def parse_list(text: str) -> Output | Unreadable:
    """Return the cards of ``mx-smi -L``, those out of reach too, and the slices of each.

    Releases before 2.2.12 print no UUID; no UUID is kept.
    """
    cards: dict[str, _Card] = {}
    complaints: list[str] = []
    last: _Card | None = None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("GPU#"):
            last = _listed(line)
            if last is None or last.bdf in cards:
                complaints.append(f"a line that is not understood: {excerpt(line)}")
            else:
                cards[last.bdf] = last
        elif line.startswith("SGPU#"):
            found = _SLICE.match(line)
            if found is None or last is None:
                complaints.append(f"a line that is not understood: {excerpt(line)}")
            else:
                last.slices[found[1]] = quota(int(found[2]), round(float(found[3]) * _MIB))
    if not cards:
        return not_understood(text)
    return Output(
        smi=banner(text),
        devices=tuple(
            Device(bdf=c.bdf, model=c.model, state=c.state, slices=tuple(c.slices.items()))
            for c in cards.values()
        ),
        complaints=tuple(complaints),
    )


def _listed(line: str) -> _Card | None:
    card = _card(line)
    state = _STATE.fullmatch(line, card[1]) if card else None
    if card is None or state is None:
        return None
    card[0].state = state[1] or AVAILABLE
    return card[0]


def _card(line: str) -> tuple[_Card, int] | None:
    """Return the card that ``line`` names, and where the rest of the line begins."""
    found = _CARD.match(line)
    bdf = address(found[2]) if found else None
    if found is None or bdf is None:
        return None
    rest = len(line) - len(line[found.end() :].lstrip())
    return _Card(bdf, model(found[1])), rest


def parse_versions(text: str) -> Output | Unreadable:
    """Return the versions that ``mx-smi --show-version`` lists for each card.

    A line counts only if its end was seen, or half of a version would pass for one.
    """
    cards: dict[str, _Card] = {}
    complaints = [] if END in text else [f"it ends without {END!r}"]
    last: _Card | None = None
    for raw in text.splitlines(keepends=True):
        line = raw.strip()
        if line.startswith("GPU#"):
            card = _card(line)
            last = card[0] if card and card[0].bdf not in cards else None
            if last is None:
                complaints.append(f"a line that is not understood: {excerpt(line)}")
            else:
                cards[last.bdf] = last
        elif last is not None and raw.endswith("\n") and (found := _UNIT.fullmatch(line)):
            last.units.setdefault(found[1], version(found[2]))
    if not cards:
        return not_understood(text)
    return Output(
        smi=banner(text),
        kmd=agreed(c.units["KMD"] for c in cards.values() if "KMD" in c.units),
        maca=agreed(c.units["MACA"] for c in cards.values() if "MACA" in c.units),
        attached=attached(text),
        devices=tuple(_versions(card) for card in cards.values()),
        complaints=tuple(complaints),
    )


def _versions(card: _Card) -> Device:
    units = card.units
    return Device(
        bdf=card.bdf,
        model=card.model,
        bios=units.get("BIOS"),
        firmware=tuple((u, r) for u, r in units.items() if u not in {"MACA", "BIOS", "KMD"}),
    )
