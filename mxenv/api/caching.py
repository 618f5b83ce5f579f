"""Layers that are kept from build to build: where, how many, whether they are whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.engines import _cache_room, _cache_use
from mxenv.engines._cache_room import Freed
from mxenv.errors import EngineError, UsageError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from mxenv.engines._cache_room import Kept

SIZE = "MXENV_CACHE_SIZE"
"""Says how much may be kept, where no option does."""
USUAL = 32 << 30
"""Bytes that are kept unless somebody says otherwise: a dozen stacks of a framework."""
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([kmgt]?)(?:i?b)?", re.IGNORECASE)


@frozen
class Shown:
    """What a cache holds."""

    root: Path
    layers: tuple[Kept, ...]
    """The one that was not used for longest first."""
    bytes: int
    stray: int
    """Files that belong to no layer: left by builds that were killed, or just being written."""


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return where layers are kept: ``MXENV_CACHE_DIR``, or the user's cache folder."""
    if chosen := environ.get("MXENV_CACHE_DIR"):
        return Path(chosen)
    kept = Path(environ.get("XDG_CACHE_HOME", ""))
    if kept.is_absolute():  # the specification says so: a relative one means nothing
        return kept / "mxenv"
    try:
        home = Path.home()
    except RuntimeError:
        home = Path()
    if not home.is_absolute():
        # A container may run under a number that no user has.
        raise EngineError(
            "there is no home folder to keep layers in", hint="set MXENV_CACHE_DIR to a folder"
        )
    return home / ".cache" / "mxenv"


def size_of(text: str) -> int:
    """Return the bytes that ``20G``, ``500 MiB`` or ``1.5T`` mean; units are powers of 1024."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise UsageError(f"{text!r} is no size", hint="write 20G, 500M, or 0 to keep nothing")
    return int(float(found[1]) * UNITS[found[2].lower()])


def limit(environ: Mapping[str, str]) -> int:
    """Return how many bytes may be kept, where no option says so."""
    chosen = environ.get(SIZE)
    return size_of(chosen) if chosen else USUAL


def in_use(root: Path) -> AbstractContextManager[None]:
    """Keep what is found or made inside from being removed by others."""
    return _cache_use.using(root)


def show(root: Path) -> Shown:
    """Return what lies in the cache."""
    layers = _cache_room.kept(root)
    stray = len(_cache_room.stray(root, layers))
    return Shown(root=root, layers=layers, bytes=_cache_room.held(root), stray=stray)


def verify(root: Path, told: Callable[[int], None] = lambda _: None) -> tuple[Kept, ...]:
    """Read all of it, and return the layers that are not what was written; they are removed."""
    damaged = _cache_room.damaged(root, told)
    if damaged:
        named = ", ".join(layer.blob or layer.key for layer in damaged)
        _all_gone(
            root, _cache_room.discard(root, damaged), f"damaged, and cannot be removed: {named}"
        )
    return damaged


def prune(root: Path, size: int) -> Freed:
    """Remove what was not used for longest, until no more than ``size`` bytes are there."""
    if not root.is_dir():
        return Freed()
    freed = _cache_room.trim(root, size)
    _all_gone(root, freed, "what is kept cannot be removed")
    return freed


def _all_gone(root: Path, freed: Freed, what: str) -> None:
    if freed.refused:
        raise EngineError(
            f"{what}: {freed.refused}",
            context=str(root),
            hint="let the user do it whose cache it is, or set MXENV_CACHE_DIR to a cache of yours",
        )


def pruned(root: Path, size: int) -> str:
    """Do so after a build, and say what a user should know of it; nothing in most cases."""
    if _cache_room.held(root) <= size:
        return ""
    freed = _cache_room.trim(root, size)
    if freed.refused:
        return f"the cache holds {freed.left} bytes, more than {size}, and {freed.refused}"
    said = f"{freed.layers} layers were removed from the cache, not used for longest"
    if freed.left > size:
        return f"{said}; it still holds {freed.left} bytes, more than {size}: they are in use"
    return said
