"""An inventory as tables that a person reads: formats, places to change, what is not known."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from mxenv.format_fit import memory
from mxenv.inventory import Change
from mxenv.matrix_table import Section
from mxenv.porting import KINDS, MAIN, effort, places
from mxenv.suitability import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.inventory import Inventory, Use
    from mxenv.porting import Place

MOST = 20
"""Operators that are named, and things that are not known; the file has all."""
NEW = "not known here"
"""What is said of a kind of place that a newer mxenv has found."""


def sections(inventory: Inventory, *, whole: bool = False) -> tuple[Section, ...]:
    """Return a table of each thing that is known of a model, and one of what is not.

    Places in code are counted, and each is named with its line if the ``whole`` is wanted.
    """
    return tuple(section for section in _sections(inventory, whole) if section.rows)


def _sections(inventory: Inventory, whole: bool) -> Iterator[Section]:  # noqa: FBT001 - passed on
    yield Section(
        kind="model",
        title=inventory.name,
        head=("what", "is"),
        rows=tuple((name, text) for name, text in _summary(inventory) if text),
    )
    yield Section(
        kind="format",
        title="Number formats",
        head=("weights", "packed as", "activations", "tensors", "memory", "more"),
        rows=tuple(_formats(inventory)),
    )
    yield from _code(inventory, whole)
    yield from _run(inventory, whole)
    yield Section(
        kind="assumption",
        title="Assumed",
        head=("what", "of", "that"),
        rows=tuple((one.kind, one.subject, one.said) for one in inventory.assumptions),
    )
    yield Section(
        kind="gap",
        title="Not known",
        head=("what",),
        rows=tuple(_few([(gap,) for gap in inventory.gaps])),
    )


def _code(inventory: Inventory, whole: bool) -> Iterator[Section]:  # noqa: FBT001 - passed on
    """Yield what in code a port has to look at."""
    found = places(hit for hit in inventory.hits if hit.kind in KINDS)
    yield Section(
        kind="effort",
        title="Places to change",
        head=("change", "places", "most of them in"),
        rows=tuple(_effort(found)),
    )
    yield Section(
        kind="kind",
        title="What they are",
        head=("kind", "places", "change", "why"),
        rows=tuple(_kinds(found)),
    )
    yield Section(
        kind="place",
        title="Where they are",
        head=("place", "kind", "name", "change"),
        rows=tuple(_each(found)) if whole else (),
    )
    yield Section(
        kind="area",
        title="Seen, and not counted as places",
        head=("code", "hits"),
        rows=tuple(_beside(inventory)),
    )


def _run(inventory: Inventory, whole: bool) -> Iterator[Section]:  # noqa: FBT001 - passed on
    """Yield what runs of a model, with what it is given, and what looked at it."""
    yield Section(
        kind="operator",
        title="Operators",
        head=("operator", "calls", "phases", "types", "first in", "at"),
        rows=tuple(_operators(inventory, None if whole else MOST)),
    )
    yield Section(
        kind="kernel",
        title="Kernels past the dispatcher",
        head=("kernel", "kind", "calls", "phase", "first in", "at"),
        rows=tuple(
            (one.name, one.kind, str(one.calls), one.phase, one.module, one.site)
            for one in inventory.kernels
        ),
    )
    yield Section(
        kind="input", title="Given", head=("input", "is"), rows=tuple(_few(inventory.inputs, ""))
    )
    packages = ((name, version or "not there") for name, version in inventory.packages)
    yield Section(
        kind="tool",
        title="Made with",
        head=("what", "version"),
        rows=(*inventory.tools, *packages),
    )


def _summary(inventory: Inventory) -> Iterator[tuple[str, str]]:
    yield "architecture", inventory.architecture
    yield "computes in", inventory.dtype
    total = sum(stored.bytes for stored in inventory.formats)
    yield "weights", memory(total) if total else ""
    count = len(inventory.operators)
    yield "operators", f"{count}, called {inventory.calls} times" if count else ""
    yield "kernels", str(len({kernel.name for kernel in inventory.kernels}) or "")
    yield "read as", inventory.reader
    yield "source", inventory.source


def _formats(inventory: Inventory) -> Iterator[tuple[str, ...]]:
    for stored in sorted(inventory.formats, key=lambda one: (-one.bytes, one)):
        yield (
            stored.weights,
            stored.scheme,
            stored.activations,
            str(stored.tensors or ""),
            memory(stored.bytes) if stored.bytes else "",
            stored.note,
        )


def _effort(found: Sequence[Place]) -> Iterator[tuple[str, ...]]:
    count = effort(found)
    for change in reversed(Change):
        if count[change]:
            files = Counter(place.file for place in found if place.change is change)
            yield change, str(count[change]), _most(files)


def _kinds(found: Sequence[Place]) -> Iterator[tuple[str, ...]]:
    """Yield each kind of place, the dearest first, then those with most places."""
    order = list(Change)
    count = Counter(place.kind for place in found)
    dearest = sorted(count, key=lambda kind: (-order.index(KINDS[kind].change), -count[kind], kind))
    for kind in dearest:
        known = KINDS[kind]
        yield known.title, str(count[kind]), known.change, known.why


def _each(found: Sequence[Place]) -> Iterator[tuple[str, ...]]:
    for place in found:
        yield f"{place.file}:{place.line}", KINDS[place.kind].title, place.name, place.change


def _beside(inventory: Inventory) -> Iterator[tuple[str, ...]]:
    areas = Counter(hit.area for hit in inventory.hits if hit.area != MAIN and hit.kind in KINDS)
    yield from ((area, str(number)) for area, number in sorted(areas.items()))
    kinds = Counter(hit.kind for hit in inventory.hits if hit.kind not in KINDS)
    yield from ((f"{kind}: {NEW}", str(number)) for kind, number in sorted(kinds.items()))


def _operators(inventory: Inventory, most: int | None) -> Iterator[tuple[str, ...]]:
    """Yield operators, those first that are called most, and no more than ``most`` of them."""
    named: dict[str, list[Use]] = defaultdict(list)
    for use in inventory.uses:
        named[use.operator].append(use)
    calls = {name: sum(use.calls for use in uses) for name, uses in named.items()}
    order = sorted(named, key=lambda name: -calls[name])
    for name in order[:most]:
        uses = named[name]
        yield (
            name,
            str(calls[name]),
            ", ".join(sorted({use.phase for use in uses})),
            " ".join(sorted({dtype for use in uses for dtype in use.dtypes})),
            next((use.module for use in uses if use.module), ""),
            next((use.site for use in uses if use.site), ""),
        )
    left = order[most:] if most is not None else []
    if left:
        yield f"and {len(left)} more", str(sum(calls[name] for name in left)), "", "", "", ""


def _few(rows: Sequence[tuple[str, ...]], *rest: str) -> Sequence[tuple[str, ...]]:
    """Return the first rows, and a last one that counts what is left."""
    return rows if len(rows) <= MOST else [*rows[:MOST], (f"and {len(rows) - MOST} more", *rest)]


def _most(files: Counter[str]) -> str:
    """Return the files that are named most, with how often."""
    ordered: Iterable[tuple[str, int]] = sorted(files.items(), key=lambda one: (-one[1], one[0]))
    return listed([f"{file} ({number})" for file, number in ordered])
