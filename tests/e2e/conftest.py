"""One image's way through the whole chain, step by step, for the tests that look at each step."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

import pytest
from _chain import DESCRIPTION, ENTRYPOINT, MXENV, REPOSITORY, Built, Run, run, succeed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from subprocess import CompletedProcess

    from _registry import Registry


@pytest.fixture(scope="session")
def mxenv() -> Run:
    """Run the installed command line."""
    return lambda *arguments, **options: run(MXENV, *arguments, **options)


@pytest.fixture(scope="session")
def debian_base(engine: str, registry: Registry, rootfs: Path) -> str:
    """The reference of the Debian base, pushed by the engine, with an entrypoint of its own."""
    reference = f"{registry.address}/{REPOSITORY}:base"
    changes = ("--change", f"ENTRYPOINT {ENTRYPOINT}", "--change", 'CMD ["python3", "-V"]')
    succeed(engine, "import", *changes, rootfs, reference)
    succeed(engine, "push", "--quiet", reference)
    return reference


@pytest.fixture(scope="session")
def project(debian_base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team's repository with one image in it, locked and fetched."""
    folder = tmp_path_factory.mktemp("project")
    described = folder / "images" / "chain" / "image.toml"
    described.parent.mkdir(parents=True)
    (folder / "lockfiles").mkdir()
    described.write_text(DESCRIPTION.format(base=debian_base))
    succeed(MXENV, "lock", "images/chain/image.toml", cwd=folder)
    succeed(MXENV, "fetch", "lockfiles/pylock.chain.toml", cwd=folder)
    return folder


@pytest.fixture(scope="session")
def build(
    project: Path, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Built]:
    """Build the project's image in a copy of it, with no cache, and push it."""

    def push(name: str, *, umask: int, environment: Mapping[str, str]) -> Built:
        home = tmp_path_factory.mktemp(name.replace("/", "-"))
        folder = shutil.copytree(project, home / "a" / "checkout")
        reference = f"{registry.address}/{name}:1"
        lock = folder / "lockfiles" / "pylock.chain.toml"
        mark = registry.mark()
        said = succeed(
            MXENV,
            *("build", lock, "--push", reference, "--format", "json"),
            cwd=home,
            umask=umask,
            env={**os.environ, "XDG_CACHE_HOME": str(home / "cache"), **environment},
        )
        asked = registry.requests(mark)
        digest, manifest = registry.manifest(f"{name}:1")
        return Built(
            reference=reference,
            digest=digest,
            manifest=manifest,
            said=json.loads(said),
            asked=asked,
        )

    return push


@pytest.fixture(scope="session")
def first(build: Callable[..., Built]) -> Built:
    """A build as most people have it."""
    return build("team/first", umask=0o022, environment={"TZ": "UTC", "LANG": "C.UTF-8"})


@pytest.fixture(scope="session")
def second(build: Callable[..., Built]) -> Built:
    """The same lock built elsewhere: another folder, umask, time zone, language, hash seed."""
    elsewhere = {
        "TZ": "Asia/Shanghai",
        "LC_ALL": "C",
        "PYTHONHASHSEED": "7",
        "HOME": "/nonexistent",
    }
    return build("team/second", umask=0o077, environment=elsewhere)


@pytest.fixture(scope="session")
def image(engine: str, first: Built) -> str:
    """The reference of the first build, pulled by the engine."""
    succeed(engine, "pull", "--quiet", first.reference)
    return first.reference


@pytest.fixture(scope="session")
def contained(engine: str, image: str) -> Run:
    """Run a command in a container of the image: through the start gate, without network."""

    def start(*command: str, gate: str = "", mx_smi: Path | None = None) -> CompletedProcess[str]:
        options = ["--env", f"MXENV_GATE={gate}"] if gate else []
        if mx_smi:
            options += ["--volume", f"{mx_smi}:/opt/mxdriver/bin/mx-smi:ro"]
            options += ["--volume", f"{mx_smi}:/usr/bin/mx-smi:ro"]
        return run(engine, "run", "--rm", "--network", "none", *options, image, *command)

    return start
