"""The inventories that an image description names: kept in its lock, held against its card."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
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
from mxenv.api import _base_records, nodes, operators
from mxenv.constraint import Constraint
from mxenv.errors import ImageError, InvalidFile
from mxenv.facts import Fact, Observed, Unreadable
from mxenv.format_fit import Cards
from mxenv.selector import PACKAGE
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import date

    from mxenv.facts import Snapshot
    from mxenv.image import Image
    from mxenv.inventoried import Inventoried
    from mxenv.lock import Lock
    from mxenv.matrix import Matrix
    from mxenv.operator_place import Platform
    from mxenv.verdict import Place, Waiver

OWN = "MX6"
"""How the codes begin of what is said of models."""
TOLD = ("MX603",)
"""What a lock has nothing to hold against: no card has a memory there."""


def kept(image: Image, image_toml: Path) -> tuple[Inventoried, ...]:
    """Return what a lock keeps of each inventory of ``image``; no model is loaded."""
    folder = Path(os.path.realpath(image_toml.parent))
    found = []
    for index, file in enumerate(dict.fromkeys(image.models)):
        place = f"{image_toml}: models[{index}]"
        path = folder / file
        if not Path(os.path.realpath(path)).is_relative_to(folder):
            raise ImageError(f"{file!r} leaves the folder of the image", context=place)
        if not path.exists():
            hint = f"mxenv ops MODEL --out {path}"
            raise ImageError(f"there is no inventory {file!r}", context=place, hint=hint)
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
    What an inventory does not know is told, and does not count. ``places`` are the lines of models.
    """
    host = [Constraint.parse(text, keys=nodes.keys()) for text in lock.host]
    models = inventoried.cards(host, operators.known_cards(matrix))
    why = f"host.requires names no card: {inventoried.CARD} in (…)"
    there = _platforms(lock, inside, models, matrix)
    found = []
    for one in lock.inventories:
        cards = Cards(name=one.name or one.file, models=models, why=why)
        made = (
            *format_fit.fit(one.inventory, cards, matrix),
            *_operators(one, there),
            *_open(one),
        )
        place = places.get(one.file)
        found += [replace(finding, place=place) for finding in made if finding.code not in TOLD]
    return judgement.waive(tuple(found), waivers, today)


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
        yield operator_platform.of_node(place, matrix, env=lock.target.prefix)


def asked(lock: Lock, lock_path: Path, inside: Snapshot, given: Iterable[Snapshot]) -> Snapshot:
    """Return ``inside``, with what the torch of the image said of its operators, if anybody knows.

    The record of the base tells, or one of the snapshots ``given`` that has the very same torch.
    """
    if not any(one.uses for one in lock.inventories):
        return inside
    prefix = lock.target.prefix
    own = inside.reading(PACKAGE, f"{prefix}/torch")
    told = {
        fact.reading
        for snapshot in (*_recorded(lock, lock_path), *given)
        for fact in snapshot.of(operator_platform.KEY)
        if isinstance(fact.reading, Observed)
        and isinstance(own, Observed)
        and snapshot.reading(PACKAGE, f"{fact.instance}/torch") == own
    }
    if not told:
        return inside
    several = Unreadable(f"{len(told)} nodes have the same torch, and do not say the same of it")
    reading = told.pop() if len(told) == 1 else several
    fact = Fact(key=operator_platform.KEY, instance=prefix, reading=reading, source="the gate")
    return replace(inside, facts=(*inside.facts, fact))


def _recorded(lock: Lock, lock_path: Path) -> Iterator[Snapshot]:
    """Yield the facts of the base, if its record lies beside the lock."""
    path = _base_records.path_of(lock_path.parent, lock.base.digest)
    if not lock.base.listing or not path.exists():
        return
    try:
        yield _base_records.facts_of(_base_records.open_record(path), str(path))
    except InvalidFile:
        # That it is damaged is told where the lock is held to be fresh.
        return


def _open(one: Inventoried) -> Iterator[Finding]:
    if one.gaps:
        yield Finding(
            code="MX630",
            outcome=Outcome.UNKNOWN,
            subject=one.name or one.file,
            found=f"{format_fit.counted(one.gaps, 'thing')} that {one.file} does not know",
            remedy=f"`mxenv ops {one.file}` names them.",
            advice=True,
        )
