"""A node on which something is broken: it costs its own facts, and neither time nor memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from _peak import PEAK

from mxenv.facts import Unreadable
from mxenv.question import File, Found
from mxenv.transports import Terms, local

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_MIB = 150
SECONDS = 6.0
RECORDED = Path(__file__).parents[1] / "recordings/c500-8cards"

PROBE = """
import json, os, sys, time
from datetime import datetime, UTC
from mxenv.api import nodes
from mxenv.transports import Terms, local
root, tools, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
began = time.monotonic()
host = local.host(
    Terms(allowed=nodes.allowed(), seconds=seconds), {}, root=root, directories=(tools,)
)
snapshot = nodes.look(host, now=datetime.now(UTC))
host.end()
took = time.monotonic() - began
facts = {}
for fact in snapshot.facts:
    reading = snapshot.reading(fact.key, fact.instance)
    facts[fact.label] = [type(reading).__name__, str(getattr(reading, "value", ""))]
    passing = getattr(reading, "passing", False)
    if passing:
        facts[fact.label].append("passing")
json.dump({"seconds": took, "peak": peak(), "facts": facts}, sys.stdout)
sys.stdout.flush()
os._exit(0)
"""
"""A probe of a machine that lies in a folder, whose tools are scripts in another one."""


@dataclass(frozen=True)
class Machine:
    root: Path
    tools: Path

    def tool(self, name: str, script: str, mode: int = 0o755) -> None:
        path = self.tools / name
        path.write_text(f"#!/bin/bash\n{script}\n", encoding="utf-8")
        path.chmod(mode)

    def file(self, name: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        return path

    def probe(self, seconds: float = SECONDS) -> dict[str, list[str]]:
        """Return what was read of every fact; hold the probe to its time and memory."""
        done = subprocess.run(
            [sys.executable, "-c", PEAK + PROBE, self.root, self.tools, str(seconds)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.stderr == ""
        told = json.loads(done.stdout)
        assert told["seconds"] < seconds
        assert told["peak"] < MOST_MIB
        assert [p for p in psutil.process_iter() if marked(p)] == []
        facts: dict[str, list[str]] = told["facts"]
        return facts


def marked(process: psutil.Process) -> bool:
    try:
        return process.status() != "zombie" and TRACE in " ".join(process.cmdline())
    except psutil.Error:
        return False


TRACE = f"54321.{os.getpid():07}"
"""Stands in the arguments of everything that a broken tool of these tests starts."""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A healthy node with one tool of its own, as it was recorded."""
    root, tools = tmp_path / "root", tmp_path / "tools"
    shutil.copytree(RECORDED / "root", root, symlinks=True)
    tools.mkdir()
    commands = json.loads((RECORDED / "commands.json").read_text(encoding="utf-8"))
    made = Machine(root, tools)
    cases: dict[str, list[str]] = {}
    for number, command in enumerate(commands):
        tool, *options = command["argv"]
        (tmp_path / f"{number}.out").write_text(command.get("stdout", ""), encoding="utf-8")
        case = f'"{" ".join(options)}") cat {tmp_path}/{number}.out; '
        cases.setdefault(tool, []).append(f"{case}exit {command.get('returncode', 0)};;")
    for tool, ways in cases.items():
        made.tool(tool, f'case "$*" in\n{chr(10).join(ways)}\n*) exit 2;; esac')
    return made


@pytest.fixture
def healthy(machine: Machine) -> dict[str, list[str]]:
    facts = machine.probe()
    assert facts["os.id"] == ["Observed", "ubuntu"]
    assert any(label.startswith("metax.device.model[") for label in facts)
    return facts


def kept(before: dict[str, list[str]], after: dict[str, list[str]], but: tuple[str, ...]) -> None:
    """Hold that nothing changed except facts whose names begin with one of ``but``."""
    changed = {
        label for label in before.keys() | after.keys() if before.get(label) != after.get(label)
    }
    others = {label for label in changed if not label.startswith((*but, *PASSING))}
    assert others == set()


PASSING = ("disk.", "memory.", "limit.", "cpu.", "pci.", "rdma.")
"""What the machine that runs the tests tells of itself whatever the folder says, or that moves."""

