"""What the figures mean that a process tells of one operator that it ran."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING

from mxenv import numerics
from mxenv.numerics import Against, Figures, Worth
from mxenv.operator_runs import Ended, Run
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.operator_runs import Trial

ENDS = {
    Worth.RIGHT: Ended.VERIFIED,
    Worth.COARSE: Ended.COARSE,
    Worth.WRONG: Ended.WRONG,
    Worth.OPEN: Ended.UNKNOWN,
}
TOLD = (Ended.REFUSED, Ended.UNKNOWN)
"""What a process may say itself of how it ended; all else follows from figures."""
NAMES = tuple(field.name for field in fields(Figures))
GARBLED = "what was told of it is not understood"


def run(trial: Trial, answer: Mapping[str, object], *, tf32: bool = False) -> Run:
    """Return what came of ``trial``; whatever is not understood is unknown."""
    ended, said = answer.get("ended"), clean(str(answer.get("said", "")))
    if ended != Ended.RAN:
        known = next((one for one in TOLD if one == ended), None)
        if known is None:
            return Run(trial=trial, ended=Ended.UNKNOWN, said=GARBLED)
        return Run(trial=trial, ended=known, said=said)
    try:
        figures, against = _figures(answer.get("figures")), Against(str(answer.get("against")))
        milliseconds = _number(answer.get("ms"))
    except (TypeError, ValueError):
        return Run(trial=trial, ended=Ended.UNKNOWN, said=GARBLED)
    judged = numerics.judge(figures, against, tf32=tf32)
    end = ENDS[judged.worth]
    if judged.worth is Worth.OPEN and not judged.said:
        end = Ended.RAN
    return Run(
        trial=trial,
        ended=end,
        said=judged.said,
        against="" if against is Against.NOTHING else against.value,
        quotient=judged.quotient if math.isfinite(judged.quotient) else None,
        milliseconds=milliseconds,
        varies=answer.get("varies") is True,
    )


def _figures(told: object) -> tuple[Figures, ...]:
    if not isinstance(told, list):
        raise TypeError
    return tuple(_one(each) for each in told)


def _one(told: object) -> Figures:
    if not isinstance(told, dict):
        raise TypeError
    texts = {name: str(told[name]) for name in ("dtype", "form") if name in told}
    numbers = {name: _number(told[name]) for name in NAMES if name in told and name not in texts}
    return Figures(**texts, **numbers)  # type: ignore[arg-type] # counts are whole as they come


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError
    return value
