"""Whether a platform can do what a model asks of it: every operator in one class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from mxenv.frozen import frozen
from mxenv.operator_table import Entry, Grade, How
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.inventory import Inventory, Kernel, Use
    from mxenv.operator_table import Table

OWN = ("aten", "prims", "prim", "c10d", "_c10d_functional", "quantized", "inductor")
"""The namespaces of torch itself; whatever else calls itself an operator was added to it."""


class Basis(StrEnum):
    """On what an answer rests."""

    TARGET = "target build"
    """The build of torch that is installed on the platform was asked."""
    OTHER = "other build"
    """Another build was: it says nothing of the platform's."""
    NOTHING = "nothing"
    """There is no table of operators of the platform."""


class Class(StrEnum):
    """What becomes of an operator on a platform."""

    SUPPORTED = "supported"
    INDIRECT = "indirect"
    """By way of operators that are supported themselves."""
    FALLBACK = "fallback"
    """On the CPU, which is right and slow."""
    UNSUPPORTED = "unsupported"
    CUSTOM = "custom"
    """Somebody's own, and nobody has registered it in this build."""
    UNKNOWN = "unknown"


OUTCOMES = {
    Class.SUPPORTED: Outcome.COMPATIBLE,
    Class.INDIRECT: Outcome.COMPATIBLE,
    Class.FALLBACK: Outcome.UNKNOWN,
    Class.UNSUPPORTED: Outcome.INCOMPATIBLE,
    Class.CUSTOM: Outcome.UNKNOWN,
    Class.UNKNOWN: Outcome.UNKNOWN,
}
"""What follows from each; what falls back is nobody's to wave through but a waiver's."""


@frozen
class Known:
    """What a row of a matrix says of an operator on a platform."""

    operators: frozenset[str]
    """Names with their overload, or without: then of every one."""
    dtypes: frozenset[str] = frozenset()
    """The formats that it is about; empty: all."""
    kind: str
    """``wrong``, ``traps``, ``missing``, ``slow`` or ``works``."""
    row: str
    said: str = ""

    def speaks_of(self, operator: str, dtypes: Iterable[str]) -> bool:
        """Return whether the row is about ``operator`` called with such tensors."""
        named = operator in self.operators or operator.rpartition(".")[0] in self.operators
        return named and (not self.dtypes or not self.dtypes.isdisjoint(dtypes))


@frozen
class Platform:
    """What is known of the operators of a place to run."""

    name: str
    table: Table | None = None
    basis: Basis = Basis.NOTHING
    known: tuple[Known, ...] = ()


@frozen
class Decision:
    """What becomes of one operator, and how that is known."""

    found: Class
    said: str
    grade: Grade | None = None
    """How well it is known to work; `None` if it is not known to."""
    row: str = ""
    """The row of a matrix that decides it, if one does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """One operator of a model, over all phases and formats, and what becomes of it."""

    operator: str
    decision: Decision
    uses: tuple[Use, ...]

    @property
    def calls(self) -> int:
        """Return how often it is called in one run of every phase."""
        return sum(use.calls for use in self.uses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What becomes of everything that a model asks for."""

    inventory: Inventory
    platform: Platform
    operators: tuple[Covered, ...]
    """The worst first, then those that are called most."""
    kernels: tuple[Kernel, ...] = ()
    """Launched past the dispatcher: each is a kernel of its own."""
    counts: Mapping[Class, int] = field(default_factory=dict)
    """How many operators are in each class; of kernels each is one that is custom."""
    calls: Mapping[Class, int] = field(default_factory=dict)
    """How many calls."""

    @property
    def outcome(self) -> Outcome:
        """Return what follows: of a model of which something may be missing, at most unknown."""
        found = [OUTCOMES[name] for name, number in self.counts.items() if number]
        if self.inventory.gaps:
            found.append(Outcome.UNKNOWN)
        return min(found, default=Outcome.UNKNOWN)


def cover(inventory: Inventory, platform: Platform) -> Coverage:
    """Return the class of every operator of ``inventory`` on ``platform``."""
    uses: dict[str, list[Use]] = {}
    for use in inventory.uses:
        uses.setdefault(use.operator, []).append(use)
    covered = [
        Covered(operator=name, decision=_of_uses(found, platform), uses=tuple(found))
        for name, found in uses.items()
    ]
    counts: Counter[Class] = Counter(one.decision.found for one in covered)
    calls: Counter[Class] = Counter()
    for one in covered:
        calls[one.decision.found] += one.calls
    kernels = {(kernel.kind, kernel.name) for kernel in inventory.kernels}
    counts[Class.CUSTOM] += len(kernels)
    calls[Class.CUSTOM] += sum(kernel.calls for kernel in inventory.kernels)
    return Coverage(
        inventory=inventory,
        platform=platform,
        operators=tuple(sorted(covered, key=_order)),
        kernels=inventory.kernels,
        counts={name: counts[name] for name in Class},
        calls={name: calls[name] for name in Class},
    )


