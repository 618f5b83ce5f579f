"""A torch on another machine says of its operators what it says here: over ssh, in a container."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import _busybox
import _stand_ins
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from _chain import Run
    from _sshd import Sshd

SYSTEM = ("/usr", "/lib", "/lib64")
"""Where this machine's Python has its libraries."""
SECONDS = "240"


def told(
    mxenv: Run, address: str, python: Path | str, env: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the one fact of operators, as a snapshot of the node has it."""
    words = ("--operators", "--python", str(python), "--timeout", SECONDS, "--format", "json")
    done = mxenv("probe", "--on", address, *words, env=env)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)["facts"]
    (fact,) = [one for one in facts if one["key"] == "torch.operators"]
    return {name: fact.get(name, "") for name in ("instance", "value", "reason")}


@pytest.fixture(scope="module")
def here(mxenv: Run, torch_python: str) -> dict[str, str]:
    """What the torch says on this machine."""
    fact = told(mxenv, "local:", torch_python)
    assert fact["value"].startswith("mxenv.operators/1 sha256:"), fact["reason"]
    return fact


def test_over_ssh_it_is_the_same_table(
    mxenv: Run, sshd: Sshd, torch_python: str, here: dict[str, str]
) -> None:
    assert told(mxenv, "ssh:node", torch_python, sshd.environment()) == here


def test_over_ssh_a_torch_that_crashes_costs_its_own_fact(
    mxenv: Run, sshd: Sshd, tmp_path: Path
) -> None:
    text = "import sys, os; print('no card', file=sys.stderr, flush=True); os.abort()"
    env = _stand_ins.environment(tmp_path / "venv", {"torch": text}, torch="9.9")
    fact = told(mxenv, "ssh:node", env, sshd.environment())
    assert fact["reason"] == "its Python was ended by signal 6: no card"


@pytest.fixture(scope="module")
def container(
    engine: str, torch_python: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The name of a container that has the torch, and the libraries of this machine."""
    if reason := _busybox.missing():
        pytest.fail(reason, pytrace=False)
    archive = tmp_path_factory.mktemp("image") / "image.tar"
    _busybox.write(archive, {"etc/os-release": b"ID=tiny\n"}, shell=True)  # noqa: S604 - whether it has one
    image = output(engine, "import", str(archive))
    code = "import sys; print(sys.base_prefix)"
    prefixes = (str(Path(torch_python).parent.parent), output(torch_python, "-c", code))
    there = [place for place in dict.fromkeys((*SYSTEM, *prefixes)) if Path(place).is_dir()]
    mounts = [word for place in there for word in ("--volume", f"{place}:{place}:ro")]
    name = f"mxenv-torch-{os.urandom(4).hex()}"
    options = ("--network", "none", "--init=false", "--name", name, *mounts)
    try:
        output(engine, "run", "-d", *options, image, "/bin/busybox", "sleep", "900")
        yield name
    finally:
        subprocess.run([engine, "rm", "-f", name], capture_output=True, check=False)
        subprocess.run([engine, "rmi", "-f", image], capture_output=True, check=False)


def output(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def test_in_a_container_it_is_the_same_table(
    mxenv: Run, container: str, torch_python: str, here: dict[str, str]
) -> None:
    assert told(mxenv, f"docker:{container}", torch_python) == here
