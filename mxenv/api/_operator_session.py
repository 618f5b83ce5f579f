"""How operators are run one after another, while some of them end the process that runs them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import operator_runs, operator_runs_file, trial_answer
from mxenv.errors import ModelError, UsageError
from mxenv.models import _interpreter
from mxenv.operator_runs import Device, Ended, Run, Runs
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mxenv.api._results_file import Results
    from mxenv.inventory import Inventory
    from mxenv.operator_runs import Trial

SCRIPT = "run.py"
LARGEST = 512 << 20
"""Bytes of the arguments of one call: in float64, with what comes of it, it is ten times that."""
TWICE = 2
"""Times that mxenv itself did not come back from an operator, after which it is left out."""
STEPS = 10
WITHOUT = "no arguments of it were recorded"
SILENT = "ended its process without a word"
ENDS = {"late": Ended.HUNG, "large": Ended.UNKNOWN, "killed": Ended.UNKNOWN}
"""What follows from how a process fell, where it is no crash."""
AGAIN = "mxenv itself did not come back from it, twice: it may end the whole machine"


class Session:
    """The trials of one model on one device, from the first that has no result to the last."""

    def __init__(  # noqa: PLR0913 - what `operator_runs.run` is given
        self,
        inventory: Inventory,
        *,
        device: str,
        python: str | None,
        seconds: float,
        file: Results,
        told: Callable[[str], None] | None,
    ) -> None:
        """Take what is to be run, and where; see `mxenv.api.operator_runs.run`."""
        self.inventory, self.device, self.python = inventory, device, python
        self.seconds, self.file, self.told = seconds, file, told
        self.trials = tuple(operator_runs.trials(inventory))
        self.runs: Runs | None = None
        self.found: dict[str, Run] = {}
        self.current: tuple[Trial, str] | None = None
        """What runs now, and at which stage it is."""
        self.step = -1

    def results(self) -> Runs:
        """Run what has no result yet; return all of them."""
        before = self.file.before
        if before is not None:
            self._same("another inventory", before.inventory, self.inventory.digest)
            self.found = {run.trial.key: run for run in before.runs}
        while self.runs is None or self._left():
            self._child()
        known = (self.found[trial.key] for trial in self.trials)
        return replace(self.runs, runs=tuple(known))

    def _left(self) -> list[Trial]:
        return [trial for trial in self.trials if trial.key not in self.found]

    def _same(self, what: str, one: str, other: str) -> None:
        if one != other:
            hint = "name another file with --out"
            raise UsageError(f"holds results of {what}", context=self.file.name, hint=hint)

    def _child(self) -> None:
        """Run what is left in one process, to its end or to that of the process."""
        settled = {} if self.runs else self._settled()
        given = [trial for trial in self._left() if trial.key not in settled]
        request = {
            "device": self.device,
            "largest": LARGEST,
            "trials": [{"operator": one.operator, "sample": one.sample} for one in given],
        }
        self.current, count = None, len(self.found)
        try:
            for answer in _interpreter.answers(
                SCRIPT, request, python=self.python, seconds=self.seconds, each=True
            ):
                self._take(answer, given, settled)
        except _interpreter.ChildFell as fell:
            if not self._blamed(fell.how, fell.message) and len(self.found) == count:
                raise
        else:
            # A kernel that ends the process may well end it with status 0.
            self._blamed("ended", SILENT)
        if given and len(self.found) == count:
            raise ModelError("came to an end without an answer", context=SCRIPT)

    def _blamed(self, how: str, said: str) -> bool:
        """Take down whose fault the end of the process is; return whether anything was running."""
        if self.current is None:
            return False
        self._end(_fallen(*self.current, how, said))
        return True

    def _settled(self) -> dict[str, Run]:
        """Return the results of what is not run, by the keys of the trials."""
        begun = Counter(self.file.before.begun) if self.file.before else Counter[str]()
        found = {}
        for trial in self._left():
            if not trial.sample:
                found[trial.key] = Run(trial=trial, ended=Ended.UNKNOWN, said=WITHOUT)
            elif begun[trial.key] >= TWICE:
                found[trial.key] = Run(trial=trial, ended=Ended.CRASHED, said=AGAIN)
        return found

    def _take(
        self, answer: Mapping[str, object], given: Sequence[Trial], settled: Mapping[str, Run]
    ) -> None:
        """Take in one answer, whose numbers are those of ``given``."""
        match answer:
            case {"hello": dict(about)}:
                self._greeted(about)
                for run in settled.values():
                    self._end(run)
            case {"begun": int(number), "stage": str(stage)} if self.runs is not None:
                self._begun(given[number], stage)
            case {"done": int(number)} if self.runs is not None:
                trial = given[number]
                tf32 = self.runs.device.coarse(trial.operator)
                self._end(trial_answer.run(trial, answer, tf32=tf32))
                self.current = None
            case _:
                raise ModelError("answered with what is not known here", context=SCRIPT)

    def _greeted(self, about: Mapping[str, object]) -> None:
        """Learn where it runs; results of another place are not mixed with these."""
        tf32 = about.get("tf32")
        device = Device(
            name=self.device,
            torch=clean(str(about.get("torch"))),
            python=clean(str(about.get("python"))),
            machine=clean(str(about.get("machine"))),
            tf32=tuple(sorted(map(str, tf32))) if isinstance(tf32, list) else (),
        )
        first, before = self.runs is None, self.file.before
        self.runs = Runs(inventory=self.inventory.digest, model=self.inventory.name, device=device)
        if before is not None:
            old = before.device
            for name in ("name", "torch", "machine"):
                was, now = getattr(old, name), getattr(device, name)
                self._same(f"{was}, and this is {now}", was, now)
            self._same("another setting of TF32", " ".join(old.tf32), " ".join(device.tf32))
        elif first:
            self.file.add(operator_runs_file.head(self.runs))

    def _begun(self, trial: Trial, stage: str) -> None:
        if self.current is None or self.current[0] != trial:
            self.file.add(operator_runs_file.begun(trial), safe=True)
            self._tell(trial)
        self.current = trial, stage

    def _tell(self, trial: Trial) -> None:
        """Say how far it is, some times in all: most operators take no time."""
        done, total = len(self.found), len(self.trials)
        step = done * STEPS // total
        if self.told is not None and step != self.step:
            self.step = step
            self.told(f"{done + 1} of {total}: {trial.operator}")

    def _end(self, run: Run) -> None:
        self.found[run.trial.key] = run
        self.file.add(operator_runs_file.line(run))


def _fallen(trial: Trial, stage: str, how: str, said: str) -> Run:
    """Return what it means that the process ended, or had to be ended, at that stage."""
    if stage != "device":
        return Run(trial=trial, ended=Ended.UNKNOWN, said=f"the CPU, given the same: {said}")
    return Run(trial=trial, ended=ENDS.get(how, Ended.CRASHED), said=said)
