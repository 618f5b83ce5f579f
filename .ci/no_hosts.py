"""Refuse a tracked file that names a package registry: which ones, the machine's own tools say.

Where packages come from is configuration; a lock, a script or a page that names a host works for
one site only.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from urllib.parse import urlsplit

PIP = "from pip._internal.models.index import PyPI; print(PyPI.url, PyPI.file_storage_domain)"
ASKED = (
    (sys.executable, "-c", PIP),
    (sys.executable, "-m", "pip", "config", "list"),
    ("apt-get", "indextargets", "--format", "$(REPO_URI)"),
    ("npm", "config", "get", "registry"),
)
LOOPBACK = frozenset({"localhost", "127.0.0.1"})


def hosts() -> frozenset[str]:
    """Return the hosts of the registries that this machine's package managers use."""
    words: list[str] = []
    for command in ASKED:
        if shutil.which(command[0]):
            asked = subprocess.run(command, capture_output=True, text=True, check=False)
            words += asked.stdout.replace("'", " ").replace("=", " ").split()
    named = {urlsplit(word).hostname or "" for word in words if "://" in word}
    # pip names the host of its files without a scheme.
    named |= {word for word in words[:2] if "/" not in word}
    return frozenset(host for host in named if "." in host) - LOOPBACK


def main() -> int:
    """Print every place that names one of them; return 1 if there is any."""
    found = hosts()
    if not found:
        print(
            "error: no package manager here names its registry, so nothing was checked",
            file=sys.stderr,
        )
        return 1
    patterns = [part for host in sorted(found) for part in ("-e", host)]
    searched = subprocess.run(
        ["git", "grep", "--line-number", "--fixed-strings", "-I", *patterns], check=False
    )
    if searched.returncode == 0:
        print("error: these lines name the host of a package registry", file=sys.stderr)
    # git grep exits with 1 if it found nothing, and with more if it could not look.
    return {0: 1, 1: 0}.get(searched.returncode, searched.returncode)


if __name__ == "__main__":
    sys.exit(main())
