"""In what two platforms do not do the same for operators: those of a model, or all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.difference import Change
from mxenv.operator_coverage import cover
from mxenv.operator_decision import decide
from mxenv.operator_place import Basis
from mxenv.operator_table import Grade

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.inventory import Inventory
    from mxenv.operator_decision import Decision
    from mxenv.operator_place import Platform


def of_model(inventory: Inventory, before: Platform, after: Platform) -> tuple[Change, ...]:
    """Return the operators of a model that become something else on the other platform."""
    told, now = (
        {one.operator: _told(one.operator, one.decision, place) for one in covered.operators}
        for place in (before, after)
        for covered in [cover(inventory, place)]
    )
    return (*_builds(before, after), *_changes(told, now))


def of_all(before: Platform, after: Platform) -> tuple[Change, ...]:
    """Return the operators that any of the two builds knows, and that become something else.

    Where one was not asked, nothing is known of any of them, and that alone is told.
    """
    builds = tuple(_builds(before, after))
    if before.asked is None or after.asked is None:
        return builds
    names = {*before.asked.entries, *after.asked.entries}
    told, now = (
        {name: _told(name, decide(name, (), place), place) for name in names}
        for place in (before, after)
    )
    return (*builds, *_changes(told, now))


def settled(before: Platform, after: Platform) -> bool:
    """Return whether two that do not differ are known to be equal: both were asked."""
    return before.asked is not None and after.asked is not None


def _builds(before: Platform, after: Platform) -> Iterator[Change]:
    for name in ("torch", "key"):
        left, right = (getattr(place.table, name, None) for place in (before, after))
        if left != right:
            yield Change(part="build", name=name, before=left, after=right)
    if before.basis is not after.basis:
        yield Change(part="build", name="asked", before=_basis(before), after=_basis(after))


def _basis(place: Platform) -> str | None:
    return None if place.basis is Basis.NOTHING else place.basis


def _changes(told: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Change]:
    for name in sorted(told):
        if told[name] != now[name]:
            yield Change(part="operators", name=name, before=told[name], after=now[name])


def _told(operator: str, decision: Decision, place: Platform) -> str:
    """Return what becomes of an operator in words that say nothing of the build's own names."""
    entry = place.asked.entries.get(operator) if place.asked else None
    better = decision.grade if decision.grade is not Grade.REGISTERED else None
    by = f"by {entry.by}" if entry and entry.by else ""
    row = f"row {decision.row}" if decision.row else ""
    return ", ".join(filter(None, (decision.found, by, better, row)))
