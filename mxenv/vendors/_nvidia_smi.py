"""What ``nvidia-smi`` says, in which of its forms ever, and what it means that it fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.frozen import frozen
from mxenv.vendors._words import excerpt, failure, matched, plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.question import Completed

NO_DEVICE = "No devices were found"
"""What ``nvidia-smi`` prints where its driver answers, and has no card for it."""
AVAILABLE = "available"
DRIVER = r"[0-9]{3,4}\.[0-9]{1,3}(?:\.[0-9]{1,3})?"
"""How NVIDIA counts its drivers: ``550.54.15``; some branches have two fields."""
RELEASE = r"[0-9]{1,3}\.[0-9]{1,3}(?:\.[0-9]{1,5}){0,2}"
"""How NVIDIA counts everything else: ``12.4``, ``2.21.5``, ``12.4.131``."""

_CORRUPTED = 14
"""What ``nvidia-smi`` exits with if a card's infoROM is damaged, having told all there is."""
_BIOS = r"(?ai)[0-9A-F]{2}(?:\.[0-9A-F]{2}){4}"
_MODEL = r"(?a)[A-Z0-9](?:[\w+/-]|\((?=\w)|(?<=\w)\)| (?=[\w(])){1,62}"
_NO_MODEL = r"(?i)unknown|err!|lost|error|requires|device|graphics device"
_SPELLINGS = ("NVIDIA ", "Tesla ")
"""What stood before a model's name in one release of the driver, and not in another."""


@frozen
class Gpu:
    """One card, as far as one form speaks of it; what it does not speak of is `None`."""

    bdf: str
    model: Reading | None = None
    pci_id: Reading | None = None
    memory_mib: Reading | None = None
    state: Reading | None = None
    bios: Reading | None = None
    ecc: Reading | None = None
    power_cap_w: Reading | None = None
    persistence: Reading | None = None
    slicing: Reading | None = None
    fabric: Reading | None = None
    firmware: tuple[tuple[str, Reading], ...] = ()
    slices: tuple[tuple[str, Reading], ...] = ()
    """The quotas of each slice (a MIG device), by its number."""


@frozen
class Output:
    """Everything that one form says: all the cards, or it would not be understood."""

    driver: Reading
    cuda: Reading
    smi: Reading | None = None
    gpus: tuple[Gpu, ...] = ()
    """In the order in which ``nvidia-smi`` numbers them."""
    slices: bool = True
    """Whether this form would have listed slices."""


@frozen(kw_only=False)
class NoTool:
    """There is no ``nvidia-smi``; that says nothing about cards."""


@frozen(kw_only=False)
class NoDevice:
    """``nvidia-smi`` reached the driver, and sees no card."""


Heard = Output | NoTool | NoDevice | Unreadable


def hear(done: Completed | Unreadable, parse: Callable[[str], Output | Unreadable]) -> Heard:
    """Return what ``nvidia-smi`` said; that it failed never means that there is no card.

    "couldn't communicate with the NVIDIA driver" and "Driver/library version mismatch" are what
    a broken installation looks like.
    """
    if isinstance(done, Unreadable):
        return done
    if done.missing:
        return NoTool()
    if no_device(done):
        return NoDevice()
    failed = None if done.returncode == _CORRUPTED else failure(done)
    if failed is not None:
        return failed
    said = parse(plain(done.stdout))
    return NoDevice() if isinstance(said, Output) and not said.gpus else said


def no_device(done: Completed) -> bool:
    """Return whether a command found no card, and that is all it said."""
    return done.stdout.strip() == NO_DEVICE


def not_understood(text: str, why: str) -> Unreadable:
    """Return the reading of an output that is damaged, or that no parser knows."""
    return Unreadable(f"its output is not understood, {why}: {excerpt(text)}")


def driver(text: str) -> Reading:
    """Return the version of a driver."""
    return matched(text, DRIVER, "a driver's version")


def release(text: str) -> Reading:
    """Return the version of a part of CUDA."""
    return matched(text, RELEASE, "a version")


def bios(text: str) -> Reading:
    """Return the version of a card's BIOS, as ``96.00.89.00.01``."""
    return matched(text, _BIOS, "a BIOS's version")


def model(text: str) -> Reading:
    """Return a card's model by its short name: ``H100 80GB HBM3``."""
    name = text.strip()
    for spelling in _SPELLINGS:
        name = name.removeprefix(spelling)
    if not re.fullmatch(_MODEL, name) or re.search(_NO_MODEL, name):
        return Unreadable(f"not a model: {excerpt(text)}")
    return Observed(name)


def switch(text: str) -> Reading:
    """Return whether something is on; ``N/A`` is what a card says that does not have it."""
    text = text.strip()
    if text.strip("[]") == "N/A":
        return Absent()
    known = {"Enabled": "on", "Disabled": "off"}
    return Observed(known[text]) if text in known else Unreadable(f"neither on nor off: {text!r}")


def amount(text: str, unit: str) -> Reading:
    """Return a number with a unit that has to be there."""
    found = re.fullmatch(rf"(\d{{1,9}})(?:\.(\d{{1,2}}))? {unit}", text.strip(), re.ASCII)
    if found is None:
        return Unreadable(f"not a number of {unit}: {excerpt(text)}")
    number = float(f"{found[1]}.{found[2] or 0}")
    return Observed(int(number) if number.is_integer() else number)
