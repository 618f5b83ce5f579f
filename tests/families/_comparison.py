"""What an inventory and a real run disagree on, but for what a device chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.device_choice import CHOICES, CPU

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.device_choice import Alternative, Choice
    from mxenv.inventory import Inventory

Calls = dict[str, dict[str, int]]
"""How often each operator is called, by the number formats of its tensors."""


def differences(inventory: Inventory, real: dict[str, Calls]) -> list[str]:
    """Return every call of one side that the other lacks, and that no choice explains."""
    mine = recorded(inventory)
    return [
        f"{phase}: {line}"
        for phase in sorted({*mine, *real})
        for line in _phase(inventory, phase, mine.get(phase, {}), real.get(phase, {}))
    ]


def recorded(inventory: Inventory) -> dict[str, Calls]:
    """Return the calls that an inventory has, by phase."""
    phases: dict[str, Calls] = {}
    for use in inventory.uses:
        calls = phases.setdefault(use.phase, {}).setdefault(use.operator, {})
        calls[" ".join(use.dtypes)] = use.calls
    return phases


def merged(runs: Iterable[dict[str, Calls]]) -> dict[str, Calls]:
    """Return the calls of several runs: of each the most that one of them has."""
    phases: dict[str, Calls] = {}
    for run in runs:
        for phase, operators in run.items():
            for name, calls in operators.items():
                known = phases.setdefault(phase, {}).setdefault(name, {})
                for dtypes, count in calls.items():
                    known[dtypes] = max(known.get(dtypes, 0), count)
    return phases


MASKS = "transformers/masking_utils.py:"
ASKED = "aten::bitwise_not.default"
"""What transformers' masks call if a part of a mask is full and the whole is not.

Every answer is walked, and where a mask is as long as what is read no mask is so.
"""


def _asked(inventory: Inventory, phase: str, theirs: Calls) -> Iterator[str]:
    """Yield what no mask leads to: one call, of one format, where an answer was guessed of it."""
    uses = [use for use in inventory.uses if use.phase == phase and use.operator == ASKED]
    guessed = any(
        one.kind == "value" and one.subject == GUESS and one.site.startswith(MASKS)
        for one in inventory.assumptions
    )
    told = [(use.calls, use.dtypes, use.site.startswith(MASKS)) for use in uses]
    if guessed and told == [(1, ("bool",), True)] and ASKED not in theirs:
        yield ASKED


GUESS = "aten::_local_scalar_dense.default"


def _phase(inventory: Inventory, phase: str, mine: Calls, theirs: Calls) -> Iterator[str]:
    explained: set[str] = set()
    for choice in CHOICES:
        for alternative in _chosen(choice, mine, theirs, inventory):
            explained.update(alternative.operators)
    alternatives = {name for use in inventory.uses if use.phase == phase for name in use.one_of}
    explained.update(_asked(inventory, phase, theirs))
    for name in sorted({*mine, *theirs}):
        if name not in explained and mine.get(name, {}) != theirs.get(name, {}):
            yield f"{name}: recorded {mine.get(name, {})}, really {theirs.get(name, {})}"
        if name in TELLING and name not in mine and name not in alternatives:
            yield f"{name}: ran, and is not among the alternatives of the inventory"


TELLING = {one.operators[0] for choice in CHOICES for one in choice.alternatives if one.telling}


def _count(calls: Calls, name: str) -> int:
    return sum(calls.get(name, {}).values())


def _chosen(
    choice: Choice, mine: Calls, theirs: Calls, inventory: Inventory
) -> Iterator[Alternative]:
    """Yield the alternatives that account for a difference; none, if the choice fell alike."""
    telling = {one.operators[0]: one for one in choice.alternatives if one.telling}
    differing = [name for name in telling if _count(mine, name) != _count(theirs, name)]
    recorded, really = (sum(_count(side, name) for name in telling) for side in (mine, theirs))
    if differing and recorded == really:
        # One kernel stands for another, as often: nothing was done in any other way.
        yield from (telling[name] for name in differing)
    elif differing or (not telling and _told(choice, mine, theirs, inventory)):
        yield from choice.alternatives


def _told(choice: Choice, mine: Calls, theirs: Calls, inventory: Inventory) -> bool:
    """Return whether a choice of common operators was seen to fall otherwise on the CPU."""
    noted = {one.subject for one in inventory.assumptions if one.kind == "device"}
    here = {one.operators[0] for one in choice.alternatives if one.keys & CPU}
    there = {one.operators[0] for one in choice.alternatives if not one.keys & CPU}
    if here == there:  # the same operators, in other number formats
        return any(mine.get(name) != theirs.get(name) for name in here)
    more = any(_count(mine, name) > _count(theirs, name) for name in there)
    fewer = any(_count(mine, name) < _count(theirs, name) for name in here)
    return more and (fewer or bool(noted & there))
