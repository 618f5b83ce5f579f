"""What the tests stand on: an engine, a registry, a base, an sshd; skipped aloud, or required.

``MXENV_TEST_REQUIRE=engine,registry,rootfs,sshd,torch`` names the parts whose absence is a failure.
``MXENV_TEST_CACHE`` names the folder that keeps the base root file system between runs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import _debian
import _metax_base
import _registry
import _sshd
import _torch
import pytest
import uv
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

ROOT = Path(__file__).parent.parent
PARTS = frozenset({"engine", "registry", "rootfs", "sshd", "torch"})
# How long one example takes says how busy the machine is, and nothing about a law.
settings.register_profile("mxenv", deadline=None)
settings.load_profile("mxenv")
ENGINE = ("docker", "version", "--format", "{{.Server.Version}}")


def required() -> frozenset[str]:
    """Return the parts that must be there."""
    named = os.environ.get("MXENV_TEST_REQUIRE", "").replace(" ", "")
    parts = frozenset(filter(None, named.split(",")))
    if parts - PARTS:
        msg = f"MXENV_TEST_REQUIRE: {', '.join(sorted(parts - PARTS))}: not one of {sorted(PARTS)}"
        raise pytest.UsageError(msg)
    return parts


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs only the tests that hold a file against what is rendered."""
    parser.addoption(
        "--render",
        choices=("check", "write"),
        help="run only the tests of rendered files (golden ones, generated pages); write them anew",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test with the parts that it uses; with ``--render``, keep those with `golden`."""
    used = [_used(item) for item in items]
    for item, fixtures in zip(items, used, strict=True):
        for part in sorted((PARTS | {"powerless"}) & fixtures):
            item.add_marker(part)
    if config.getoption("--render"):
        paired = list(zip(items, used, strict=True))
        items[:] = [item for item, fixtures in paired if "golden" in fixtures]
        others = [item for item, fixtures in paired if "golden" not in fixtures]
        config.hook.pytest_deselected(items=others)


def _used(item: pytest.Item) -> frozenset[str]:
    names = frozenset(getattr(item, "fixturenames", ()))
    return names | {"torch"} if "torch_python" in names else names


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Run one test of the engine at a time, its fixtures included, whatever worker runs it.

    One engine serves all: what one test leaves in it, or takes away, another would count.
    """
    if item.get_closest_marker("engine") is None:
        return (yield)
    with (Path(tempfile.gettempdir()) / f"mxenv-engine-{os.getuid()}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return (yield)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Hold a text against a file of the repository: ``golden("tests/golden/x.txt", text)``.

    ``pytest --render=write`` (``nox -s render``) writes the file instead.
    """

    def compare(name: str, text: str) -> None:
        path = ROOT / name
        if request.config.getoption("--render") == "write":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{name} is not there: run nox -s render"
        assert text == path.read_text(encoding="utf-8"), f"{name} is out of date: run nox -s render"

    return compare


def pytest_configure() -> None:
    """Refuse a misspelt requirement before anything runs; let what tests start be interrupted."""
    required()
    for number in (signal.SIGINT, signal.SIGHUP):
        # Whoever starts the tests in the background, or with nohup, has these ignored.
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


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
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[_sshd.Sshd]:
    """An ssh server on loopback that knows one key; the client knows it as ``node``."""
    if reason := _sshd.missing():
        without("sshd", reason)
    with _sshd.serve(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture(scope="session")
def torch_python() -> str:
    """The path of an interpreter that has torch, transformers and what else models need."""
    if reason := _torch.missing():
        without("torch", reason)
    return _torch.torch_python()


@pytest.fixture(scope="session")
def package_index() -> None:
    """The package index that this machine is told of, reached; without it CI fails."""
    compile_ = (uv.find_uv_bin(), "pip", "compile", "--no-deps", "--refresh", "-")
    asked = subprocess.run(compile_, input="pip", capture_output=True, text=True, check=False)
    if asked.returncode:
        if os.environ.get("CI") or os.environ.get("MXENV_TEST_REQUIRE"):
            pytest.fail(f"the package index is required, but: {asked.stderr}", pytrace=False)
        pytest.skip(f"no package index: {asked.stderr.strip().splitlines()[-1]}")


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


@pytest.fixture
def powerless(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nothing but permissions that count: root gives them up in ``.ci/run``, for these tests."""
    closed = tmp_path_factory.mktemp("closed") / "to-all"
    closed.touch(mode=0)
    if os.access(closed, os.R_OK):
        pytest.skip("this process may read everything; .ci/run runs it again where it may not")
