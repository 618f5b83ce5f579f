"""How to read the lists of ``mx-smi``: ``-L``, and those that ``--show-…`` prints card by card."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING

from mxenv.facts import Observed, Reading, Unreadable
from mxenv.frozen import slotted
from mxenv.vendors._mxsmi import (
    AVAILABLE,
    BDF,
    CHIP,
    END,
    Device,
    Output,
    agreed,
    attached,
    banner,
    model,
    not_understood,
    switch,
    version,
)
from mxenv.vendors._words import address, excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

_CARD = re.compile(rf"GPU#(\d{{1,3}})\s+({CHIP})\s+({BDF})", re.ASCII)
_STATE = re.compile(r"Available(?:\s*\(UUID: [^()]*\))?|Not Available\s*\(((?:(?!GPU#).)+)\)")
"""A reason that names another card is two lines that became one."""
_LABEL = re.compile(r"([A-Za-z][A-Za-z0-9_ -]{0,30}?)\s*:\s*(.*)")
_FAILED = re.compile(r"GPU#(\d{1,3}) (?:show-\S+|--show-\S+) (.*\S)", re.ASCII)
"""As ``GPU#0 show-pcie-slot Sysfs error: No such file or directory``, below the card's name."""
_WATTS = re.compile(r"(\d{1,4})(?:\.(\d{1,3}))?\s*W", re.ASCII)
_UNIT = re.compile(r"(?!(?:MACA|HPCC|BIOS|KMD)$|Version )[A-Za-z0-9_-]+(?: [A-Za-z0-9_-]+)*")
"""As ``SMP0``; two lines that became one have the first one's words before it."""


@slotted
class _Card:
    index: int
    bdf: str
    model: Reading
    state: str | None = None
    values: dict[str, str] = field(default_factory=dict)
    """What stands behind each label."""
    failed: str = ""
    """Why the card has no values, if it was told."""


def parse_list(text: str) -> Output | Unreadable:
    """Return the cards of ``mx-smi -L``, those out of reach too.

    A slice is known there only by the line above it, and a lost line would give it to another
    card: slices are read from the forms that name the card of each. Releases before 2.2.12 print
    no UUID; no UUID is kept.
    """
    cards: dict[str, _Card] = {}
    complaints: list[str] = []
    for line in map(str.strip, text.splitlines()):
        if line.startswith("GPU#"):
            found = _listed(line)
            if found is None or found.bdf in cards:
                complaints.append(f"a line that is not understood: {excerpt(line)}")
            else:
                cards[found.bdf] = found
    if not cards:
        return not_understood(text)
    return Output(
        smi=banner(text),
        devices=tuple(
            Device(bdf=c.bdf, index=c.index, model=c.model, state=c.state) for c in cards.values()
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
    bdf = address(found[3]) if found else None
    if found is None or bdf is None:
        return None
    rest = len(line) - len(line[found.end() :].lstrip())
    return _Card(int(found[1]), bdf, model(found[2])), rest


def parse_versions(text: str) -> Output | Unreadable:
    """Return the versions that ``mx-smi --show-version`` lists for each card."""

    def device(card: _Card, told: Device) -> Device:
        units = {label: version(value) for label, value in card.values.items()}
        firmware = tuple((u, r) for u, r in units.items() if _UNIT.fullmatch(u))
        return replace(told, bios=units.get("BIOS"), firmware=firmware)

    return _sections(text, device)


def parse_ecc(text: str) -> Output | Unreadable:
    """Return whether ECC is on, as ``mx-smi --show-ecc-state`` has it for each card."""

    def device(card: _Card, told: Device) -> Device:
        state = card.values.get("state")
        if state is None:
            return replace(told, ecc=_why(card))
        return replace(told, ecc=switch(state, "enable", "disable"))

    return _sections(text, device)


def parse_power(text: str) -> Output | Unreadable:
    """Return the limit that ``mx-smi --show-board-power`` tells for each card."""

    def device(card: _Card, told: Device) -> Device:
        limit = card.values.get("Limit")
        return replace(told, power_cap_w=_why(card) if limit is None else _watts(limit))

    return _sections(text, device)


def parse_vbios(text: str) -> Output | Unreadable:
    """Return what ``mx-smi --show-vbios`` tells of each card's BIOS: a version, virtual functions.

    Release 2.2.12 tells no version there.
    """

    def device(card: _Card, told: Device) -> Device:
        names = [label for label in card.values if label.lower() in _BIOS_LABELS]
        bios = version(card.values[names[0]]) if names else None
        sriov = card.values.get("SRIOV")
        virtual = _why(card) if sriov is None else switch(sriov, "support", "not support")
        return replace(told, bios=bios, sriov=virtual)

    return _sections(text, device)


_BIOS_LABELS = frozenset({"version", "bios", "bios version", "vbios", "vbios version"})


def _why(card: _Card) -> Reading | None:
    return Unreadable(card.failed) if card.failed else None


def _watts(text: str) -> Reading:
    found = _WATTS.fullmatch(text.strip())
    if found is None:
        return Unreadable(f"not a power: {excerpt(text)}")
    return Observed(
        float(f"{found[1]}.{found[2]}") if (found[2] or "").strip("0") else int(found[1])
    )


def _sections(text: str, device: Callable[[_Card, Device], Device]) -> Output | Unreadable:
    """Return the cards of a log that has a section for each, each as ``device`` completes it.

    A line counts only if its end was seen, or half of a version would pass for one.
    """
    cards: dict[str, _Card] = {}
    complaints = [] if END in text else [f"it ends without {END!r}"]
    last: _Card | None = None
    for raw in text.splitlines(keepends=True):
        line = raw.strip()
        if last and raw.endswith("\n") and (failed := _FAILED.fullmatch(line)):
            if int(failed[1]) == last.index:
                last.failed = excerpt(failed[2])
        elif line.startswith("GPU#"):
            card = _card(line)
            last = card[0] if card and card[0].bdf not in cards else None
            if last is None:
                complaints.append(f"a line that is not understood: {excerpt(line)}")
            else:
                cards[last.bdf] = last
        elif last is not None and raw.endswith("\n") and (found := _LABEL.fullmatch(line)):
            last.values.setdefault(found[1], found[2])
    if not cards:
        return not_understood(text)
    values = [card.values for card in cards.values()]
    names = ("MACA", "HPCC")
    return Output(
        smi=banner(text),
        kmd=agreed(version(told["KMD"]) for told in values if "KMD" in told),
        maca=agreed(version(told[name]) for told in values for name in names if name in told),
        attached=attached(text),
        devices=tuple(
            device(card, Device(bdf=card.bdf, index=card.index, model=card.model))
            for card in cards.values()
        ),
        complaints=tuple(complaints),
    )


PARSERS: dict[str, Callable[[str], Output | Unreadable]] = {
    "-L": parse_list,
    "--show-version": parse_versions,
    "--show-ecc-state": parse_ecc,
    "--show-board-power": parse_power,
    "--show-vbios": parse_vbios,
}
"""Which option prints which list."""
