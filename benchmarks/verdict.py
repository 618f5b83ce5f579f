"""What a verdict costs: in process on each recorded node, and as ``mxenv check SNAPSHOT``.

::

    python benchmarks/verdict.py [RUNS]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

from mxenv.api import checking, nodes

RECORDINGS = Path(__file__).parent.parent / "tests" / "recordings"
NODES = ("c500-8cards", "c500-mixed", "c500-sgpu-container", "c550-pod-sdk-unknown")
JUDGED = 0.005
"""Seconds for one verdict in process."""
CHECKED = 0.20
"""Seconds for the whole command."""
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


def main(runs: int) -> None:
    """Print the table."""
    matrix = checking.load_matrix()
    rows = [["node", "facts", "findings", "ms"]]
    slowest = 0.0
    for name in NODES:
        node = nodes.snapshot_of(f"recording:{RECORDINGS / name}", now=NOW)
        costs = []
        for _ in range(runs):
            start = time.perf_counter()
            judged = checking.check(node, matrix, today=NOW.date())
            costs.append(time.perf_counter() - start)
        median = statistics.median(costs)
        slowest = max(slowest, median)
        rows.append([name, str(len(node.facts)), str(len(judged.findings)), f"{median * 1000:.1f}"])
    print(f"{machine()}; median of {runs} runs; {len(matrix.rows)} rows\n")
    print(table(rows))
    said = verdict(f"{slowest * 1000:.1f} ms", met=slowest <= JUDGED)
    print(f"\none verdict: {said}; target at most {JUDGED * 1000:.0f} ms")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "node.json"
        node = f"recording:{RECORDINGS / NODES[0]}"
        wrote = Contender(title="probe", argv=(MXENV, "probe", "--on", node, "--out", str(path)))
        compare((wrote,), runs=1)
        check = Contender(title="mxenv check SNAPSHOT", argv=(MXENV, "check", str(path)))
        (cost,) = compare((check,), runs=runs)
    said = verdict(f"{cost.seconds:.3f} s", met=cost.seconds <= CHECKED)
    print(f"mxenv check SNAPSHOT: {said}; target at most {CHECKED:.2f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 21)
