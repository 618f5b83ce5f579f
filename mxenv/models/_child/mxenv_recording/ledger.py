"""What was called, and counted: operators, kernels, and what was assumed on the way."""

from __future__ import annotations

import json
import re
import sys
from typing import Any

import torch
from mxenv_formats import short

MOST = 5
"""Samples that are kept of one operator, phase and formats."""
FORMS = 64
"""Sets of shapes of one operator, phase and formats that are looked at for samples."""
LIST = 3
"""Elements of a list of tensors that a sample keeps: as many of each list, so it stays a call."""
BROUGHT = re.compile(r"/transformers_modules/[^/]+/(?:[0-9a-f]{8,}/)?")
"""Where transformers puts the code that a model brings along."""
LONGEST = 4000
"""Characters of a sample; what is longer is not kept."""


class Ledger:
    """Everything that one walk through a model did."""

    def __init__(self) -> None:
        self.phase = "forward"
        self.uses: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.seen: dict[tuple[Any, ...], set[Any]] = {}
        self.alike: dict[tuple[Any, str], dict[str, Any]] = {}
        """Of each form of a call in each phase, what it counts for."""
        self.kernels: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.assumed: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.inputs: dict[str, str] = {}
        self.gaps: list[str] = []
        self.places: Any = None
        """What knows where in the model's code something happens, while it runs."""

    def use(self, func: Any, args: Any, kwargs: Any, form: Any = None) -> None:
        """Count one call of an operator; one of a form that was seen tells nothing else."""
        known = None if form is None else self.alike.get((form, self.phase))
        if known is not None:
            known["calls"] += 1
            self.places.passed()
            return
        entry = self._entry(func, args, kwargs, self.places.now())
        entry["calls"] += 1
        if form is not None:
            self.alike[form, self.phase] = entry

    def _entry(self, func: Any, args: Any, kwargs: Any, where: tuple[str, str]) -> dict[str, Any]:
        """Return what a call counts for, with its arguments among the samples."""
        tensors: list[Any] = []
        formats = _formats(args, kwargs, tensors)
        key = (f"{func._schema.name}.{func._overloadname or 'default'}", self.phase, formats)
        entry = self.uses.get(key)
        if entry is None:
            entry = self.uses[key] = {
                "calls": 0,
                "module": where[0],
                "site": where[1],
                "samples": [],
            }
            self.seen[key] = set()
        seen = self.seen[key]
        form = tuple(tuple(tensor.shape) for tensor in tensors[: LIST * 4])
        if form not in seen and len(seen) < FORMS:
            seen.add(form)
            text = sample(args, kwargs)
            if text:
                _keep(entry["samples"], sum(tensor.numel() for tensor in tensors), text)
        return entry

    def plain(self, name: str, where: tuple[str, str]) -> None:
        """Count one call of what is no operator with a schema."""
        key = (name, self.phase, ())
        entry = self.uses.setdefault(
            key, {"calls": 0, "module": where[0], "site": where[1], "samples": []}
        )
        entry["calls"] += 1

    def kernel(self, kind: str, name: str, where: tuple[str, str]) -> None:
        """Count one launch of a kernel that no dispatcher sees."""
        entry = self.kernels.setdefault(
            (kind, name, self.phase), {"calls": 0, "module": where[0], "site": where[1]}
        )
        entry["calls"] += 1

    def assume(self, kind: str, subject: str, said: str) -> None:
        """Note what was guessed, and where first."""
        entry = self.assumed.get((kind, subject, said))
        if entry is None:
            site = self.places.line() if self.places is not None else ""
            entry = self.assumed[kind, subject, said] = {"count": 0, "site": site}
        entry["count"] += 1

    def take(self, other: Ledger, *, calls: bool = True) -> None:
        """Take in what another walk over the same model did: of each the larger number counts.

        Without ``calls`` only what is new counts: answers that no model's data may give together.
        """
        for mine, theirs in ((self.uses, other.uses), (self.kernels, other.kernels)):
            for key, entry in theirs.items():  # type: ignore[attr-defined]
                before = mine.get(key)  # type: ignore[attr-defined]
                if before is None:
                    mine[key] = entry  # type: ignore[index]
                elif calls:
                    before["calls"] = max(before["calls"], entry["calls"])
        for key, entry in other.assumed.items():
            before = self.assumed.setdefault(key, entry)
            if calls:
                before["count"] = max(before["count"], entry["count"])
        self.inputs.update(other.inputs)
        self.gaps += [gap for gap in other.gaps if gap not in self.gaps]

    def document(self) -> dict[str, Any]:
        """Return what an inventory's file has of it."""
        uses = [
            {
                "operator": name,
                "phase": phase,
                "dtypes": list(formats),
                **entry,
                "samples": [text for _, text in entry["samples"]],
            }
            for (name, phase, formats), entry in self.uses.items()
        ]
        kernels = [
            {"kind": kind, "name": name, "phase": phase, **entry}
            for (kind, name, phase), entry in self.kernels.items()
        ]
        assumptions = [
            {"kind": kind, "subject": subject, "said": said, **entry}
            for (kind, subject, said), entry in self.assumed.items()
        ]
        return {
            "uses": uses,
            "kernels": kernels,
            "assumptions": assumptions,
            "inputs": self.inputs,
            "gaps": self.gaps,
        }


