"""Wheels that stand for what a base provides, so that a resolver takes it as it is.

They ask for nothing: the metadata of vendor builds contradict each other (torchvision 0.15.1
beside torch 2.8), and what a base brings works together because it was tested together.
"""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from packaging.tags import Tag

    from mxenv.lock import Provided

BUILD = 999999999
"""A build number above any in use: of two equal versions the stub is the one taken."""


def write(folder: Path, provided: Iterable[Provided], tag: Tag) -> None:
    """Write one stub for each of ``provided`` into ``folder``, tagged as the best that fits."""
    from packaging.version import Version  # noqa: PLC0415 - imported late: only a lock needs it

    for entry in provided:
        version = Version(entry.version)
        stem = f"{entry.name.replace('-', '_')}-{version}"
        info = f"{stem}.dist-info"
        with zipfile.ZipFile(folder / f"{stem}-{BUILD}-{tag}.whl", "w") as wheel:
            wheel.writestr(
                f"{info}/METADATA",
                f"Metadata-Version: 2.1\nName: {entry.name}\nVersion: {version}\n",
            )
            wheel.writestr(
                f"{info}/WHEEL",
                f"Wheel-Version: 1.0\nGenerator: mxenv\nRoot-Is-Purelib: false\nTag: {tag}\n",
            )
            wheel.writestr(f"{info}/RECORD", "")
