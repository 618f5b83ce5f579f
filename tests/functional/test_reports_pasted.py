"""Bug reports that people pasted: what is read of each, and that nothing else is."""

from __future__ import annotations

import json
import quopri
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mxenv.api import checking, nodes
from mxenv.errors import InvalidFile, UsageError
from mxenv.facts import Absent, Observed, Unreadable, View
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.facts import Snapshot

REPORTS = Path(__file__).parent.parent / "reports"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
EXPECTED: dict[str, dict[str, object]] = {
    "vllm-metax-issue.md": {
        "os.id": "ubuntu",
        "os.version": "22.04",
        "libc.version": "2.35",
        "kernel.release": "5.15.0-58-generic",
        "machine.arch": "x86_64",
        "cpu.model": "Example CPU 9000 @ 2.00GHz",
        "cpu.count": 128,
        "metax.kmd": "3.8.31",
        "metax.sdk": "3.5.3.20",
        "metax.smi": "2.2.12",
        "metax.device.model[0000:0f:00.0]": "C500",
        "metax.device.state[0000:0f:00.0]": "available",
        "python.version[/reported]": "3.10.10",
        "python.package[/reported/torch]": "2.8.0+metax3.5.3.9",
        "python.package[/reported/mcoplib]": "0.4.4+maca3.5.3.20.torch2.8",
        "python.package[/reported/vllm-metax]": ("0.20.0+g1a2b3c4.d20260601.maca3.5.3.20.torch2.8"),
        "env[LD_LIBRARY_PATH]": "/opt/maca/lib:/opt/maca/mxgpu_llvm/lib",
    },
    "vllm-metax-container.md": {
        "os.version": "24.04",
        "metax.kmd": "3.0.12",
        "metax.sdk": "3.2.1.11",
        "metax.device.state[0000:38:00.0]": "available",
        "python.package[/reported/triton]": "3.0.0+metax3.2.1.4",
        "python.package[/reported/flash-attn]": "2.6.3+metax3.2.1.4torch2.6",
    },
    "vllm-metax-json.md": {
        "os.version": "22.04",
        "libc.version": "2.35",
        "kernel.release": "5.15.0-62-generic",
        "cpu.count": 64,
        "cpu.model": "Example CPU 64",
        "metax.kmd": "3.8.34",
        "metax.sdk": "3.5.3.24",
        "metax.device.model[0000:1a:00.0]": "C500",
        "python.version[/reported]": "3.10.11",
        "python.package[/reported/torch]": "2.8.0+metax3.5.3.12",
        "env[CUDA_VISIBLE_DEVICES]": "0",
    },
    "torch-collect-env-quoted.md": {
        "os.id": "debian",
        "os.version": "12",
        "kernel.release": "6.1.0-25-amd64",
        "cpu.count": 96,
        "python.version[/reported]": "3.11.2",
        # As the metadata has it: torch calls itself 2.4.1+cu121.
        "python.package[/reported/torch]": "2.4.1",
    },
    "mx-smi-transcript.md": {
        "os.version": "22.04",
        "kernel.release": "5.15.0-59-generic",
        "kernel.build": "#65-Ubuntu SMP Thu Jan 12 11:43:13 UTC 2023",
        "metax.kmd": "3.4.5",
        "metax.sdk": "3.3.0.16",
        "metax.sdk_path": "/opt/maca-3.3.0.16",
        "metax.compiler": "1234abcd56",
        "metax.mccl": "2.16.4",
        "metax.module.loaded": "loaded",
        "metax.device.count": 2,
        "metax.device.memory_mib[0000:0f:00.0]": 65536,
        "env[MACA_PATH]": "/opt/maca",
    },
    "terminal-crlf-ansi.txt": {
        "os.version": "20.04",
        "libc.version": "2.31",
        "kernel.release": "5.4.0-27-generic",
        "machine.arch": "x86_64",
        "python.version[/reported]": "3.9.18",
        "python.package[/reported/torch]": "2.1.2+metax2.33.0.6",
        "python.package[/reported/vllm]": "0.6.2",
    },
    "pip-list-and-conda.md": {
        "python.version[/opt/conda]": "3.10.15",
        "python.package[/opt/conda/vllm]": "0.20.1+empty",
        "python.package[/opt/conda/vllm-metax]": (
            "0.20.1+g0a1b2c3.d20260602.maca3.5.3.21.torch2.8"
        ),
    },
    "pip-freeze-only.txt": {
        "python.package[/reported/mcoplib]": "0.2.1+maca3.3.0.16.torch2.6",
        "python.package[/reported/flash-attn]": "2.6.3+metax3.3.0.5torch2.6",
    },
    "tables.md": {
        "os.version": "22.04",
        "kernel.release": "5.15.0-61-generic",
        "libc.version": "2.35",
        "metax.kmd": "2.16.1",
        "metax.sdk": "3.1.0.7",
        "python.package[/reported/torch]": "2.6.0+metax3.1.0.5",
        "python.package[/reported/vllm]": "0.10.2",
    },
    "html.html": {
        "kernel.release": "5.4.0-27-generic",
        "metax.kmd": "2.5.015",
        "metax.smi_maca": "2.23.0.1019",
        "metax.device.model[0000:2b:00.0]": "C550",
    },
    "pod.md": {
        "metax.kmd": "2.12.14",
        "metax.device.bios[0000:2a:00.0]": "1.13.6.0",
        "env[MACA_PATH]": "/opt/maca-2.29.0",
    },
    "json.md": {
        "metax.kmd": "3.8.31",
        "metax.smi_maca": "3.5.3.21",
        "metax.device.firmware[0000:37:00.0/MCU]": "1.2.7.0",
        "python.package[/reported/torch]": "2.8.0+metax3.5.3.10",
    },
    "sliced.md": {
        "metax.device.slicing[0000:37:00.0]": "on",
        "metax.device.slice[0000:37:00.0/3]": ("compute 25 %", "16000 MiB"),
    },
    "full-width.md": {
        "cpu.count": 24,
        "cpu.model": "Example Core i7-0000",
        "metax.kmd": "3.8.32",
        "metax.sdk": "3.5.3.22",
        "python.package[/reported/torch]": "2.8.0+metax3.5.3.11",
    },
    "nvidia-smi.md": {
        "nvidia.kmd": "535.183.02",
        "nvidia.device.model[0000:0e:00.0]": "A100-SXM4-80GB",
        "python.version[/srv/venv]": "3.12.4",
        "python.package[/srv/venv/torch]": "2.7.1",
    },
    "mixed-release.md": {
        "metax.kmd": "3.8.33",
        "metax.sdk": "3.7.0.38",
        "metax.device.count": 2,
        "python.package[/reported/torch]": "2.8.0+metax3.5.3.9",
    },
    "contradiction.md": {"python.package[/reported/numpy]": "1.26.4"},
    "no-device.md": {"kernel.release": "5.15.0-120-generic"},
    "secrets.md": {"env[MACA_PATH]": "/home/user/maca"},
}


