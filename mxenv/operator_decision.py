"""What becomes of one operator on a platform, and on what that rests."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from mxenv.frozen import frozen
from mxenv.matrix import FAILS, WORKS, stem
from mxenv.operator_place import Basis
from mxenv.operator_runs import BAD, Ended
from mxenv.operator_table import Entry, Grade, How
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mxenv.operator_place import Known, Platform
    from mxenv.operator_runs import Run
    from mxenv.operator_table import Table
    from mxenv.verdict import Evidence

OWN = ("aten", "prims", "prim", "c10d", "_c10d_functional", "quantized", "inductor")
"""The namespaces of torch itself; whatever else calls itself an operator was added to it."""
SLOW, OPEN = "slow", "unknown"
GRADES = {Ended.RAN: Grade.RAN, Ended.VERIFIED: Grade.VERIFIED}
"""How well an operator is known to work that ended so."""
GRADE = {grade: place for place, grade in enumerate(Grade)}


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
class Decision:
    """What becomes of one operator, and how that is known."""

    found: Class
    said: str
    grade: Grade | None = None
    """How well it is known to work; `None` if it is not known to."""
    row: str = ""
    """The row of a matrix that decides it, if one does."""
    remedy: str = ""
    """What that row says is to be done."""
    because: tuple[Evidence, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Return what follows for a model that needs it."""
        return OUTCOMES[self.found]


def decide(operator: str, dtypes: Iterable[str], platform: Platform) -> Decision:
    """Return what becomes of ``operator`` on ``platform``; a row of a matrix decides first."""
    return _decide(operator, tuple(dtypes), platform, frozenset())


def _decide(
    operator: str, dtypes: tuple[str, ...], platform: Platform, above: frozenset[str]
) -> Decision:
    """Return what becomes of an operator; those ``above`` are done by way of it."""
    table = platform.asked
    rows = [row for row in platform.known if row.speaks_of(operator, dtypes)]
    if table is not None:
        # What is known of one maker's kernels says nothing of another's in their place.
        entry = table.entries.get(operator)
        rows = [row for row in rows if row.by == (entry.by if entry else "")]
    for row in rows:
        if row.kind in FAILS and _sure(row, platform):
            return _by(row, Class.UNSUPPORTED, f"{row.kind}: {row.said}")
    ran = platform.runs.of(operator, dtypes) if platform.runs else None
    if ran and (failed := _failed(ran)):
        return failed
    if table is None:
        plain = Decision(found=Class.UNKNOWN, said=_nothing_known(platform))
    else:
        plain = _of_table(operator, dtypes, table, platform, above)
    if ran and ran.ended in GRADES:
        plain = _graded(plain, ran)
    if plain.grade is Grade.VERIFIED:
        return plain  # whatever is doubted elsewhere, here it is right
    return plain if plain.outcome is Outcome.INCOMPATIBLE else _weighed(plain, rows, platform)


def _failed(run: Run) -> Decision | None:
    """Return what follows from a run that did not go well; nothing, if it did, or is not known."""
    said = (
        f"{run.ended} when it was run: {run.said}" if run.said else f"{run.ended} when it was run"
    )
    if run.ended in BAD:
        return Decision(found=Class.UNSUPPORTED, said=said)
    return Decision(found=Class.UNKNOWN, said=said) if run.ended is Ended.COARSE else None


def _graded(plain: Decision, run: Run) -> Decision:
    """Return what becomes of an operator that came to a good end when it was run."""
    grade = GRADES[run.ended]
    if plain.found in {Class.SUPPORTED, Class.INDIRECT, Class.FALLBACK}:
        best = plain.grade if plain.grade and GRADE[plain.grade] > GRADE[grade] else grade
        return replace(plain, said=f"{plain.said}; {grade} when it was run", grade=best)
    return Decision(found=Class.SUPPORTED, said=f"{grade} when it was run", grade=grade)


def _weighed(plain: Decision, rows: Sequence[Known], platform: Platform) -> Decision:
    """Return what becomes of an operator that is not known to fail, with what else is said."""
    works = next((row for row in rows if row.kind == WORKS and _sure(row, platform)), None)
    for row in rows:
        settled = row.kind == OPEN and works is not None and works.by == row.by
        if row.kind in {OPEN, *FAILS} and not settled:
            return _by(row, Class.UNKNOWN, _doubt(row, platform))
    if works and plain.found in {Class.UNKNOWN, Class.CUSTOM}:
        return _by(works, Class.SUPPORTED, works.said, grade=Grade.RAN)
    if works and plain.grade is Grade.REGISTERED:
        return _by(works, plain.found, f"{plain.said}; {works.said}", grade=Grade.RAN)
    slow = next((row for row in rows if row.kind == SLOW and _sure(row, platform)), None)
    if slow and plain.outcome is Outcome.COMPATIBLE:
        return _by(slow, plain.found, f"{plain.said}; slow: {slow.said}", grade=plain.grade)
    return plain


