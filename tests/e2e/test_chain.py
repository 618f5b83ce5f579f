"""From a base that mmdebstrap made to a container that runs: each step, with the real parts."""

from __future__ import annotations

import json
import tomllib
from http.client import CREATED
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from _chain import REPOSITORY, succeed

if TYPE_CHECKING:
    from pathlib import Path

    from _chain import Built, Run
    from _registry import Registry

pytestmark = pytest.mark.xdist_group("e2e")
LOCK = "lockfiles/pylock.chain.toml"
IMPORTS = "import click, markupsafe, tabulate; print(click.__file__)"


def blobs(built: Built, method: str) -> tuple[str, ...]:
    return tuple(
        request.path.rpartition("/")[2]
        for request in built.asked
        if request.method == method and "/blobs/sha256:" in request.path
    )


def test_the_lock_pins_the_base_and_every_wheel_by_hash(project: Path, registry: Registry) -> None:
    lock = tomllib.loads((project / LOCK).read_text())
    digest, _ = registry.manifest(f"{REPOSITORY}:base")
    assert lock["tool"]["mxenv"]["base"]["digest"] == digest
    assert {p["name"]: p["version"] for p in lock["packages"]} == {
        "click": "8.1.8",
        "markupsafe": "3.0.2",
        "tabulate": "0.9.0",
    }
    wheels = [wheel for package in lock["packages"] for wheel in package["wheels"]]
    assert all(len(wheel["hashes"]["sha256"]) == 64 for wheel in wheels)


def test_two_folders_umasks_and_time_zones_give_one_digest(first: Built, second: Built) -> None:
    assert first.digest == second.digest
    assert first.manifest == second.manifest
    assert first.said["config"] == second.said["config"] == first.manifest["config"]["digest"]
    assert first.said["manifest"] == first.digest


@pytest.mark.parametrize("which", ["first", "second"])
def test_no_layer_of_the_base_is_downloaded(
    which: str, registry: Registry, request: pytest.FixtureRequest
) -> None:
    built: Built = request.getfixturevalue(which)
    _, base = registry.manifest(f"{REPOSITORY}:base")
    layers = [layer["digest"] for layer in base["layers"]]
    assert [layer["digest"] for layer in built.manifest["layers"]][: len(layers)] == layers
    assert built.asked, "the registry's log shows the build"
    assert not set(layers) & set(blobs(built, "GET"))
    mounted = [unquote(request.path) for request in built.asked if request.status == CREATED]
    assert all(any(f"mount={layer}" in path for path in mounted) for layer in layers)


def test_the_locked_packages_import_in_a_container(contained: Run) -> None:
    done = contained("python3", "-c", IMPORTS, gate="off")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("/usr/local/lib/python3")


def test_a_console_script_of_a_wheel_works_in_a_container(contained: Run) -> None:
    done = contained("sh", "-c", "printf 'a b\\n' | tabulate", gate="off")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["-", "-", "a", "b", "-", "-"]


def test_the_entrypoint_of_the_base_still_starts_the_program(contained: Run) -> None:
    done = contained("sh", "-c", 'echo "$STARTED_BY, $GREETING"', gate="off")
    assert done.stdout == "the-entrypoint-of-the-base, good day\n"


def test_the_command_of_the_base_is_kept(contained: Run) -> None:
    done = contained(gate="off")
    assert done.stdout.startswith("Python 3.")


def test_the_engine_sees_labels_of_the_lock(engine: str, image: str) -> None:
    said = succeed(engine, "image", "inspect", "--format", "{{json .Config.Labels}}", image)
    assert any("mxenv" in name for name in json.loads(said))


def test_the_image_passes_its_verification(mxenv: Run, project: Path, first: Built) -> None:
    done = mxenv("verify", project / LOCK, "--on", f"image:{first.reference}")
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_layout_that_holds_the_base_passes_as_well(
    mxenv: Run, project: Path, tmp_path: Path
) -> None:
    out = tmp_path / "layout"
    done = mxenv("build", project / LOCK, "--out", out, "--with-base")
    assert done.returncode == 0, done.stderr
    done = mxenv("verify", project / LOCK, "--on", f"oci:{out}")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def altered(engine: str, image: str, registry: Registry, tmp_path_factory: object) -> str:
    """The reference of the image with one file of one wheel changed, as a layer on top."""
    inside = "/usr/local/lib/python3.11/dist-packages/tabulate/__init__.py"
    copy = tmp_path_factory.mktemp("altered") / "__init__.py"
    reference = f"{registry.address}/team/altered:1"
    container = succeed(engine, "create", image).strip()
    succeed(engine, "cp", f"{container}:{inside}", copy)
    copy.write_text(copy.read_text() + "\nALTERED = True\n")
    succeed(engine, "cp", copy, f"{container}:{inside}")
    succeed(engine, "commit", container, reference)
    succeed(engine, "rm", container)
    succeed(engine, "push", "--quiet", reference)
    return reference


def test_an_altered_file_of_a_wheel_is_found_and_named(
    mxenv: Run, project: Path, altered: str
) -> None:
    done = mxenv("verify", project / LOCK, "--on", f"image:{altered}")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "tabulate/__init__.py" in done.stdout
