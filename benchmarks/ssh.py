"""``mxenv probe --on ssh:`` against ``ssh node true``, by an sshd that is started for it alone.

::

    python benchmarks/ssh.py [RUNS]

Nothing of the user's own ssh is read or changed: keys and configuration are made and thrown away.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import _sshd

TARGET = 0.5
"""Seconds that all of mxenv may take beyond the connection."""
TARGET_MIB = 80


def main(runs: int) -> None:
    """Print the table."""
    if reason := _sshd.missing():
        sys.exit(f"cannot be measured here: {reason}")
    with tempfile.TemporaryDirectory() as folder, _sshd.serve(Path(folder)) as server:
        config = str(server.config)
        plain = Contender(title="ssh node true", argv=("ssh", "-F", config, "node", "true"))
        probe = Contender(
            title="mxenv probe --on ssh:node",
            argv=(MXENV, "probe", "--on", "ssh:node"),
            environment=(("MXENV_SSH_CONFIG", config),),
        )
        here = Contender(title="mxenv probe", argv=(MXENV, "probe"))
        costs = compare((plain, probe, here), runs=runs)
    print(f"{machine()}; median of {runs} runs, in turn\n")
    rows = [
        [f"`{one.title}`", f"{cost.seconds * 1000:.0f}", f"{cost.peak_mib:.0f}"]
        for one, cost in zip((plain, probe, here), costs, strict=True)
    ]
    print(table([["command", "ms", "MiB"], *rows]))
    beyond = costs[1].seconds - costs[0].seconds
    print(
        f"\nmxenv probe --on ssh: beyond ssh true: "
        f"{verdict(f'{beyond:.2f} s', met=beyond <= TARGET)}; target at most {TARGET} s"
    )
    memory = verdict(f"{costs[1].peak_mib:.0f} MiB", met=costs[1].peak_mib < TARGET_MIB)
    print(f"memory: {memory}; target under {TARGET_MIB} MiB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
