"""What follows for a model on a card: of its number formats, its code, its operators."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mxenv import format_fit, operator_findings
from mxenv.format_fit import counted
from mxenv.inventory import Change
from mxenv.porting import KINDS, MAIN, places
from mxenv.verdict import Evidence, Finding, Outcome, Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mxenv.format_fit import Cards
    from mxenv.inventory import Hit, Inventory
    from mxenv.matrix import Matrix
    from mxenv.operator_coverage import Coverage
    from mxenv.porting import Place as Changed

FEW = 3
"""How many places or operators are named where people read."""
DOING = {
    Change.NONE: "Nothing to change; build it with the vendor's tools, and test it.",
    Change.CONFIGURATION: "Change the configuration or the build.",
    Change.EDIT: "Look at it, and edit it.",
    Change.REWRITE: "Rewrite it, or take what the vendor has in its place.",
}
"""What has to be done, by how much it is."""


def findings(
    coverage: Coverage, cards: Cards, matrix: Matrix, *, each: bool = False, root: str = ""
) -> Iterator[Finding]:
    """Yield what follows for a model on ``cards``, with what becomes of its operators.

    What is alike is told as one; with ``each``, every place by itself, and every operator by its
    name. ``root`` is where the tree lies that was scanned, for those who look for a place.
    """
    inventory = coverage.inventory
    yield from format_fit.fit(inventory, cards, matrix)
    if cards.ported:
        yield from _code(inventory.hits, root, each=each)
    yield from operator_findings.findings(coverage, each=each)
    yield from kernels(inventory)
    yield from _not_known(inventory, each=each)


def _code(hits: Iterable[Hit], root: str, *, each: bool) -> Iterator[Finding]:
    """Yield the places that a port has to look at."""
    known = [hit for hit in hits if hit.kind in KINDS]
    groups: dict[tuple[str, ...], list[Changed]] = defaultdict(list)
    for place in places(known):
        own = (place.file, str(place.line), place.name) if each else ()
        groups[place.kind, *own].append(place)
    for (kind, *_), found in groups.items():
        yield _place(kind, found, root, each=each)
    for kind in sorted({hit.kind for hit in hits} - KINDS.keys()):
        count = sum(hit.kind == kind for hit in hits)
        yield Finding(
            code="MX622",
            outcome=Outcome.UNKNOWN,
            subject=kind,
            found=f"{counted(count, 'place')} of a kind that is not known here",
            remedy="Use a newer mxenv, or make the inventory again.",
        )
    areas = [hit.area for hit in known if hit.area != MAIN]
    if areas:
        told = ", ".join(f"{areas.count(area)} {area}" for area in sorted(set(areas)))
        yield Finding(
            code="MX621",
            outcome=Outcome.UNKNOWN,
            subject="code beside the main one",
            found=f"{counted(len(areas), 'hit')} not counted as places: {told}",
            remedy="Look at vendored code if it is built; tests are needed to prove a port.",
            advice=True,
        )


def _place(kind: str, found: Sequence[Changed], root: str, *, each: bool) -> Finding:
    known, first = KINDS[kind], found[0]
    where = [f"{_within(root, place.file)}:{place.line}" for place in found]
    told = f"{where[0]} {first.name}".rstrip() if each else f"{_counted(found)}: {listed(where)}"
    why = Evidence(link="mxenv explain MX620", who=f"mxenv: {known.why}", grade="observed")
    return Finding(
        code="MX620",
        outcome=Outcome.COMPATIBLE if known.change is Change.NONE else Outcome.UNKNOWN,
        # The same however finely it is told: a waiver is for a subject.
        subject=known.title,
        found=told,
        expected="" if known.change is Change.NONE else f"known to be ported ({known.change})",
        because=(why,),
        remedy=DOING[known.change],
        place=Place(file=_within(root, first.file), line=first.line) if each else None,
    )


def _counted(found: Sequence[Changed]) -> str:
    return counted(len(found), "place")


def _within(root: str, file: str) -> str:
    return f"{root}/{file}" if root else file


def kernels(inventory: Inventory) -> Iterator[Finding]:
    """Yield the kernels that no table of operators knows."""
    for kind in sorted({kernel.kind for kernel in inventory.kernels}):
        ones = [kernel for kernel in inventory.kernels if kernel.kind == kind]
        names = sorted({kernel.name for kernel in ones})
        yield Finding(
            code="MX611",
            outcome=Outcome.UNKNOWN,
            subject=f"{kind} kernels",
            found=f"{listed(names)}, {counted(sum(one.calls for one in ones), 'call')}",
            remedy="Scan their source code, and run them on the card.",
        )


def gaps(inventory: Inventory, remedy: str) -> Iterator[Finding]:
    """Yield what is not known of a model, and what to do about it."""
    for gap in inventory.gaps:
        what, _, why = gap.partition(": ")
        yield Finding(
            code="MX630",
            outcome=Outcome.UNKNOWN,
            subject=what,
            found=f"{inventory.name}: {why}" if why else f"in {inventory.name}",
            remedy=remedy,
        )


def _not_known(inventory: Inventory, *, each: bool) -> Iterator[Finding]:
    yield from gaps(inventory, _GAPS)
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for one in inventory.assumptions:
        own = one.subject if each else ""
        groups[one.kind, one.said, own].append(one.subject)
    for (kind, said, _), subjects in groups.items():
        named = listed(list(dict.fromkeys(subjects)))
        yield Finding(
            code="MX631",
            outcome=Outcome.UNKNOWN,
            subject=kind,
            found=f"{said}: {named}" if said else named,
            remedy="Hold it against a run of the model.",
            advice=True,
        )


_GAPS = "Read it again where that can be seen, or answer for it with [[waivers]]."


def listed(names: Sequence[str], most: int = FEW) -> str:
    """Return the first few, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
