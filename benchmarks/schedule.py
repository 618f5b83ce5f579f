"""``mxenv verify --on IMAGE --node SNAPSHOT``: an image against a node, before it is scheduled.

The image is made in a temporary folder and pushed to a registry on loopback, with the wheels and
the signature that tests use; the node is a recorded one with eight cards::

    python benchmarks/schedule.py [RUNS]        needs docker-registry and openssl
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

from mxenv.api import building
from mxenv.lock import Provided

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import _registry
from _attested import key_pair
from _locked import debian_lock, write_lock

ROOT = Path(__file__).parent.parent
TARGET = 0.5
NODE = ROOT / "tests/golden/snapshots/c500-8cards.json"
PROVIDED = 200
"""Distributions of a vendor's base."""


def main(runs: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lock = debian_lock(folder, "metax.kmd >= 3.8", "metax.device.model == C500")
        many = tuple(Provided(name=f"p{n}", version="1.0") for n in range(PROVIDED))
        path = write_lock(folder, replace(lock, provided=(*lock.provided, *many)))
        private, public = key_pair(folder, "site")
        out = folder / "dist"
        building.build(path, out=out, cache=folder / "cache", sign=private)
        with _registry.serve(folder) as registry:
            place = f"{registry.address}/team/small:1"
            made = building.build(path, push=place, cache=folder / "cache", sign=private)
            on = ("--node", str(NODE), "--on")
            ways = {
                "with LOCK, by its manifest: nothing is asked": (
                    *(str(path), *on, f"image:{place}@{made.manifest}"),
                ),
                "oci:DIR, with its own lock": (*on, f"oci:{out}"),
                "image:REF, with its own lock": (*on, f"image:{place}"),
                "image:REF, signed": (*on, f"image:{place}", "--key", str(public)),
            }
            contenders = [
                Contender(title=title, argv=(MXENV, "verify", *words))
                for title, words in ways.items()
            ]
            costs = compare(contenders, runs=runs)
    print(f"{machine()}; median of {runs} runs, in turn\n")
    rows = [
        [one.title, f"{cost.seconds * 1000:.0f}", f"{cost.peak_mib:.0f}"]
        for one, cost in zip(contenders, costs, strict=True)
    ]
    print(table([["`mxenv verify --node`", "ms", "MiB"], *rows]))
    slowest = max(cost.seconds for cost in costs)
    print(f"\nslowest: {verdict(f'{slowest:.2f} s', met=slowest <= TARGET)};", end="")
    print(f" target at most {TARGET} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
