"""Many nodes at once: files, the table, groups, failures one by one, the worst status."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from _peak import PEAK
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator

import mxenv as package
from mxenv.api import fleets, nodes
from mxenv.cli import _status
from mxenv.cli._front import FRONT
from mxenv.errors import HostUnreachable, UsageError
from mxenv.fleet import Fleet, Member
from mxenv.reports import Page, text
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

PROGRAM = Path(sys.executable).with_name("mxenv")
RECORDINGS = Path(__file__).parents[1] / "recordings"
GOOD, MIXED = (f"recording:{RECORDINGS / name}" for name in ("c500-8cards", "c500-mixed"))
NOW = datetime(2026, 1, 7, tzinfo=UTC)


def mxenv(*arguments: str | Path) -> Result:
    return CliRunner().invoke(FRONT, [str(argument) for argument in arguments])


def schema(name: str) -> Draft202012Validator:
    path = Path(package.__file__).parent / "schemas" / f"{name}.schema.json"
    return Draft202012Validator(json.loads(path.read_text(encoding="utf-8")))


def twin(folder: Path, name: str) -> str:
    """Copy a recording, so that it is a node with another address and the same stack."""
    shutil.copytree(RECORDINGS / "c500-8cards", folder / name, symlinks=True)
    return f"recording:{folder / name}"


@pytest.fixture
def four(tmp_path: Path) -> Path:
    """A list of two equal nodes, another one, and one that is not there."""
    path = tmp_path / "hosts.txt"
    lines = [GOOD, "# the twin", twin(tmp_path, "twin"), "", MIXED, f"{GOOD} # again", "root:/none"]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


class TestProbe:
    def test_every_node_has_a_line_and_a_file_and_equal_ones_are_a_group(
        self, four: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        done = mxenv("probe", "--on", f"@{four}", "--out", out, "--format", "json")
        document = json.loads(done.stdout)
        schema("fleet").validate(document)
        assert [node["group"] for node in document["nodes"]] == ["A", "A", "B", ""]
        assert [group["nodes"] for group in document["groups"]] == [
            [GOOD, f"recording:{tmp_path / 'twin'}"],
            [MIXED],
        ]
        changed = {one["key"] for one in document["groups"][1]["differences"]}
        assert "python.package" in changed
        assert sorted(path.name for path in out.iterdir()) == [
            "c500-8cards.json",
            "c500-mixed.json",
            "twin.json",
        ]
        alone = nodes.probe(GOOD, now=NOW)
        assert nodes.read_snapshot(out / "c500-8cards.json") == alone

    def test_one_that_fails_costs_itself_only_and_is_the_status(
        self, four: Path, tmp_path: Path
    ) -> None:
        done = mxenv("probe", "--on", f"@{four}", "--out", tmp_path / "out")
        assert done.exit_code == 2
        assert re.search(r"^root:/none .* not a directory$", done.stdout, re.MULTILINE)
        assert "4 nodes, 3 asked, 1 not; 2 different stacks\n" in done.stdout
        assert done.stderr == ""

    def test_addresses_given_one_by_one_are_many_nodes_as_well(self) -> None:
        done = mxenv("probe", "--on", GOOD, "--on", MIXED)
        assert done.exit_code == 0
        assert done.stdout.count("\nstack ") == 2

    def test_one_address_is_one_node_and_a_list_of_one_is_a_fleet(self, tmp_path: Path) -> None:
        (tmp_path / "hosts").write_text(f"{GOOD}\n", encoding="utf-8")
        assert mxenv("probe", "--on", GOOD, "--out", tmp_path / "a").exit_code == 0
        assert (tmp_path / "a").is_file()
        listed = mxenv("probe", "--on", f"@{tmp_path / 'hosts'}", "--out", tmp_path / "b")
        assert listed.exit_code == 0
        assert [path.name for path in (tmp_path / "b").iterdir()] == ["c500-8cards.json"]

    @pytest.mark.parametrize("name", ["file", "none.json", "none.tar.gz"])
    def test_many_nodes_are_not_written_into_one_file(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "file").touch()
        done = mxenv("probe", "--on", GOOD, "--on", MIXED, "--out", tmp_path / name)
        assert done.exit_code == 2
        assert "many nodes" in done.stderr

    @pytest.mark.parametrize(
        ("content", "status", "said"),
        [
            (None, 2, "hosts: there is no such file"),
            (b"", 5, "hosts: names no node"),
            (b"node1\nshh:node2\n", 5, "hosts:2: 'shh:node2' is neither"),
            (b"\xff", 5, "hosts: not UTF-8 (byte 0)"),
        ],
    )
    def test_a_list_that_is_wrong_is_told_with_its_place_and_nobody_is_asked(
        self, tmp_path: Path, content: bytes | None, status: int, said: str
    ) -> None:
        if content is not None:
            (tmp_path / "hosts").write_bytes(content)
        done = mxenv("probe", "--on", f"@{tmp_path / 'hosts'}", "--on", GOOD)
        assert (done.exit_code, done.stdout) == (status, "")
        assert f"error: {tmp_path}/{said}" in done.stderr

    def test_a_list_that_is_a_folder_is_told_so(self, tmp_path: Path) -> None:
        assert mxenv("probe", "--on", f"@{tmp_path}").exit_code == 5


class TestRecord:
    def test_every_node_has_a_recording_that_says_the_same(
        self, four: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out"
        done = mxenv("record", "--on", f"@{four}", "--out", out, "--format", "json")
        assert done.exit_code == 2
        files = [node["file"] for node in json.loads(done.stdout)["nodes"]]
        assert files == [str(out / "c500-8cards"), str(out / "twin"), str(out / "c500-mixed"), ""]
        replayed = nodes.probe(f"recording:{out / 'twin'}", now=NOW)
        assert nodes.fingerprint_of(replayed) == nodes.fingerprint_of(nodes.probe(GOOD, now=NOW))

    def test_one_recording_as_json_says_where_it_is(self, tmp_path: Path) -> None:
        done = mxenv("record", "--on", GOOD, "--out", tmp_path / "r", "--format", "json")
        assert json.loads(done.stdout)["schema"] == "mxenv.recorded/1"


class TestCheck:
    def test_equal_verdicts_are_shown_once_and_every_node_has_a_line(
        self, four: Path, tmp_path: Path
    ) -> None:
        done = mxenv("check", "--on", f"@{four}")
        assert done.exit_code == 2
        twins = f"c500-8cards ({GOOD}), c500-8cards (recording:{tmp_path / 'twin'})"
        assert f"{twins}: COMPATIBLE" in done.stdout
        assert "c500-mixed: INCOMPATIBLE" in done.stdout
        assert "unknown       MX190  root:/none" in done.stdout
        assert re.search(rf"^recording:{tmp_path}/twin .* compatible", done.stdout, re.MULTILINE)

    def test_the_last_line_has_the_totals(self, four: Path) -> None:
        last = mxenv("check", "--on", f"@{four}").stdout.splitlines()[-1]
        assert last == ("4 nodes, 3 asked, 1 not; 2 different stacks; 1 incompatible, 2 compatible")

    def test_of_many_those_that_are_fine_are_counted(self) -> None:
        fine = [Member(address=f"n{i}", seconds=1.0, outcome=Outcome.COMPATIBLE) for i in range(99)]
        bad = Member(address="odd", seconds=1.0, outcome=Outcome.INCOMPATIBLE)
        given = Fleet(members=(*fine, bad))
        lines = text.REPORT.fleet(given, Page()).splitlines()
        assert lines[1].split()[0] == "odd"
        assert lines[2] == "and 99 more, compatible (-v lists them)"
        assert lines[-1] == "100 nodes, 100 asked; 1 incompatible, 99 compatible"
        assert len(text.REPORT.fleet(given, Page(verbose=True)).splitlines()) == 103

    def test_as_json_every_node_has_its_verdict_also_one_that_was_not_reached(
        self, four: Path
    ) -> None:
        document = json.loads(mxenv("check", "--on", f"@{four}", "--format", "json").stdout)
        schema("verdict").validate(document)
        outcomes = [verdict["outcome"] for verdict in document["verdicts"]]
        assert outcomes == ["compatible", "compatible", "incompatible", "unknown"]

    def test_nodes_of_one_name_are_told_apart_by_their_addresses(self, tmp_path: Path) -> None:
        first, second = twin(tmp_path, "n1"), twin(tmp_path, "n2")
        said = mxenv("check", *(f"--on={one}" for one in (first, second, MIXED)))
        assert f"c500-8cards ({first}), c500-8cards ({second}): COMPATIBLE" in said.stdout
        assert "c500-mixed: INCOMPATIBLE" in said.stdout

    def test_a_plug_in_says_in_one_line_how_many_are_bad(self, four: Path) -> None:
        done = mxenv("check", "--nagios", "--on", f"@{four}")
        assert done.exit_code == 2
        assert done.stdout.startswith("MXENV CRITICAL - 1 of 4 nodes: c500-mixed: MX110 ")
        assert done.stdout.count("\n") == 1
        fine = mxenv("check", "--nagios", "--on", GOOD, "--on", GOOD.replace(":", "://"))
        assert fine.exit_code == 0
        assert re.fullmatch(r"MXENV OK - c500-8cards: [0-9]+ checked\n", fine.stdout)

    def test_a_snapshot_and_nodes_are_not_checked_together(self) -> None:
        done = mxenv("check", "x.json", "--on", GOOD, "--on", MIXED)
        assert done.exit_code == 2
        assert "both say what to look at" in done.stderr


class TestVerify:
    def test_every_node_is_compared_with_the_lock(self) -> None:
        lock = Path(__file__).parents[2] / "lockfiles/pylock.vllm-metax-0-17-0.toml"
        locks = sorted(lock.parent.glob("pylock.*.toml"))
        done = mxenv("verify", locks[0], "--on", GOOD, "--on", "root:/none", "--format", "json")
        subjects = [verdict["subject"] for verdict in json.loads(done.stdout)["verdicts"]]
        assert subjects == [f"{GOOD} against {locks[0]}", "root:/none"]
        assert done.exit_code == 2


class TestStatus:
    @pytest.mark.parametrize(
        ("statuses", "worst"),
        [
            ((0, 0), 0),
            ((0, 3), 3),
            ((3, 1), 1),
            ((1, 4), 4),
            ((4, 2), 2),
            ((2, 5), 5),
            ((5, 6), 6),
            ((6, 70), 70),
            ((), 3),
            ((99, 0), 0),
            ((99,), 70),
        ],
    )
    def test_what_could_not_be_done_comes_before_what_was_found(
        self, statuses: tuple[int, ...], worst: int
    ) -> None:
        assert _status.gravest(statuses) == worst

    def test_a_node_that_cannot_be_reached_is_the_status_of_all(self) -> None:
        def visit(address: str, wanted: nodes.Wanted) -> Verdict:
            del wanted
            if address == "ssh:b":
                raise HostUnreachable("no route", context=address)
            finding = Finding(code="MX1", outcome=Outcome.INCOMPATIBLE, subject="s", found="f")
            return Verdict(subject=address, findings=(finding,))

        tour = fleets.Tour(addresses=("ssh:a", "ssh:b"), now=NOW)
        fleet, verdicts = fleets.compare(tour, visit)
        assert [verdict.outcome for verdict in verdicts] == [Outcome.INCOMPATIBLE, Outcome.UNKNOWN]
        assert _status.of_fleet(fleet, verdicts) == 4

    def test_every_way_to_fail_fails_for_one_node(self) -> None:
        errors: dict[str, Exception] = {
            "a": UsageError("no"),
            "b": OSError(28, "No space left on device"),
            "c": ZeroDivisionError("by zero"),
        }

        def visit(address: str, wanted: nodes.Wanted) -> str:
            del wanted
            if address in errors:
                raise errors[address]
            return address

        came = fleets.each(fleets.Tour(addresses=("a", "b", "c", "d"), now=NOW), visit)
        failures = [visited.failure for visited in came.values()]
        assert [failure and failure.status for failure in failures] == [2, 6, 70, None]
        assert came["d"].result == "d"


def test_no_more_nodes_are_asked_at_once_than_allowed() -> None:
    inside: list[int] = []
    most: list[int] = []

    def visit(address: str, wanted: nodes.Wanted) -> None:
        del address, wanted
        inside.append(1)
        most.append(len(inside))
        time.sleep(0.02)
        inside.pop()

    told: list[tuple[int, int]] = []
    tour = fleets.Tour(
        addresses=tuple(map(str, range(20))),
        now=NOW,
        jobs=3,
        told=lambda done, total: told.append((done, total)),
    )
    fleets.each(tour, visit)
    assert max(most) == 3
    assert told == [(n, 20) for n in range(1, 21)]


def living(mark: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        # The script that starts it has the mark in its arguments as well.
        if (process.info["cmdline"] or [])[1:] == [mark] and process.info["status"] != "zombie"
    ]


SLOW = """
import sys, time
from mxenv.api import fleets, nodes
from mxenv.cli._front import FRONT
from mxenv.question import Command
from mxenv.transports import Terms, local
probe = nodes.probe
def slow(address, *, now, wanted):
    if address.endswith("never"):
        argv = ("sleep", sys.argv[1])
        terms = Terms(allowed=frozenset({argv}), seconds=60, stop=wanted.stop)
        local.host(terms, {}).gather([Command(argv, 60)])
    return probe(address, now=now, wanted=wanted)
