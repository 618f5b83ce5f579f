"""Ways to turn requirements into exact wheels: one file each, as ``RESOLVER``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from mxenv.lock import Package, Provided


EPOCH = 315532800
"""The time at which wheels are built: the first second that a ZIP archive can hold (1980, UTC)."""


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
    refresh: tuple[str, ...] = ()
    """Of which distributions indexes are asked anew, whatever is remembered; ``*``: of all."""
    only_binary: bool = False
    """True: what has no wheel is refused; else its source may be taken."""
    sources: tuple[str, ...] = ()
    """What is taken from source at once, as it was before."""
    indexes: Indexes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdist:
    """A source distribution, of what has no wheel that fits."""

    name: str
    """Of the distribution; normalised."""
    version: str
    file: str
    sha256: str
    size: int = 0
    location: str
    """A URL, or an absolute path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """The exact wheels to add."""

    packages: tuple[Package, ...]
    sdists: tuple[Sdist, ...] = ()
    """What is to be built first."""
    used: tuple[str, ...]
    """Those of the provided distributions that something asks for."""
    notes: tuple[str, ...] = ()
    """What the resolver warned of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where files lie, with the user's own configuration; the first of each one first."""

    find_links: tuple[str, ...] = ()
    """Absolute paths of folders, or URLs of pages."""
    index: tuple[str, ...] = ()
    """URLs, logins and all: they may stand in no message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A source distribution to make a wheel of, here."""

    sdist: Path
    name: str
    version: str
    python: str
    """``3.11``: taken if it is here, or else the one that mxenv runs on."""
    requires: tuple[str, ...] | None = None
    """With what it was built before, exactly; `None`: with the newest, and twice."""
    epoch: int = EPOCH
    indexes: Indexes
    out: Path
    """The folder that the wheel goes into; it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A wheel that was built, and with what."""

    wheel: Path
    builder: str
    python: str
    """With all three numbers."""
    epoch: int
    """``SOURCE_DATE_EPOCH``: the time that stands in the wheel."""
    requires: tuple[str, ...]
    """``hatchling==1.27.0 --hash=sha256:…``: each with the hash of its wheel; sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolver:
    """A resolver; a plug-in file holds one as ``RESOLVER``.

    Its functions raise `IndexFailed` for an index that fails, `Incompatible` for requirements
    that cannot be met together, `EngineError` for a source that cannot be built.
    """

    title: str
    resolve: Callable[[Request], Resolution]
    places: Callable[[Indexes], Places]
    build: Callable[[Order], Made]
