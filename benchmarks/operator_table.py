"""The table of operators of a torch: how long it takes to be asked, and how large it is.

    python benchmarks/operator_table.py PYTHON [RUNS]

PYTHON is an interpreter that has torch. Measured is all of ``mxenv probe --operators``, beside a
plain ``mxenv probe``, which must not have become slower, and ``import torch`` alone.
"""

from __future__ import annotations

import json
import subprocess
import sys

from _timing import MXENV, Contender, compare, machine, table, verdict

SECONDS = 10.0
KIB = 64


def main(python: str, runs: int) -> None:
    """Print the table."""
    probe = (MXENV, "probe", "--format", "json", "--python", python)
    contenders = (
        Contender(title="mxenv probe", argv=probe),
        Contender(title="mxenv probe --operators", argv=(*probe, "--operators")),
        Contender(title="import torch", argv=(python, "-I", "-c", "import torch")),
    )
    costs = compare(contenders, runs=runs)
    said = subprocess.run(contenders[1].argv, check=True, capture_output=True, text=True).stdout
    facts = [fact for fact in json.loads(said)["facts"] if fact["key"] == "torch.operators"]
    text = facts[0].get("value") or sys.exit(f"no table: {facts[0]['reason']}")
    print(f"{machine()}; {python}; median of {runs} runs, in turn\n")
    rows = [
        [f"`{one.title}`", f"{cost.seconds:.2f}", f"{cost.peak_mib:.0f}"]
        for one, cost in zip(contenders, costs, strict=True)
    ]
    print(table([["command", "s", "MiB"], *rows]))
    plain, asked, _ = costs
    more = asked.seconds - plain.seconds
    print(f"\noperators of torch: {verdict(f'{more:.1f} s', met=more <= SECONDS)}; ", end="")
    print(f"target at most {SECONDS:.0f} s")
    size = len(text) / 1024
    print(f"the table: {verdict(f'{size:.0f} KiB', met=size <= KIB)}; target at most {KIB} KiB")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)  # noqa: PLR2004 - see above
