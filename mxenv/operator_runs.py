"""What came of running operators on a device, each with arguments of recorded form."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.inventory import Inventory
    from mxenv.operator_table import Table

SCHEMA = "mxenv.operatorruns/1"
KEYS = {"cpu": "CPU", "cuda": "CUDA"}
"""The dispatch key of a device, where it is another word; of all others nobody is told."""


LIBRARY = re.compile("conv|cudnn|rnn|lstm|gru")
"""Operators of the library that has a switch for TF32 of its own."""


class Ended(StrEnum):
    """How one operator came to its end, the worst first."""

    CRASHED = "crashed"
    """The process ended."""
    HUNG = "hung"
    """It did not come back in its time."""
    WRONG = "wrong"
    """Its numbers are further from right than their format makes them."""
    REFUSED = "refused"
    """The device does not have it, or not in this format."""
    COARSE = "coarse"
    """As exact as TF32, which is switched on."""
    UNKNOWN = "unknown"
    """It was not run, or nothing can be said of what came of it."""
    RAN = "ran"
    """To its end; its numbers are compared with nothing."""
    VERIFIED = "verified"


BAD = (Ended.CRASHED, Ended.HUNG, Ended.WRONG, Ended.REFUSED)
ORDER = tuple(Ended)


@frozen
class Trial:
    """One operator, with arguments of one form."""

    operator: str
    dtypes: tuple[str, ...] = ()
    sample: str = ""
    """The arguments, as the inventory has them; empty if it has none."""

    @property
    def key(self) -> str:
        """Return what names it in a file."""
        told = "\0".join((self.operator, *self.dtypes, self.sample))
        return hashlib.sha256(told.encode()).hexdigest()[:16]


@frozen
class Run:
    """What came of one trial."""

    trial: Trial
    ended: Ended
    said: str = ""
    against: str = ""
    """What its numbers were compared with: ``float64``, …; empty: with nothing."""
    quotient: float | None = None
    """How far off it is, in what is allowed; `None` if that is nothing finite, or nobody knows."""
    milliseconds: float | None = None
    """What one call took on the device, the quickest of some."""
    varies: bool = False
    """Whether it gave other bits when it was run again."""


@frozen
class Device:
    """Where operators were run."""

    name: str
    """``cpu``, ``cuda``, ``cuda:1``."""
    torch: str
    """The version of the distribution, build tag and all."""
    python: str = ""
    machine: str = ""
    """The card's name, or the processor's architecture."""
    tf32: tuple[str, ...] = ()
    """Of which operators products of float32 may be taken to ten bits: ``matmul`` …"""

    @property
    def key(self) -> str:
        """Return its dispatch key; empty if that is not known."""
        return KEYS.get(self.name.partition(":")[0], "")

    def coarse(self, operator: str) -> bool:
        """Return whether ``operator`` may take products of float32 to ten bits here."""
        return ("convolution" if LIBRARY.search(operator) else "matmul") in self.tf32


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Everything that was run of one model on one device."""

    inventory: str
    """The digest of what the trials are of."""
    model: str
    device: Device
    runs: tuple[Run, ...] = ()
    begun: tuple[str, ...] = ()
    """The keys of trials of which nobody has told an end, once for each time."""

    def of(self, operator: str, dtypes: Iterable[str]) -> Run | None:
        """Return what an operator did with tensors of these formats; `None` if it was not run.

        Of several forms the worst counts; one of which nothing is known hides no other.
        """
        formats = tuple(dtypes)
        found = [
            run
            for run in self.runs
            if run.trial.operator == operator and run.trial.dtypes == formats
        ]
        known = [run for run in found if run.ended is not Ended.UNKNOWN]
        return min(known or found, key=lambda run: ORDER.index(run.ended), default=None)


def trials(inventory: Inventory) -> Iterator[Trial]:
    """Yield what there is to run of a model: each form of arguments once, sorted."""
    found = {
        Trial(operator=use.operator, dtypes=use.dtypes, sample=sample)
        for use in inventory.uses
        for sample in use.samples or ("",)
    }
    told = {(one.operator, one.dtypes) for one in found if one.sample}
    for one in sorted(found, key=lambda one: (one.operator, one.dtypes, one.sample)):
        # What one phase has no arguments of may have some in another.
        if one.sample or (one.operator, one.dtypes) not in told:
            yield one


def fits(runs: Runs, table: Table) -> str:
    """Return why results say nothing of a platform with ``table``; empty if they do."""
    if runs.device.torch != table.torch:
        return f"they are of torch {runs.device.torch}, and the platform has {table.torch}"
    if runs.device.key != table.key:
        return f"they are of {runs.device.name}, and the platform's operators are for {table.key}"
    return ""
