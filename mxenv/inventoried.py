"""What a lock keeps of an inventory: enough to hold its model against a card, and its digest."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.inventory import Inventory, Kernel, Phase, Stored, Use
from mxenv.porting import KINDS, effort, places
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.constraint import Constraint
    from mxenv.table import Table

CARD = "metax.device.model"
"""The fact that says which card a host has."""
NAMING = ("==", "in", "!=")
"""How a constraint says which cards are meant, or which are not."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_USE = re.compile(
    r"(?P<operator>\S+)(?: \((?P<dtypes>[^()]*)\))? x (?P<calls>[0-9]{1,18})"
    r"(?: one of (?P<one_of>.+))?"
)
_KERNEL = re.compile(r"(?P<kind>\S+) (?P<name>.+) x (?P<calls>[0-9]{1,18})")


@frozen
class Inventoried:
    """An inventory in short."""

    file: str
    """As the image description names it."""
    digest: str
    """Of its canonical form, however the file is laid out."""
    name: str = ""
    reader: str = ""
    """What read the model, which says what its operators are operators of."""
    dtype: str = ""
    formats: tuple[Stored, ...] = ()
    uses: tuple[Use, ...] = ()
    """Each operator with the formats it is called with; in which phase is not kept."""
    kernels: tuple[Kernel, ...] = ()
    places: int = 0
    """Those in code that a port has to change."""
    gaps: int = 0
    """What it does not know."""

    @property
    def inventory(self) -> Inventory:
        """Return what is left of the inventory, to hold it against a card."""
        return Inventory(
            name=self.name,
            reader=self.reader,
            source=self.digest,
            dtype=self.dtype,
            formats=self.formats,
            uses=self.uses,
            kernels=self.kernels,
        )

    @property
    def said(self) -> str:
        """Return it in a line."""
        formats = ", ".join(dict.fromkeys(stored.weights for stored in self.formats)) or "nothing"
        count = len({use.operator for use in self.uses})
        operators = f", {count} operators" if count else ""
        return f"{self.digest[:19]}: weights in {formats}{operators}, {self.gaps} things not known"


def of(file: str, inventory: Inventory) -> Inventoried:
    """Return what a lock keeps of the inventory in ``file``."""
    count = effort(places(hit for hit in inventory.hits if hit.kind in KINDS))
    return Inventoried(
        file=file,
        digest=inventory.digest,
        name=inventory.name,
        reader=inventory.reader,
        dtype=inventory.dtype,
        formats=inventory.formats,
        uses=_uses(inventory),
        kernels=tuple(_kernels(inventory)),
        places=sum(number for change, number in count.items() if change != "none"),
        gaps=len(inventory.gaps),
    )


def _uses(inventory: Inventory) -> tuple[Use, ...]:
    """Return the operators without what differs between two runs: all phases together, no sites."""
    plain = (
        Use(
            operator=use.operator,
            phase=Phase.FORWARD,
            dtypes=use.dtypes,
            calls=use.calls,
            one_of=use.one_of,
        )
        for use in inventory.uses
    )
    # Which adds up what is alike.
    return Inventory(name="", reader="", source="", uses=tuple(plain)).uses


def _kernels(inventory: Inventory) -> Iterator[Kernel]:
    calls: Counter[tuple[str, str]] = Counter()
    for kernel in inventory.kernels:
        calls[kernel.kind, kernel.name] += kernel.calls
    for (kind, name), number in sorted(calls.items()):
        yield Kernel(kind=kind, name=name, phase=Phase.FORWARD, calls=number)


SAID = ("file", "digest", "name", "reader", "dtype")
COUNTS = ("places", "gaps")
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
    entry.only(*SAID, "formats", "operators", "kernels", *COUNTS)
    digest = entry.text("digest")
    if not _DIGEST.fullmatch(digest):
        entry.fail("digest", f"{digest!r} is no digest", hint="run `mxenv lock` again")
    return Inventoried(
        file=entry.text("file"),
        digest=digest,
        name=entry.text("name", ""),
        reader=entry.text("reader", ""),
        dtype=entry.text("dtype", ""),
        formats=tuple(map(_stored, entry.tables("formats"))),
        uses=tuple(_use(entry, number) for number in range(len(entry.texts("operators")))),
        kernels=tuple(_kernel(entry, number) for number in range(len(entry.texts("kernels")))),
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


def _use(entry: Table, number: int) -> Use:
    match = _USE.fullmatch(entry.texts("operators")[number])
    if match is None:
        entry.fail(f"operators[{number}]", "is not understood", hint="run `mxenv lock` again")
    return Use(
        operator=match["operator"],
        phase=Phase.FORWARD,
        dtypes=tuple(filter(None, (match["dtypes"] or "").split(", "))),
        one_of=tuple(filter(None, (match["one_of"] or "").split(", "))),
        calls=int(match["calls"]),
    )


def _kernel(entry: Table, number: int) -> Kernel:
    match = _KERNEL.fullmatch(entry.texts("kernels")[number])
    if match is None:
        entry.fail(f"kernels[{number}]", "is not understood", hint="run `mxenv lock` again")
    kind, name, calls = match["kind"], match["name"], int(match["calls"])
    return Kernel(kind=kind, name=name, phase=Phase.FORWARD, calls=calls)


def written(kept: Inventoried) -> Mapping[str, object]:
    """Return the table of a lock; what is empty is left out.

    An operator is a line, as ``aten::mm.default (bf16, bf16) x 160``, so that a change is one.
    """
    table = _said(kept, *SAID, *COUNTS)
    listed = {
        "operators": [_line(use) for use in kept.uses],
        "kernels": [f"{one.kind} {one.name} x {one.calls}" for one in kept.kernels],
        "formats": [_said(stored, *OF_A_FORMAT) for stored in kept.formats],
    }
    return table | {name: values for name, values in listed.items() if values}


def _line(use: Use) -> str:
    dtypes = f" ({', '.join(use.dtypes)})" if use.dtypes else ""
    one_of = f" one of {', '.join(use.one_of)}" if use.one_of else ""
    return f"{use.operator}{dtypes} x {use.calls}{one_of}"


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