def seen(path: Path) -> Snapshot:
    return nodes.probe(f"report:{path}", now=NOW)


def pasted(tmp_path: Path, text: str | bytes, name: str = "pasted.md") -> Snapshot:
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return seen(path)


def values(snapshot: Snapshot) -> dict[str, object]:
    return {f.label: f.reading.value for f in snapshot.facts if isinstance(f.reading, Observed)}


def test_every_report_has_its_facts_in_a_test() -> None:
    files = {path.name for path in REPORTS.iterdir() if path.name != "README.md"}
    assert files == EXPECTED.keys()
    page = (REPORTS / "README.md").read_text(encoding="utf-8")
    assert [name for name in files if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", EXPECTED)
def test_what_a_report_says_is_read(name: str) -> None:
    found = values(seen(REPORTS / name))
    assert {label: found.get(label) for label in EXPECTED[name]} == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
def test_a_record_of_a_report_replays_to_the_same_snapshot(name: str, tmp_path: Path) -> None:
    recorded = nodes.record(f"report:{REPORTS / name}", tmp_path / "out", now=NOW)
    assert recorded == seen(REPORTS / name)
    assert nodes.probe(f"recording:{tmp_path / 'out'}", now=NOW) == recorded


class TestWhatIsNotInTheTextIsNotKnown:
    """A report shows what somebody chose to show; nothing follows from what is left out."""

    def test_a_report_that_says_nothing_leaves_every_fact_unreadable(self, tmp_path: Path) -> None:
        snapshot = pasted(tmp_path, "It does not work, please help.\n\ntorch is installed.\n")
        assert [f for f in snapshot.facts if not isinstance(f.reading, Unreadable)] == []
        assert snapshot.reading("disk.free_mib", "/") == Unreadable("not in the report")

    @pytest.mark.parametrize("name", EXPECTED)
    def test_only_a_list_that_was_shown_can_be_empty(self, name: str) -> None:
        absent = {f.key for f in seen(REPORTS / name).facts if isinstance(f.reading, Absent)}
        assert absent <= {"metax.device.slice"}

    @pytest.mark.parametrize("name", ["pip-list-and-conda.md", "vllm-metax-issue.md"])
    def test_a_package_that_is_not_listed_is_not_known_to_be_missing(self, name: str) -> None:
        snapshot = seen(REPORTS / name)
        verdict = checking.check(snapshot, checking.load_matrix(), today=NOW.date())
        told = [f for f in verdict.findings if f.code != "MX127"]
        lists = [f for f in told if "may list only some" in f.found]
        assert lists
        assert {finding.outcome for finding in lists} == {Outcome.UNKNOWN}
        assert verdict.outcome is Outcome.UNKNOWN

    @pytest.mark.parametrize(
        "line",
        [
            "pip install torch==2.6.0",
            "I looked at pip list, and then wrote:\n\ntorch==2.6.0",
            "$ pip install torch\nSuccessfully installed torch-2.6.0",
            "torch==2.6.0",
            "RUN pip install torch==2.6.0",
            "torch>=2.6.0",
            "I had torch 2.6.0 before.",
            "requires torch 2.6.0",
        ],
    )
    def test_a_package_that_is_only_spoken_of_is_not_installed(
        self, line: str, tmp_path: Path
    ) -> None:
        text = f"I tried this:\n\n{line}\n\nand numpy too.\n"
        assert not [k for k in values(pasted(tmp_path, text)) if k.startswith("python.")]

    @pytest.mark.parametrize("typed", ["$ pip list | grep torch", "pip3 list|grep -i torch"])
    def test_what_grep_left_of_a_list_is_listed(self, typed: str, tmp_path: Path) -> None:
        found = values(pasted(tmp_path, f"{typed}\ntorch   2.7.0\ntorchvision 0.22.0\n"))
        assert found["python.package[/reported/torch]"] == "2.7.0"

    def test_what_pip_shows_of_one_is_taken(self, tmp_path: Path) -> None:
        shown = "Name: torch\nVersion: 2.6.0+metax3.2.1.3\nSummary: Tensors\nHome-page: x\n"
        where = "Location: /opt/conda/lib/python3.10/site-packages\n"
        found = values(pasted(tmp_path, f"Name: x\n{shown}{where}Version: 9\nSummary:\n"))
        assert found["python.package[/opt/conda/torch]"] == "2.6.0+metax3.2.1.3"
        assert [k for k in found if k.startswith("python.package[")] == [
            "python.package[/opt/conda/torch]"
        ]
        apart = values(pasted(tmp_path, shown.replace("Summary", "Architecture: all\nSummary")))
        assert apart == {}

    @pytest.mark.parametrize(("line", "ends"), [("v", False), ("vllm --version", True)])
    def test_a_list_ends_where_another_command_is_typed(
        self, *, line: str, ends: bool, tmp_path: Path
    ) -> None:
        found = values(pasted(tmp_path, f"$ pip list\ntorch 2.6.0\n{line}\nnumpy 1.26.4\n"))
        assert ("python.package[/reported/numpy]" in found) != ends

    def test_no_environment_is_known_to_have_no_interpreter(self, tmp_path: Path) -> None:
        text = "# packages in environment at /opt/conda/envs/b:\n#\n"
        snapshot = pasted(tmp_path, f"{text}torch 2.6.0 pypi_0 pypi\npython 3.9.2 h1_0\n")
        assert values(snapshot)["python.version[/opt/conda/envs/b]"] == "3.9.2"
        reading = snapshot.reading("python.interpreter", "/opt/conda/envs/b")
        assert reading == Unreadable("not in the report")

    def test_what_torch_calls_itself_is_not_what_its_metadata_says(self, tmp_path: Path) -> None:
        found = values(pasted(tmp_path, "PyTorch version: 2.4.1+cu121\n"))
        assert not [label for label in found if "torch" in label]

    @pytest.mark.parametrize(
        "value", ["...", "/opt/maca/lib:...", "<path>", "***", "`which mxcc`", "/opt/…/lib"]
    )
    def test_what_stands_for_a_value_is_none(self, value: str, tmp_path: Path) -> None:
        found = values(pasted(tmp_path, f"MACA_PATH=/opt/maca\nCUDA_PATH={value}\n"))
        assert found == {"env[MACA_PATH]": "/opt/maca"}

    @pytest.mark.parametrize("typed", ["pip freeze > all.txt", "pip list --format=freeze >> x"])
    def test_a_list_that_went_into_a_file_is_not_what_follows(
        self, typed: str, tmp_path: Path
    ) -> None:
        text = f"I ran `{typed}` and wrote this:\n```\ntorch==2.6.0\n```\n"
        assert values(pasted(tmp_path, text)) == {}
        shown = values(pasted(tmp_path, text.replace(">", "2>/dev/null #")))
        assert shown["python.package[/reported/torch]"] == "2.6.0"

    def test_half_of_a_version_is_none(self, tmp_path: Path) -> None:
        text = "$ pip list\ntorch 2...3+metax3.0.0.3\nnumpy 1.26.4\nPython 3.10.1\n"
        found = values(pasted(tmp_path, text))
        assert [k for k in found if k.startswith("python.package")] == [
            "python.package[/reported/numpy]"
        ]

    def test_a_card_is_no_processor(self, tmp_path: Path) -> None:
        assert values(pasted(tmp_path, "model name : METAX C500\n")) == {}

    def test_why_nothing_is_known_of_a_module_is_that_nobody_said(self, tmp_path: Path) -> None:
        report = pasted(tmp_path, "$ uname -r\n5.15.0-58-generic\n")
        for vendor in ("metax", "nvidia"):
            reading = report.reading(f"{vendor}.module.built", "5.15.0-58-generic")
            assert reading == Unreadable("not in the report")

    @pytest.mark.parametrize("head", ["", "Content-Transfer-Encoding: quoted-printable\n\n"])
    def test_a_mail_is_read_as_it_was_written(self, head: str, tmp_path: Path) -> None:
        name = "vllm-metax-issue.md"
        written = (REPORTS / name).read_bytes()
        saved = pasted(tmp_path, head.encode() + quopri.encodestring(written))
        assert values(saved) == values(seen(REPORTS / name))

    def test_a_variable_made_of_another_is_not_known(self) -> None:
        reading = seen(REPORTS / "pod.md").reading("env", "LD_LIBRARY_PATH")
        assert reading == Unreadable("not in the report")

    def test_half_of_a_last_line_is_not_read(self, tmp_path: Path) -> None:
        whole = values(pasted(tmp_path, "MACA SDK version : 3.5.3.20\n"))
        half = values(pasted(tmp_path, "MACA SDK version : 3.5.3.2"))
        assert (whole.get("metax.sdk"), half.get("metax.sdk")) == ("3.5.3.20", None)

    def test_slices_below_a_table_that_was_cut_are_not_known_to_be_none(
        self, tmp_path: Path
    ) -> None:
        text = (REPORTS / "sliced.md").read_text(encoding="utf-8")
        cut = text[: text.index("| Sliced GPU") - 90]
        readings = [f.reading for f in pasted(tmp_path, cut).of("metax.device.slice")]
        assert readings
        assert not [r for r in readings if not isinstance(r, Unreadable)]


def test_wheels_of_another_sdk_are_found_in_a_report() -> None:
    snapshot = seen(REPORTS / "mixed-release.md")
    verdict = checking.check(snapshot, checking.load_matrix(), today=NOW.date())
    worst = [f for f in verdict.findings if f.outcome is Outcome.INCOMPATIBLE]
    assert worst[0].code == "MX110"
    assert worst[0].subject == "mcoplib, torch, vllm-metax"
    assert "of SDK 3.7.0" in worst[0].found


NVIDIA = "PyTorch version: 2.4.1\nNvidia driver version: {}\n"


@pytest.mark.parametrize("value", ["550.54.15", "570.133.20"])
def test_the_driver_that_torch_names_is_read(value: str, tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text(NVIDIA.format(value))
    assert seen(tmp_path / "r.md").reading("nvidia.kmd") == Observed(value)


@pytest.mark.parametrize("value", ["Could not collect", "2.14.6", "N/A", "550.54.1500", "550"])
def test_what_stands_for_no_driver_of_nvidia_is_none(value: str, tmp_path: Path) -> None:
    (tmp_path / "r.md").write_text(NVIDIA.format(value))
    assert isinstance(seen(tmp_path / "r.md").reading("nvidia.kmd"), Unreadable)


def test_a_driver_that_torch_and_the_tool_name_otherwise_is_not_known(tmp_path: Path) -> None:
    table = (REPORTS / "nvidia-smi.md").read_text()
    (tmp_path / "r.md").write_text(f"{NVIDIA.format('535.129.03')}\n{table}")
    reading = seen(tmp_path / "r.md").reading("nvidia.kmd")
    assert isinstance(reading, Unreadable)
    assert "the report says both 535.129.03 and " in reading.reason


class TestOfTwoThingsNeitherIsBelieved:
    """Where a report contradicts itself, both are named and none is taken."""

    @pytest.mark.parametrize(
        ("key", "instance", "both"),
        [
            ("python.package", "/reported/torch", ("2.11.0", "2.8.0+metax3.5.3.10")),
            ("metax.sdk", "", ("3.5.3.21", "3.7.0.39")),
            ("metax.kmd", "", ("3.4.6", "3.8.31")),
            ("metax.smi_maca", "", ("3.4.6", "3.8.31")),
        ],
    )
    def test_both_are_named(self, key: str, instance: str, both: tuple[str, str]) -> None:
        reading = seen(REPORTS / "contradiction.md").reading(key, instance)
        assert reading == Unreadable(f"the report says both {both[0]} and {both[1]}")

    def test_a_report_that_contradicts_itself_is_never_compatible(self) -> None:
        snapshot = seen(REPORTS / "contradiction.md")
        verdict = checking.check(snapshot, checking.load_matrix(), today=NOW.date())
        assert verdict.outcome is not Outcome.COMPATIBLE

    def test_of_two_kernels_no_build_is_believed(self, tmp_path: Path) -> None:
        text = (REPORTS / "no-device.md").read_text(encoding="utf-8")
        snapshot = pasted(tmp_path, f"{text}\nKernel : 6.8.0-1-generic\n")
        reason = "the report says both 5.15.0-120-generic and 6.8.0-1-generic"
        for key in ("kernel.release", "kernel.build"):
            assert snapshot.reading(key) == Unreadable(reason)

    def test_two_outputs_of_one_command_that_agree_are_one(self, tmp_path: Path) -> None:
        text = (REPORTS / "mx-smi-transcript.md").read_text(encoding="utf-8")
        later = text.replace("54W", "61W").replace("41C", "55C").replace("08:09:10", "08:09:20")
        twice = pasted(tmp_path, text + later, "mx-smi-transcript.md")
        once = seen(REPORTS / "mx-smi-transcript.md")
        assert twice.facts == once.facts
        assert twice.taken_at.second == 20

    def test_two_outputs_of_one_command_that_differ_are_none(self, tmp_path: Path) -> None:
        text = (REPORTS / "mx-smi-transcript.md").read_text(encoding="utf-8")
        other = text.replace("MACA Version: 3.3.0.16", "MACA Version: 3.0.0.8 ")
        reading = pasted(tmp_path, text + other).reading("metax.smi_maca")
        reason = "the report has two outputs that differ in 3.0.0.8 and 3.3.0.16"
        assert reading == Unreadable(reason)


class TestAReportSaysWhereAndWhenItWasMade:
    """Time, place and name come from the text and the file, and nowhere else."""

    def test_the_time_is_that_of_the_last_mx_smi(self) -> None:
        taken_at = seen(REPORTS / "mx-smi-transcript.md").taken_at
        assert taken_at == datetime(2026, 2, 18, 8, 9, 10, tzinfo=UTC)

    def test_without_one_it_is_now(self) -> None:
        assert seen(REPORTS / "tables.md").taken_at == NOW

    @pytest.mark.parametrize(
        ("name", "view"),
        [
            ("pod.md", View.CONTAINER),
            ("mx-smi-transcript.md", View.HOST),
            ("vllm-metax-container.md", View.HOST),
        ],
    )
    def test_a_container_is_one_only_if_the_text_shows_it(self, name: str, view: View) -> None:
        assert seen(REPORTS / name).view is view

    def test_the_name_is_the_files_not_the_machines(self) -> None:
        assert seen(REPORTS / "mx-smi-transcript.md").node == "mx-smi-transcript"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_may_be_in_any_encoding_that_it_names(encoding: str, tmp_path: Path) -> None:
    text = (REPORTS / "full-width.md").read_text(encoding="utf-8")
    found = values(pasted(tmp_path, text.encode(encoding)))
    assert found == values(seen(REPORTS / "full-width.md"))


def test_a_report_may_be_pasted_into_standard_input(tmp_path: Path) -> None:
    out = tmp_path / "snapshot.json"
    argv = [sys.executable, "-m", "mxenv", "probe", "--on", "report:-", "--out", str(out)]
    given = "MACA SDK version : 3.5.3.20\n"
    subprocess.run(argv, input=given, capture_output=True, text=True, check=True)
    snapshot = nodes.read_snapshot(out)
    assert (snapshot.node, values(snapshot)["metax.sdk"]) == ("report", "3.5.3.20")


def test_what_is_pasted_is_not_read_without_end() -> None:
    argv = [sys.executable, "-m", "mxenv", "probe", "--on", "report:-"]
    given = b"x" * ((16 << 20) + 1)
    done = subprocess.run(argv, input=given, capture_output=True, check=False)
    assert done.returncode == UsageError.exit_code
    assert b"larger than 16 MiB" in done.stderr


class TestNoSecretLeavesAReport:
    """What people paste by mistake is in no snapshot, and in no recording."""

    SECRETS = ("alice", "s3cret", "hf_abc", "glpat-abc", "sk-abc", "12345678-1234")

    def test_none_is_in_the_snapshot(self) -> None:
        text = repr(seen(REPORTS / "secrets.md"))
        assert [secret for secret in self.SECRETS if secret in text] == []

    def test_none_is_in_the_recording(self, tmp_path: Path) -> None:
        nodes.record(f"report:{REPORTS / 'secrets.md'}", tmp_path / "out", now=NOW)
        for path in (tmp_path / "out").rglob("*"):
            content = path.read_text(encoding="utf-8") if path.is_file() else ""
            found = [secret for secret in self.SECRETS if secret in f"{path.name}{content}"]
            assert found == [], path


class TestWhatCannotBeReadIsAnError:
    """The error says which file, why, and what to do."""

    def test_no_file_is_named(self) -> None:
        with pytest.raises(UsageError, match="names no file"):
            nodes.probe("report:", now=NOW)

    def test_the_file_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no such file") as raised:
            seen(tmp_path / "none.md")
        assert "report:FILE" in raised.value.hint

    def test_it_is_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be read"):
            seen(tmp_path)

    def test_it_is_too_large(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="larger than 16 MiB") as raised:
            pasted(tmp_path, b"x" * ((16 << 20) + 1))
        assert "leave logs out" in raised.value.hint

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("root@gpu-a:~# mx-smi -L", "root@gpu-b:~# uname -r"),
            ("root@0a1b2c3d4e5f:~# uname -r", "root@1a1b2c3d4e5f:~# uname -m"),
            ("root@gpu-a:~# pip list", "root@1a1b2c3d4e5f:~# python -V"),
        ],
    )
    def test_it_shows_two_machines(self, first: str, second: str, tmp_path: Path) -> None:
        with pytest.raises(InvalidFile, match=r"several machines: \S+, \S+$") as raised:
            pasted(tmp_path, f"{first}\n{second}\n5.15.0-58-generic\n")
        assert "a file of each" in raised.value.hint

    @pytest.mark.parametrize(
        "first",
        [
            "me@laptop:~$ ssh root@gpu-a",
            "me@laptop:~$ kubectl exec -it pod -- sh",
            "root@gpu-a.example.com:~# mx-smi -L",
            "root@0a1b2c3d4e5f:~# pip list",
        ],
    )
    def test_it_shows_one_machine_and_who_went_there(self, first: str, tmp_path: Path) -> None:
        text = f"{first}\n\nroot@gpu-a:~# uname -r\n5.15.0-58-generic\n"
        assert values(pasted(tmp_path, text))["kernel.release"] == "5.15.0-58-generic"

    def test_it_has_too_many_lines(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="more than 100,000 lines"):
            pasted(tmp_path, b"x\n" * 100_001)


