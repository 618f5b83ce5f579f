"""Whether a device's numbers are as good as a format of floating point allows.

Rounding is no error, and a fault may be smaller than what a fixed tolerance lets pass. So a result
is held against float64, and its distance against what the CPU achieves in the same format: four
times as far is still another order of the same sums, and what goes beyond is none.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

TIMES = 4.0
"""How much further from right than the CPU a device may be."""
ULPS = 2.0
"""Steps of the largest number that a result may be off where the CPU is exact."""
COARSE = 2.0**-9
"""How far, relative to all of a result, products with ten bits (TF32) are off at most."""
EPSILON = {
    "f64": 2.0**-52,
    "f32": 2.0**-23,
    "f16": 2.0**-10,
    "bf16": 2.0**-7,
    "f8_e4m3": 2.0**-3,
    "f8_e4m3fnuz": 2.0**-3,
    "f8_e5m2": 2.0**-2,
    "f8_e5m2fnuz": 2.0**-2,
    "c128": 2.0**-52,
    "c64": 2.0**-23,
    "c32": 2.0**-10,
}
"""The step from one to the next number, by format; of complex numbers, that of their parts."""
SMALLEST = {
    "f64": 2.0**-1022,
    "f32": 2.0**-126,
    "f16": 2.0**-24,
    "bf16": 2.0**-126,
    "c128": 2.0**-1022,
    "c64": 2.0**-126,
    "c32": 2.0**-24,
}
"""Below which a device may take a number for zero; float16 is never flushed, and so its last."""
SINGLE = ("f32", "c64")
"""The formats of which TF32 takes the place."""
ROUNDED = 4.0
"""How much more is let pass where the CPU cannot do it in that format, and rounding stands for it.

Kernels keep what is in between in that format too, which rounding once does not show.
"""


class Against(StrEnum):
    """What results were held against."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    """Of formats that are narrower, where there is nothing in float64."""
    ROUNDING = "rounding"
    """Float64, and the CPU does not have it in that format."""
    ITSELF = "itself"
    """The CPU in the same format: whose numbers are better is open."""
    NOTHING = "nothing"


@frozen
class Figures:
    """How far one result of an operator is from what is right."""

    dtype: str
    numbers: int = 0
    """Elements of it."""
    compared: int = 0
    """Those that both sides have: finite, in the CPU's format as well."""
    odd: int = 0
    """Those that are not finite, and ought to be, or the other way round."""
    nan: int = 0
    """Of these, what is no number."""
    unequal: int = 0
    """Integers and truths that are others."""
    form: str = ""
    """Of what shape or format it is in place of another, if it is."""
    max_ref: float = 0.0
    max_cpu: float = 0.0
    """How far the CPU is from right, in the same format."""
    max_dev: float = 0.0
    rms_ref: float = 0.0
    rms_cpu: float = 0.0
    rms_dev: float = 0.0

    @property
    def quotient(self) -> float:
        """Return how far it is from right, in what is allowed: above one is a fault."""
        step = EPSILON.get(self.dtype)
        if step is None:
            return float("inf") if self.unequal else 0.0
        least = SMALLEST.get(self.dtype, 0.0)
        most = TIMES * self.max_cpu + ULPS * step * self.max_ref + least
        all_of_it = TIMES * self.rms_cpu + step * self.rms_ref + least
        return max(_ratio(self.max_dev, most), _ratio(self.rms_dev, all_of_it))

    @property
    def relative(self) -> float:
        """Return how far all of it is from right, relative to itself."""
        return _ratio(self.rms_dev, self.rms_ref)


def _ratio(part: float, whole: float) -> float:
    if whole:
        return part / whole
    return float("inf") if part else 0.0


class Worth(StrEnum):
    """What results are worth."""

    RIGHT = "right"
    COARSE = "coarse"
    """As exact as TF32, which the device was told that it may use."""
    WRONG = "wrong"
    OPEN = "open"
    """Nobody knows what is right, or not so well."""


@frozen
class Judgement:
    """What the results of one operator are worth, and why."""

    worth: Worth
    quotient: float = 0.0
    said: str = ""


def judge(figures: Iterable[Figures], against: Against, *, tf32: bool = False) -> Judgement:
    """Return what results are worth; with ``tf32`` the device may take products to ten bits."""
    found = tuple(figures)
    for one in found:
        if said := _amiss(one):
            return Judgement(worth=Worth.WRONG, quotient=float("inf"), said=said)
    if against is Against.NOTHING:
        nan = sum(one.nan for one in found)
        return Judgement(worth=Worth.OPEN, said=f"{nan} are no numbers" if nan else "")
    if not sum(one.compared for one in found):
        said = "there is no number to compare" if sum(one.numbers for one in found) else ""
        return Judgement(worth=Worth.OPEN, said=said)
    worst = max(found, key=lambda one: one.quotient)
    if worst.quotient > 1.0:
        return _beyond(worst, against, tf32=tf32)
    # The CPU's own rounding in the same format says nothing of how good it is.
    open_ = against is Against.ITSELF and any(one.dtype in EPSILON for one in found)
    return Judgement(worth=Worth.OPEN if open_ else Worth.RIGHT, quotient=worst.quotient)


def _amiss(figures: Figures) -> str:
    """Return what is wrong with a result whatever its numbers are; nothing, if all is well."""
    if figures.form:
        return f"gives {figures.form}"
    if figures.odd:
        what = "no numbers" if figures.nan == figures.odd else "not finite, or ought not to be"
        return f"{figures.odd} of {figures.numbers} are {what}"
    if figures.unequal:
        return f"{figures.unequal} of {figures.numbers} are others"
    return ""


def _beyond(worst: Figures, against: Against, *, tf32: bool) -> Judgement:
    """Return what a result is worth that is further from right than is allowed."""
    quotient = worst.quotient
    said = f"{quotient:.3g} times as far from right as is allowed"
    if against is Against.ITSELF:
        said = "the CPU gives other numbers in the same format, and it is open whose are right"
        return Judgement(worth=Worth.OPEN, quotient=quotient, said=said)
    if against is Against.ROUNDING and quotient <= ROUNDED:
        said = "further from right than rounding alone, and the CPU does not have it in that format"
        return Judgement(worth=Worth.OPEN, quotient=quotient, said=said)
    if tf32 and worst.dtype in SINGLE and worst.relative <= COARSE:
        said = f"{said}: no better than TF32, which is switched on"
        return Judgement(worth=Worth.COARSE, quotient=quotient, said=said)
    return Judgement(worth=Worth.WRONG, quotient=quotient, said=said)
