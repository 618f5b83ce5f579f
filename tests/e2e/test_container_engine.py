"""An image with system packages and steps of its own, built by a real engine from one lock."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _chain import MXENV, run, succeed
from _layouts import add_index, add_manifest

if TYPE_CHECKING:
    from subprocess import CompletedProcess

    from _registry import Registry

pytestmark = pytest.mark.xdist_group("e2e")
IMAGES = Path(__file__).parent.parent.parent / "images"
LOCK = "lockfiles/pylock.node-tools.toml"
# The engine of CI has no bridge of its own.
BUILD = ("build", LOCK, "--engine", "docker", "--network", "host")


@pytest.fixture(scope="module")
def tools(debian_base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The image of the repository, on the base of the tests, locked and fetched."""
    folder = tmp_path_factory.mktemp("tools")
    shutil.copytree(IMAGES / "node-tools", folder / "images" / "node-tools")
    described = folder / "images" / "node-tools" / "image.toml"
    text = re.sub(r"(?m)^base = .*$", f'base = "{debian_base}"', described.read_text())
    described.write_text(text)
    (folder / "lockfiles").mkdir()
    succeed(MXENV, "lock", described, cwd=folder)
    succeed(MXENV, "fetch", LOCK, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def built(tools: Path) -> Path:
    """The same, built once, with the image in the engine."""
    succeed(MXENV, *BUILD, cwd=tools)
    return tools


def variant(tools: Path, folder: Path, step: str) -> Path:
    """Return a copy of the project whose image runs one more step, locked."""
    project = shutil.copytree(tools, folder / "project")
    described = project / "images" / "node-tools" / "image.toml"
    more = f"\n[[run]]\ncommand = {json.dumps(step)}\n"
    described.write_text(described.read_text() + more)
    succeed(MXENV, "lock", described, cwd=project)
    return project


def left(engine: str) -> tuple[set[str], set[str]]:
    """Return the containers and the images that the engine has."""
    containers = succeed(engine, "ps", "-aq", "--no-trunc")
    images = succeed(engine, "images", "-aq", "--no-trunc")
    return set(containers.split()), set(images.split())


def inside(engine: str, image: str, *command: str) -> str:
    options = ("--rm", "--network", "none")
    return succeed(engine, "run", *options, image, *command)


@pytest.mark.usefixtures("built")
def test_what_the_lock_says_is_inside_and_runs(engine: str) -> None:
    assert inside(engine, "node-tools", "jq", "-n", "1+1") == "2\n"
    program = (
        "import os, rich, tabulate; print(os.environ['CARDS_FORMAT'], os.environ['STARTED_BY'])"
    )
    said = inside(engine, "node-tools", "python3", "-c", program)
    assert said == 'table: "$MODEL" \\ $BDF the-entrypoint-of-the-base\n'
    assert inside(engine, "node-tools", "readlink", "/usr/local/bin/cards").strip() == (
        "/opt/node-tools/cards.sh"
    )
    # The base's own command, behind the gate and its entrypoint.
    assert inside(engine, "node-tools").startswith("Python 3.")
    listed = ("sh", "-c", "ls -A /var/lib/apt/lists; ls -d /mxenv 2>/dev/null || true")
    assert inside(engine, "node-tools", *listed) == ""


def test_the_lock_says_what_the_engine_was_given_and_no_digest_of_its_image(built: Path) -> None:
    image = tomllib.loads((built / LOCK).read_text())["tool"]["mxenv"]["image"]
    assert set(image) == {"engine", "containerfile", "context"}
    rendered = succeed(MXENV, "build", LOCK, "--render", cwd=built)
    done = run("sha256sum", input=rendered, stdin=None)
    assert image["containerfile"] == f"sha256:{done.stdout.split()[0]}"


def test_check_compares_what_the_engine_is_given(built: Path, tmp_path: Path) -> None:
    project = shutil.copytree(built, tmp_path / "project")
    command = (MXENV, "build", LOCK, "--engine", "docker", "--check")
    done = run(*command, cwd=project)
    assert (done.returncode, "nothing was built" in done.stderr) == (0, True)
    lock = project / LOCK
    image = tomllib.loads(lock.read_text())["tool"]["mxenv"]["image"]
    lock.write_text(lock.read_text().replace(image["context"], f"sha256:{'0' * 64}"))
    done = run(*command, cwd=project)
    assert (done.returncode, f"build context {image['context']}" in done.stderr) == (1, True)


def test_a_layout_of_it_is_verified_file_by_file(built: Path, tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    succeed(MXENV, *BUILD, "--out", layout, cwd=built)
    done = run(MXENV, "verify", LOCK, "--on", f"oci:{layout}", "--format", "json", cwd=built)
    found = json.loads(done.stdout)["verdicts"][0]["findings"]
    outcomes = {finding["code"]: finding["outcome"] for finding in found}
    assert outcomes.pop("MX306") == "unknown"
    assert set(outcomes.values()) == {"compatible"}
    assert {"MX304", "MX310", "MX320"} <= outcomes.keys()


def test_an_archive_of_it_is_what_the_engine_saves(
    built: Path, engine: str, tmp_path: Path
) -> None:
    archive = tmp_path / "image.tar"
    succeed(MXENV, *BUILD, "--out", archive, cwd=built)
    with tarfile.open(archive) as tar:
        assert "manifest.json" in tar.getnames()
    assert "Loaded image" in succeed(engine, "load", "--input", archive)


def test_what_is_pushed_is_the_lock_s_for_whoever_has_the_key(
    built: Path, registry: Registry, engine: str, tmp_path: Path
) -> None:
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    succeed("openssl", "genpkey", "-algorithm", "ed25519", "-out", private)
    succeed("openssl", "pkey", "-in", private, "-pubout", "-out", public)
    reference = f"{registry.address}/team/node-tools:1"
    how = ("--push", reference, "--sign", private, "--format", "json")
    said = json.loads(succeed(MXENV, *BUILD, *how, cwd=built))
    digest, _ = registry.manifest("team/node-tools:1")
    assert said["manifest"] == digest
    succeed(engine, "pull", "--quiet", said["image"])
    verify = (MXENV, "verify", LOCK, "--on", f"image:{reference}")
    assert run(*verify, cwd=built).returncode == 3
    succeed(*verify, "--key", public, cwd=built)


def test_a_step_that_fails_says_its_last_words_and_leaves_nothing(
    built: Path, engine: str, tmp_path: Path
) -> None:
    project = variant(built, tmp_path, "echo these are the last words; exit 7")
    succeed(engine, "rmi", "--force", "node-tools:latest")
    containers, _ = left(engine)
    done = run(MXENV, *BUILD, cwd=project)
    assert done.returncode == 6, done.stderr
    assert "these are the last words" in done.stderr
    assert "returned a non-zero code: 7" in done.stderr
    assert "Traceback" not in done.stderr
    assert left(engine)[0] == containers
    assert succeed(engine, "images", "-q", "node-tools") == ""


def test_a_distribution_that_a_step_brings_fails_the_build(built: Path, tmp_path: Path) -> None:
    step = (
        "d=$(python3 -c 'import sys; print(sys.path[-1])')/other-1.0.dist-info\n"
        'mkdir -p "$d"; printf "Name: other\\nVersion: 1.0\\n" >"$d/METADATA"'
    )
    done = run(MXENV, *BUILD, cwd=variant(built, tmp_path, step))
    assert done.returncode == 6
    assert "other ['1.0'] came with a system package or a step" in done.stderr


def test_a_file_where_python_looks_is_found_from_the_layers_and_fails_the_build(
    built: Path, base_python: str, engine: str, tmp_path: Path
) -> None:
    site = f"/usr/local/lib/python{base_python}/dist-packages"
    project = variant(built, tmp_path, f"mkdir -p {site}; echo 1 >{site}/stray.py")
    before = (project / LOCK).read_bytes()
    done = run(MXENV, *BUILD, "--push", "127.0.0.1:1/never:1", cwd=project)
    assert done.returncode == 1, done.stderr
    assert f"brought by no wheel: {site}/stray.py" in done.stderr
    assert (project / LOCK).read_bytes() == before
    assert "127.0.0.1:1/never" not in succeed(engine, "images", "--format", "{{.Repository}}")


def test_a_push_that_fails_takes_no_name_away(built: Path, engine: str) -> None:
    succeed(MXENV, *BUILD, cwd=built)
    done = run(MXENV, *BUILD, "--push", "127.0.0.1:1/never:1", cwd=built)
    assert done.returncode == 6, done.stderr
    assert "127.0.0.1:1/never" in done.stderr
    names = succeed(engine, "images", "--format", "{{.Repository}}:{{.Tag}}").split()
    assert "node-tools:latest" in names
    assert "127.0.0.1:1/never:1" not in names


def test_the_steps_of_an_image_that_could_not_be_pushed_are_kept(
    built: Path, engine: str, tmp_path: Path
) -> None:
    project = variant(built, tmp_path, "echo hours >/made")
    push = ("--push", "127.0.0.1:1/never:1")
    before = left(engine)[1]
    assert run(MXENV, *BUILD, *push, cwd=project).returncode == 6
    kept = left(engine)[1]
    assert kept > before
    assert run(MXENV, *BUILD, *push, cwd=project).returncode == 6
    assert left(engine)[1] == kept


def test_a_build_that_is_cancelled_leaves_nothing(built: Path, engine: str, tmp_path: Path) -> None:
    project = variant(built, tmp_path, "echo now >/made; sleep 300")
    before = left(engine)
    building = subprocess.Popen(
        [MXENV, *BUILD], cwd=project, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 120
    while "sleep 300" not in succeed(engine, "ps", "--no-trunc", "--format", "{{.Command}}"):
        assert time.monotonic() < deadline, "the step never began"
        time.sleep(0.5)
    building.send_signal(signal.SIGINT)
    assert building.wait(timeout=60) == 130
    assert building.stderr is not None
    building.stderr.close()
    deadline = time.monotonic() + 60
    while left(engine)[0] != before[0] and time.monotonic() < deadline:
        time.sleep(0.5)
    assert left(engine) == before


@pytest.mark.parametrize("buildkit", ["0", "1"])
def test_the_rendered_context_is_built_by_docker_alone(
    built: Path, engine: str, tmp_path: Path, buildkit: str
) -> None:
    client = _classic_client() if buildkit == "1" else engine
    context = tmp_path / "context.tar"
    succeed(MXENV, "build", LOCK, "--render", "--out", context, cwd=built)
    environment = {**os.environ, "DOCKER_BUILDKIT": buildkit}
    with context.open("rb") as stream:
        succeed(
            *(client, "build", "--network", "host", "-f", "Containerfile"),
            *("-t", f"by-hand:{buildkit}", "-"),
            stdin=stream,
            env=environment,
        )
    assert inside(engine, f"by-hand:{buildkit}", "jq", "-n", "2") == "2\n"
    assert "tabulate" in inside(
        engine, f"by-hand:{buildkit}", "python3", "-c", "import tabulate; print(tabulate)"
    )


def test_buildah_builds_the_rendered_context(built: Path, tmp_path: Path) -> None:
    if not shutil.which("buildah"):
        pytest.skip("no program buildah")
    context = tmp_path / "context"
    succeed(MXENV, "build", LOCK, "--render", "--out", tmp_path / "context.tar", cwd=built)
    with tarfile.open(tmp_path / "context.tar") as tar:
        tar.extractall(context, filter="tar")
    store = ("--root", tmp_path / "root", "--runroot", tmp_path / "run", "--storage-driver", "vfs")
    succeed(
        *("buildah", *store, "bud", "--tls-verify=false", "--network", "host"),
        *("--isolation", "chroot", "-f", context / "Containerfile", "-t", "by-buildah", context),
    )
    said = succeed("buildah", *store, "inspect", "--type", "image", "by-buildah")
    config = json.loads(said)["OCIv1"]["config"]
    assert config["Entrypoint"][0] == "/usr/share/mxenv/start-gate"
    assert 'CARDS_FORMAT=table: "$MODEL" \\ $BDF' in config["Env"]


def test_a_base_in_a_folder_is_handed_to_the_engine(
    tools: Path, rootfs: Path, engine: str, tmp_path: Path
) -> None:
    described = tmp_path / "images" / "on-a-layout" / "image.toml"
    described.parent.mkdir(parents=True)
    (tmp_path / "lockfiles").mkdir()
    add_index(tmp_path / "base", [add_manifest(tmp_path / "base", [rootfs.read_bytes()])])
    described.write_text(
        'schema = "mxenv.image/1"\nname = "on-a-layout"\nbase = "oci:base"\n'
        'accelerator = "none"\n[python]\nrequires = ["tabulate"]\n'
        '[[run]]\ncommand = "echo made >/made"\n'
    )
    links = ("--offline", "--find-links", tools / "lockfiles" / "wheelhouse")
    succeed(MXENV, "lock", described, *links, cwd=tmp_path)
    lock = "lockfiles/pylock.on-a-layout.toml"
    wheels = ("--wheelhouse", tools / "lockfiles" / "wheelhouse")
    succeed(MXENV, "build", lock, "--engine", "docker", *wheels, cwd=tmp_path)
    assert inside(engine, "on-a-layout", "cat", "/made") == "made\n"


def test_an_engine_that_only_the_context_in_use_names_is_built_with_and_asked(
    built: Path, engine: str, tmp_path: Path
) -> None:
    host = succeed(engine, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}").strip()
    environ = {name: value for name, value in os.environ.items() if name != "DOCKER_HOST"}
    environ["DOCKER_CONFIG"] = str(tmp_path / "docker")
    create = ("context", "create", "elsewhere", "--docker", f"host={host}")
    succeed(engine, *create, env=environ)
    succeed(engine, "context", "use", "elsewhere", env=environ)
    succeed(MXENV, *BUILD, cwd=built, env=environ)


def test_no_engine_is_an_engine_s_error(built: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done: CompletedProcess[str] = run(MXENV, *BUILD, cwd=built, env=environment)
    assert done.returncode == 6
    assert "no container engine answers" in done.stderr
    assert "DOCKER_HOST" in done.stderr
    assert "Traceback" not in done.stderr


def _classic_client() -> str:
    """Return a client that speaks to BuildKit without a plug-in, as those up to 20.10 do."""
    for client in filter(None, (shutil.which("docker"), "/usr/bin/docker")):
        version = run(client, "version", "--format", "{{.Client.Version}}").stdout
        if version.startswith("20.") or run(client, "buildx", "version").returncode == 0:
            return client
    pytest.skip("no client of BuildKit")
