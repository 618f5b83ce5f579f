"""Python environments whose torch is what a test wants it to be; or a real one, with more in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


def environment(
    folder: Path, modules: Mapping[str, str], *, of: str = sys.executable, torch: str = ""
) -> Path:
    """Make an environment at ``folder`` with ``modules``: name to text.

    It is run by the interpreter ``of``; ``torch`` is the version that its metadata tells. Where
    that is empty, what ``of`` has installed can be imported as well.
    """
    real = Path(os.path.realpath(of))
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python3").symlink_to(real)
    (folder / "pyvenv.cfg").write_text(f"home = {real.parent}\nversion = 3.11.0\n")
    installed = sorted(Path(of).parent.parent.glob("lib/python3*/site-packages"))
    series = installed[0].parent.name if installed else f"python3.{sys.version_info[1]}"
    site = folder / "lib" / series / "site-packages"
    site.mkdir(parents=True)
    for name, text in modules.items():
        path = site / f"{name.replace('.', '/')}.py"
        if name in {"torch", "flag_gems"}:
            path = site / name / "__init__.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if torch:
        (site / f"torch-{torch}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: torch\nVersion: {torch}\n"
        (site / f"torch-{torch}.dist-info/METADATA").write_text(metadata)
    elif "torch" not in modules:
        (site / "real.pth").write_text("".join(f"{path}\n" for path in installed))
    return folder


def speaking(folder: Path, script: str) -> Path:
    """Make an environment whose Python is a shell script."""
    (folder / "bin").mkdir(parents=True)
    path = folder / "bin/python3"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return folder
