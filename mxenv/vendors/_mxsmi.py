"""What ``mx-smi`` says, whichever of its forms it was said in."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

from mxenv.facts import Observed, Reading, Unreadable
from mxenv.frozen import frozen
from mxenv.vendors._words import excerpt, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mxenv.question import Completed

NO_DEVICE = "No available devices were discovered"
"""What every form of ``mx-smi`` prints, with exit status 2, where no card is to be seen."""
END = "End of Log"
"""The last line of a complete log; some old releases leave it out."""

AVAILABLE = "available"

BDF = r"(?:[0-9A-Fa-f]{4,8}:)?[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
"""A PCI address, with or without its domain."""
CHIP = r"\S+(?: VF)?"
"""How a chip is named in a list; virtual functions have a space in their name."""

# Texts, not compiled: on most nodes nothing is searched for them.
_BANNER = r"(?m)^(?:mx|ht)-smi\s+version:\s*(\S+)\s*\n"
_ATTACHED = r"(?m)^Attached GPUs\s*:\s*(\d{1,4})[ \t]*\n"
_VERSION = r"(?a)\d+(?:\.\d+)+(?:[.\-_+][0-9A-Za-z]+)*"
_MODEL = r"(?a)[A-Z]{1,2}\d{3}[A-Z]{0,2}(?:-[A-Z]+)?(?: VF)?"
_NOT_TOLD = frozenset({"", "unknown", "n/a", "na", "none", "null", "-", "not available"})
_LONGEST = 64


@frozen
class Device:
    """One card, as far as one output speaks of it."""

    bdf: str
    index: int | None = None
    """The number by which other outputs call it."""
    model: Reading | None = None
    memory_mib: Reading | None = None
    state: str | None = None
    """`AVAILABLE`, or the reason why the card is not; `None` if the output does not say."""
    bios: Reading | None = None
    slicing: Reading | None = None
    persistence: Reading | None = None
    ecc: Reading | None = None
    power_cap_w: Reading | None = None
    sriov: Reading | None = None
    firmware: tuple[tuple[str, Reading], ...] = ()
    slices: tuple[tuple[str, Reading], ...] = ()
    """The quotas of each slice, by its number."""


@frozen
class Output:
    """Everything that one output of ``mx-smi`` says; what it does not speak of is `None`."""

    smi: Reading | None = None
    kmd: Reading | None = None
    maca: Reading | None = None
    attached: int | None = None
    devices: tuple[Device, ...] = ()
    lists_slices: bool = False
    """True if there are no slices but those that it lists."""
    complaints: tuple[str, ...] = field(default=())
    """Why this is not all of it: rows that were cut, or not understood."""

    @property
    def all_there(self) -> bool:
        """Tell whether as many cards are listed as the output says.

        If one was lost, its lines may stand among those of its neighbour.
        """
        return self.attached == len(self.devices)

    @property
    def count(self) -> Reading:
        """Return the number of cards, if the output is whole and agrees with itself."""
        if self.attached is None:
            return Unreadable("it does not say how many cards are attached")
        if self.attached != len(self.devices) or self.complaints:
            why = f": {self.complaints[0]}" if self.complaints else ""
            told = f"{self.attached} attached, {len(self.devices)} read{why}"
            return Unreadable(f"the output is cut or not understood ({told})")
        return Observed(self.attached)


@frozen(kw_only=False)
class NoTool:
    """There is no ``mx-smi``; that says nothing about cards."""


@frozen(kw_only=False)
class NoDevice:
    """``mx-smi`` ran, and sees no card."""

    smi: Reading


Heard = Output | NoTool | NoDevice | Unreadable
T = TypeVar("T")


def hear(
    answer: Completed | Unreadable, parse: Callable[[str], T | Unreadable]
) -> T | NoTool | NoDevice | Unreadable:
    """Return what a command said; one that failed for any other reason never means "no card"."""
    if isinstance(answer, Unreadable):
        return answer
    if answer.missing:
        return NoTool()
    if answer.timed_out:
        return Unreadable("it did not end within its time limit", passing=True)
    if NO_DEVICE in answer.stdout or NO_DEVICE in answer.stderr:
        told = banner(plain(answer.stdout))
        return NoDevice(told or Unreadable("it found no card, told no version"))
    if answer.returncode:
        said = f"{re.sub(_BANNER, '', answer.stdout)}\n{answer.stderr}"
        return Unreadable(f"it exited with {answer.returncode}: {excerpt(said)}")
    return parse(plain(answer.stdout))


def not_understood(text: str) -> Unreadable:
    """Return the reading of an output that no parser knows, with its beginning."""
    return Unreadable(f"its output is not understood: {excerpt(text)}")


def banner(text: str) -> Reading | None:
    """Return the version in the first line, which every form has; `None` if it is not there."""
    found = re.search(_BANNER, text)
    return version(found[1]) if found else None


def attached(text: str) -> int | None:
    """Return the number of cards that a log claims to be about."""
    found = re.search(_ATTACHED, text)
    return int(found[1]) if found else None


def version(text: str) -> Observed | Unreadable:
    """Return the version in ``text``; a word in its place ("unknown") is not a version.

    Builds of a day are told as ``20251011.746, debug, x64``; the version ends at the comma.
    """
    text = text.split(", ", 1)[0].strip()
    if text.lower() in _NOT_TOLD:
        return Unreadable(f"it says {text!r}" if text else "it says nothing there")
    if len(text) > _LONGEST or not re.fullmatch(_VERSION, text):
        return Unreadable(f"not a version: {excerpt(text)}")
    return Observed(text)


def model(text: str) -> Observed | Unreadable:
    """Return the model in ``text`` by its short name: ``MXC500`` and ``MetaX C500`` are one."""
    name = text.strip().removeprefix("MetaX ").removeprefix("Mars ").removeprefix("MX").strip()
    if not re.fullmatch(_MODEL, name):
        return Unreadable(f"not a model: {excerpt(text)}")
    return Observed(name)


def agreed(readings: Iterable[Reading]) -> Reading | None:
    """Return what all ``readings`` say; if they differ, it cannot be said for the node."""
    values = tuple(dict.fromkeys(readings))
    if len(values) > 1:
        seen = sorted(str(r.value) for r in values if isinstance(r, Observed))
        return Unreadable(f"it differs from card to card: {', '.join(seen)}")
    return values[0] if values else None


def switch(text: str, on: str, off: str) -> Observed | Unreadable:
    """Return ``on`` or ``off``, in whatever words an output says so."""
    word = text.strip().lower()
    if word in {on, off}:
        return Observed("on" if word == on else "off")
    return Unreadable(f"neither {on!r} nor {off!r}: {excerpt(text)}")


def quota(compute: float, vram_mib: float) -> Observed:
    """Return the quotas of a slice in one spelling."""
    return Observed((f"compute {compute:g} %", f"{vram_mib:g} MiB"))
