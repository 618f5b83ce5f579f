"""What is known of the inside of an image: the facts of its base, the lock's layers laid over."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mxenv.configuration import canonical
from mxenv.facts import Fact, Observed, Snapshot, View
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.lock import Lock

MADE = datetime(1970, 1, 1, tzinfo=UTC)
"""When every such snapshot was taken, as every image was made: a clock would change its bytes."""
PACKAGE = "python.package"
_SHORT = len("sha256:") + 12
"""Characters of a layer's digest: as many as people write."""
_LOCKED = "tool.mxenv of the lock"


@frozen
class Held:
    """A layer, and the distributions that were found in it when it was read back."""

    layer: str
    """Its digest."""
    distributions: tuple[tuple[str, str], ...]
    """Name and version of each, as its own metadata has them."""


def verdict(lock: Lock) -> bytes:
    """Return what was known when the lock was made, as the image itself holds it."""
    relied = lock.relied
    document = {
        "schema": "mxenv.relied/1",
        "outcome": relied.outcome if relied else "unknown",
        "matrix": relied.matrix if relied else "",
        "rows": list(relied.rows) if relied else [],
    }
    return canonical(document) + b"\n"


def snapshot(lock: Lock, base: Snapshot | None, layers: Sequence[Held] | None) -> Snapshot:
    """Return the snapshot of the image that ``lock`` was built into.

    ``base`` is what was found in the base; without it, what the lock keeps of that. ``layers`` are
    those that were added, from the bottom up; `None` where somebody else has looked inside, and
    found the distributions of the lock.
    """
    below = tuple(_of_base(lock, base) if base is not None else _kept(lock))
    facts = (*below, *_added(lock, layers))
    return Snapshot(node=lock.name, view=View.IMAGE, taken_at=MADE, facts=facts)


def _of_base(lock: Lock, base: Snapshot) -> Iterator[Fact]:
    """Yield the facts of the base, but that its environment has no distributions."""
    empty = {"", lock.target.prefix} if lock.packages else frozenset()
    yield from (f for f in base.facts if f.key != PACKAGE or f.instance not in empty)


def _kept(lock: Lock) -> Iterator[Fact]:
    """Yield what the lock says of its base."""
    prefix = lock.target.prefix
    for key, value in lock.facts:
        instance = prefix if key.startswith("python.") else ""
        yield _fact(key, instance, value, _LOCKED)
    for one in lock.provided:
        yield _fact(PACKAGE, f"{prefix}/{one.name}", one.version, _LOCKED)


def _added(lock: Lock, layers: Sequence[Held] | None) -> Iterator[Fact]:
    """Yield the distributions of the layers, as they were read back."""
    if layers is None:
        same = tuple((package.name, package.version) for package in lock.packages)
        layers = (Held(layer="a layer of the lock", distributions=same),)
    for one in layers:
        for name, version in one.distributions:
            yield _fact(PACKAGE, f"{lock.target.prefix}/{name}", version, one.layer[:_SHORT])


def _fact(key: str, instance: str, value: str, source: str) -> Fact:
    return Fact(key=key, instance=instance, reading=Observed(value), source=source, view=View.IMAGE)
