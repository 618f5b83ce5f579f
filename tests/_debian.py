"""A small Debian root file system with Python, made by mmdebstrap from the machine's own mirror."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = "mmdebstrap"
TARGETS = ("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)")
ORIGINS = frozenset({"Debian", "Ubuntu"})
"""Whose packages count; other sources of a machine have nothing for a base."""
LEFT_OUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")
KEYRINGS = ("/etc/apt/trusted.gpg.d", "/etc/apt/keyrings", "/usr/share/keyrings")
FIELDS = 4
ATTEMPTS = 3
"""A mirror may fail for a moment, which says nothing about what is tested."""
PAUSE = 5.0


def missing() -> str:
    """Return why no root file system can be made here, or nothing."""
    if not shutil.which(PROGRAM):
        return f"no program {PROGRAM}"
    if not sources():
        return "apt knows no Debian or Ubuntu mirror: run apt-get update"
    return ""


def codename() -> str:
    """Return the name of the release that this machine runs, as ``bookworm``."""
    lines = Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
    named = dict(line.partition("=")[::2] for line in lines)
    return named.get("VERSION_CODENAME", "").strip('"')


def sources() -> tuple[str, ...]:
    """Return the lines of a sources.list for what this machine's own apt uses."""
    asked = subprocess.run(
        [*TARGETS, "Created-By: Packages"], capture_output=True, text=True, check=False
    )
    rows = [line.split() for line in asked.stdout.splitlines()]
    return tuple(
        f"deb {row[0]} {row[1]} {row[2]}"
        for row in rows
        if len(row) == FIELDS and row[3] in ORIGINS and row[1].split("-")[0] == codename()
    )


def rootfs(cache: Path) -> Path:
    """Return a tar file of the root file system; it is made once for a cache folder and mirror.

    Whoever comes second, another process included, waits for the first.
    """
    wanted = "\n".join((*sources(), *LEFT_OUT))
    made = cache / f"debian-{codename()}-{hashlib.sha256(wanted.encode()).hexdigest()[:12]}.tar"
    with alone(cache / "debian.lock"):
        if not made.exists():
            _make(made)
    return made


def _make(made: Path) -> None:
    partial = made.with_suffix(".partial")
    command = [
        PROGRAM,
        "--quiet",
        "--variant=minbase",
        "--include=python3",
        "--format=tar",
        '--aptopt=Acquire::Retries "5"',
        f"--mode={'root' if os.geteuid() == 0 else 'unshare'}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        *(f"--keyring={folder}" for folder in KEYRINGS if Path(folder).is_dir()),
        codename(),
        str(partial),
        "-",
    ]
    for _ in range(ATTEMPTS):
        done = subprocess.run(
            command, input="\n".join(sources()) + "\n", capture_output=True, text=True, check=False
        )
        if done.returncode == 0:
            partial.replace(made)
            return
        partial.unlink(missing_ok=True)
        time.sleep(PAUSE)
    msg = f"mmdebstrap exited with {done.returncode}:\n{done.stderr[-2000:]}"
    raise RuntimeError(msg)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Hold the lock ``path`` against every other process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def python_of(rootfs: Path) -> str:
    """Return the version of Python in a root file system, as ``3.11``."""
    with tarfile.open(rootfs) as tar:
        link = tar.getmember("./usr/bin/python3").linkname
    return link.removeprefix("python")
