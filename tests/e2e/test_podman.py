"""An image with a system package, built through podman's socket as through Docker's."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING

import pytest
from _chain import MXENV, run, succeed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _registry import Registry

pytestmark = [
    pytest.mark.xdist_group("e2e"),
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
    pytest.mark.skipif(os.geteuid() != 0, reason="podman is set up for root only here"),
]
LOCK = "lockfiles/pylock.podded.toml"
BUILD = ("build", LOCK, "--engine", "docker", "--network", "host")
SECONDS = 60


@pytest.fixture(scope="module")
def podman(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict]:
    """The environment in which podman is the engine; it has a storage of its own."""
    folder = tmp_path_factory.mktemp("podman")
    socket, storage = folder / "podman.sock", folder / "root"
    (folder / "registries.conf").write_text(
        f'[[registry]]\nlocation = "{registry.address}"\ninsecure = true\n'
    )
    # Where root may not raise its limits, the usual ones end every container.
    limits = '["nofile=1024:1024", "nproc=1024:1024"]'
    (folder / "containers.conf").write_text(f"[containers]\ndefault_ulimits = {limits}\n")
    environ = {
        **os.environ,
        "CONTAINERS_REGISTRIES_CONF": str(folder / "registries.conf"),
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "DOCKER_HOST": f"unix://{socket}",
    }
    with tempfile.TemporaryDirectory() as running, (folder / "log").open("w") as log:
        # podman takes no longer path than 50 characters for it.
        own = ("--root", storage, "--runroot", running)
        service = subprocess.Popen(
            ["podman", *own, "system", "service", "--time=0", environ["DOCKER_HOST"]],
            env=environ,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + SECONDS
            while not socket.exists():
                assert service.poll() is None, (folder / "log").read_text()
                assert time.monotonic() < deadline, "podman's service never answered"
                time.sleep(0.2)
            yield environ
        finally:
            service.terminate()
            service.wait()
            # It mounts its storage onto itself, and leaves it so.
            run("umount", "--recursive", "--quiet", storage / "overlay")


@pytest.fixture(scope="module")
def project(debian_base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("podded")
    described = folder / "images" / "podded" / "image.toml"
    described.parent.mkdir(parents=True)
    (folder / "lockfiles").mkdir()
    described.write_text(
        f'schema = "mxenv.image/1"\nname = "podded"\nbase = "{debian_base}"\n'
        'accelerator = "none"\n[python]\nrequires = ["tabulate==0.9.0"]\n'
        '[[run]]\ncommand = """\necho "it\'s $0" > /opt/said\ncat /opt/said\n"""\n'
    )
    succeed(MXENV, "lock", described, cwd=folder)
    succeed(MXENV, "fetch", LOCK, cwd=folder)
    return folder


def test_what_podman_pushes_is_signed_and_is_the_lock_s(
    project: Path, podman: dict, registry: Registry
) -> None:
    private, public = project / "private.pem", project / "public.pem"
    succeed("openssl", "genpkey", "-algorithm", "ed25519", "-out", private)
    succeed("openssl", "pkey", "-in", private, "-pubout", "-out", public)
    reference = f"{registry.address}/team/podded:1"
    push = ("--push", reference, "--sign", private)
    done = run(MXENV, *BUILD, *push, cwd=project, env=podman)
    assert done.returncode == 0, done.stderr
    assert f"{registry.address}/team/podded@sha256:" in done.stdout
    assert "STEP 1/" in done.stderr
    succeed(MXENV, "verify", LOCK, "--on", f"image:{reference}", "--key", public, cwd=project)


def test_a_step_that_fails_under_podman_is_named_with_its_last_words(
    project: Path, podman: dict, tmp_path: Path
) -> None:
    copy = shutil.copytree(project, tmp_path / "project")
    described = copy / "images" / "podded" / "image.toml"
    described.write_text(described.read_text() + '[[run]]\ncommand = "echo no luck; exit 7"\n')
    succeed(MXENV, "lock", described, cwd=copy)
    done = run(MXENV, *BUILD, "--quiet", cwd=copy, env=podman)
    assert done.returncode == 6
    assert 'RUN ["/bin/sh", "-euc", "echo no luck; exit 7"]: ' in done.stderr
    assert done.stderr.splitlines()[0].endswith("exit status 7; its last words: no luck")
