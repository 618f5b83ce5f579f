"""mxenv's own image: built from wheels alone, and looking at a node through a read-only mount."""

from __future__ import annotations

import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _chain import MXENV, run, succeed

import mxenv

if TYPE_CHECKING:
    from _chain import Run

pytestmark = [pytest.mark.xdist_group("e2e"), pytest.mark.usefixtures("package_index")]
ROOT = Path(__file__).parent.parent.parent
LARGEST = 64 << 20
"""Bytes that the image may add to its base."""


@pytest.fixture(scope="module")
def image(engine: str, rootfs: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image, on the base of the tests; its context is the wheels alone."""
    folder = tmp_path_factory.mktemp("own")
    wheels = folder / "dist" / "wheels"
    succeed(sys.executable, "-m", "pip", "wheel", "-q", "-w", wheels, ROOT, "pip")
    succeed(engine, "import", rootfs, "mxenv-base:test")
    succeed(
        *(engine, "build", "-f", ROOT / "Containerfile", "--network", "none"),
        *("--build-arg", "BASE=mxenv-base:test", "-t", "mxenv:test", folder),
    )
    return "mxenv:test"


@pytest.fixture(scope="module")
def on_a_node(engine: str, image: str) -> Run:
    """Run mxenv in a container that sees this machine's file system, and can change nothing."""
    mounted = ("--volume", "/:/host:ro", "--read-only", "--cap-drop", "ALL", "--network", "none")
    return lambda *command: succeed(engine, "run", "--rm", *mounted, image, *command)


def test_it_is_this_version(engine: str, image: str) -> None:
    said = succeed(engine, "run", "--rm", "--network", "none", image, "--version")
    assert mxenv.__version__ in said


def test_it_is_nobody_and_small(engine: str, image: str) -> None:
    one, other = (
        json.loads(succeed(engine, "inspect", name))[0] for name in (image, "mxenv-base:test")
    )
    assert one["Config"]["User"] == "65532:65532"
    assert one["Size"] - other["Size"] < LARGEST


def test_it_sees_the_node_through_the_mount(on_a_node: Run) -> None:
    seen = _observed(on_a_node("probe", "--on", "root:/host", "--format", "json"))
    local = _observed(succeed(MXENV, "probe", "--on", "root:/", "--format", "json"))
    for key in ("os.id", "os.version", "libc.version"):
        assert seen[key]
        assert seen[key] == local[key]


def test_that_it_resolves_nothing_is_no_bug(engine: str, image: str, tmp_path: Path) -> None:
    described = tmp_path / "image.toml"
    described.write_text(
        'schema = "mxenv.image/1"\nname = "a"\nbase = "scratch"\naccelerator = "none"\n'
        '[python]\nversion = "3.11"\nrequires = ["click"]\n'
    )
    mounted = ("--network", "none", "--volume", f"{described}:/image.toml:ro", "--workdir", "/")
    started = (engine, "run", "--rm", *mounted, image)
    done = run(*started, "doctor")
    assert (done.returncode, "is not here: nothing can be locked" in done.stdout) == (1, True)
    done = run(*started, "lock", "image.toml", "--out", "/tmp/pylock.a.toml")  # noqa: S108 - in there
    assert (done.returncode, "uv's program is not there" in done.stderr) == (6, True), done.stderr


def test_it_ends_when_it_is_told_to(engine: str, image: str) -> None:
    """As the page on clusters has it: a shell that is PID 1 dies of no signal by itself."""
    page = (ROOT / "docs" / "how-to" / "run-on-a-cluster.md").read_text()
    script = page.partition("            - |\n")[2].partition("          securityContext")[0]
    options = ("--detach", "--network", "none", "--volume", "/:/host:ro", "--read-only")
    name = succeed(engine, "run", *options, "--entrypoint", "sh", image, "-c", script).strip()
    try:
        began = time.monotonic()
        while "metax.kmd" not in succeed(engine, "logs", name):
            assert time.monotonic() - began < 60, succeed(engine, "logs", name)
            time.sleep(0.5)
        began = time.monotonic()
        succeed(engine, "stop", "--time", "60", name)
        assert time.monotonic() - began < 20
        assert succeed(engine, "inspect", "--format", "{{.State.ExitCode}}", name).strip() == "0"
    finally:
        succeed(engine, "rm", "--force", name)


def _observed(said: object) -> dict[str, set[str]]:
    """Return what was read, by key; one key may have several sources."""
    found = defaultdict(set)
    for fact in json.loads(str(said))["facts"]:
        if fact["status"] == "observed":
            found[fact["key"]].add(str(fact["value"]))
    return found
