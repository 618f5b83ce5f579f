"""``mxenv probe`` against its peers: torch's ``collect_env`` and ``msprechecker dump``.

All are installed by pip into throw-away environments, as users have them::

    python benchmarks/probe.py [RUNS] [TORCH] [MSPRECHECKER]

What counts as a fact of each is the kindest that can be said of it: of ``collect_env`` every line
``name: value`` with a value, and every line about a package; of ``msprechecker`` every value in
the JSON file that it writes, the variables of the environment apart; of mxenv every fact that was
observed, so neither what is absent nor what could not be read.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from _timing import Contender, Cost, compare, machine, table, verdict

TORCH = "torch==2.13.0"
PRECHECKER = "msprechecker==0.4.0"
SECONDS = 0.30
OF_TORCH = 0.10
OF_PRECHECKER = 0.8
TIMES = 3
MIB = 80
NOTHING = ("n/a", "could not collect", "none", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program that looks at a node, and what it found."""

    contender: Contender
    facts: int
    ratio: float
    """What share of its time mxenv may take."""


def environment(folder: Path, requirement: str) -> Path:
    """Make an environment with ``requirement`` in it; return the folder of its programs."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    programs = folder / "bin"
    pip = [str(programs / "python"), "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, requirement], check=True)
    return programs


def said(argv: tuple[str, ...]) -> str:
    """Return what a program prints."""
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def of_torch(folder: Path, requirement: str) -> Peer:
    """Install torch; count the lines of ``collect_env`` that say something."""
    programs = environment(folder, requirement)
    argv = (str(programs / "python"), "-m", "torch.utils.collect_env")
    lines = [line.partition(":") for line in said(argv).splitlines()]
    named = sum(1 for _, colon, value in lines if colon and value.strip().lower() not in NOTHING)
    packages = sum(1 for name, _, _ in lines if name.startswith("["))
    return Peer(
        contender=Contender(title="python -m torch.utils.collect_env", argv=argv),
        facts=named + packages,
        ratio=OF_TORCH,
    )


def of_prechecker(folder: Path, requirement: str) -> Peer:
    """Install msprechecker; count the values in what it dumps."""
    programs = environment(folder, requirement)
    out = folder / "dumped.json"
    argv = (str(programs / "msprechecker"), "dump", "--output-path", str(out))
    said(argv)
    dumped = json.loads(out.read_text(encoding="utf-8"))
    dumped.pop("env", None)
    contender = Contender(title="msprechecker dump", argv=argv)
    return Peer(contender=contender, facts=leaves(dumped), ratio=OF_PRECHECKER)


def leaves(value: object) -> int:
    """Return how many values there are in a parsed JSON document."""
    if isinstance(value, dict):
        return sum(map(leaves, value.values()))
    if isinstance(value, list):
        return sum(map(leaves, value))
    return int(value is not None)


def peers(folder: Path, torch: str, prechecker: str) -> list[Peer]:
    """Return the peers that can be installed; say which cannot."""
    found = []
    for name, install, requirement in (
        ("torch", of_torch, torch),
        ("msprechecker", of_prechecker, prechecker),
    ):
        try:
            found.append(install(folder / name, requirement))
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            print(f"{requirement} is left out, it cannot be had here: {error}\n")
    return found


def main(runs: int, torch: str, prechecker: str) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mxenv = environment(folder / "mxenv", str(Path(__file__).parent.parent)) / "mxenv"
        own = Contender(title="mxenv probe", argv=(str(mxenv), "probe"))
        known = json.loads(said((str(mxenv), "probe", "--format", "json")))["facts"]
        facts = sum(fact["status"] == "observed" for fact in known)
        others = peers(folder, torch, prechecker)
        ours, *theirs = compare((own, *(peer.contender for peer in others)), runs=runs)
    print(f"{machine()}; {torch}, {prechecker}; median of {runs} runs, in turn\n")
    rows = [row(own, ours, facts)]
    rows += [row(p.contender, cost, p.facts) for p, cost in zip(others, theirs, strict=True)]
    print(table([["command", "ms", "MiB", "facts read"], *rows]))
    fast = verdict(f"{ours.seconds:.2f} s", met=ours.seconds <= SECONDS)
    small = verdict(f"{ours.peak_mib:.0f} MiB", met=ours.peak_mib <= MIB)
    print(f"\nmxenv probe: {fast}; target at most {SECONDS} s")
    print(f"its memory: {small}; target at most {MIB} MiB")
    for peer, cost in zip(others, theirs, strict=True):
        title, share = peer.contender.title, ours.seconds / cost.seconds
        print(
            f"\nof the time of {title}: {verdict(f'{share:.3f}', met=share <= peer.ratio)};", end=""
        )
        print(f" target at most {peer.ratio}")
        times = facts / max(1, peer.facts)
        print(
            f"facts, times those of {title}: {verdict(f'{times:.1f}', met=times >= TIMES)};", end=""
        )
        print(f" target at least {TIMES}")


def row(contender: Contender, cost: Cost, facts: int) -> list[str]:
    """Return a line of the table."""
    return [
        f"`{contender.title}`",
        f"{cost.seconds * 1000:.0f}",
        f"{cost.peak_mib:.0f}",
        str(facts),
    ]


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(int(given.get(1, "7")), given.get(2, TORCH), given.get(3, PRECHECKER))
