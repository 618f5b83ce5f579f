"""Whether a card holds the number formats of a model, computes in them, and has the memory."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mxenv import number_format
from mxenv.declared_weights import UNKNOWN
from mxenv.frozen import frozen
from mxenv.verdict import Finding, Outcome
from mxenv.weights import PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.inventory import Inventory
    from mxenv.matrix import Format, Matrix
    from mxenv.number_format import Support
    from mxenv.verdict import Evidence

MIB = 1 << 20
BITS = {
    **dict.fromkeys(("fp32", "tf32"), 32),
    **dict.fromkeys(("fp16", "bf16"), 16),
    **dict.fromkeys(("fp4", "nf4"), 4),
    **{f"int{bits}": bits for bits in (2, 3, 4, 5, 6, 8)},
    "fp64": 64,
    "fp8": 8,
}
"""What one weight takes, without what it is scaled by."""
WIDE = ("bf16", "fp16", "fp32")
"""What weights are unpacked into, the first that the card computes in."""
HELD = {
    "native": "{} computes in it",
    "software": "{} holds it, and computes in another one",
    "no": "{} neither holds it nor computes in it",
    "unknown": "whether {} does is not known",
}
OF_WEIGHTS = {
    "native": Outcome.COMPATIBLE,
    "software": Outcome.COMPATIBLE,
    "unknown": Outcome.UNKNOWN,
    "no": Outcome.INCOMPATIBLE,
}
OF_COMPUTING = OF_WEIGHTS | {"software": Outcome.UNKNOWN}
"""Products in a format that is only held are nothing that a source speaks of."""
_HOLDS = ("native", "software")
_NO_CARD = "Name a node that has the card, or the model of card, as --platform C500."
_NO_ROW = (
    "Ask the vendor, or measure it; a [[format]] row of a site's matrix then says what came of it."
)


@frozen
class Cards:
    """What is known of the cards of a platform."""

    name: str
    """Of the node, or of the model of card if only that is named."""
    models: tuple[str, ...] = ()
    """Each once."""
    memory: tuple[int, ...] = ()
    """MiB of each card, or of each part of one; empty if that is not known."""
    why: str = ""
    """Why there are no models."""
    ported: bool = True
    """False if CUDA runs there as it is: nothing has to be ported."""


def fit(inventory: Inventory, cards: Cards, matrix: Matrix) -> Iterator[Finding]:
    """Yield what follows for the weights of a model on ``cards``, and for what it computes in."""
    if not cards.models:
        said = cards.why or "no card is known"
        yield Finding(
            code="MX604", outcome=Outcome.UNKNOWN, subject=cards.name, found=said, remedy=_NO_CARD
        )
    for card in cards.models:
        yield from _weights(inventory, card, matrix)
        yield from _computing(inventory, card, matrix)
    yield from _memory(inventory, cards)


def _weights(inventory: Inventory, card: str, matrix: Matrix) -> Iterator[Finding]:
    """Yield whether the card can hold what the weights are in."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for stored in inventory.formats:
        tensors = counted(stored.tensors, "tensor")
        size = f"{tensors}, {memory(stored.bytes)}" if stored.tensors else ""
        said = ", ".join(filter(None, (size or "by its configuration", stored.note)))
        found[stored.weights, stored.scheme].append(said)
    for (weights, scheme), told in found.items():
        known = number_format.support(matrix, card, weights)
        how = "" if scheme in {PLAIN, weights} else f" ({scheme})"
        yield Finding(
            code="MX601",
            outcome=OF_WEIGHTS[known.support],
            subject=f"weights in {_called(weights)}{how} on {card}",
            found=f"{'; '.join(told)}; {_said(card, known)}",
            expected=f"a format that {card} holds",
            because=_evidence(known),
            remedy=_remedy(weights, card, known, OF_WEIGHTS[known.support], matrix),
            row=_row(known),
        )