nodes.probe = slow
FRONT.main(sys.argv[2:], prog_name="mxenv")
"""
"""`mxenv` with an address that takes as long as a hanging node does."""


def test_what_was_finished_before_ctrl_c_stays_and_nothing_runs_on(tmp_path: Path) -> None:
    mark, out = "65432.1098", tmp_path / "out"
    arguments = ["probe", "--on", GOOD, "--on", "root:/never", "--on", MIXED, "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, mark, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        limit = time.monotonic() + 30
        while not (living(mark) and len(list(out.glob("*.json"))) == 2):
            assert time.monotonic() < limit
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
    assert (process.returncode, stdout, stderr.strip()) == (130, b"", b"error: interrupted")
    assert living(mark) == []
    names = sorted(path.name for path in out.iterdir())
    assert names == ["c500-8cards.json", "c500-mixed.json"]


MANY = """
import sys
from pathlib import Path
from datetime import datetime, UTC
from mxenv.api import fleets
folder, out = Path(sys.argv[1]), Path(sys.argv[2])
addresses = tuple(f"recording:{path}" for path in sorted(folder.iterdir()))
fleet = fleets.probe(fleets.Tour(addresses=addresses, now=datetime.now(UTC)), out)
print(len(fleet.groups), sum(m.failure is None for m in fleet.members), peak())
"""


def test_five_hundred_nodes_fit(tmp_path: Path) -> None:
    folder = tmp_path / "nodes"
    folder.mkdir()
    for number in range(500):
        node = folder / f"node{number:03}"
        (node / "root/etc").mkdir(parents=True)
        main = (
            f'schema = "mxenv.recording/1"\nnode = "n{number}"\ntaken_at = 2026-01-07T00:00:00Z\n'
        )
        (node / "recording.toml").write_text(main, encoding="utf-8")
        release = f'ID=debian\nVERSION_ID="{number % 7}"\n'
        (node / "root/etc/os-release").write_text(release, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", PEAK + MANY, str(folder), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
    )
    groups, asked, peak = map(int, done.stdout.split())
    assert (groups, asked) == (7, 500)
    assert len(list((tmp_path / "out").iterdir())) == 500
    assert peak < 150


def test_the_options_of_asking_reach_every_node(tmp_path: Path) -> None:
    options = ["--python", "/a", "--python", "/b/bin/python", "--deep", "--timeout", "5"]
    alone = tmp_path / "alone"
    assert mxenv("record", "--on", GOOD, "--out", alone, *options).exit_code == 0
    text = (alone / "recording.toml").read_text(encoding="utf-8")
    wanted = nodes.Wanted(seconds=5.0, options={"python": "/a\n/b/bin/python", "deep": "yes"})
    nodes.record(GOOD, tmp_path / "same", now=NOW, wanted=wanted)
    assert text == (tmp_path / "same/recording.toml").read_text(encoding="utf-8")
    many = mxenv("record", "--on", GOOD, "--on", MIXED, "--out", tmp_path / "m", *options)
    assert many.exit_code == 0
    of_many = (tmp_path / "m/c500-8cards/recording.toml").read_text(encoding="utf-8")
    assert of_many == text


@pytest.mark.parametrize("typed", [["--timeout", "0"], ["--timeout", "x"], ["--jobs", "0"]])
def test_a_limit_that_is_none_is_refused(typed: list[str]) -> None:
    assert mxenv("probe", *typed).exit_code == 2


def test_the_whole_page_of_a_fleet_is_as_kept(
    golden: Callable[[str, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(__file__).parents[2])
    names = ("c500-8cards", "c500-mixed", "no-such-node")
    typed = [word for name in names for word in ("--on", f"recording:tests/recordings/{name}")]
    # How long it took is the one thing that is not the same twice.
    said = re.sub(r"(?<= )\d+\.\d(?=\s)", "0.0", mxenv("probe", *typed).stdout)
    golden("tests/golden/probe-fleet.txt", said)
