"""What the tests stand on: a container engine, a registry, a base; skipped aloud, or required.

``MXENV_TEST_REQUIRE=engine,registry,rootfs`` names the parts whose absence is a failure.
``MXENV_TEST_CACHE`` names the folder that keeps the base root file system between runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import _debian
import _metax_base
import _registry
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTS = frozenset({"engine", "registry", "rootfs"})
ENGINE = ("docker", "version", "--format", "{{.Server.Version}}")


def required() -> frozenset[str]:
    """Return the parts that must be there."""
    named = os.environ.get("MXENV_TEST_REQUIRE", "").replace(" ", "")
    parts = frozenset(filter(None, named.split(",")))
    if parts - PARTS:
        msg = f"MXENV_TEST_REQUIRE: {', '.join(sorted(parts - PARTS))}: not one of {sorted(PARTS)}"
        raise pytest.UsageError(msg)
    return parts


def pytest_configure() -> None:
    """Refuse a misspelt requirement before anything runs."""
    required()


def without(part: str, reason: str) -> None:
    """Skip the test because ``part`` is not there, or fail it if it must be."""
    if part in required():
        pytest.fail(f"{part} is required (MXENV_TEST_REQUIRE), but: {reason}", pytrace=False)
    pytest.skip(f"no {part}: {reason}")


@pytest.fixture(scope="session")
def engine() -> str:
    """The name of the container engine's client; its engine answers."""
    if not shutil.which("docker"):
        without("engine", "no program docker")
    asked = subprocess.run(ENGINE, capture_output=True, text=True, check=False, timeout=60)
    if asked.returncode:
        without("engine", (asked.stderr.strip().splitlines() or ["docker version failed"])[-1])
    return "docker"


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_registry.Registry]:
    """A registry on loopback, empty at first; one for each process that runs tests."""
    if reason := _registry.missing():
        without("registry", reason)
    with _registry.serve(tmp_path_factory.mktemp("registry")) as running:
        yield running


@pytest.fixture(scope="session")
def rootfs(request: pytest.FixtureRequest) -> Path:
    """A tar file of a small Debian with Python."""
    if reason := _debian.missing():
        without("rootfs", reason)
    kept = os.environ.get("MXENV_TEST_CACHE")
    return _debian.rootfs(Path(kept) if kept else request.config.cache.mkdir("mxenv-rootfs"))


@pytest.fixture(scope="session")
def base_python(rootfs: Path) -> str:
    """The version of the base's Python, as ``3.11``."""
    return _debian.python_of(rootfs)


@pytest.fixture(scope="session")
def metax_base(
    rootfs: Path,
    base_python: str,
    registry: _registry.Registry,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """The reference of an image that looks like one MetaX release, pushed as an OCI index."""
    layer = tmp_path_factory.mktemp("metax") / "metax.tar"
    _metax_base.write_layer(layer, base_python)
    path = f"{_metax_base.release()['prefix']}/bin:/usr/local/bin:/usr/bin:/bin"
    config = {"Env": [f"PATH={path}", "MACA_PATH=/opt/maca"], "Cmd": ["bash"]}
    return registry.push("metax/vllm-stand-in", "0.17.0", (rootfs, layer), config)
