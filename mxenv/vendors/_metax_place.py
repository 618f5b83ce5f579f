"""Where the question was asked, as far as MetaX's cards and driver are concerned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.question import Glob, Question, Stat
from mxenv.vendors import _place
from mxenv.vendors._place import Place

if TYPE_CHECKING:
    from mxenv.question import Answers

__all__ = ["DRM", "MODULE", "PCI_VENDOR", "QUESTIONS", "SYSFS", "Place", "place"]

PCI_VENDOR = "9999"
DRM = Glob("/sys/bus/pci/devices/*/drm/*")
MODULE = Stat("/sys/module/metax")
SYSFS = _place.VENDORS.pattern
"""The source of all that the PCI bus tells."""

QUESTIONS: tuple[Question, ...] = (*_place.QUESTIONS, DRM, MODULE)


def place(answers: Answers) -> Place:
    """Return what ``answers`` say of the place."""
    return _place.place(answers, PCI_VENDOR, MODULE)
