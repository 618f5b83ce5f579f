"""The interpreters of this machine, by version: the running one, and whatever else there is."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

VERSIONS = ("3.10", "3.11", "3.12", "3.13")
ASK = "import sys; print('%d.%d.%d %s' % (*sys.version_info[:3], sys.implementation.name))"


@cache
def found() -> dict[str, str]:
    """Return the path of an interpreter for each version of which there is one that runs."""
    there = {".".join(map(str, sys.version_info[:2])): sys.executable}
    for version in VERSIONS:
        for path in _candidates(version):
            if version not in there and _is(path, version):
                there[version] = str(path)
    return there


def _candidates(version: str) -> list[Path]:
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    several = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    return [
        *(folder / f"python{version}" for folder in folders),
        *sorted(several.glob(f"{version}.*/bin/python3")),
    ]


def _is(path: Path, version: str) -> bool:
    if not path.is_file():
        return False
    done = subprocess.run([path, "-S", "-c", ASK], capture_output=True, text=True, check=False)
    said, _, kind = done.stdout.strip().partition(" ")
    return done.returncode == 0 and kind == "cpython" and said.rpartition(".")[0] == version
