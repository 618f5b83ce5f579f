"""Exact build requirements: which, by hash, and how they are installed."""

from __future__ import annotations

import platform
import tempfile
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import wheel_tags
from mxenv.errors import EngineError
from mxenv.lock import MACHINES
from mxenv.resolvers import _listing, _run, _said

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from packaging.tags import Tag

    from mxenv.resolvers._tools import Tools


def resolved(requires: Iterable[str], tools: Tools) -> tuple[str, ...]:
    """Return exactly what ``requires`` is for the Python that builds, each with its hash."""
    folder = Path(tempfile.mkdtemp(dir=tools.room))
    (folder / "requirements.in").write_text("".join(f"{text}\n" for text in sorted(requires)))
    text, _ = _run.compile_pylock(folder, (), tools.indexes, python=str(tools.python))
    fitting = _fitting(tools)
    packages = tomllib.loads(text).get("packages", [])
    return tuple(sorted(_pin(package, fitting) for package in packages))


def install(pins: Iterable[str], tools: Tools) -> None:
    """Install ``pins``, and nothing that has another hash."""
    folder = Path(tempfile.mkdtemp(dir=tools.room))
    file = folder / "requirements.txt"
    file.write_text("".join(f"{pin}\n" for pin in pins))
    exactly = ("--no-deps", "--require-hashes", *_run.WHEELS_ONLY, "--python", str(tools.python))
    places = _run.where(tools.indexes, folder / "places")
    done = _run.run(["pip", "install", *exactly, "-r", str(file), *places], tools.indexes)
    if done.returncode:
        _said.fail(done.stderr)


def _fitting(tools: Tools) -> tuple[Tag, ...]:
    """Return the tags of wheels that run here."""
    machine = platform.machine()
    here = next((name for name, known in MACHINES.items() if known == machine), None)
    name, libc = platform.libc_ver()
    if here is None or name != "glibc":
        raise EngineError(
            f"{tools.label} has no wheel, and none can be built on {machine} {name}",
            hint="lock on Linux with the GNU C library, on x86_64 or aarch64",
        )
    return wheel_tags.supported(tools.version(), here, libc)


def _pin(package: Mapping[str, Any], fitting: tuple[Tag, ...]) -> str:
    wheels = {_listing.file_name(wheel): wheel for wheel in reversed(package["wheels"])}
    chosen = wheel_tags.best(wheels, fitting)
    if chosen is None:
        raise EngineError(f"{package['name']} {package['version']} has no wheel that runs here")
    sha256 = wheels[chosen]["hashes"]["sha256"]
    return f"{package['name']}=={package['version']} --hash=sha256:{sha256}"
