"""Where the question was asked: in a container or not, and which of a vendor's cards are there."""

from __future__ import annotations

import re

from mxenv.facts import Absent, Unreadable
from mxenv.frozen import frozen
from mxenv.question import Answers, Env, File, Found, Glob, Part, Stat

VENDORS = Glob("/sys/bus/pci/devices/*/vendor", part=Part.WHOLE, limit=64)
DEVICES = Glob("/sys/bus/pci/devices/*/device", part=Part.WHOLE, limit=64)
CLASSES = Glob("/sys/bus/pci/devices/*/class", part=Part.WHOLE, limit=64)
SYSFS = Stat("/sys/bus")
DOCKER = Stat("/.dockerenv")
PODMAN = Stat("/run/.containerenv")
KUBERNETES = Env("KUBERNETES_SERVICE_HOST")
MOUNTS = File("/proc/self/mountinfo")

QUESTIONS = (VENDORS, DEVICES, CLASSES, SYSFS, DOCKER, PODMAN, KUBERNETES, MOUNTS)

_ID = re.compile(r"(?:0x)?([0-9a-f]{4})", re.ASCII)
_CLASS = re.compile(r"0x[0-9a-f]{6}", re.ASCII)
_LAYERS = re.compile(r"^\d+ \d+ \S+ \S+ / .* - (?:fuse\.?fuse-|fuse\.)?overlay", re.MULTILINE)
"""The mount at ``/`` of nearly every container: layers upon layers."""
_DISPLAY = "0x03"
"""PCI class of display controllers; a vendor's bridges and sound devices are no cards."""

Pci = dict[str, str]
"""The PCI device id of each card, by its address; empty where it could not be read."""


ON_HOST = Unreadable("the modules of the running kernel lie on the host")
"""What the files of a container say of a module that is not among them."""


@frozen(kw_only=False)
class Place:
    """What has to be known of the place before a device can be spoken of."""

    container: bool | None
    """`None` if that could not be told."""
    pci: Pci | Unreadable
    """The vendor's cards on the bus; a container sees those of its host here, mapped or not."""
    module: bool | None
    """Whether the kernel has the driver's module; `None` if that could not be told."""

    @property
    def driver(self) -> bool | None:
        """Whether the bus or the kernel shows a card or a driver; `None` if that is unknown."""
        if self.module or (isinstance(self.pci, dict) and self.pci):
            return True
        return None if self.module is None or isinstance(self.pci, Unreadable) else False


def place(answers: Answers, vendor: str, module: Stat) -> Place:
    """Return what ``answers`` say of the place, of cards whose PCI vendor is ``vendor``."""
    return Place(_container(answers), _pci(answers, vendor), there(answers, module))


def _container(answers: Answers) -> bool | None:
    signs = [there(answers, question) for question in (DOCKER, PODMAN, KUBERNETES)]
    match answers[MOUNTS]:
        case Found(text) if _LAYERS.search(text):
            return True
        case Found():
            # A file system of its own below ``/``: then only a sign says otherwise.
            return any(signs)
        case _:
            return True if any(signs) else None if None in signs else False


def there(answers: Answers, question: Stat | Env) -> bool | None:
    """Return whether something is there; `None` if that could not be told."""
    match answers.given.get(question, Unreadable("not asked")):
        case Found():
            return True
        case Absent():
            return False
        case _:
            return None


def cards(answers: Answers, vendor: str) -> Pci:
    """Return a vendor's cards on the bus, as far as it can be seen."""
    seen = _pci(answers, vendor)
    return seen if isinstance(seen, dict) else {}


def _pci(answers: Answers, vendor: str) -> Pci | Unreadable:
    vendors = _contents(answers, VENDORS)
    devices = _contents(answers, DEVICES)
    classes = _contents(answers, CLASSES)
    if isinstance(vendors, Unreadable):
        return vendors
    if not vendors and not there(answers, SYSFS):
        return Unreadable("sysfs is not to be seen")
    cards: Pci = {}
    for bdf, content in vendors.items():
        if isinstance(content, Unreadable):
            return content
        if not pci_id(content):
            # Half of an id is nobody's, and whose card it stands for is not known.
            return Unreadable(f"no vendor of {bdf} in it: {content[:40]!r}")
        if pci_id(content) == vendor:
            kind = None if isinstance(classes, Unreadable) else classes.get(bdf)
            if isinstance(kind, str) and not _CLASS.fullmatch(kind):
                return Unreadable(f"no class of {bdf} in it: {kind[:40]!r}")
            if isinstance(kind, str) and not kind.startswith(_DISPLAY):
                continue
            device = devices if isinstance(devices, Unreadable) else devices.get(bdf, "")
            cards[bdf] = pci_id(device) if isinstance(device, str) else ""
    return cards


def _contents(answers: Answers, glob: Glob) -> dict[str, str | Unreadable] | Unreadable:
    """Return the content of each match by the device's address (the folder's name)."""
    match answers[glob]:
        case Found(matches):
            return {path.split("/")[-2].lower(): _content(answer) for path, answer in matches}
        case Absent():
            return {}
        case Unreadable() as unreadable:
            return unreadable


def _content(answer: Found[str] | Absent | Unreadable) -> str | Unreadable:
    match answer:
        case Found(text):
            return text.strip()
        case Absent():
            return Unreadable("it went away while it was read")
        case Unreadable():
            return answer


def pci_id(text: str) -> str:
    """Return four hexadecimal digits, or nothing if ``text`` holds no id."""
    found = _ID.fullmatch(text.strip().lower())
    return found[1] if found else ""
