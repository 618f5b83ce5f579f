"""What a lock keeps of an inventory: enough to hold its model against a card, and its digest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.inventory import Inventory, Stored
from mxenv.porting import KINDS, effort, places
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.constraint import Constraint
    from mxenv.table import Table

CARD = "metax.device.model"
"""The fact that says which card a host has."""
NAMING = ("==", "in", "!=")
"""How a constraint says which cards are meant, or which are not."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@frozen
class Inventoried:
    """An inventory in short."""

    file: str
    """As the image description names it."""
    digest: str
    """Of its canonical form, however the file is laid out."""
    name: str = ""
    dtype: str = ""
    formats: tuple[Stored, ...] = ()
    operators: int = 0
    kernels: int = 0
    places: int = 0
    """Those in code that a port has to change."""
    gaps: int = 0
    """What it does not know."""

    @property
    def inventory(self) -> Inventory:
        """Return what is left of the inventory, to hold it against a card."""
        return Inventory(
            name=self.name,
            reader="lock",
            source=self.digest,
            dtype=self.dtype,
            formats=self.formats,
        )

    @property
    def said(self) -> str:
        """Return it in a line."""
        formats = ", ".join(dict.fromkeys(stored.weights for stored in self.formats)) or "nothing"
        return f"{self.digest[:19]}: weights in {formats}, {self.gaps} things not known"


def of(file: str, inventory: Inventory) -> Inventoried:
    """Return what a lock keeps of the inventory in ``file``."""
    count = effort(places(hit for hit in inventory.hits if hit.kind in KINDS))
    return Inventoried(
        file=file,
        digest=inventory.digest,
        name=inventory.name,
        dtype=inventory.dtype,
        formats=inventory.formats,
        operators=len(inventory.operators),
        kernels=len({(kernel.kind, kernel.name) for kernel in inventory.kernels}),
        places=sum(number for change, number in count.items() if change != "none"),
        gaps=len(inventory.gaps),
    )


COUNTS = ("operators", "kernels", "places", "gaps")
OF_A_FORMAT = ("scheme", "weights", "activations", "tensors", "bytes", "note")


def read(entries: Iterable[Table]) -> tuple[Inventoried, ...]:
    """Return what the tables of a lock hold; no two are of one file."""
    found: dict[str, Inventoried] = {}
    for entry in entries:
        kept = _kept(entry)
        if kept.file in found:
            entry.fail("file", f"{kept.file!r} stands twice")
        found[kept.file] = kept
    return tuple(found.values())


def _kept(entry: Table) -> Inventoried:
    entry.only("file", "digest", "name", "dtype", "formats", *COUNTS)
    digest = entry.text("digest")
    if not _DIGEST.fullmatch(digest):
        entry.fail("digest", f"{digest!r} is no digest", hint="run `mxenv lock` again")
    return Inventoried(
        file=entry.text("file"),
        digest=digest,
        name=entry.text("name", ""),
        dtype=entry.text("dtype", ""),
        formats=tuple(map(_stored, entry.tables("formats"))),
        **{name: entry.integer(name, 0) for name in COUNTS},
    )


def _stored(entry: Table) -> Stored:
    entry.only(*OF_A_FORMAT)
    return Stored(
        scheme=entry.text("scheme"),
        weights=entry.text("weights"),
        activations=entry.text("activations", ""),
        tensors=entry.integer("tensors", 0),
        bytes=entry.integer("bytes", 0),
        note=entry.text("note", ""),
    )


def written(kept: Inventoried) -> Mapping[str, object]:
    """Return the table of a lock; what is empty is left out."""
    formats = [_said(stored, *OF_A_FORMAT) for stored in kept.formats]
    table = _said(kept, "file", "digest", "name", "dtype", *COUNTS)
    return table | ({"formats": formats} if formats else {})


def _said(value: object, *names: str) -> dict[str, object]:
    return {name: field for name in names if (field := getattr(value, name))}


def cards(host: Iterable[Constraint], known: Iterable[str]) -> tuple[str, ...]:
    """Return the cards that a host may have; none if nothing says which.

    ``known`` are the models of card that somebody has heard of; one that is named is meant as well.
    """
    clauses = [
        clause
        for constraint in host
        if constraint.selector.key.name == CARD
        for clause in constraint.clauses
        if clause.operator in NAMING
    ]
    if not clauses:
        return ()
    named = {value for one in clauses if one.operator != "!=" for value in one.values}
    return tuple(
        card
        for card in sorted({*known, *named})
        if all(clause.hold(card) is Outcome.COMPATIBLE for clause in clauses)
    )