BROKEN = {
    "hangs": f"sleep {TRACE}",
    "says something and hangs": f"cat {RECORDED}/root/etc/os-release; sleep {TRACE}",
    "ignores being asked to end": f"trap '' TERM INT HUP; sleep {TRACE}",
    "forks children that hang": f"sleep {TRACE} & sleep {TRACE} & wait",
    "starts a session that hangs": f"setsid sleep {TRACE} & wait",
    "forks twice and hangs": f"(setsid sleep {TRACE} &) ; (sleep {TRACE} &) ; sleep {TRACE}",
    "leaves a child and is through": f"(setsid sleep {TRACE} &) ; exit 0",
    "prints a gibibyte": "head -c 1073741824 /dev/zero",
    "prints a gibibyte of lines": "yes '| a line | of a table |' | head -c 1073741824",
    "prints a gibibyte to stderr": "head -c 1073741824 /dev/zero >&2",
    "prints rubbish": "head -c 200000 /dev/urandom",
    "prints nothing": "exit 0",
    "fails": "exit 9",
    "kills itself": "kill -SEGV $$",
}


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_tool_costs_its_own_facts(
    machine: Machine, healthy: dict[str, list[str]], script: str
) -> None:
    machine.tool("mx-smi", script)
    broken = machine.probe()
    kept(healthy, broken, but=("metax.",))
    # What only the tool says is not known, and nothing is made up.
    assert broken["metax.smi"][0] == "Unreadable"
    assert broken["metax.device.count"] in (healthy["metax.device.count"], ["Unreadable", ""])


def test_a_tool_that_fails_after_good_output_is_not_believed(
    machine: Machine, healthy: dict[str, list[str]]
) -> None:
    good = (machine.tools / "mx-smi").rename(machine.tools / "good")
    machine.tool("mx-smi", f'{good} "$@"; exit 1')
    broken = machine.probe()
    kept(healthy, broken, but=("metax.",))
    assert broken["metax.smi"][0] == "Unreadable"


def test_a_tool_that_may_not_be_run_is_not_missing(
    machine: Machine, healthy: dict[str, list[str]]
) -> None:
    machine.tool("mx-smi", "exit 0", mode=0o644)
    broken = machine.probe()
    kept(healthy, broken, but=("metax.",))
    assert broken["metax.smi"][0] == "Unreadable"


def test_all_tools_that_hang_at_once_leave_the_files(
    machine: Machine, healthy: dict[str, list[str]]
) -> None:
    for path in machine.tools.iterdir():
        machine.tool(path.name, f"sleep {TRACE}")
    for tool in ("nvidia-smi", "docker", "ldd", "rpm", "nvcc", "podman"):
        machine.tool(tool, f"(setsid sleep {TRACE} &) ; sleep {TRACE}")
    broken = machine.probe()
    for label in ("os.id", "os.version", "kernel.release", "metax.sdk"):
        assert broken[label] == healthy[label]
    assert {label for label in healthy if label.startswith("python.package[")} <= broken.keys()


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(64 << 30)


def rubbish(path: Path) -> None:
    path.write_bytes(os.urandom(200_000))


def endless_links(path: Path) -> None:
    for number in range(60):
        (path.parent / f".{path.name}{number}").symlink_to(f".{path.name}{number + 1}")
    path.symlink_to(f".{path.name}0")


FILES: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a loop of links": loop,
    "a chain of links": endless_links,
    "a huge file": huge,
    "rubbish": rubbish,
    "a folder": Path.mkdir,
    "a device that never ends": lambda path: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("make", FILES.values(), ids=FILES.keys())
@pytest.mark.parametrize(
    ("name", "but"),
    [
        ("etc/os-release", ("os.",)),
        ("opt/maca-3.5.3/Version.txt", ("metax.",)),
        ("proc/modules", ("metax.", "nvidia.")),
        ("var/lib/dpkg/status", ("metax.", "nvidia.", "libc.", "python.", "runtime", "elf.")),
    ],
)
def test_a_broken_file_costs_its_own_facts(
    machine: Machine,
    healthy: dict[str, list[str]],
    name: str,
    but: tuple[str, ...],
    make: Callable[[Path], object],
) -> None:
    make(machine.file(name))
    kept(healthy, machine.probe(), but=but)


