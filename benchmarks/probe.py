"""``mxenv probe`` against ``python -m torch.utils.collect_env``, which imports torch.

torch is installed into a throw-away environment for this comparison only::

    python benchmarks/probe.py [RUNS] [REQUIREMENT]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

TARGET = 0.10
TARGET_MIB = 80
TORCH = "torch==2.13.0"


def environment(folder: Path, requirement: str) -> str:
    """Make an environment with torch in it; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", requirement], check=True)
    return python


def main(runs: int, requirement: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "torch", requirement)
        collect = Contender(
            title="python -m torch.utils.collect_env",
            argv=(python, "-m", "torch.utils.collect_env"),
        )
        probe = Contender(title="mxenv probe", argv=(MXENV, "probe"))
        theirs, ours = costs = compare((collect, probe), runs=runs)
    print(f"{machine()}; {requirement}; median of {runs} runs, in turn\n")
    rows = [
        [f"`{one.title}`", f"{cost.seconds * 1000:.0f}", f"{cost.peak_mib:.0f}"]
        for one, cost in zip((collect, probe), costs, strict=True)
    ]
    print(table([["command", "ms", "MiB"], *rows]))
    ratio = ours.seconds / theirs.seconds
    print(
        f"\nmxenv probe / collect_env: {verdict(f'{ratio:.3f}', met=ratio <= TARGET)};"
        f" target at most {TARGET}"
    )
    memory = verdict(f"{ours.peak_mib:.0f} MiB", met=ours.peak_mib < TARGET_MIB)
    print(f"memory of mxenv probe: {memory}; target under {TARGET_MIB} MiB")


if __name__ == "__main__":
    main(
        int(sys.argv[1]) if len(sys.argv) > 1 else 7,
        sys.argv[2] if len(sys.argv) > 2 else TORCH,  # noqa: PLR2004 - the second argument
    )