def _keep(samples: list[tuple[int, str]], size: int, text: str) -> None:
    """Keep a sample if there is room, or if it is smaller or larger than all that are kept."""
    if any(text == kept for _, kept in samples):
        return
    samples.append((size, text))
    if len(samples) > MOST:
        sizes = sorted(size for size, _ in samples)
        # What lies between is least telling; of several the last one goes.
        middle = [one for one in samples if sizes[0] < one[0] < sizes[-1]] or samples[1:]
        samples.remove(middle[-1])


def _formats(args: Any, kwargs: Any, tensors: list[Any]) -> tuple[str, ...]:
    """Return the formats of tensor arguments in order; a list tells each of its formats once."""
    formats: list[str] = []
    for value in (*args, *kwargs.values()):
        if isinstance(value, torch.Tensor):
            tensors.append(value)
            formats.append(short(value.dtype))
        elif isinstance(value, (list, tuple)):
            told: list[str] = []
            for one in value:
                if isinstance(one, torch.Tensor):
                    tensors.append(one)
                    name = short(one.dtype)
                    if name not in told:
                        told.append(name)
            formats += told
    return tuple(formats)


def sample(args: Any, kwargs: Any) -> str:
    """Return the arguments of a call as a JSON list; empty if they cannot be told."""
    told = [_told(value) for value in args]
    if kwargs:
        told.append({"k": {name: _told(value) for name, value in kwargs.items()}})
    try:
        text = json.dumps(told, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        return ""
    return text if len(text) <= LONGEST else ""


def _told(value: Any) -> Any:  # noqa: PLR0911 - one for each kind of argument
    if isinstance(value, torch.Tensor):
        told: dict[str, Any] = {"t": short(value.dtype), "s": [int(size) for size in value.shape]}
        if value.layout is torch.strided and not value.is_contiguous():
            told["st"] = [int(step) for step in value.stride()]
        return told
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        finite = value == value and abs(value) != float("inf")  # noqa: PLR0124 - not a number
        return value if finite else {"f": str(value)}
    if isinstance(value, complex):
        return {"c": [value.real, value.imag]}
    if isinstance(value, (list, tuple)):
        long = len(value) > LIST and isinstance(value[0], (torch.Tensor, float))
        return [_told(one) for one in (value[:LIST] if long else value)]
    for name, kind in (
        ("dtype", torch.dtype),
        ("device", torch.device),
        ("layout", torch.layout),
        ("memory_format", torch.memory_format),
    ):
        if isinstance(value, kind):
            said = short(value) if name == "dtype" else str(value).replace("torch.", "")
            return {name: said}
    raise_unknown(value)
    return None


def raise_unknown(value: Any) -> None:
    """Say that a value cannot be told, but for generators, which nobody needs."""
    if not isinstance(value, torch.Generator):
        raise TypeError(type(value).__name__)


def relative(file: str) -> str:
    """Return a file as it is found where packages are installed; of a model's own, its name."""
    brought = BROUGHT.search(file)
    if brought:
        return file[brought.end() :]
    roots = [root for root in sys.path if root and file.startswith(root.rstrip("/") + "/")]
    longest = max(roots, key=len, default="")
    return file[len(longest.rstrip("/")) + 1 :] if longest else file.rpartition("/")[2]
