"""One image that goes through the whole chain: what is run, and what came of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _registry import Request

Run = Callable[..., subprocess.CompletedProcess[str]]

MXENV = Path(sys.executable).with_name("mxenv")
SECONDS = 300
"""What no single step of the chain may take."""
REPOSITORY = "debian/python"
ENTRYPOINT = '["/usr/bin/env", "STARTED_BY=the-entrypoint-of-the-base"]'
DESCRIPTION = """\
schema = "mxenv.image/1"
name = "chain"
base = "{base}"
accelerator = "metax"

[python]
requires = ["click==8.1.8", "markupsafe==3.0.2", "tabulate==0.9.0"]

[variables]
GREETING = "good day"

[host]
requires = ["metax.kmd >= 3.8"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """One build, pushed: where, and what the registry was asked meanwhile."""

    reference: str
    digest: str
    manifest: dict
    said: dict
    """What ``mxenv build --format json`` printed."""
    asked: tuple[Request, ...]


def run(*command: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and return what it said, whatever its status."""
    given = {"capture_output": True, "text": True, "timeout": SECONDS, "stdin": subprocess.DEVNULL}
    return subprocess.run([str(part) for part in command], check=False, **{**given, **options})


def succeed(*command: str | Path, **options: object) -> str:
    """Run a command that must succeed and return its output."""
    done = run(*command, **options)
    assert done.returncode == 0, (
        f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
    )
    return done.stdout
