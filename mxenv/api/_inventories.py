"""The inventories that an image description names: kept in its lock, held against its card."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import (
    format_fit,
    inventoried,
    judgement,
    operator_coverage,
    operator_findings,
    operator_platform,
    suitability,
)
from mxenv.api import _asked_torch, nodes, operators
from mxenv.api.project import NO_ACCELERATOR
from mxenv.constraint import Constraint
from mxenv.facts import Fact, Observed
from mxenv.format_fit import Cards
from mxenv.operator_place import Basis
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date
    from pathlib import Path

    from mxenv.facts import Snapshot
    from mxenv.image import Image
    from mxenv.inventoried import Inventoried
    from mxenv.lock import Lock
    from mxenv.matrix import Matrix
    from mxenv.operator_place import Platform
    from mxenv.verdict import Place, Waiver

CPU = "CPU"
"""The dispatch key of what runs without an accelerator."""
OWN = "MX6"
"""How the codes begin of what is said of models."""
TOLD = ("MX603",)
"""What a lock has nothing to hold against: no card has a memory there."""
NAMED = ("MX604", "MX630")
"""What says of which model it is, or is of all."""


def kept(image: Image, image_toml: Path) -> tuple[Inventoried, ...]:
    """Return what a lock keeps of each inventory of ``image``; no model is loaded."""
    found = []
    for index, file in enumerate(dict.fromkeys(image.models)):
        path = _asked_torch.beside(
            image_toml, f"models[{index}]", file, what="inventory", hint="mxenv ops MODEL --out {}"
        )
        found.append(inventoried.of(file, operators.read_inventory(path)))
    return tuple(found)


def changed(image: Image, image_toml: Path, lock: Lock) -> Iterator[str]:
    """Yield which inventories are not what was locked."""
    now = {one.file: one for one in kept(image, image_toml)}
    then = {one.file: one for one in lock.inventories}
    for file in sorted({*now, *then}):
        if file not in then:
            yield f"models: nothing of {file} is in the lock"
        elif now.get(file) != then[file]:
            yield f"models: {file} is not the inventory that was locked"


def findings(  # noqa: PLR0913 - what a verdict on models depends on
    lock: Lock,
    matrix: Matrix,
    *,
    inside: Snapshot,
    waivers: Sequence[Waiver] = (),
    today: date,
    places: Mapping[str, Place],
) -> tuple[Finding, ...]:
    """Return what follows for the models of ``lock`` on the cards that it asks its host for.

    ``inside`` is what the image holds, with what its torch said of its operators if that is known.
    Without an accelerator that is what the torch of the image has for the CPU. ``places`` are the
    lines of models.
    """
    carded = lock.accelerator != NO_ACCELERATOR
    host = [Constraint.parse(text, keys=nodes.keys()) for text in lock.host]
    models = inventoried.cards(host, operators.known_cards(matrix)) if carded else ()
    why = f"host.requires names no card: {inventoried.CARD} in (…)"
    there = tuple(_platforms(lock, inside, models, matrix))
    found = []
    for one in lock.inventories:
        cards = Cards(name=one.name or one.file, models=models, why=why)
        made = (
            *(format_fit.fit(one.inventory, cards, matrix) if carded else ()),
            *_operators(one, there),
            *_open(one),
        )
        found += [
            replace(finding, place=places.get(one.file), found=_named(finding, one))
            for finding in made
            if finding.code not in TOLD
        ]
    return judgement.waive(tuple(found), waivers, today)


def _named(finding: Finding, one: Inventoried) -> str:
    """Return what was found, with the model of several that it was found of."""
    if finding.code in NAMED:
        return finding.found
    return f"{one.name or one.file}: {finding.found}"


def _operators(one: Inventoried, there: Iterable[Platform]) -> Iterator[Finding]:
    """Yield what becomes of the operators of a model; what is alike on several cards once."""
    told: dict[tuple[str, ...], list[tuple[Platform, Finding]]] = {}
    for platform in there:
        coverage = operator_coverage.cover(one.inventory, platform)
        for finding in operator_findings.findings(coverage):
            alike = (finding.code, finding.subject, finding.found, finding.row)
            told.setdefault(alike, []).append((platform, finding))
    for pairs in told.values():
        finding = pairs[0][1]
        where = ", ".join(platform.name for platform, _ in pairs)
        expected = finding.expected and f"an operator that {where} is known to have"
        yield replace(finding, expected=expected)
    yield from suitability.kernels(one.inventory)


def _platforms(
    lock: Lock, inside: Snapshot, models: Sequence[str], matrix: Matrix
) -> Iterator[Platform]:
    """Yield what is known of the operators of the image on each card that it may meet."""
    for model in models or ("",):
        card = Fact(
            key=operator_platform.CARD, instance=model, reading=Observed(model), source="host"
        )
        facts = (*inside.facts, card) if model else inside.facts
        place = replace(inside, node=model or lock.name, facts=facts)
        platform = operator_platform.of_node(place, matrix, env=lock.target.prefix)
        table = platform.asked
        if lock.accelerator == NO_ACCELERATOR and table is not None and table.key != CPU:
            why = f"torch was asked what it has for {table.key}, and the image is for no such card"
            platform = replace(platform, basis=Basis.OTHER, why=why)
        yield platform


def _open(one: Inventoried) -> Iterator[Finding]:
    if one.gaps:
        yield Finding(
            code="MX630",
            outcome=Outcome.UNKNOWN,
            subject=one.name or one.file,
            found=f"{format_fit.counted(one.gaps, 'thing')} that {one.file} does not know",
            remedy=f"`mxenv ops {one.file}` names them: read the model again where that can be "
            "seen, or answer for it with [[waivers]].",
        )
