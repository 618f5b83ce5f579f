"""What goes with an image goes with one that an engine built, too, wherever it was put."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from _attested import key_pair
from _chain import MXENV, run, succeed

if TYPE_CHECKING:
    from pathlib import Path

    from _registry import Registry

pytestmark = pytest.mark.xdist_group("e2e")
LOCK = "lockfiles/pylock.small.toml"
DESCRIBED = """\
schema = "mxenv.image/1"
name = "small"
base = "{base}"
accelerator = "none"

[[run]]
command = "echo built > /opt/by-a-step"
"""


@pytest.fixture(scope="module")
def project(engine: str, debian_base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image with a step that only an engine can run, locked."""
    assert engine
    folder = tmp_path_factory.mktemp("stepped")
    described = folder / "images" / "small" / "image.toml"
    described.parent.mkdir(parents=True)
    described.write_text(DESCRIBED.format(base=debian_base))
    (folder / "lockfiles").mkdir()
    succeed(MXENV, "lock", described, cwd=folder)
    key_pair(folder, "site")
    return folder


@pytest.mark.parametrize("where", ["layout", "registry"])
def test_it_is_signed_and_passes_with_the_lock_that_it_brings(
    project: Path, registry: Registry, where: str
) -> None:
    place = f"{registry.address}/by-an-engine/small:1"
    to = ("--out", "dist") if where == "layout" else ("--push", place)
    shutil.rmtree(project / "dist", ignore_errors=True)
    build = (MXENV, "build", LOCK, "--engine", "docker", "--network", "host")
    succeed(*build, *to, "--sign", "site.pem", cwd=project)
    address = "oci:dist" if where == "layout" else f"image:{place}"
    for lock in ((), (LOCK,)):
        done = run(MXENV, "verify", *lock, "--on", address, "--key", "site.pub.pem", cwd=project)
        assert done.returncode == 0, done.stdout + done.stderr
    shown = json.loads(succeed(MXENV, "image", "show", address, "--format", "json", cwd=project))
    assert shown["made_by_mxenv"] is True
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", shown["signed_by"][0])
    assert shown["attached"] == [
        *("lock", "snapshot", "verdict", "sbom", "provenance", "signature"),
    ]
