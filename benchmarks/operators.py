"""How long the inventory of a model with 70 billion weights takes, and how much memory.

::

    python benchmarks/operators.py --python PATH [RUNS]

PATH is an interpreter with torch and transformers. Nothing but a configuration is read, and
nothing but shapes is computed: forward alone, and a step of training.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import psutil
from _timing import machine, table, verdict

from mxenv.api import operators
from mxenv.models import Request

WITHIN = 15.0
"""Seconds for the operators of one configuration, everything included."""
GIB = 2.0
"""Memory that mxenv and all that it starts may hold together."""
OFTEN = 0.05
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 8192,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """What one walk cost, and what it found."""

    seconds: float
    mib: float
    operators: int
    calls: int


class Watch(threading.Thread):
    """Looks how much memory this process and its children hold."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.done = threading.Event()
        self.most = 0

    def run(self) -> None:
        """Look often, until it is done."""
        here = psutil.Process()
        while not self.done.wait(OFTEN):
            total = 0
            for one in (here, *here.children(recursive=True)):
                try:
                    total += one.memory_info().rss
                except psutil.Error:
                    continue
            self.most = max(self.most, total)


def walk(target: str, python: str, *, train: bool) -> Walk:
    """Return what one inventory cost."""
    request = Request(target=target, python=python, train=train, seconds=600)
    watch = Watch()
    watch.start()
    began = time.perf_counter()
    found = operators.inventory_of(target, "huggingface", request=request)
    seconds = time.perf_counter() - began
    watch.done.set()
    watch.join()
    return Walk(
        seconds=seconds,
        mib=watch.most / 2**20,
        operators=len(found.operators),
        calls=found.calls,
    )


def main(python: str, runs: int) -> int:
    """Print the table; return whether a target was missed."""
    rows = [["what", "operators", "calls", "s", "MiB", "target"]]
    missed = False
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "config.json").write_text(json.dumps(CONFIG))
        for title, train in (("inference: prefill and decode", False), ("a training step", True)):
            done = [walk(name, python, train=train) for _ in range(runs)]
            seconds = statistics.median(one.seconds for one in done)
            mib = max(one.mib for one in done)
            met = seconds <= WITHIN and mib <= GIB * 1024
            missed |= not met
            said = verdict(f"at most {WITHIN:.0f} s and {GIB:.0f} GiB", met=met)
            first = done[0]
            row = [title, str(first.operators), str(first.calls), f"{seconds:.1f}", f"{mib:.0f}"]
            rows.append([*row, said])
    print(f"{machine()}; median of {runs} runs, most memory of any\n")
    print(table(rows))
    return int(missed)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", required=True)
    parser.add_argument("runs", nargs="?", type=int, default=3)
    options = parser.parse_args()
    sys.exit(main(options.python, options.runs))
