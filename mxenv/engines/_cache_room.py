"""How much a cache holds, what of it is damaged, and what goes first when there is no room."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from typing import TYPE_CHECKING

from mxenv.engines import _cache_use
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_OF = re.compile(rb'"digest": "sha256:([0-9a-f]{64})", "size": ([0-9]+)')
"""The digest and size of a layer, in the first bytes of its record."""
_HEAD = 1024


@frozen
class Kept:
    """One layer in a cache."""

    key: str
    blob: str
    """The name of the file with its bytes; empty if the record is damaged."""
    size: int
    """Bytes of both."""
    used: int
    """When it was last used, in nanoseconds."""


@frozen
class Freed:
    """What was removed."""

    layers: int = 0
    bytes: int = 0
    left: int = 0
    """Bytes that are still there."""
    in_use: int = 0
    """Layers that a running build uses, and that would have been removed."""
    refused: str = ""
    """Why some could not be removed, if any could not."""


def kept(root: Path) -> tuple[Kept, ...]:
    """Return every layer, the one that was not used for longest first."""
    found = []
    for path in _files(root / "layers"):
        with suppress(OSError):
            status = path.stat()
            blob = _blob_of(path)
            size = status.st_size + _size(root / "blobs" / blob if blob else None)
            found.append(Kept(key=path.name, blob=blob, size=size, used=status.st_mtime_ns))
    return tuple(sorted(found, key=lambda one: (one.used, one.key)))


def _files(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from sorted(p for p in folder.iterdir() if not p.name.startswith(".") and p.is_file())


def _blob_of(path: Path) -> str:
    with path.open("rb") as file:
        named = _OF.search(file.read(_HEAD))
    return named[1].decode() if named else ""


def _size(path: Path | None) -> int:
    with suppress(OSError):
        return path.stat().st_size if path else 0
    return 0


def held(root: Path) -> int:
    """Return how many bytes all of it has."""
    folders = (root / "blobs", root / "layers")
    return sum(_size(path) for folder in folders for path in _all(folder))


def _all(folder: Path) -> Iterator[Path]:
    with suppress(OSError):
        yield from folder.iterdir()


def stray(root: Path, layers: Iterable[Kept]) -> tuple[Path, ...]:
    """Return files with the bytes of no layer, and those that were never finished."""
    named = {layer.blob for layer in layers}
    whole = [path for path in _files(root / "blobs") if path.name not in named]
    return (*whole, *sorted(root.glob("*/.*.tmp")))


def damaged(root: Path, told: Callable[[int], None] = lambda _: None) -> tuple[Kept, ...]:
    """Return the layers that are not what was written, every byte of all being read.

    ``told`` is called with the bytes that were read since it was called last.
    """
    found = []
    whole: dict[str, bool] = {}
    for layer in kept(root):
        if layer.blob and layer.blob not in whole:
            whole[layer.blob] = _is_whole(root / "blobs" / layer.blob, told)
        if not whole.get(layer.blob) or not _is_record(root / "layers" / layer.key):
            found.append(layer)
    return tuple(found)


def _is_whole(path: Path, told: Callable[[int], None]) -> bool:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while data := file.read(1 << 20):
                digest.update(data)
                told(len(data))
    except OSError:
        return False
    return digest.hexdigest() == path.name


def _is_record(path: Path) -> bool:
    try:
        line, _, body = path.read_bytes().partition(b"\n")
    except OSError:
        return False
    return hashlib.sha256(body).hexdigest().encode() == line


def trim(root: Path, size: int) -> Freed:
    """Remove what was not used for longest until no more than ``size`` bytes are there.

    What a running build found or made stays: it was used after that build began.
    """
    with _cache_use.alone(root):
        since = _cache_use.oldest(root)
        layers = kept(root)
        freed = _sweep(root, layers, since)
        total = held(root)
        removed = in_use = 0
        refused = ""
        left = list(layers)
        for layer in layers:
            if total <= size:
                break
            if since is not None and layer.used >= since:
                in_use += 1
                continue
            left.remove(layer)
            gone, why = _remove(root, layer, left)
            total, freed, refused = total - gone, freed + gone, refused or why
            removed += not why
    return Freed(layers=removed, bytes=freed, left=total, in_use=in_use, refused=refused)


def discard(root: Path, layers: Iterable[Kept]) -> Freed:
    """Remove these layers, unless they were used or made anew since they were looked at."""
    freed = removed = 0
    refused = ""
    with _cache_use.alone(root):
        there = kept(root)
        wanted = [layer for layer in layers if layer in there]
        left = [layer for layer in there if layer not in wanted]
        for layer in wanted:
            gone, why = _remove(root, layer, left)
            freed, removed, refused = freed + gone, removed + (not why), refused or why
        remaining = held(root)
    return Freed(layers=removed, bytes=freed, left=remaining, refused=refused)


def _sweep(root: Path, layers: Iterable[Kept], since: int | None) -> int:
    """Remove what belongs to no layer, unless a build that runs may be about to finish it."""
    freed = 0
    for path in stray(root, layers):
        with suppress(OSError):
            status = path.stat()
            if since is None or status.st_mtime_ns < since:
                path.unlink()
                freed += status.st_size
    return freed


def _remove(root: Path, layer: Kept, left: Iterable[Kept]) -> tuple[int, str]:
    """Remove a layer, its record first; its bytes only if no other layer has the same.

    Return how many bytes that freed, and why it could not be removed, if so.
    """
    freed = 0
    paths = [root / "layers" / layer.key]
    if layer.blob and all(other.blob != layer.blob for other in left):
        paths.append(root / "blobs" / layer.blob)
    for path in paths:
        try:
            size = path.stat().st_size
            path.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            return freed, error.strerror or str(error)
        freed += size
    return freed, ""