def _computing(inventory: Inventory, card: str, matrix: Matrix) -> Iterator[Finding]:
    """Yield whether the card computes in what the model does."""
    asked = {stored.activations for stored in inventory.formats} | {inventory.dtype}
    for name in sorted(asked - {""}):
        known = number_format.support(matrix, card, name)
        outcome = OF_COMPUTING[known.support]
        yield Finding(
            code="MX602",
            outcome=outcome,
            subject=f"computing in {_called(name)} on {card}",
            found=_said(card, known),
            expected=f"a format that {card} computes in",
            because=_evidence(known),
            remedy=_remedy(name, card, known, outcome, matrix),
            row=_row(known),
        )


def _called(name: str) -> str:
    return "a format that is not known" if name == UNKNOWN else name


def _said(card: str, known: Support) -> str:
    if not known.rows:
        return f"no row speaks of it on {card}"
    said = HELD[known.support].format(card)
    if known.disputed:
        told = ", ".join(f"{row.support} by {row.id}" for row in _ordered(known))
        said = f"{said}, if the worst of what is said holds ({told})"
    return said


def _ordered(known: Support) -> Sequence[Format]:
    """Return the rows, those that decide first."""
    return sorted(known.rows, key=lambda row: row.support != known.support)


def _evidence(known: Support) -> tuple[Evidence, ...]:
    return tuple(piece for row in _ordered(known) for piece in row.evidence)


def _row(known: Support) -> str:
    return _ordered(known)[0].row if known.rows else ""


def _remedy(name: str, card: str, known: Support, outcome: Outcome, matrix: Matrix) -> str:
    """Return what to do about a format: what the card does have."""
    if outcome is Outcome.COMPATIBLE:
        return ""
    if outcome is Outcome.UNKNOWN and known.support != "software":
        return _NO_ROW
    wide = next((one for one in WIDE if _native(matrix, card, one)), "")
    ways = [f"unpack the weights into {wide}{_more(name, wide)}"] if wide and wide != name else []
    taken = []
    if name != "int8" and _native(matrix, card, "int8"):
        taken.append("in int8 (W8A8)")
    if name != "int4" and number_format.support(matrix, card, "int4").support in _HOLDS:
        taken.append("packed into int4 by GPTQ or AWQ")
    if taken:
        ways.append(f"take a checkpoint {' or '.join(taken)}")
    said = "; or ".join(ways)
    return f"{said[:1].upper()}{said[1:]}." if said else _NO_ROW


def _native(matrix: Matrix, card: str, name: str) -> bool:
    return number_format.support(matrix, card, name).support == "native"


def _more(narrow: str, wide: str) -> str:
    times = BITS[wide] // BITS[narrow] if narrow in BITS else 1
    words = {2: "twice", 4: "four times", 8: "eight times"}
    return f" ({words[times]} the memory)" if times in words else ""


def counted(number: int, what: str) -> str:
    """Return ``number`` of a thing, in the plural if there are several."""
    return f"{number} {what}{'s' * (number != 1)}"


def memory(size: int) -> str:
    """Return ``size`` bytes in a unit that people read."""
    for unit, one in (("GiB", 1 << 30), ("MiB", MIB), ("KiB", 1 << 10)):
        if size >= one:
            return f"{size / one:.1f} {unit}"
    return f"{size} bytes"


def _memory(inventory: Inventory, cards: Cards) -> Iterator[Finding]:
    """Yield what the weights take beside what the cards have; what runs needs more than that."""
    total = sum(stored.bytes for stored in inventory.formats)
    if not total:
        return
    each = [size * MIB for size in cards.memory]
    said = f"{memory(total)} of weights"
    fits = not each or total <= min(each)
    if not each:
        said += f"; how much memory there is on {cards.name} is not known"
    elif len(each) == 1:
        said += f"; there is one card, of {memory(each[0])}"
    else:
        said += f"; there are {len(each)} cards, the smallest of {memory(min(each))}"
    if not fits and total <= sum(each):
        said += f"; they have to be split over {-(-total // min(each))} of them at least"
    elif not fits:
        said += "; they do not fit, all cards together"
    yield Finding(
        code="MX603",
        outcome=Outcome.COMPATIBLE if fits else Outcome.UNKNOWN,
        subject="memory of the weights",
        found=said,
        remedy="" if fits else "Split the model, or take one that is packed more tightly.",
        advice=True,
    )