@pytest.mark.usefixtures("powerless")
def test_a_file_that_may_not_be_read_costs_its_own_facts(
    machine: Machine, healthy: dict[str, list[str]]
) -> None:
    path = machine.file("etc/os-release")
    path.write_text("ID=debian\n", encoding="utf-8")
    path.chmod(0)
    broken = machine.probe()
    kept(healthy, broken, but=("os.",))
    assert broken["os.id"][0] == "Unreadable"


CROWDS = {
    "opt/conda/lib/python3.10/site-packages": ".dist-info",
    "dev": "",
    "sys/bus/pci/devices": "",
    "proc": "",
}


@pytest.mark.parametrize("name", CROWDS)
def test_a_folder_of_a_hundred_thousand_entries_is_no_trouble(
    machine: Machine, healthy: dict[str, list[str]], name: str
) -> None:
    folder = machine.root / name
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(100_000):
        path = f"{folder}/x{number}{CROWDS[name]}"
        if name == "proc":
            path = f"{folder}/{number + 100_000}"
        os.mkdir(path)  # noqa: PTH102 - a hundred thousand of them
    crowded = machine.probe()
    assert crowded["os.id"] == healthy["os.id"]
    assert crowded["metax.device.count"] == healthy["metax.device.count"]


def test_a_hundred_thousand_distributions_are_no_trouble(
    machine: Machine, healthy: dict[str, list[str]]
) -> None:
    folder = machine.root / "opt/conda/lib/python3.10/site-packages"
    folder.mkdir(parents=True, exist_ok=True)
    whole = "Metadata-Version: 2.1\nName: x\nVersion: 1\n" + 40 * "A line of a description.\n"
    for number in range(100_000):
        path = f"{folder}/x{number}-1.dist-info"
        os.mkdir(path)  # noqa: PTH102 - a hundred thousand of them
        with open(f"{path}/METADATA", "w", encoding="utf-8") as file:  # noqa: PTH123 - the same
            file.write(whole)
    crowded = machine.probe()
    assert crowded["os.id"] == healthy["os.id"]
    assert crowded["metax.device.count"] == healthy["metax.device.count"]


GLOB = """
import sys, time
from mxenv.question import Glob, Part
from mxenv.transports import Terms, local
glob = Glob(f"{sys.argv[1]}/*", Part.HEAD, 1 << 16)
host = local.host(Terms(seconds=60), {})
print(type(host.gather([glob])[glob]).__name__)
print(peak())
"""


def test_what_matches_one_pattern_is_bounded_all_together(tmp_path: Path) -> None:
    for number in range(4000):
        with open(f"{tmp_path}/{number}", "wb") as file:  # noqa: PTH123 - thousands of them
            file.truncate(1 << 16)
    done = subprocess.run(
        [sys.executable, "-c", PEAK + GLOB, tmp_path], capture_output=True, text=True, check=True
    )
    kind, peak = done.stdout.split()
    assert kind == "Unreadable"
    assert int(peak) < MOST_MIB


def test_what_all_answers_hold_together_is_bounded(tmp_path: Path) -> None:
    files = []
    for number in range(20):
        (tmp_path / f"{number}").write_bytes(b"x" * (8 << 20))
        files.append(File(f"{tmp_path}/{number}", limit=8 << 20))
    answers = local.host(Terms(), {}).gather(files)
    kinds = [type(answers[file]) for file in files]
    assert kinds.count(Found) == local.CARRIED // (8 << 20) - 1
    assert kinds.count(Unreadable) == 20 - kinds.count(Found)


def test_a_probe_of_many_hanging_questions_ends_when_told(machine: Machine) -> None:
    machine.tool("mx-smi", f"sleep {TRACE}")
    began = time.monotonic()
    subprocess.run(
        [sys.executable, "-c", PEAK + PROBE, machine.root, machine.tools, "1"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    # A second, and starting Python.
    assert time.monotonic() - began < 4
