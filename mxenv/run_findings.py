"""What follows for a model from how its operators ended on a device."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mxenv.operator_runs import BAD, Ended
from mxenv.suitability import gaps
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.inventory import Inventory
    from mxenv.operator_runs import Run, Runs

FEW = 3
"""Operators that are named where people read."""
REMEDIES = {
    Ended.CRASHED: "Do without it, or take a build of torch in which it is mended.",
    Ended.HUNG: "Give it more time with --seconds; else do without it.",
    Ended.WRONG: "Do without it, or take a build of torch in which it is right; report it with the "
    "arguments in the file of results.",
    Ended.REFUSED: "Take another format, or an operator that the device has.",
}
"""What to do, by how an operator ended."""


def findings(inventory: Inventory, runs: Runs) -> Iterator[Finding]:
    """Yield what follows from ``runs``; what was not run, and what nobody knows, is said."""
    choices = {use.operator: use.one_of for use in inventory.uses if use.one_of}
    groups: dict[Ended, list[Run]] = defaultdict(list)
    for run in runs.runs:
        groups[run.ended].append(run)
    for ended in BAD:
        yield from _bad(groups[ended], choices)
    yield from _coarse(groups[Ended.COARSE])
    yield from _unknown(groups[Ended.UNKNOWN])
    yield from _fine(groups[Ended.RAN], groups[Ended.VERIFIED])
    for kernel in sorted({f"{one.kind} {one.name}" for one in inventory.kernels}):
        yield Finding(
            code="MX643",
            outcome=Outcome.UNKNOWN,
            subject="kernels past the dispatcher",
            found=f"{kernel} was not run",
            remedy="Run the model on the device.",
        )
    yield from gaps(inventory, "Run the model on the device.")


def _bad(runs: Iterable[Run], choices: dict[str, tuple[str, ...]]) -> Iterator[Finding]:
    """Yield each operator, in each of its formats, that did not do what it should."""
    each: dict[tuple[str, tuple[str, ...]], list[Run]] = defaultdict(list)
    for run in runs:
        each[run.trial.operator, run.trial.dtypes].append(run)
    for (operator, dtypes), found in each.items():
        worst = max(found, key=lambda run: run.quotient or 0.0)
        others = choices.get(operator, ())
        chosen = worst.ended is Ended.REFUSED and len(others) > 1
        forms = f" with {len(found)} sets of arguments" if len(found) > 1 else ""
        said = f": {worst.said}" if worst.said else ""
        yield Finding(
            code="MX641" if worst.ended is Ended.REFUSED else "MX640",
            # Of several that a device chooses from, it need not have this one.
            outcome=Outcome.UNKNOWN if chosen else Outcome.INCOMPATIBLE,
            subject=f"{operator} ({', '.join(dtypes)})" if dtypes else operator,
            found=f"{worst.ended}{forms}{said}",
            expected=f"one of {', '.join(others)}" if chosen else "",
            remedy=REMEDIES[worst.ended],
        )


def _coarse(runs: list[Run]) -> Iterator[Finding]:
    if runs:
        yield Finding(
            code="MX642",
            outcome=Outcome.UNKNOWN,
            subject="products of float32",
            found=f"{_named(runs)}: no better than TF32, which is switched on",
            remedy='Switch it off (torch.set_float32_matmul_precision("highest"), '
            "torch.backends.cudnn.allow_tf32 = False) and run them again, or answer for it.",
        )


def _unknown(runs: Iterable[Run]) -> Iterator[Finding]:
    """Yield what nobody knows, by the reason."""
    reasons: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        reasons[run.said].append(run)
    for said, found in reasons.items():
        yield Finding(
            code="MX643",
            outcome=Outcome.UNKNOWN,
            subject="operators that were not run to an answer",
            found=f"{_named(found)}: {said}",
            remedy="Run the model on the device.",
        )


def _fine(ran: list[Run], verified: list[Run]) -> Iterator[Finding]:
    if ran:
        yield Finding(
            code="MX644",
            outcome=Outcome.COMPATIBLE,
            subject="operators that ran",
            found=f"{_named(ran)}: their numbers are compared with nothing",
        )
    if verified:
        most = max(run.quotient or 0.0 for run in verified)
        yield Finding(
            code="MX645",
            outcome=Outcome.COMPATIBLE,
            subject="operators that are verified",
            found=f"{_named(verified)}; at most {most:.2g} of the distance that is allowed",
        )


def _named(runs: Iterable[Run]) -> str:
    found = list(runs)
    names = sorted({run.trial.operator for run in found})
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    sets = f" ({len(found)} sets of arguments)" if len(found) > len(names) else ""
    return f"{', '.join(names[:FEW])}{more}{sets}"
