"""What a team wants in one image: the content of ``images/<name>/image.toml``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mxenv.verdict import Waiver

SCHEMA = "mxenv.image/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedFile:
    """A file of the project that goes into the image as it is."""

    source: str
    """Relative to the folder of ``image.toml``; it may not leave that folder."""
    target: str
    """Absolute, inside the image."""
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """One image, as people describe it: what they want, not which bytes that is."""

    name: str
    """Also the ``<name>`` of ``lockfiles/pylock.<name>.toml``; no dot in it (PEP 751)."""
    base: str
    """``scratch``, an image reference (``host/repository:tag`` or ``@sha256:…``), ``oci:DIR``."""
    accelerator: str = "metax"
    """The vendor the image is for; ``none`` if it holds nothing for an accelerator."""
    platform: str = "linux/amd64"
    python: str = ""
    """``3.11``; empty: that of the base's environment. Required on ``scratch``."""
    environment: str = ""
    """The prefix of the base's Python environment to install into; empty: the one in use."""
    requires: tuple[str, ...] = ()
    """Python requirements (PEP 508)."""
    system: tuple[str, ...] = ()
    """System packages, by the base's package manager; only an engine that can RUN takes them."""
    variables: tuple[tuple[str, str], ...] = ()
    files: tuple[AddedFile, ...] = ()
    models: tuple[str, ...] = ()
    host: tuple[str, ...] = ()
    """Constraints (see `mxenv.constraint`) that a node must meet before the image may start."""
    waivers: tuple[Waiver, ...] = ()
