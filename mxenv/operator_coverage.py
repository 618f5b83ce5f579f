"""Whether a platform can do what a model asks of it: every operator in one class."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from mxenv.device_choice import chosen
from mxenv.operator_decision import OUTCOMES, Class, Decision, decide, goodness
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.inventory import Inventory, Kernel, Use
    from mxenv.operator_place import Platform


RUNTIMES = {"onnx": "an operator of ONNX, which another runtime than torch runs"}
"""By what read a model: why no build of torch says anything of its operators."""


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
    why = RUNTIMES.get(inventory.reader)
    asked = replace(platform, table=None, why=why) if why else platform
    uses: dict[str, list[Use]] = {}
    for use in inventory.uses:
        uses.setdefault(use.operator, []).append(use)
    covered = [
        Covered(operator=name, decision=_of_uses(found, asked), uses=tuple(found))
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
        platform=asked,
        operators=tuple(sorted(covered, key=_order)),
        kernels=inventory.kernels,
        counts={name: counts[name] for name in Class},
        calls={name: calls[name] for name in Class},
    )


def _order(one: Covered) -> tuple[Outcome, int, str]:
    return one.decision.outcome, -one.calls, one.operator


def _of_uses(uses: Iterable[Use], platform: Platform) -> Decision:
    """Return the worst of what becomes of one operator in its phases and formats."""
    return min((_of_use(use, platform) for use in uses), key=goodness)


def _of_use(use: Use, platform: Platform) -> Decision:
    """Return what becomes of one use; which of several operators runs is the device's choice."""
    if not use.one_of:
        return decide(use.operator, use.dtypes, platform)
    names = use.one_of
    if platform.asked is not None:
        # What is made for another device is never chosen on this one.
        key = platform.asked.key
        names = tuple(name for name in names if chosen(name, use.operator, key)) or names
    each = {name: decide(name, use.dtypes, platform) for name in names}
    runs = [name for name, one in each.items() if one.outcome is Outcome.COMPATIBLE]
    if len(runs) == len(each):
        return min(each.values(), key=goodness)
    if runs:
        rest = ", ".join(name for name in names if name not in runs)
        said = f"one of {', '.join(names)}, as the device chooses: not known to run is {rest}"
        known = f"Have one chosen that is known to run ({', '.join(runs)})"
        remedy = f"{known}, or run all of them there: `mxenv ops MODEL --run`."
        return Decision(found=Class.UNKNOWN, said=said, remedy=remedy)
    return max(each.values(), key=goodness)
