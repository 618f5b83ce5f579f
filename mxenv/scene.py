"""Where a statement of a project takes effect: in which images, and for which cards they are."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.matrix import Matrix
    from mxenv.verdict import Place

_VENDOR = re.compile(r"(?<![a-z0-9])(?:mx)?(?:metax|maca)(?![a-z])")
_OTHERS = re.compile(r"nvidia|nvcr|cuda|cu1[0-9]|rocm|vllm-openai|ascend|cann|musa|cambricon|-cpu")
"""What the name of an image says if it is for other cards, or for none."""


@frozen
class Ground:
    """An image that a project's lock, or image description, is about."""

    reference: str
    """The base, as it is written there."""
    accelerator: str
    place: Place
    held: Mapping[str, tuple[str, Place]]
    """Every distribution inside, with its version and the line that says so."""
    known: bool = True
    """False if only the image description is there: what is inside is not known."""


@frozen
class Surroundings:
    """What a project says of its images, and what the matrix knows of the vendor's builds."""

    grounds: tuple[Ground, ...] = ()
    published: Mapping[str, tuple[str, ...]]
    """Versions of the vendor's builds by distribution, as `published` gives them."""
    matrix: Matrix | None = None  # what sets of pins are held against
    vendors_asked: bool = False
    """True if some line asks for a build of the vendor by itself."""


@frozen
class Scene:
    """Where a statement takes effect: in which image, and what is known of it."""

    base: str = ""
    """The image; empty: any that the project is about."""
    forced: bool = False

    def grounds(self, around: Surroundings) -> tuple[Ground, ...]:
        """Return the images that are meant, those for no accelerator aside."""
        meant = (one for one in around.grounds if one.accelerator != "none")
        if not self.base:
            return tuple(meant)
        return tuple(one for one in meant if _same_image(one.reference, self.base))

    def accelerators(self, around: Surroundings) -> frozenset[str]:
        """Return which accelerators it is for, as far as anything says so."""
        found = {one.accelerator for one in self.grounds(around)}
        if _VENDOR.search(self.base.lower()) or (around.vendors_asked and not self.base):
            found.add("metax")
        return frozenset(found)

    def untold(self, around: Surroundings) -> bool:
        """Tell whether nothing says for which cards it is, not even that it is for others."""
        if not self.base:
            return not (around.grounds or around.vendors_asked)
        grounds = any(_same_image(one.reference, self.base) for one in around.grounds)
        return not (grounds or self.accelerators(around) or _OTHERS.search(self.base.lower()))


def _same_image(one: str, other: str) -> bool:
    """Tell whether two references are one image: the same digest, or the same name and tag."""
    (name, _, digest), (other_name, _, other_digest) = one.partition("@"), other.partition("@")
    if digest and other_digest:
        return digest == other_digest
    return bool(name) and name == other_name
