"""One operator with one set of arguments: by the CPU, in float64, and on the device."""

from __future__ import annotations

import time
from typing import Any

import torch
from mxenv_formats import short

from mxenv_running import arguments, calling, legal, meanings
from mxenv_running.figures import Figures

REPEATS = 3
"""Runs on the device of which the worst counts: sums whose order is open differ."""
PATIENCE = 1.0
"""Seconds above which a run is not repeated."""
ENOUGH = 256
"""Numbers in results from which is seen what a format achieves; of fewer, more are drawn."""
DRAWS = 8
ABSENT = ("not implemented for", "could not run", "no kernel image", "not compiled")
"""In what torch says where it does not have an operator, or not in this format."""
MEMORY = "out of memory"
HALF = (torch.float16, torch.bfloat16)
NOTHING = "nothing"


class Ended(Exception):
    """There is no more to a trial; what came of it."""

    def __init__(self, ended: str, said: str) -> None:
        super().__init__(said)
        first, more, _ = " ".join(said.split()).partition(". ")
        # What torch has to say to its own developers comes after the first sentence.
        self.found = {"ended": ended, "said": (first + more.strip())[:300]}


class Trial:
    """One operator, one sample, one device."""

    def __init__(self, trial: Any, request: Any, run_on: Any = None) -> None:
        self.operator, self.sample = trial["operator"], trial["sample"]
        self.device, self.largest = request["device"], request["largest"]
        self.run_on = run_on or calling.call
        # What is measured by itself is run first: whatever becomes of it is its own.
        self.apart = self.device != "cpu" or run_on is not None
        self.figures: dict[int, Figures] = {}
        self.against = ""
        self.milliseconds: Any = None
        self.varies = False

    def run(self, stage: Any) -> dict[str, Any]:
        """Return what came of it; ``stage`` is told what is done next, and may be the last told."""
        try:
            stage("cpu")
            self._prepare()
            for draw in range(DRAWS):
                arguments.fill(self.overload, self.args, self.kwargs, draw)
                numbers = self._once(stage, first=not draw)
                if self.against == NOTHING or not 0 < numbers < ENOUGH:
                    break
        except Ended as ended:
            return {**ended.found, "spent": not calling.answers(self.device)}
        except arguments.NotKnown as reason:
            return Ended("unknown", str(reason)).found
        except Exception as error:  # noqa: BLE001 - one operator's trouble is no other's
            return Ended("unknown", f"{type(error).__name__}: {error}").found
        return {
            "ended": "ran",
            "figures": [self.figures[name].told() for name in sorted(self.figures)],
            "against": self.against,
            "ms": self.milliseconds,
            "varies": self.varies,
        }

    def _prepare(self) -> None:
        """Find the operator, and what it is to be called with."""
        self.overload = found(self.operator)
        self.args, self.kwargs = arguments.read(self.sample, self.operator)
        needed = sum(held.bytes for held in arguments.tensors([self.args, self.kwargs]))
        if needed > self.largest:
            most = f"more than {self.largest >> 20} MiB"
            raise Ended("unknown", f"its arguments take {needed >> 20} MiB, {most}")
        does = legal.base(self.operator)
        self.pointing = does in meanings.POINTING
        # Attention is called random for what it may leave out, and means something without.
        random = torch.Tag.nondeterministic_seeded in self.overload.tags
        self.open = (
            (random and meanings.meaning(self.operator) is None)
            or does in meanings.UNDEFINED
            or does in meanings.AMBIGUOUS
        )
        self.undefined = does in meanings.UNDEFINED

    def _once(self, stage: Any, *, first: bool) -> int:
        """Run it everywhere with one set of values; return how many rounded numbers came of it."""
        if self.apart:
            low, reference = self._expected(stage, first=first)
            results = self._on_device(stage, first=first)
        else:
            results = self._on_device(stage, first=first)
            low, reference = self._expected(stage, first=first)
        if reference is None or self.open:
            self.against = NOTHING
            self._look(results[0])
            return 0
        if low is None:
            self.against = "rounding"
            low = [one.to(mine.dtype) for one, mine in zip(reference, results[0])]
        if len(results[0]) < len(low):
            said = f"it gives {len(results[0])} results, and {len(low)} on the CPU"
            raise Ended("unknown", said)
        for n, one in enumerate(low):
            self._compare(n, one, reference[n], [result[n] for result in results])
        return sum(one.numel() for one in low if calling.rounded(one))

    def _compare(self, n: int, low: Any, reference: Any, results: Any) -> None:
        """Hold one result against the CPU's; the worst run counts."""
        each = []
        for result in results:
            figures = Figures(short(low.dtype), low.numel())
            figures.take(low, reference, result)
            each.append(figures)
        worst = max(each, key=Figures.badness)
        if n in self.figures:
            self.figures[n].add(worst)
        else:
            self.figures[n] = worst

    def _look(self, results: Any) -> None:
        """Count what is no number in results that there is nothing to compare with."""
        for n, one in enumerate(results):
            figures = Figures(short(one.dtype), one.numel())
            if calling.rounded(one) and not self.undefined:
                figures.nan = int(torch.isnan(one).sum())
            self.figures[n] = figures

    def _expected(self, stage: Any, *, first: bool) -> Any:
        """Return what the CPU gives in the same format, and what is right; `None`: it has none."""
        if first:
            stage("cpu")
        try:
            low = self._cpu(None)
        except Exception:  # noqa: BLE001 - whatever it is, the format may be why
            low = None
        if self.open:
            return low, low
        for wider, said in ((torch.float64, "float64"), (torch.float32, "float32")):
            if said == "float32" and not self._half():
                break
            try:
                reference = self._cpu(wider)
            except Exception:  # noqa: BLE001, S112 - the next format, or none, is the answer
                continue
            if low is None or _fits(low, reference):
                self.against = said
                return low, reference
        self.against = "itself" if low is not None else NOTHING
        return low, low

    def _half(self) -> bool:
        held = arguments.tensors([self.args, self.kwargs])
        return any(one.dtype in HALF for one in held)

    def _cpu(self, wider: Any) -> Any:
        args = arguments.made(self.args, "cpu", wider)
        kwargs = arguments.made(self.kwargs, "cpu", wider)
        named = arguments.by_name(self.overload, args, kwargs)
        means = meanings.meaning(self.operator)
        if means is not None:
            with torch.no_grad():
                return means(named)
        given = {name: one.clone() for name, one in named.items() if self._pointed(name)}
        results = calling.call(self.overload, args, kwargs)
        return meanings.pointed_at(self.operator, {**named, **given}, results)

    def _on_device(self, stage: Any, *, first: bool) -> Any:
        """Return the results of some runs on the device, on the CPU."""
        if first:
            stage("device")
        results, times = [], []
        while len(results) < (REPEATS if first else 1):
            try:
                took, results_ = self._timed()
            except Exception as error:  # noqa: BLE001 - what a device says is the answer
                raise self._refused(error) from None
            results.append(results_)
            times.append(took)
            if took > PATIENCE:
                break
        if first:
            # The first run makes ready what others find.
            self.milliseconds = min(times[1:] or times) * 1e3
            self.varies = not all(calling.equal(results[0], one) for one in results[1:])
        return results

    def _timed(self) -> Any:
        """Run it once on the device; return how long it took, and the results."""
        args = arguments.made(self.args, self.device)
        kwargs = arguments.made(self.kwargs, self.device)
        wants = meanings.wants(self.operator)
        if wants is not None:
            args, kwargs = self._kept(wants, args, kwargs)
        named = arguments.by_name(self.overload, args, kwargs)
        given = {name: calling.home(one) for name, one in named.items() if self._pointed(name)}
        calling.wait(self.device)
        began = time.perf_counter()
        results = self.run_on(self.overload, args, kwargs)
        calling.wait(self.device)
        took = time.perf_counter() - began
        results = [calling.home(one) for one in results]
        return took, meanings.pointed_at(self.operator, {**named, **given}, results)

    def _pointed(self, name: str) -> bool:
        return self.pointing and name == "self"

    def _kept(self, wants: Any, args: Any, kwargs: Any) -> Any:
        """Put in what a forward pass on this device has kept for this operator."""
        with torch.no_grad():
            kept = wants(arguments.by_name(self.overload, args, kwargs))
        names = [one.name for one in self.overload._schema.arguments]
        args = [kept.get(name, one) for name, one in zip(names, args)]
        return args, {name: kept.get(name, one) for name, one in kwargs.items()}

    def _refused(self, error: Any) -> Ended:
        """Return what it means that a device raised ``error``."""
        said = f"{type(error).__name__}: {error}"
        low = said.lower()
        absent = isinstance(error, NotImplementedError) or any(word in low for word in ABSENT)
        # What the CPU was given as well, and did, is legal.
        legal_ = self.apart and self.against not in ("", NOTHING)
        if MEMORY not in low and (absent or legal_):
            return Ended("refused", said)
        return Ended("unknown", said)


def found(operator: str) -> Any:
    """Return an operator of this build of torch by its name."""
    namespace, _, rest = operator.partition("::")
    name, _, overload = rest.partition(".")
    if namespace in meanings.AFAR:
        raise Ended("unknown", "other processes have a part in it")
    if not overload:
        raise Ended("unknown", "it is not known which of its overloads is called")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), name), overload)
    except (AttributeError, RuntimeError):
        said = f"torch {torch.__version__} does not know it"
        if namespace in legal.OWN:
            raise Ended("refused", said) from None
        raise Ended("unknown", f"{said}; what registers it is not imported here") from None


def _fits(low: Any, reference: Any) -> bool:
    """Return whether what was computed wider has the same form."""
    return len(low) == len(reference) and all(a.shape == b.shape for a, b in zip(low, reference))
