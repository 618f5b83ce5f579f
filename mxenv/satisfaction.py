"""Whether anything at all can be as some constraints ask."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mxenv.constraint import Clause, Constraint

_TAG = "+metax3.5.3.9torch2.8"


def satisfiable(clauses: Iterable[Clause]) -> bool:
    """Tell whether one value can hold all of ``clauses``.

    Where a range begins, ends, or goes on just behind that, some value would lie if any did.
    """
    asked = tuple(clauses)
    operators = {clause.operator for clause in asked}
    if "absent" in operators:
        return operators == {"absent"}
    values = {value for clause in asked for value in clause.values}
    return any(
        all(clause.hold(value) is Outcome.COMPATIBLE for clause in asked)
        for value in _candidates(values)
    )


def _candidates(values: Iterable[str]) -> Iterator[str]:
    ends = ("0", "999999999", "other", *(value.rstrip("*").rstrip(".-") for value in values))
    for end in ends:
        for text in (end, f"{end}.0.0.0.1", f"{end}.999999", f"{end}-1"):
            yield text
            yield text + _TAG


def impossible(constraints: Sequence[Constraint]) -> Constraint | None:
    """Return the first of ``constraints`` that cannot be met together with those before it."""
    asked: dict[str, list[Clause]] = {}
    for constraint in constraints:
        # Of all cards, one may be as the first says, and another as the second.
        apart = constraint.selector.key.instance and constraint.selector.instance == "*"
        together = [] if apart else asked.setdefault(str(constraint.selector), [])
        together += constraint.clauses
        if not satisfiable(together):
            return constraint
    return None


def opposed(left: Sequence[Constraint], right: Sequence[Constraint]) -> str:
    """Return the fact of which two lists ask what cannot be in one; empty if there is none."""
    ours, theirs = _by_fact(left), _by_fact(right)
    for fact in ours.keys() & theirs.keys():
        both = (*ours[fact], *theirs[fact])
        if satisfiable(ours[fact]) and satisfiable(theirs[fact]) and not satisfiable(both):
            return fact
    return ""


def _by_fact(constraints: Iterable[Constraint]) -> Mapping[str, list[Clause]]:
    asked: dict[str, list[Clause]] = {}
    for constraint in constraints:
        asked.setdefault(str(constraint.selector), []).extend(constraint.clauses)
    return asked