BOX = "| 0     MetaX C500 | 0           Off | 0000:0e:00.0        | 0%          Disabled |\n"
GARBAGE = {
    "bytes": bytes(range(256)) * 40_000,
    "one line": b"x" * 10_000_000,
    "escapes": b"\x1b]0;" * 2_500_000,
    "tags": b"<details " * 1_100_000,
    "entities": b"&lt;" * 2_500_000,
    "quotes": b"> " * 5_000_000,
    "json": b"{\n" * 90_000 + b"[" * 9_000_000,
    "names": (b"[pip3] " + b"a-" * 3_000 + b"\n") * 1_600,
    "packages": b"".join(b"[pip3] p%d==1.%d\n" % (n % 5_000, n) for n in range(99_000)),
    "rows": (BOX * 99_000).encode(),
    "banners": b"mx-smi  version: 2.2.9\n" * 99_000,
    "labels": (b"a" * 39 + b" : ") * 240_000,
    "headings": b"#" * 10_000_000,
    "members": b'"cpu_info": "' + b"\\\\a" * 3_300_000 + b'"\n',
    "prompts": b"root@a:" * 1_400_000,
}


@pytest.mark.parametrize("kind", GARBAGE)
def test_ten_megabytes_of_anything_are_read_in_linear_time(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(GARBAGE[kind])
    begun = time.process_time()
    with nodes.open_host(f"report:{path}"):
        spent = time.process_time() - begun
    # On a machine of its own less than half; what is quadratic takes minutes.
    assert spent < 4.0


def test_the_page_shows_what_is_said(tmp_path: Path) -> None:
    page = (REPORTS.parents[1] / "docs/how-to/read-a-bug-report.md").read_text(encoding="utf-8")
    command, shown = re.findall(r"(?s)```console\n\$ mxenv (.*?)\n(.*?)```", page)[0]
    words = command.replace("bug-4711.md", str(tmp_path / "bug-4711.md")).split()
    (tmp_path / "bug-4711.md").write_bytes((REPORTS / "mixed-release.md").read_bytes())
    argv = [sys.executable, "-m", "mxenv", *words]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    said = [line.strip() for line in done.stdout.splitlines()]
    for line in filter(None, (line.strip() for line in shown.splitlines())):
        assert line == "…" or any(full.startswith(line.removesuffix(" …")) for full in said), line


def test_the_command_line_takes_a_report(tmp_path: Path) -> None:
    out = tmp_path / "snapshot.json"
    argv = [sys.executable, "-m", "mxenv", "probe", "--out", str(out)]
    address = f"report:{REPORTS / 'mx-smi-transcript.md'}"
    done = subprocess.run([*argv, "--on", address], capture_output=True, text=True, check=True)
    assert re.search(r"wrote .*: \d+ facts of mx-smi-transcript", done.stderr)
    assert json.loads(out.read_text(encoding="utf-8"))["node"] == "mx-smi-transcript"


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("MetaX Kernel Driver Not Found", Outcome.INCOMPATIBLE),
        ("MetaX Sysfs File Unaccessible", Outcome.UNKNOWN),
    ],
)
def test_a_card_out_of_reach_is_a_fault_unless_a_container_may_explain_it(
    reason: str, outcome: Outcome, tmp_path: Path
) -> None:
    lines = ("$ mx-smi -L", f"GPU#0    MXC500      0000:9b:00.0   Not Available({reason})")
    snapshot = pasted(tmp_path, "\n".join(("```", *lines, "```", "")))
    verdict = checking.check(snapshot, checking.load_matrix(), today=NOW.date())
    (found,) = (f for f in verdict.findings if f.row == "metax.toml:rule:card-available")
    assert (found.outcome, verdict.outcome) == (outcome, outcome)
