"""``mxenv probe`` against ``python -m torch.utils.collect_env``, which imports torch.

Both are installed by pip into throw-away environments, as users have them::

    python benchmarks/probe.py [RUNS] [REQUIREMENT]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from _timing import Contender, compare, machine, table, verdict

TARGET = 0.10
TARGET_MIB = 80
TORCH = "torch==2.13.0"


def environment(folder: Path, requirement: str) -> Path:
    """Make an environment with ``requirement`` in it; return the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    programs = folder / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, requirement], check=True)
    return programs


def main(runs: int, requirement: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        torch = environment(Path(folder) / "torch", requirement)
        own = environment(Path(folder) / "mxenv", str(Path(__file__).parent.parent))
        collect = Contender(
            title="python -m torch.utils.collect_env",
            argv=(str(torch / "python"), "-m", "torch.utils.collect_env"),
        )
        probe = Contender(title="mxenv probe", argv=(str(own / "mxenv"), "probe"))
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
