"""How fast a tree of source code is scanned, and how often what it finds is what it is called.

::

    python benchmarks/scan.py [TREE]

Without a tree the source distributions that `tests/porting/labels.json` names are downloaded, by
name and version, from wherever pip is told to look; every label is then looked up in them again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from _timing import machine, verdict

from mxenv.models import Request, source

LABELS = Path(__file__).parents[1] / "tests" / "porting" / "labels.json"
LINES = 50_000
PRECISION = 0.95


def unpacked(package: str, version: str, folder: Path) -> Path:
    """Download a source distribution, and unpack it; nothing of it is built or run."""
    pip = (sys.executable, "-m", "pip", "-vvv", "download", "--no-deps", "--no-build-isolation")
    # pip asks a source distribution for its metadata, which some can only tell on a CUDA machine;
    # by then it has said where the file is.
    told = subprocess.run(
        [*pip, "--no-binary", ":all:", "-d", str(folder), f"{package}=={version}"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    stem = package.replace("-", "_")
    found = re.search(rf"Added {package}=={version} from (\S+?/[\w.-]+\.tar\.gz)", told)
    if not found:
        sys.exit(f"pip finds no source distribution of {package} {version}:\n{told[-2000:]}")
    archive = folder / f"{stem}.tar.gz"
    with urllib.request.urlopen(found[1]) as answer:  # noqa: S310 - pip found it there
        archive.write_bytes(answer.read())
    with tarfile.open(archive) as tar:
        tar.extractall(folder / stem, filter="data")
    return next((folder / stem).iterdir())


def lines(tree: Path) -> int:
    """Return how many lines the files have that a scan looks at."""
    files = source._files(tree, source._Tree())  # noqa: SLF001 - the same files, counted beside
    return sum(path.read_bytes().count(b"\n") for path, _ in files)


def scanned(tree: Path) -> set[tuple[str, int, str]]:
    """Scan ``tree``, say how long it took, and return what was found."""
    number = lines(tree)
    began = time.perf_counter()
    found = source.read(Request(target=str(tree)))
    seconds = time.perf_counter() - began
    print(
        f"| {tree.name} | {number} | {len(found.hits)} | {seconds:.2f} | {number / seconds:.0f} |"
    )
    SPEED.append((number, seconds))
    return {(hit.file, hit.line, hit.kind) for hit in found.hits}


SPEED: list[tuple[int, float]] = []


def main() -> None:
    """Print the table, and what of the labels still holds."""
    print(machine())
    print("\n| tree | lines | hits | s | lines/s |\n| --- | --- | --- | --- | --- |")
    if sys.argv[1:]:
        scanned(Path(sys.argv[1]))
    else:
        labels: list[dict[str, Any]] = json.loads(LABELS.read_text(encoding="utf-8"))
        wanted = Counter((label["package"], label["version"]) for label in labels)
        right = found = 0
        for package, version in sorted(wanted):
            with tempfile.TemporaryDirectory() as folder:
                hits = scanned(unpacked(package, version, Path(folder)))
            own = [one for one in labels if one["package"] == package]
            there = [one for one in own if (one["file"], one["line"], one["kind"]) in hits]
            found += len(there)
            right += sum(one["right"] for one in there)
        share = f"\n{right} of the {found} labelled hits that are found are right"
        print(verdict(share, met=right / found >= PRECISION), f"target at least {PRECISION:.0%}")
    speed = sum(number for number, _ in SPEED) / sum(seconds for _, seconds in SPEED)
    print(verdict(f"{speed:.0f} lines/s", met=speed >= LINES), f"target at least {LINES}")


if __name__ == "__main__":
    main()
