"""What was learned about one node, and how well."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from mxenv.selector import Seen

Value = str | int | float | tuple[str | int | float, ...]
"""What a fact may hold; versions are strings, exactly as they were read."""


EVERY = "*"
"""The last part of an instance that stands for the rest of a list, which nobody could read."""


class View(StrEnum):
    """Whose fact it is: in a container the driver is the host's, the SDK is the image's."""

    HOST = "host"
    CONTAINER = "container"
    IMAGE = "image"


@frozen(kw_only=False)
class Observed:
    """A value that was read."""

    value: Value


@frozen(kw_only=False)
class Absent:
    """It was looked for where it would be, and it is not there."""


@frozen(kw_only=False)
class Unreadable:
    """It could not be read; whether it is there is unknown."""

    reason: str
    passing: bool = False
    """True if the next attempt may well succeed (a time limit): nothing to hold against a node."""


Reading = Observed | Absent | Unreadable


@frozen
class FactKey:
    """One thing that can be known about a node; a probe declares it before it reads it."""

    name: str
    meaning: str
    instance: str = ""
    """What tells the facts of one key apart: part names joined by ``/``, as ``bdf/unit``.

    Only the first part may itself hold a ``/`` (a path). A part that begins with ``@`` is an
    address, which differs between two nodes that are otherwise equal.
    """
    sources: str = ""
    """Where it is read, for people: ``/sys/module/metax/version, mx-smi``."""
    alike: str = ""
    """What it is among vendors, where that is not the rest of its name.

    ``metax.mccl`` and ``nvidia.nccl`` are both ``collectives``: they stand for each other when
    nodes of two vendors are compared.
    """
    unit: str = ""
    view: View | None = None
    """`HOST` if it speaks of the host wherever it is read; `None`: of the place that was asked."""
    volatile: bool = False
    """True if it changes while nothing is changed (heat, load, time): never in a fingerprint."""
    node_only: bool = False
    """True if two equal nodes may differ in it (a count, a host name): not in the stack digest."""

    def parts(self, instance: str) -> tuple[str, ...]:
        """Return the parts of ``instance``, in the order that the key declares."""
        if not self.instance:
            return ()
        return tuple(instance.rsplit("/", self.instance.count("/")))


@frozen
class Fact:
    """One reading of one key on one node."""

    key: str
    instance: str = ""
    reading: Reading
    source: str
    """What was asked: ``mx-smi -j``, ``/opt/maca/Version.txt``."""
    view: View = View.HOST
    volatile: bool = False
    """True if it was met only through what passes (a running process, a caller's variable).

    As with a key that is volatile, it enters no fingerprint: a node stays the same node when a
    process ends.
    """

    @property
    def label(self) -> str:
        """Return ``key`` or ``key[instance]``."""
        return f"{self.key}[{self.instance}]" if self.instance else self.key

    @property
    def wanted(self) -> bool:
        """Return whether an option named it: that it is not there is no detail then."""
        return self.source.startswith("--")


@frozen
class Snapshot:
    """Everything that was learned about one node at one time."""

    node: str
    view: View
    taken_at: datetime
    facts: tuple[Fact, ...]
    _index: dict[str, tuple[Fact, ...]] = field(init=False, repr=False, compare=False, hash=False)
    _instances: dict[str, dict[str, list[Fact]]] = field(
        init=False, repr=False, compare=False, hash=False
    )
    """The facts of a key by instance, once somebody asked for one."""
    seen: dict[tuple[str, str], tuple[Seen, ...]] = field(
        init=False, repr=False, compare=False, hash=False
    )
    """What `mxenv.selector` found, by key and instance: a matrix asks for the same things often."""

    def __post_init__(self) -> None:
        """Sort the facts, so that equal knowledge is an equal value."""
        ordered = tuple(sorted(self.facts, key=lambda f: (f.key, f.instance, f.source)))
        object.__setattr__(self, "facts", ordered)
        index: dict[str, list[Fact]] = {}
        for fact in ordered:
            index.setdefault(fact.key, []).append(fact)
        object.__setattr__(self, "_index", {key: tuple(facts) for key, facts in index.items()})
        object.__setattr__(self, "_instances", {})
        object.__setattr__(self, "seen", {})

    def of(self, key: str) -> tuple[Fact, ...]:
        """Return every fact of ``key``, one or more an instance."""
        return self._index.get(key, ())

    def instances(self, key: str) -> Mapping[str, Sequence[Fact]]:
        """Return the facts of ``key`` by their instance."""
        found = self._instances.get(key)
        if found is None:
            found = self._instances[key] = {}
            for fact in self.of(key):
                found.setdefault(fact.instance, []).append(fact)
        return found

    def reading(self, key: str, instance: str = "") -> Reading:
        """Return what is known of one fact; a key that nobody asked for is not known.

        Several sources may have been asked: one that read it counts, then one that could not.
        """
        readings = [fact.reading for fact in self.instances(key).get(instance, ())]
        for kind in (Observed, Unreadable, Absent):
            for reading in readings:
                if isinstance(reading, kind):
                    return reading
        return Unreadable("not asked")


def observed(facts: Iterable[Fact]) -> Iterator[tuple[Fact, Value]]:
    """Yield the facts that were read, with their values."""
    for fact in facts:
        if isinstance(fact.reading, Observed):
            yield fact, fact.reading.value
