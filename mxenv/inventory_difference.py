"""In what two inventories are not the same: formats, operators, kernels, places, what is open."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mxenv.difference import Change
from mxenv.format_fit import counted, memory
from mxenv.matrix_table import Section
from mxenv.porting import KINDS, places

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.inventory import Inventory

FIELDS = ("architecture", "dtype", "mode")
GONE = "nothing"
"""What stands where one of the two has it not."""


def compare(before: Inventory, after: Inventory) -> tuple[Change, ...]:
    """Return what a model asks for that another does not; where the two came from is not it."""
    told, now = _told(before), _told(after)
    keys = list(dict.fromkeys((*told, *now)))
    return tuple(
        Change(part=part, name=name, before=told.get((part, name)), after=now.get((part, name)))
        for part, name in keys
        if told.get((part, name)) != now.get((part, name))
    )


def section(changes: Iterable[Change], before: str, after: str) -> Section:
    """Return the changes as a table, with what the two are called above its columns."""
    rows = ((one.part, one.name, one.before or GONE, one.after or GONE) for one in changes)
    head = ("part", "name", before, after)
    return Section(kind="change", title="What is not the same", head=head, rows=tuple(rows))


def settled(before: Inventory, after: Inventory) -> bool:
    """Return whether two that do not differ are known to be equal: what is open may differ."""
    same = (before.reader, before.source) == (after.reader, after.source)
    return same or not (before.gaps or after.gaps)


def _told(inventory: Inventory) -> Mapping[tuple[str, str], str]:
    """Return everything that an inventory says, each by what it is about."""
    told = {("model", name): text for name in FIELDS if (text := getattr(inventory, name))}
    told |= {("inputs", name): text for name, text in inventory.inputs}
    told |= {("packages", name): text or "not there" for name, text in inventory.packages}
    for part, count in (
        ("operators", _operators(inventory)),
        ("kernels", _kernels(inventory)),
        ("places", _places(inventory)),
    ):
        told |= {(part, name): str(number) for name, number in count.items()}
    told |= {("formats", name): text for name, text in _formats(inventory)}
    told |= {("assumptions", f"{one.kind} {one.subject}"): "made" for one in inventory.assumptions}
    return told | {("gaps", gap): "open" for gap in inventory.gaps}


def _formats(inventory: Inventory) -> Iterator[tuple[str, str]]:
    """Yield each format with what is held in it; several entries of one format stand together."""
    names = Counter[str]()
    sizes = Counter[str]()
    for one in inventory.formats:
        name = " ".join(filter(None, (one.weights, one.scheme, one.activations, one.note)))
        names[name] += one.tensors
        sizes[name] += one.bytes
    for name, number in names.items():
        yield name, f"{counted(number, 'tensor')}, {memory(sizes[name])}" if number else "said"


def _operators(inventory: Inventory) -> Mapping[str, int]:
    count: Counter[str] = Counter()
    for use in inventory.uses:
        kind = f" ({', '.join(use.dtypes)})" if use.dtypes else ""
        count[f"{use.operator}{kind} in {use.phase}"] += use.calls
    return count


def _kernels(inventory: Inventory) -> Mapping[str, int]:
    count: Counter[str] = Counter()
    for kernel in inventory.kernels:
        count[f"{kernel.kind} {kernel.name}"] += kernel.calls
    return count


def _places(inventory: Inventory) -> Mapping[str, int]:
    """Return how many places of each kind each file has."""
    found = places(hit for hit in inventory.hits if hit.kind in KINDS)
    count = Counter(f"{KINDS[place.kind].title} in {place.file}" for place in found)
    return count + Counter(
        f"{hit.kind} in {hit.file}" for hit in inventory.hits if hit.kind not in KINDS
    )
