"""``mxenv --version`` against a bare ``import click``: what starting costs.

::

    python benchmarks/startup.py [RUNS]
"""

from __future__ import annotations

import sys

from _timing import MXENV, Contender, compare, machine, table, verdict

TARGET = 1.3
CLICK = Contender(title="python -c 'import click'", argv=(sys.executable, "-c", "import click"))
VERSION = Contender(title="mxenv --version", argv=(MXENV, "--version"))
HELP = Contender(title="mxenv --help", argv=(MXENV, "--help"))


def main(runs: int) -> None:
    """Print the table."""
    contenders = (CLICK, VERSION, HELP)
    click, version, _ = costs = compare(contenders, runs=runs)
    ratio = version.seconds / click.seconds
    print(f"{machine()}; median of {runs} runs, in turn\n")
    print(
        table(
            [
                ["command", "ms", "MiB"],
                *(
                    [f"`{one.title}`", f"{cost.seconds * 1000:.1f}", f"{cost.peak_mib:.0f}"]
                    for one, cost in zip(contenders, costs, strict=True)
                ),
            ]
        )
    )
    said = verdict(f"{ratio:.2f}", met=ratio <= TARGET)
    print(f"\nmxenv --version / import click: {said}; target at most {TARGET}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 41)
