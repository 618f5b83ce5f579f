"""What a small instance of a model really dispatches on the CPU; run by an interpreter with torch.

A job is a line of stdin: ``{"config": {…}}`` or ``{"factory": "unet"}``, ``inputs`` as an inventory
names them, ``train``. Its answer is a line of stdout: ``{phase: {operator: {dtypes: calls}}}``.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import json
import operator
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "bool": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
UNSEEN = ("prim", "prims", "profiler")
"""Name spaces of what asks of tensors, or marks places in a profile, and computes nothing."""


class Seen(TorchDispatchMode):
    """Counts whatever is dispatched, by phase, operator and number formats."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[str, Counter[tuple[str, str]]] = {}
        self.phase = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.namespace not in UNSEEN:
            dtypes = " ".join(formats([*args, *kwargs.values()]))
            name = f"{func._schema.name}.{func._overloadname}"
            self.calls.setdefault(self.phase, Counter())[name, dtypes] += 1
        return func(*args, **kwargs)

    @contextlib.contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Count what is dispatched within as of ``phase``."""
        self.phase = phase
        with self:
            yield

    def told(self) -> dict[str, dict[str, dict[str, int]]]:
        """Return the counts as JSON can hold them."""
        phases: dict[str, dict[str, dict[str, int]]] = {}
        for phase, calls in self.calls.items():
            for (name, dtypes), count in calls.items():
                phases.setdefault(phase, {}).setdefault(name, {})[dtypes] = count
        return phases


def formats(values: list[Any]) -> Iterator[str]:
    """Yield the number formats of tensors; of a list each of them once."""
    for value in values:
        if isinstance(value, torch.Tensor):
            yield NAMES.get(value.dtype, str(value.dtype))
        elif isinstance(value, (list, tuple)):
            yield from dict.fromkeys(formats(list(value)))


def tensor(name: str, text: str, *, padded: bool) -> torch.Tensor:
    """Return real values for an input as an inventory names it: ``i64 1x64``."""
    word, _, shape = text.partition(" ")
    dtype, sizes = DTYPES[word], [int(size) for size in filter(None, shape.split("x"))]
    if dtype.is_floating_point:
        return torch.randn(sizes).to(dtype)
    if name.endswith("mask"):
        mask = torch.ones(sizes, dtype=dtype)
        mask[0, :40] = not padded  # of 64: so that a window of 32 has padding in it as well
        return mask
    if name.endswith("token_type_ids"):
        return torch.zeros(sizes, dtype=dtype)
    few = 2 if name == "labels" and len(sizes) == 1 else 100
    return torch.randint(0, few, sizes).to(dtype)


def built(job: dict[str, Any]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return a model with real weights, its arguments, its keywords."""
    if "factory" in job:
        made = getattr(importlib.import_module("factories"), job["factory"])()
        model, inputs = made
        if isinstance(inputs, dict):
            return model, (), inputs
        return model, inputs if isinstance(inputs, tuple) else (inputs,), {}
    import transformers  # noqa: PLC0415 - imported late: not every job needs it

    config = dict(job["config"])
    found = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(config)
    made = getattr(transformers, config["architectures"][0])
    return made._from_config(found, dtype=DTYPES[job["dtype"]]), (), {}


def given(job: dict[str, Any], phase: str) -> dict[str, Any]:
    """Return real values for what the inventory says that a phase was given."""
    named = {}
    for name, text in job["inputs"].items():
        where, _, rest = name.rpartition(".")
        if where == phase:
            named[rest] = tensor(rest, text, padded=job["padded"])
    return named


def infer(job: dict[str, Any], seen: Seen) -> None:
    """Run a model as it answers: all that is given at once, then one token more if it can."""
    model, args, keywords = built(job)
    model.eval()
    first = keywords if "factory" in job else given(job, "")
    second = given(job, "decode")
    with torch.no_grad():
        if not second:
            with seen.during("forward"):
                model(*args, **first)
            return
        with seen.during("prefill"):
            told = model(**first, use_cache=True)
        kept = next(name for name in ("cache", "past_key_values", "cache_params") if name in told)
        second |= {kept: told[kept], "use_cache": True}
        if "encoder_last_hidden_state" in told:
            second["encoder_outputs"] = (told.encoder_last_hidden_state,)
        with seen.during("decode"):
            model(**second)


def train(job: dict[str, Any], seen: Seen) -> None:
    """Run one step of training: forward, backward, optimiser."""
    model, args, keywords = built(job)
    model.train()
    keywords = keywords if "factory" in job else given(job, "")
    with seen.during("forward"):
        told = model(*args, **keywords)
        loss = getattr(told, "loss", None)
        if loss is None:
            found = [one for one in tree_leaves(told) if isinstance(one, torch.Tensor)]
            floats = [one.float().pow(2).mean() for one in found if one.requires_grad]
            loss = functools.reduce(operator.add, floats)
    with seen.during("backward"):
        loss.backward()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=job.get("foreach"))
    with seen.during("optimiser"):
        optimiser.step()


def main() -> None:
    """Answer each job of stdin, one line of JSON each, with what it dispatches."""
    for line in sys.stdin:
        job = json.loads(line)
        torch.manual_seed(1)
        seen = Seen()
        (train if job["train"] else infer)(job, seen)
        print(json.dumps(seen.told()), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
