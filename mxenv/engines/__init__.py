"""Ways to make an image from a lock: one file each, as ``ENGINE``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from mxenv.configuration import Made
    from mxenv.listing import Listing
    from mxenv.lock import Lock, Recipe
    from mxenv.stores import ImageDescription


@frozen
class Known:
    """A base, known without asking for it."""

    image: ImageDescription
    listing: Listing


GZIP = "gzip"
"""How layers are packed unless somebody asks for another way (see `mxenv.layers.FORMAT`)."""
ZSTD = "zstd"


@frozen
class Order:
    """What is to be built, from what, and where it goes."""

    lock: Lock
    lock_text: str
    """The lock as it goes into the image: without what was built from it."""
    base: str
    """Where the base is read: ``scratch``, ``oci:DIR``, or a reference in a registry."""
    wheelhouse: Path
    files: Path
    """The folder that the sources of added files are relative to."""
    cache: Path
    known: Known | None = None
    """What is known of the base; without it the base is asked, and what it holds is not known."""
    out: Path | None = None
    """A folder for an OCI layout."""
    push: str | None = None
    """A reference in a registry; with neither, nothing is written, and the digests are known."""
    compression: str = GZIP
    """How the layers are packed; the configuration is the same, the manifest is not."""
    interpreter: str = ""
    """A Python that compiles modules, where the lock asks for that; empty: the running one."""
    with_base: bool = False
    """Copy the base's layers into the layout; a registry always has them."""
    network: str = ""
    """Which network the steps of a container engine may use, as it names them."""
    told: Callable[[str], None] | None = None
    """Is told which step a container engine is at."""
    look: Callable[[str], None] | None = None
    """Holds the image at an address against the lock before anybody can ask for it by name; raises
    `Incompatible`."""
    hold: Callable[[Sequence[Layer]], None] | None = None
    """The same for who knows what was found in each layer, and needs no look at the whole."""


@frozen
class Layer:
    """A layer of the image that was added to the base."""

    made: Made
    cached: bool
    """True if nothing had to be unpacked for it."""
    distributions: tuple[tuple[str, str], ...] = ()
    """Name and version of each that was found in it when it was read back."""


@frozen
class Product:
    """An image that was made."""

    config: str
    manifest: str
    layers: tuple[Layer, ...]
    name: str
    """``oci:DIR:TAG`` or a reference with the digest."""
    written: int
    """Bytes that were written to the layout or sent to the registry."""
    read: int
    """Bytes of the base that were read."""
    seconds: tuple[tuple[str, float], ...]
    """Each step, in order, and how long it took."""
    pinned: str = ""
    """The digest of the manifest with the layers as the format has them, if it is another one."""
    compiler: str = ""
    """The version of the Python that compiled modules, if the lock asked for that."""
    notes: tuple[str, ...] = ()
    """What somebody should know who takes the image to be whole."""


@frozen
class Engine:
    """A way to make images; a plug-in file holds one as ``ENGINE``."""

    title: str
    build: Callable[[Order], Product]
    """Make the image; raise `EngineError`, `InvalidFile`, `Incompatible` or `UsageError`."""
    compressions: tuple[str, ...] = (GZIP,)
    """How it can pack layers."""
    recipe: Callable[[Order], Recipe] | None = None
    """Returns what it makes images from, if what it makes differs each time."""
    keeps: bool = False
    """Whether an image that goes nowhere else stays with it, under the name of the lock."""