def _order(one: Covered) -> tuple[Outcome, int, str]:
    return OUTCOMES[one.decision.found], -one.calls, one.operator


def _of_uses(uses: Iterable[Use], platform: Platform) -> Decision:
    """Return the worst of what becomes of one operator in its phases and formats."""
    return min((_of_use(use, platform) for use in uses), key=_goodness)


def _goodness(decision: Decision) -> tuple[Outcome, int]:
    order = (Class.UNKNOWN, Class.CUSTOM, Class.FALLBACK, Class.INDIRECT)
    place = order.index(decision.found) if decision.found in order else len(order)
    return OUTCOMES[decision.found], place


def _of_use(use: Use, platform: Platform) -> Decision:
    """Return what becomes of one use; which of several operators runs is the device's choice."""
    if not use.one_of:
        return decide(use.operator, use.dtypes, platform)
    each = {name: decide(name, use.dtypes, platform) for name in use.one_of}
    runs = [name for name, one in each.items() if OUTCOMES[one.found] is Outcome.COMPATIBLE]
    if len(runs) == len(each):
        return min(each.values(), key=_goodness)
    if runs:
        said = f"one of {', '.join(use.one_of)}, as the device chooses: not all of them run"
        return Decision(found=Class.UNKNOWN, said=said)
    return max(each.values(), key=_goodness)


def decide(operator: str, dtypes: Iterable[str], platform: Platform) -> Decision:
    """Return what becomes of ``operator`` on ``platform``; a row of a matrix decides first."""
    rows = [row for row in platform.known if row.speaks_of(operator, dtypes)]
    for row in rows:
        if row.kind in {"wrong", "traps", "missing"}:
            return Decision(found=Class.UNSUPPORTED, said=f"{row.kind}: {row.said}", row=row.row)
    table = platform.table
    if platform.basis is not Basis.TARGET or table is None:
        works = next((row for row in rows if row.kind == "works"), None)
        if works is not None:
            said, grade = works.said, Grade.RAN
            return Decision(found=Class.SUPPORTED, said=said, grade=grade, row=works.row)
        return Decision(found=Class.UNKNOWN, said=_nothing_known(platform))
    return _of_table(operator, table, frozenset())


def _nothing_known(platform: Platform) -> str:
    if platform.basis is Basis.OTHER:
        return "another build of torch was asked, which says nothing of the platform's"
    return "no table of operators is known of the platform"


def _of_table(  # noqa: PLR0911 - one for each way
    operator: str, table: Table, above: frozenset[str]
) -> Decision:
    entry = table.entries.get(operator)
    if entry is None:
        if operator.partition("::")[0] in OWN:
            said = f"torch {table.torch} does not know it"
            return Decision(found=Class.UNSUPPORTED, said=said)
        return Decision(found=Class.CUSTOM, said="nobody has registered it in this build of torch")
    match entry.how:
        case How.NATIVE:
            said = f"a kernel for {table.key}{f' by {entry.by}' if entry.by else ''}"
            return Decision(found=Class.SUPPORTED, said=said, grade=entry.grade)
        case How.GENERATED | How.COMPOSITE:
            return _through(operator, entry, table, above)
        case How.FALLBACK:
            return Decision(found=Class.FALLBACK, said="computed on the CPU, without a word")
        case How.MISSING:
            if operator.partition("::")[0] not in OWN:
                said = f"registered, and not for {table.key}"
                return Decision(found=Class.CUSTOM, said=said)
            return Decision(found=Class.UNSUPPORTED, said=f"no kernel for {table.key}")
        case How.UNKNOWN:
            return Decision(found=Class.UNKNOWN, said="the build does not say how it is done")
        case _:
            assert_never(entry.how)


def _through(operator: str, entry: Entry, table: Table, above: frozenset[str]) -> Decision:
    """Return what becomes of an operator that others do: it is as good as the worst of them."""
    if entry.grade is not Grade.REGISTERED:
        said = f"by way of {_listed(entry.via)}" if entry.via else "by way of others"
        return Decision(found=Class.INDIRECT, said=said, grade=entry.grade)
    below = above | {operator}
    # What leads back to itself is decided where it began.
    leaves = {name: _of_table(name, table, below) for name in entry.via if name not in below}
    if not leaves:
        return Decision(found=Class.UNKNOWN, said="made of others, and nobody knows of which")
    name, worst = min(leaves.items(), key=lambda leaf: _goodness(leaf[1]))
    if OUTCOMES[worst.found] is not Outcome.COMPATIBLE:
        return Decision(found=worst.found, said=f"by way of {name}: {worst.said}")
    generated = entry.how is How.GENERATED and worst.found is Class.SUPPORTED
    return Decision(
        found=Class.SUPPORTED if generated else Class.INDIRECT,
        said=f"by way of {_listed(entry.via)}",
        grade=Grade.REGISTERED,
    )


def _listed(names: tuple[str, ...], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