def _sure(row: Known, platform: Platform) -> bool:
    """Return whether a row is about the platform, and about the kernels that are used there."""
    return row.sure and (platform.asked is not None or not row.by)


def _doubt(row: Known, platform: Platform) -> str:
    said = row.said if row.kind == OPEN else f"may be {row.kind}: {row.said}"
    if platform.asked is None and row.by:
        return f"{said}; whether kernels of {row.by} are used is not known"
    return said if row.sure else f"{said}; whether that is so here is not known"


def _by(row: Known, found: Class, said: str, *, grade: Grade | None = None) -> Decision:
    return Decision(
        found=found, said=said, grade=grade, row=row.row, remedy=row.remedy, because=row.because
    )


def _nothing_known(platform: Platform) -> str:
    if platform.why:
        return platform.why
    if platform.basis is Basis.OTHER:
        return "another build of torch was asked, which says nothing of the platform's"
    return "no table of operators is known of the platform"


def _of_table(  # noqa: PLR0911 - one for each way
    operator: str,
    dtypes: tuple[str, ...],
    table: Table,
    platform: Platform,
    above: frozenset[str],
) -> Decision:
    """Return what the platform's own build of torch says of an operator."""
    entry = table.entries.get(operator)
    if entry is None:
        if operator == stem(operator):
            return _of_any(operator, dtypes, table, platform, above)
        if operator.partition("::")[0] in OWN:
            said = f"torch {table.torch} does not know it"
            return Decision(found=Class.UNSUPPORTED, said=said)
        return Decision(found=Class.CUSTOM, said="nobody has registered it in this build of torch")
    match entry.how:
        case How.NATIVE:
            said = f"a kernel for {table.key}{f' by {entry.by}' if entry.by else ''}"
            return Decision(found=Class.SUPPORTED, said=said, grade=entry.grade)
        case How.GENERATED | How.COMPOSITE:
            return _through(entry, dtypes, platform, above | {operator})
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


def _of_any(
    operator: str,
    dtypes: tuple[str, ...],
    table: Table,
    platform: Platform,
    above: frozenset[str],
) -> Decision:
    """Return what becomes of an operator of which a model does not say which overload it calls."""
    names = sorted(name for name in table.entries if stem(name) == operator)
    each = [_decide(name, dtypes, platform, above) for name in names]
    if not each:
        said = f"torch {table.torch} lists no operator of that name"
        return Decision(found=Class.UNKNOWN, said=said)
    if len({one.outcome for one in each}) == 1:
        return min(each, key=goodness)
    runs = sum(one.outcome is Outcome.COMPATIBLE for one in each)
    said = f"which of its {len(each)} overloads is called is not known: {runs} of them run"
    return Decision(found=Class.UNKNOWN, said=said)


def _through(
    entry: Entry, dtypes: tuple[str, ...], platform: Platform, above: frozenset[str]
) -> Decision:
    """Return what becomes of an operator that others do: it is as good as the worst of them."""
    if entry.grade is not Grade.REGISTERED:
        said = f"by way of {_listed(entry.via)}" if entry.via else "by way of others"
        return Decision(found=Class.INDIRECT, said=said, grade=entry.grade)
    # What leads back to itself is decided where it began.
    leaves = {
        name: _decide(name, dtypes, platform, above) for name in entry.via if name not in above
    }
    if not leaves:
        return Decision(found=Class.UNKNOWN, said="made of others, and nobody knows of which")
    name, worst = min(leaves.items(), key=lambda leaf: goodness(leaf[1]))
    if worst.outcome is not Outcome.COMPATIBLE:
        return replace(worst, said=f"by way of {name}: {worst.said}")
    generated = entry.how is How.GENERATED and worst.found is Class.SUPPORTED
    return Decision(
        found=Class.SUPPORTED if generated else Class.INDIRECT,
        said=f"by way of {_listed(entry.via)}",
        grade=Grade.REGISTERED,
    )


def goodness(decision: Decision) -> tuple[Outcome, int]:
    """Return what orders decisions, the worst first."""
    order = (Class.UNKNOWN, Class.CUSTOM, Class.FALLBACK, Class.INDIRECT)
    place = order.index(decision.found) if decision.found in order else len(order)
    return decision.outcome, place


def _listed(names: tuple[str, ...], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
