"""What it costs to hold a model against a platform: an inventory, and a table of all operators.

::

    python benchmarks/coverage.py [RUNS]

Both are made here, as large as real ones: the operators of a training step of a large decoder, and
a build of torch with 3,100 operators. Node and cards are those of a recording.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

from mxenv import operator_coverage, operator_platform, operator_table
from mxenv import snapshot as snapshots
from mxenv.api import matrices, nodes, operators
from mxenv.facts import Fact, Observed, Snapshot
from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_table import Entry, How, Table

RECORDING = Path(__file__).parent.parent / "tests" / "recordings" / "c500-8cards"
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
TORCH, ENV = "2.8.0+metax3.5.3.9", "/opt/conda"
OPERATORS, CALLED, CALLS = 3100, 60, 480
OVERLOADS = ("default", "out", "Tensor", "Scalar", "dim", "Tensor_out")
WITHIN = 0.3
"""Seconds for the whole command, its start included."""


def names() -> list[str]:
    """Return names of operators, of the lengths that torch has."""
    words = ("linalg", "foreach", "scaled_dot_product", "native", "upsample", "fused", "special")
    return [
        f"aten::{words[number % 7]}_{number // 6}_backward.{OVERLOADS[number % 6]}"
        for number in range(OPERATORS)
    ]


def build() -> Table:
    """Return a build that has all of them: by kernels, by wrappers, by way of others."""
    known = names()
    native = Entry(how=How.NATIVE)
    entries = {}
    for number, name in enumerate(known):
        below = tuple(known[number % 1000 : number % 1000 + 3])
        match number % 3 if number >= OPERATORS // 2 else 0:
            case 0:
                entries[name] = native
            case 1:
                entries[name] = Entry(how=How.GENERATED, via=below[:1])
            case _:
                entries[name] = Entry(how=How.COMPOSITE, via=below)
    return Table(torch=TORCH, key="CUDA", entries=entries)


def model() -> Inventory:
    """Return what a training step of a large decoder asks for."""
    step = OPERATORS // CALLED
    uses = tuple(
        Use(
            operator=name,
            phase=phase,
            dtypes=("bf16", "bf16"),
            calls=CALLS,
            module=f"model.layers.{number}.self_attn",
            site="transformers/models/llama/modeling_llama.py:241",
        )
        for number, name in enumerate(names()[::step])
        for phase in (Phase.FORWARD, Phase.BACKWARD)
    )
    return Inventory(name="decoder", reader="huggingface", source="s", dtype="bf16", uses=uses)


def node() -> Snapshot:
    """Return the recorded node, with what its torch said."""
    there = nodes.snapshot_of(f"recording:{RECORDING}", now=NOW)
    reading = Observed(operator_table.write(build()))
    asked = Fact(key=operator_platform.KEY, instance=ENV, reading=reading, source="benchmark")
    return replace(there, facts=(*there.facts, asked))


def within(there: Snapshot, inventory: Inventory, runs: int) -> tuple[float, float]:
    """Return what reading the table takes, and holding the model against it, in process."""
    text = str(there.of(operator_platform.KEY)[-1].reading.value)  # type: ignore[union-attr] # it was observed
    matrix = matrices.load(matrices.Sources())
    reading, covering = [], []
    for _ in range(runs):
        began = time.perf_counter()
        operator_table.read(text)
        reading.append(time.perf_counter() - began)
        place = operator_platform.of_node(there, matrix, env=ENV)
        began = time.perf_counter()
        operator_coverage.cover(inventory, place)
        covering.append(time.perf_counter() - began)
    return statistics.median(reading), statistics.median(covering)


def main(runs: int) -> None:
    """Print the table."""
    there, inventory = node(), model()
    read, covered = within(there, inventory, runs)
    with tempfile.TemporaryDirectory() as name:
        asked, stored = Path(name) / "model.json", Path(name) / "node.json"
        operators.write_inventory(inventory, asked)
        stored.write_text(snapshots.to_json(there, nodes.keys()), encoding="utf-8")
        size = stored.stat().st_size / 1e6
        argv = (MXENV, "ops", str(asked), "--platform", str(stored))
        hold = Contender(title="mxenv ops MODEL --platform SNAPSHOT", argv=argv)
        (cost,) = compare((hold,), runs=runs)
    print(f"{machine()}; median of {runs} runs\n")
    head = ["operators", "called", "snapshot, MB", "table read, ms", "covered, ms"]
    row = [str(OPERATORS), str(len(inventory.operators)), f"{size:.2f}", f"{read * 1000:.1f}"]
    row += [f"{covered * 1000:.1f}", f"{cost.seconds:.3f}", f"{cost.peak_mib:.0f}"]
    print(table([[*head, "mxenv ops …, s", "MiB"], row]))
    said = verdict(f"{cost.seconds:.3f} s", met=cost.seconds <= WITHIN)
    print(f"\nmxenv ops MODEL --platform SNAPSHOT: {said}; target at most {WITHIN} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
