"""Many snapshots: checked and grouped by ``mxenv check DIR``; and all flaws of the matrix found.

::

    python benchmarks/many.py [SNAPSHOTS] [FACTS]

Nodes of the fleet differ as nodes do: in their names, memory and loads; every hundredth has another
driver, and every thousandth a wheel of another release.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from _timing import MXENV, Contender, machine, once, table, verdict

from mxenv import snapshot as files
from mxenv.api import matrices, nodes
from mxenv.facts import Fact, Observed

if TYPE_CHECKING:
    from mxenv.facts import Snapshot

RECORDING = Path(__file__).parent.parent / "tests" / "recordings" / "c500-8cards"
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
SECONDS, MIB, LINTED = 10.0, 300.0, 5.0
STEPS = (0.25, 0.5, 1.0)
OWN = {"memory.total_mib": "1031{n}", "disk.free_mib": "77{n}", "memory.swap_mib": "8{n}"}
"""Facts in which nodes differ, and how."""


def node(known: Snapshot, number: int, facts: int) -> Snapshot:
    """Return one node of the fleet."""
    changed = []
    for fact in known.facts[:facts]:
        value = ""
        if fact.key in OWN:
            value = OWN[fact.key].format(n=number)
        elif fact.key == "metax.kmd" and number % 100 == 0:
            value = "3.8.31"
        elif fact.instance.endswith("/triton") and number % 1000 == 0:
            value = "3.0.0+metax3.7.1.3"
        reading = Observed(int(value) if value.isdecimal() else value) if value else fact.reading
        changed.append(replace(fact, reading=reading))
    taken_at = NOW + timedelta(seconds=number)
    return replace(known, node=f"node-{number:05}", facts=tuple(changed), taken_at=taken_at)


def fleet_of(folder: Path, count: int, facts: int) -> int:
    """Write snapshots, and return how many facts each has."""
    known = nodes.snapshot_of(str(RECORDING), now=NOW)
    kept = [fact for fact in known.facts if fact.key != "metax.link"][:facts]
    number = 0
    while len(kept) < facts:
        number += 1
        more = Fact(key="env", instance=f"VLLM_{number}", reading=Observed("1"), source="environ")
        kept.append(more)
    known = replace(known, facts=tuple(kept))
    for number in range(count):
        text = files.to_json(node(known, number, facts), nodes.keys())
        (folder / f"{number:05}.json").write_text(text, encoding="utf-8")
    return len(known.facts)


def main(count: int, facts: int) -> None:
    """Print the table."""
    rows = [["snapshots", "facts", "s", "ms each", "MiB in one process"]]
    costs = []
    for step in STEPS:
        several = max(1, int(count * step))
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            each = fleet_of(folder, several, facts)
            out = folder / "out"
            command = f'"$0" check "$1" -q > "{out}"; [ $? -lt 4 ]'
            check = Contender(title="mxenv check DIR", argv=("sh", "-c", command, MXENV, name))
            cost = once(check)
            said = out.read_text(encoding="utf-8")
        if f"{several} nodes, {several} asked" not in said:
            sys.exit(f"not all of {several} snapshots were judged:\n{said[-500:]}")
        costs.append(cost)
        ms = cost.seconds / several * 1000
        rows.append(
            [str(several), str(each), f"{cost.seconds:.2f}", f"{ms:.2f}", f"{cost.peak_mib:.0f}"]
        )
    print(f"{machine()}\n\n{table(rows)}\n")
    met = costs[-1].seconds <= SECONDS
    print(f"all of them: {verdict(f'{costs[-1].seconds:.2f} s', met=met)}; target {SECONDS:.0f} s")
    peak = costs[-1].peak_mib
    print(f"memory: {verdict(f'{peak:.0f} MiB', met=peak <= MIB)}; target {MIB:.0f} MiB")
    began = time.perf_counter()
    flaws = matrices.lint(matrices.Sources(), today=NOW.date())
    seconds = time.perf_counter() - began
    said = verdict(f"{seconds:.2f} s", met=seconds <= LINTED)
    print(f"lint of the shipped matrix, {len(flaws)} flaws: {said}; target {LINTED:.0f} s")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 10_000,
        int(sys.argv[2]) if len(sys.argv) > 2 else 500,  # noqa: PLR2004 - its position
    )
