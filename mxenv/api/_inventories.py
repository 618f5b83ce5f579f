"""The inventories that an image description names: kept in its lock, held against its card."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import format_fit, inventoried, judgement
from mxenv.api import nodes, operators
from mxenv.constraint import Constraint
from mxenv.errors import ImageError
from mxenv.format_fit import Cards
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from mxenv.image import Image
    from mxenv.inventoried import Inventoried
    from mxenv.lock import Lock
    from mxenv.matrix import Matrix
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


def findings(
    lock: Lock,
    matrix: Matrix,
    *,
    waivers: Sequence[Waiver] = (),
    today: date,
    places: Mapping[str, Place],
) -> tuple[Finding, ...]:
    """Return what follows for the models of ``lock`` on the cards that it asks its host for.

    What an inventory does not know is told, and does not count. ``places`` are the lines of models.
    """
    host = [Constraint.parse(text, keys=nodes.keys()) for text in lock.host]
    models = inventoried.cards(host, operators.known_cards(matrix))
    why = f"host.requires names no card: {inventoried.CARD} in (…)"
    found = []
    for one in lock.inventories:
        cards = Cards(name=one.name or one.file, models=models, why=why)
        made = (*format_fit.fit(one.inventory, cards, matrix), *_open(one))
        place = places.get(one.file)
        found += [replace(finding, place=place) for finding in made if finding.code not in TOLD]
    return judgement.waive(tuple(found), waivers, today)


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
