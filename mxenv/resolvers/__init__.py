"""Ways to turn requirements into exact wheels: one file each, as ``RESOLVER``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from mxenv.lock import Package, Provided


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexes:
    """Where wheels come from, beside what the resolver's own configuration says."""

    find_links: tuple[str, ...] = ()
    """Folders, or pages of links."""
    index: tuple[str, ...] = ()
    """URLs of package indexes, the first one first."""
    no_index: bool = False
    """True: look at ``find_links`` only."""
    offline: bool = False
    seconds: float = 600.0
    """How long one resolution may take."""
    directory: Path
    """The project's root, where the resolver looks for its configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be resolved, and for which Python on which platform."""

    requires: tuple[str, ...]
    python: str
    """``3.10.12``, or ``3.11`` if no more is known."""
    platform: str
    libc: str
    """``2.35``; empty: none to check against."""
    provided: tuple[Provided, ...] = ()
    """What is there already: it is never replaced, and never part of the resolution."""
    preferred: tuple[tuple[str, str], ...] = ()
    """Versions to stay with where that is possible."""
    indexes: Indexes


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The exact wheels to add."""

    packages: tuple[Package, ...]
    used: tuple[str, ...]
    """Those of the provided distributions that something asks for."""
    notes: tuple[str, ...] = ()
    """What the resolver warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a wheel can be had."""

    location: str
    """A URL, or an absolute path."""
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """A resolver; a plug-in file holds one as ``RESOLVER``.

    Both functions raise `IndexFailed` for an index that fails, `Incompatible` for requirements
    that cannot be met together.
    """

    title: str
    resolve: Callable[[Request], Resolution]
    locate: Callable[[tuple[Package, ...], str, Indexes], Mapping[str, Place]]
    """Say where the wheels of packages (for a Python version) are, by file name."""
