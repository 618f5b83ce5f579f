"""The start gate, really run, by every shell that is here, on trees that stand for a host."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mxenv import gate_script, version
from mxenv.cards import MODELS
from mxenv.constraint import Clause
from mxenv.start_gate import REFUSED, render
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

SHELLS = [("dash",), ("busybox", "sh"), ("bash",), ("bash", "--posix"), ("mksh",)]
HERE = [argv for argv in SHELLS if shutil.which(argv[0])]
KMD = ["metax.kmd >= 3.8"]


@pytest.fixture(params=HERE, ids=" ".join)
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """Every shell that is installed: dash is what Debian calls ``sh``."""
    return request.param


class Host:
    """A tree that stands for a host, as a container of it sees it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def file(self, path: str, text: str, *, mode: int = 0o644) -> Host:
        """Put a file there."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)
        return self

    def kmd(self, text: str) -> Host:
        """Have the module say its version."""
        return self.file("sys/module/metax/version", f"{text}\n")

    def card(self, bdf: str, device: str, *, node: str = "", mapped: bool = True) -> Host:
        """Put a card there, its node mapped into the container or not."""
        self.file(f"sys/bus/pci/devices/{bdf}/vendor", "0x9999\n")
        self.file(f"sys/bus/pci/devices/{bdf}/device", f"{device}\n")
        if node:
            self.file(f"sys/bus/pci/devices/{bdf}/drm/{node}/dev", "226:128\n")
        if node and mapped:
            self.file(f"dev/dri/{node}", "")
        return self

    def start(
        self, shell: tuple[str, ...], host: list[str], *command: str, gate: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run the gate for ``host`` before a command."""
        script = self.root / "start-gate"
        script.write_text(render(host, root=str(self.root)))
        environment = {key: value for key, value in os.environ.items() if key != "MXENV_GATE"}
        if gate is not None:
            environment["MXENV_GATE"] = gate
        return subprocess.run(
            [*shell, script, *(command or ("echo", "started"))],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env=environment,
        )


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A host without anything."""
    return Host(tmp_path)


def test_a_driver_that_is_new_enough_starts_and_nothing_is_said(
    shell: tuple[str, ...], host: Host
) -> None:
    done = host.kmd("3.8.30").start(shell, KMD)
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_a_driver_that_is_too_old_is_refused_with_found_needed_and_remedy(
    shell: tuple[str, ...], host: Host
) -> None:
    done = host.kmd("2.14.6").start(shell, KMD)
    assert (done.returncode, done.stdout) == (REFUSED, "")
    for word in ("metax.kmd is 2.14.6", "metax.kmd >= 3.8", "update the driver", "MXENV_GATE"):
        assert word in done.stderr


def test_warn_says_the_same_and_starts(shell: tuple[str, ...], host: Host) -> None:
    done = host.kmd("2.14.6").start(shell, KMD, gate="warn")
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert "metax.kmd is 2.14.6" in done.stderr


def test_off_starts_and_says_nothing(shell: tuple[str, ...], host: Host) -> None:
    done = host.kmd("2.14.6").start(shell, KMD, gate="off")
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_an_empty_mode_is_the_usual_one(shell: tuple[str, ...], host: Host) -> None:
    assert host.kmd("2.14.6").start(shell, KMD, gate="").returncode == REFUSED


@pytest.mark.parametrize("needed", [[], KMD])
def test_a_mode_that_does_not_exist_is_refused(
    shell: tuple[str, ...], host: Host, needed: list[str]
) -> None:
    done = host.kmd("9").start(shell, needed, gate="of")
    assert done.returncode == REFUSED
    assert "'of'" in done.stderr


@pytest.mark.parametrize("gate", ["enforce", "warn"])
def test_what_cannot_be_read_is_unknown_and_the_mode_decides(
    shell: tuple[str, ...], host: Host, gate: str
) -> None:
    done = host.start(shell, KMD, gate=gate)
    assert done.returncode == (REFUSED if gate == "enforce" else 0)
    assert "unknown: metax.kmd cannot be read" in done.stderr


@pytest.mark.parametrize("text", ["", "unknown", "..", "v3.9", "12345678901234567890", "1!9"])
def test_a_version_that_is_none_is_unknown(shell: tuple[str, ...], host: Host, text: str) -> None:
    done = host.kmd(text).start(shell, KMD)
    assert done.returncode == REFUSED
    assert "unknown" in done.stderr


def test_the_vendor_s_tool_is_asked_where_the_module_says_nothing(
    shell: tuple[str, ...], host: Host
) -> None:
    table = (
        "echo 'mx-smi  version: 2.2.9'; echo\n"
        "echo '| MX-SMI 2.2.9         Kernel Mode Driver Version: 3.8.30           |'\n"
        "echo '| MACA Version: 3.5.3.20  BIOS Version: 1.27.5.0 |'\n"
    )
    host.file("usr/bin/mx-smi", f"#!/bin/sh\n{table}exit 3\n", mode=0o755)
    assert host.start(shell, KMD).returncode == 0
    done = host.start(shell, ["metax.kmd < 3.8.30"])
    assert done.returncode == REFUSED
    assert "metax.kmd is 3.8.30 (mx-smi)" in done.stderr


def test_a_tool_that_fails_leaves_it_unknown(shell: tuple[str, ...], host: Host) -> None:
    host.file("opt/mxdriver/bin/mx-smi", "#!/bin/sh\necho no devices\nexit 2\n", mode=0o755)
    done = host.start(shell, KMD)
    assert "unknown" in done.stderr


def test_the_command_gets_its_arguments_as_they_are(shell: tuple[str, ...], host: Host) -> None:
    words = ["a b", "", "*", "$HOME", "-n", "'"]
    done = host.start(shell, [], "printf", "<%s>", *words)
    assert done.stdout == "".join(f"<{word}>" for word in words)


def test_the_command_s_status_is_the_gate_s(shell: tuple[str, ...], host: Host) -> None:
    assert host.kmd("3.9").start(shell, KMD, "sh", "-c", "exit 9").returncode == 9


def test_nothing_to_start_is_an_error(shell: tuple[str, ...], host: Host) -> None:
    script = host.root / "gate"
    script.write_text(render([]))
    done = subprocess.run([*shell, script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nothing to start" in done.stderr


class TestCards:
    """The models of the cards whose nodes are in the container."""

    NEEDED: tuple[str, ...] = ("metax.device.model in (C500, C550)",)

    def start(self, shell: tuple[str, ...], host: Host) -> tuple[int, str]:
        done = host.start(shell, list(self.NEEDED))
        return done.returncode, done.stderr

    def test_the_right_cards_start(self, shell: tuple[str, ...], host: Host) -> None:
        host.file("dev/mxcd", "").card("0000:0e:00.0", "0x4001").card("0000:0f:00.0", "0x4000")
        assert self.start(shell, host) == (0, "")

    def test_one_wrong_card_among_right_ones_is_refused(
        self, shell: tuple[str, ...], host: Host
    ) -> None:
        host.file("dev/mxcd", "").card("0000:0e:00.0", "0x4001").card("0000:0f:00.0", "0x4083")
        status, said = self.start(shell, host)
        assert status == REFUSED
        assert "0x4083" in said

    def test_a_card_that_is_not_mapped_does_not_count(
        self, shell: tuple[str, ...], host: Host
    ) -> None:
        host.file("dev/mxcd", "").card("0000:0e:00.0", "0x4001", node="renderD128")
        host.card("0000:0f:00.0", "0x4083", node="renderD129", mapped=False)
        assert self.start(shell, host) == (0, "")

    def test_a_model_that_nobody_knows_is_unknown(self, shell: tuple[str, ...], host: Host) -> None:
        host.file("dev/mxcd", "").card("0000:0e:00.0", "0x4fff")
        status, said = self.start(shell, host)
        assert status == REFUSED
        assert "unknown" in said

    def test_without_cards_the_devices_to_map_are_named(
        self, shell: tuple[str, ...], host: Host
    ) -> None:
        host.file("sys/bus/pci/devices/0000:00:00.0/vendor", "0x8086\n")
        status, said = self.start(shell, host)
        assert status == REFUSED
        assert "--device=/dev/mxcd" in said
        assert "no MetaX card is here" in said

    def test_without_a_pci_bus_it_is_unknown(self, shell: tuple[str, ...], host: Host) -> None:
        status, said = self.start(shell, host.file("dev/mxcd", ""))
        assert status == REFUSED
        assert "unknown" in said


OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023"


@pytest.mark.parametrize(("text", "found"), [(OPEN, "570.86.15"), (CLOSED, "535.104.05")])
def test_the_driver_of_nvidia_is_read_from_either_file(
    shell: tuple[str, ...], host: Host, text: str, found: str
) -> None:
    needed = ["nvidia.kmd >= 600"]
    assert "nvidia.kmd cannot be read" in host.start(shell, needed).stderr
    done = host.file("proc/driver/nvidia/version", f"{text}\nGCC version: 12\n").start(
        shell, needed
    )
    assert done.returncode == REFUSED
    assert f"nvidia.kmd is {found} (/proc/driver/nvidia/version)" in done.stderr
    done = host.file("sys/module/nvidia/version", "610.1\n").start(shell, needed)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_kernel_is_read(shell: tuple[str, ...], host: Host) -> None:
    host.file("proc/sys/kernel/osrelease", "5.15.0-119-generic\n")
    assert host.start(shell, ["kernel.release >= 5.4"]).returncode == 0
    assert host.start(shell, ["kernel.release >= 6.1"]).returncode == REFUSED
    done = host.start(shell, ["kernel.release == 5.15.0"])
    assert "unknown" in done.stderr


@pytest.mark.parametrize("shell", [("dash",), ("busybox", "sh")], ids=" ".join)
def test_the_gate_takes_fifty_milliseconds_at_most_beside_an_empty_script(
    shell: tuple[str, ...], host: Host
) -> None:
    """With eight cards among sixty devices, and everything asked that a shell can read."""
    if not shutil.which(shell[0]):
        pytest.skip(f"no {shell[0]}")
    for number in range(52):
        host.file(f"sys/bus/pci/devices/0000:00:{number:02x}.0/vendor", "0x8086\n")
    for number in range(8):
        host.card(f"0000:{number:02x}:01.0", "0x4001", node=f"renderD{128 + number}")
    host.kmd("3.8.30").file("dev/mxcd", "").file("proc/sys/kernel/osrelease", "5.15.0-58-generic\n")
    every = [
        *KMD,
        "metax.device.model == C500",
        "kernel.release >= 5.4",
        "metax.node[/dev/mxcd] present",
    ]
    done = host.start(shell, every)
    assert (done.returncode, done.stderr) == (0, "")
    empty = host.root / "empty"
    empty.write_text('exec "$@"\n')
    # In turn, so that a busy moment of the machine hits both.
    pairs = [(_seconds(shell, host.root / "start-gate"), _seconds(shell, empty)) for _ in range(9)]
    gate, nothing = (min(times) for times in zip(*pairs, strict=True))
    assert gate - nothing < 0.05


def _seconds(shell: tuple[str, ...], script: Path) -> float:
    start = time.perf_counter()
    subprocess.run([*shell, script, "true"], check=True)
    return time.perf_counter() - start


EVERY = (
    "metax.kmd >= 3, < 4",
    "metax.device.model == C500",
    "kernel.release >= 5.4",
    "metax.node[/dev/dri] present",
    "nvidia.kmd >= 535",
)
SOME = [some for size in range(len(EVERY) + 1) for some in combinations(EVERY, size)]


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_a_linter_of_shells_has_nothing_to_say_whatever_is_asked(tmp_path: Path) -> None:
    """One that asks for less has no less to be clean: a variable that nobody reads is a fault."""
    for number, some in enumerate(SOME):
        (tmp_path / f"{number}").write_text(render(some))
    scripts = [tmp_path / f"{number}" for number in range(len(SOME))]
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)
    assert done.stdout == ""


@pytest.mark.parametrize("some", SOME, ids=len)
def test_every_variable_that_is_read_is_set(
    shell: tuple[str, ...], host: Host, some: tuple
) -> None:
    """The script ends where one is not: `set -u`."""
    done = host.kmd("3.8.30").start(shell, list(some), gate="warn")
    assert (done.returncode, done.stdout) == (0, "started\n")
    said = done.stderr.splitlines()
    assert all(line.startswith("mxenv: start gate: ") for line in said), said


def test_what_is_said_steers_no_terminal(shell: tuple[str, ...], host: Host) -> None:
    done = host.kmd("3.8\x1b[2J\x07").start(shell, KMD)
    assert "metax.kmd is 3.8?[2J? (" in done.stderr
    assert done.stderr.replace("\n", "").isprintable()
    done = host.start(shell, KMD, gate="off\nmxenv: all is well \\n%s *")
    assert done.returncode == REFUSED
    assert done.stderr == (
        "mxenv: start gate: MXENV_GATE is 'off?mxenv: all is well \\n%s *', "
        "which is none of enforce, warn, off\n"
    )


@pytest.mark.parametrize(("device", "model"), sorted(MODELS.items()))
def test_it_knows_every_card_that_the_vendor_s_probe_knows(
    device: str, model: str, host: Host
) -> None:
    host.file("dev/mxcd", "").card("0000:0e:00.0", f"0x{device}")
    assert host.start(("sh",), (f"metax.device.model == {model}",), "true").returncode == 0
    refused = host.start(("sh",), (f"metax.device.model != {model}",), "true")
    assert refused.returncode == REFUSED


FIELDS = st.lists(
    st.tuples(st.sampled_from(["", "0", "00"]), st.integers(0, 30)).map(lambda f: f"{f[0]}{f[1]}"),
    min_size=1,
    max_size=4,
).map(".".join)
OPERATORS = st.sampled_from(["==", "!=", ">=", ">", "<=", "<", "in", "family"])


@pytest.mark.parametrize("argv", HERE, ids=" ".join)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(FIELDS, OPERATORS, FIELDS), min_size=1, max_size=60))
def test_a_shell_compares_versions_as_mxenv_does(
    argv: tuple[str, ...], cases: list[tuple[str, str, str]]
) -> None:
    clauses = []
    script = [gate_script.FUNCTIONS]
    for found, operator, wanted in cases:
        if operator == "family":
            clauses.append(Clause(operator="==", values=(f"{wanted}.*",)))
        elif operator == "in":
            clauses.append(Clause(operator="in", values=("1.2.3", wanted)))
        else:
            clauses.append(Clause(operator=operator, values=(wanted,)))
        values = " ".join(f"'{value}'" for value in clauses[-1].values)
        script.append(f"hold {found} '{clauses[-1].operator}' {values}; echo $result\n")
    done = subprocess.run(
        [*argv, "-eu"], input="".join(script), capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    said = [Outcome(2 - int(line)) for line in done.stdout.split()]
    expected = [clause.hold(found) for clause, (found, _, _) in zip(clauses, cases, strict=True)]
    assert said == expected, list(zip(cases, said, expected, strict=True))


def test_leading_zeros_are_no_octal_numbers(host: Host) -> None:
    assert version.parse("2.5.014") == version.parse("2.5.14")
    assert host.kmd("2.5.014").start(("sh",), ["metax.kmd == 2.5.14"]).returncode == 0
    assert host.kmd("2.5.08").start(("sh",), ["metax.kmd < 2.5.9"]).returncode == 0
