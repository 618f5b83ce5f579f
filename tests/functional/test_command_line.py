"""What each command says, whole: stdout, stderr and status, on recorded nodes."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from mxenv import _plugins
from mxenv.cli import _front, _nagios, _status
from mxenv.cli._front import FRONT
from mxenv.verdict import Finding, Outcome, Verdict, Waiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).parents[2]
GOOD = "tests/recordings/c500-8cards"
MIXED = "tests/recordings/c500-mixed"
BROKEN = "tests/recordings/c500-driver-broken"

SHOWN = {
    # the golden file: (what is typed, exit status)
    "check-c500-8cards": (f"check --on recording:{GOOD}", 0),
    "check-c500-8cards-all": (f"check -v --on recording:{GOOD}", 0),
    "check-c500-mixed": (f"check --on recording:{MIXED}", 1),
    "check-c500-mixed-github": (f"check --on recording:{MIXED} --format github", 1),
    "check-c500-mixed-junit": (f"check --on recording:{MIXED} --format junit", 1),
    "check-c500-driver-broken": (f"check --on recording:{BROKEN}", 1),
    "probe-c500-8cards": (f"probe --on recording:{GOOD}", 0),
    "probe-c500-driver-broken": (f"probe --on recording:{BROKEN}", 0),
    "diff-c500-8cards-c500-mixed": (f"diff {GOOD} {MIXED}", 1),
    "gate-c500-mixed": (f"gate {MIXED}", 1),
    "explain-mx110": ("explain mx110", 0),
    "matrix-why": ("matrix why wheel-same-maca", 0),
}


@pytest.fixture(autouse=True)
def checkout() -> Iterator[None]:
    with contextlib.chdir(ROOT):
        yield


def mxenv(typed: str, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(FRONT, typed.split())


@pytest.mark.parametrize("name", SHOWN)
def test_the_whole_answer_is_as_kept(name: str, golden: Callable[[str, str], None]) -> None:
    typed, status = SHOWN[name]
    result = mxenv(typed)
    assert result.exit_code == status
    # The matrix changes more often than what is said of it.
    said = re.sub(r"matrix sha256:[0-9a-f]{12}", "matrix sha256:............", result.stdout)
    golden(f"tests/golden/{name}.txt", f"$ mxenv {typed}\n{said}{result.stderr}")


def test_two_equal_nodes_do_not_differ() -> None:
    result = mxenv(f"diff {GOOD} recording:{GOOD}")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "0 facts differ between c500-8cards and c500-8cards\n"


def test_quiet_leaves_results_and_errors_only() -> None:
    assert mxenv(f"-q diff {GOOD} {MIXED}").stderr == ""
    assert mxenv(f"diff -q {GOOD} {MIXED}").stdout == mxenv(f"diff {GOOD} {MIXED}").stdout


@pytest.mark.parametrize("name", _plugins.names("reports"))
@pytest.mark.parametrize("place", ["before", "after", "variable", "variable of the command"])
def test_a_format_can_be_given_in_four_ways(name: str, place: str) -> None:
    command = f"check --on recording:{MIXED}"
    result = {
        "before": lambda: mxenv(f"--format {name} {command}"),
        "after": lambda: mxenv(f"{command} --format {name}"),
        "variable": lambda: mxenv(command, MXENV_FORMAT=name),
        "variable of the command": lambda: mxenv(command, MXENV_CHECK_FORMAT=name),
    }[place]()
    assert result.exit_code == 1
    assert result.stdout == mxenv(f"{command} --format {name}").stdout


def test_the_nearest_format_counts() -> None:
    typed = f"--format sarif check --on recording:{GOOD} --format json"
    assert json.loads(mxenv(typed, MXENV_FORMAT="junit").stdout)["schema"] == "mxenv.verdict/1"


def test_a_variable_for_all_commands_does_not_break_those_without_the_format() -> None:
    assert mxenv("explain MX110", MXENV_FORMAT="sarif").stdout == mxenv("explain MX110").stdout


@pytest.mark.parametrize(
    "typed",
    [
        f"probe --on recording:{GOOD}",
        f"check --on recording:{GOOD}",
        f"diff {GOOD} {MIXED}",
        f"gate {GOOD}",
        "explain MX110",
        "explain",
        "doctor",
        "matrix show",
        "matrix why wheel-same-maca",
        "lock images/demo/image.toml --check",
    ],
)
def test_json_has_a_schema(typed: str) -> None:
    document = json.loads(mxenv(f"--format json {typed}").stdout)
    assert re.fullmatch(r"mxenv\.[a-z]+/[0-9]+", document["schema"])


class TestNagios:
    @pytest.mark.parametrize(
        ("node", "status", "begins"),
        [
            (GOOD, 0, "MXENV OK - c500-8cards: "),
            (MIXED, 2, "MXENV CRITICAL - c500-mixed: MX110 "),
            ("tests/recordings/no-such-node", 3, "MXENV UNKNOWN - "),
        ],
    )
    def test_the_answer_is_one_line_with_a_status_of_a_plug_in(
        self, node: str, status: int, begins: str
    ) -> None:
        result = mxenv(f"check --nagios {node}")
        assert (result.exit_code, result.stderr) == (status, "")
        assert result.stdout.startswith(begins)
        assert result.stdout.count("\n") == 1

    @pytest.mark.parametrize(
        "typed",
        [
            "check --nagios --frob",
            "check --frob --nagios",
            "check --nagios --matrix",
            "check --nagios --on nowhere:x",
            "check --nagios a.json b.json",
            "--format frob check --nagios",
            f"check --nagios --expect frob {GOOD}",
        ],
    )
    def test_what_cannot_be_asked_is_unknown_and_no_alarm(self, typed: str) -> None:
        result = mxenv(typed)
        assert (result.exit_code, result.stderr) == (3, "")
        assert re.fullmatch(r"MXENV UNKNOWN - [^\n]+\n", result.stdout)

    def test_a_variable_that_asks_for_a_plug_in_counts(self) -> None:
        environment = {"MXENV_CHECK_NAGIOS": "true"}
        result = CliRunner(env=environment).invoke(FRONT, ["check", "--frob"])
        assert (result.exit_code, result.stderr) == (3, "")

    def test_a_bug_is_unknown_as_well(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert _front._failed(ZeroDivisionError("by zero"), plug_in=True) == 3
        said = "MXENV UNKNOWN - a bug in mxenv: ZeroDivisionError: by zero\n"
        assert capsys.readouterr() == (said, "")

    @pytest.mark.parametrize(
        ("outcome", "waivers", "status"),
        [
            (Outcome.COMPATIBLE, 0, 0),
            (Outcome.COMPATIBLE, 1, 1),
            (Outcome.INCOMPATIBLE, 1, 2),
            (Outcome.UNKNOWN, 1, 3),
        ],
    )
    def test_a_waiver_warns_where_all_is_well_but_for_it(
        self, outcome: Outcome, waivers: int, status: int
    ) -> None:
        waiver = Waiver(code="MX1", reason="r", owner="o", expires=date(2999, 1, 1))
        bad = Finding(code="MX1", outcome=Outcome.INCOMPATIBLE, subject="s", found="f")
        findings = (replace(bad, outcome=outcome), *[replace(bad, waiver=waiver)] * waivers)
        assert _status.nagios(Verdict(subject="n", findings=findings)) == status

    def test_what_is_waived_is_what_a_warning_names(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        waiver = Waiver(code="MX1", reason="r", owner="o", expires=date(2999, 1, 1))
        good = Finding(code="MX2", outcome=Outcome.COMPATIBLE, subject="fine", found="f")
        bad = Finding(code="MX1", outcome=Outcome.INCOMPATIBLE, subject="s", found="f")
        waived = replace(bad, waiver=waiver)
        one = Verdict(subject="a", findings=(good, waived))
        assert _nagios.answer([one]) == 1
        assert capsys.readouterr().out == "MXENV WARNING - a: 1 waived: MX1 s\n"
        assert _nagios.answer([Verdict(subject="b", findings=(good,)), one]) == 1
        said = "MXENV WARNING - 1 of 2 nodes: a: 1 waived: MX1 s\n"
        assert capsys.readouterr().out == said
        assert _nagios.answer([Verdict(subject="c", findings=(good, bad)), one]) == 2
        assert capsys.readouterr().out == "MXENV CRITICAL - 1 of 2 nodes: c: MX1 s\n"
        assert _nagios.answer([Verdict(subject="d", findings=(waived,))]) == 3
        said = "MXENV UNKNOWN - d: nothing that counts was checked\n"
        assert capsys.readouterr().out == said


class TestSnapshots:
    def test_a_snapshot_that_was_written_is_checked_as_the_node(self, tmp_path: Path) -> None:
        path = tmp_path / "node.json"
        assert mxenv(f"probe --on recording:{MIXED} --out {path}").exit_code == 0
        kept = mxenv(f"check {path}")
        assert (kept.exit_code, kept.stdout) == (1, mxenv(f"check {MIXED}").stdout)

    def test_json_on_stdout_is_the_snapshot_that_is_written(self, tmp_path: Path) -> None:
        path = tmp_path / "node.json"
        mxenv(f"probe --on recording:{GOOD} --out {path}")
        printed = mxenv(f"probe --on recording:{GOOD} --format json").stdout
        assert printed == path.read_text(encoding="utf-8")

    def test_a_recording_of_a_recording_says_the_same(self, tmp_path: Path) -> None:
        copied = tmp_path / "copy"
        assert mxenv(f"record --on recording:{GOOD} --out {copied}").exit_code == 0
        result = mxenv(f"diff {GOOD} {copied}")
        assert (result.exit_code, result.stdout) == (0, "")


def test_explain_without_a_code_lists_every_code_once() -> None:
    lines = mxenv("explain").stdout.splitlines()
    codes = [line.split()[0] for line in lines]
    assert codes == sorted(set(codes))


def test_this_machine_is_never_compatible_without_an_accelerator() -> None:
    facts = json.loads(mxenv("probe --format json").stdout)["facts"]
    cards = [fact for fact in facts if fact["key"] == "metax.device.model"]
    if not any(fact["status"] == "observed" for fact in cards):
        assert mxenv("check").exit_code == 3
