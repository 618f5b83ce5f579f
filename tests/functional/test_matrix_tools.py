"""``mxenv matrix``: shown, looked up, held against nodes, added to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner, Result

from mxenv import _files
from mxenv.api import checking
from mxenv.cli._front import FRONT
from mxenv.errors import UsageError
from mxenv.matrix_table import Section, sections
from mxenv.reports import Page
from mxenv.reports._tables import tables

RECORDINGS = Path(__file__).parent.parent / "recordings"
GOOD, MIXED = str(RECORDINGS / "c500-8cards"), str(RECORDINGS / "c500-mixed")
HEAD = 'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n'
SAID = 'evidence = [{ link = "x", who = "us", grade = "site" }]\n'


def mxenv(*arguments: str | Path, **environ: str) -> Result:
    environ = {"MXENV_CONFIG": "", **environ}
    return CliRunner().invoke(FRONT, [str(one) for one in arguments], env=environ)


def parsed(*arguments: str | Path) -> Any:
    return json.loads(mxenv(*arguments, "--format", "json").stdout)


class TestShow:
    def test_every_kind_of_row_has_a_table(self) -> None:
        lines = mxenv("matrix", "show").stdout.splitlines()
        for title in ("Published together", "Seen working", "What must be so"):
            assert title in lines
        assert "Known not to work" in lines

    def test_one_kind_alone_can_be_asked_for(self) -> None:
        title, head, *rows = mxenv("matrix", "show", "tested").stdout.splitlines()
        assert title == "Seen working"
        assert head.split()[:3] == ["row", "SDK", "torch"]
        assert all(row.startswith("metax.toml:tested:") for row in rows)

    @pytest.mark.parametrize("width", [80, 120, 160, 240])
    @pytest.mark.parametrize("whole", [False, True])
    def test_a_terminal_gets_tables_that_fit_with_every_word_whole(
        self, width: int, *, whole: bool
    ) -> None:
        found = sections(checking.load_matrix(), whole=whole)
        text = tables(found, Page(width=width))
        assert max(map(len, text.splitlines())) <= width
        said = {w for s in found for row in s.rows for cell in row for w in cell.split()}
        assert said <= set(text.split())

    def test_columns_that_fit_stay_beside_one_another_and_others_below(self) -> None:
        row = ("site.toml:rule:a", "this has to be so", "vendor")
        given = Section(kind="rule", title="T", head=("row", "says", "who"), rows=(row,))
        assert tables([given], Page(width=36)).splitlines() == [
            "T",
            "row               says        who",
            "site.toml:rule:a  this has    vendor",
            "                  to be so",
        ]
        assert tables([given], Page(width=27)).splitlines() == [
            "T",
            "site.toml:rule:a",
            "    says  this has to be so",
            "    who   vendor",
        ]

    def test_html_is_one_file_that_needs_nothing_else(self) -> None:
        text = mxenv("matrix", "show", "--format", "html", "-q").stdout
        assert text.startswith("<!DOCTYPE html>")
        assert "<script" not in text
        assert not re.search(r"(?:src|href)=\"(?!https?://)", text)
        assert "url(" not in text
        root = ET.fromstring(re.sub(r"<!DOCTYPE html>|<meta[^>]*>|<br>", "", text))  # noqa: S314 - our own text
        tables = list(root.iter("table"))
        assert len(tables) > 4
        for table in tables:
            assert table.find("caption") is not None
            assert {th.get("scope") for th in table.iter("th")} == {"col", "row"}

    def test_a_format_for_verdicts_is_none_for_tables(self) -> None:
        assert mxenv("matrix", "show", "--format", "sarif").exit_code == 2


class TestHtmlOfVerdicts:
    def test_what_a_node_says_becomes_no_markup(self, tmp_path: Path) -> None:
        snapshot = json.loads(
            mxenv("probe", "--on", f"recording:{GOOD}", "--format", "json").stdout
        )
        snapshot["node"] = "<script>alert(1)</script>"
        path = tmp_path / "n.json"
        path.write_text(json.dumps(snapshot))
        text = mxenv("check", path, "--format", "html").stdout
        assert "<script" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text

    def test_a_snapshot_is_a_page_as_well(self) -> None:
        text = mxenv("probe", "--on", f"recording:{GOOD}", "--format", "html").stdout
        assert "<caption>metax</caption>" in text
        assert "3.8.30" in text

    def test_a_fleet_is_a_page_as_well(self) -> None:
        text = mxenv(
            *("probe", "--on", f"recording:{GOOD}", "--on", f"recording:{MIXED}"),
            *("--on", "recording:nowhere", "--format", "html"),
        ).stdout
        assert "<caption>Nodes</caption>" in text
        assert "<caption>What sets groups apart</caption>" in text
        assert "nowhere" in text

    def test_it_reads_in_the_dark_and_on_paper(self) -> None:
        text = mxenv("check", MIXED, "--format", "html").stdout
        assert "prefers-color-scheme: dark" in text
        assert "@media print" in text
        assert '<span class="incompatible">incompatible</span>' in text


class TestNearest:
    def test_the_odd_wheels_of_a_mixture_are_the_shortest_way(self) -> None:
        result = mxenv("matrix", "nearest", MIXED, "--count", "1")
        assert (result.exit_code, result.stdout.splitlines()) == (
            0,
            [
                "metax.toml:release:vllm-metax-0.17.0: COMPATIBLE, 3 changes",
                "    flash-attn  2.6.3+metax3.7.1.3torch2.8 -> 2.6.3+metax3.5.3.9torch2.8",
                "    mcoplib     0.4.6+maca3.7.1.5.torch2.8 -> 0.4.2+maca3.5.3.20.torch2.8",
                "    triton      3.0.0+metax3.7.1.3 -> 3.0.0+metax3.5.3.9",
            ],
        )

    def test_what_it_promises_check_keeps(self) -> None:
        (way,) = parsed("matrix", "nearest", MIXED, "--count", "1")["ways"]
        sets = [f"python.package[{c['component']}]={c['to']}" for c in way["changes"]]
        options = [word for one in sets for word in ("--set", one)]
        result = mxenv("matrix", "what-if", MIXED, *options)
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1].endswith("INCOMPATIBLE -> COMPATIBLE")

    def test_a_node_that_is_there_needs_no_change(self) -> None:
        first = mxenv("matrix", "nearest", GOOD).stdout.splitlines()[0]
        assert first.endswith(": COMPATIBLE, as it is")

    def test_where_no_way_gets_there_the_status_is_unknown(self) -> None:
        dark = mxenv("matrix", "nearest", RECORDINGS / "c550-8cards", "--count", "1")
        assert dark.exit_code == 3
        assert "still unknown: MX112 metax.device.bios" in dark.stdout
        for name in ("plain-debian12", "nvidia-h100-8cards"):
            result = mxenv("matrix", "nearest", RECORDINGS / name)
            assert (result.exit_code, result.stdout) == (3, "")
            assert "no row of the matrix is for these cards" in result.stderr


class TestWhatIf:
    def test_another_sdk_breaks_what_was_built_for_this_one(self) -> None:
        result = mxenv("matrix", "what-if", GOOD, "--set", "metax.sdk=3.7.0.38")
        assert result.exit_code == 1
        last = result.stdout.splitlines()[-1]
        assert last == "c500-8cards with metax.sdk=3.7.0.38: COMPATIBLE -> INCOMPATIBLE"
        assert "goes with metax.sdk=3.7.0.38" in result.stdout
        assert "incompatible  MX110" in result.stdout

    def test_another_kernel_needs_a_module_that_nobody_has_seen(self) -> None:
        result = parsed("matrix", "what-if", GOOD, "--set", "kernel.release=6.8.0-40-generic")
        assert (result["before"], result["after"]) == ("compatible", "unknown")
        assert any("nobody has seen the module" in f["found"] for f in result["appeared"])

    def test_what_changes_nothing_is_said_to(self) -> None:
        result = mxenv("matrix", "what-if", GOOD)
        assert (result.exit_code, result.stdout) == (
            0,
            "c500-8cards with nothing: COMPATIBLE -> COMPATIBLE, nothing is said otherwise\n",
        )

    @pytest.mark.parametrize("name", ["c500-mixed", "c500-8cards", "plain-debian12"])
    def test_without_a_change_the_verdict_is_that_of_check(self, name: str) -> None:
        supposed = parsed("matrix", "what-if", RECORDINGS / name)["verdict"]
        (checked,) = parsed("check", RECORDINGS / name)["verdicts"]
        assert supposed == checked

    def test_a_misspelt_fact_is_named_with_the_nearest(self) -> None:
        result = mxenv("matrix", "what-if", GOOD, "--set", "metax.sdc=3")
        assert result.exit_code == 2
        assert "did you mean 'metax.sdk'?" in result.stderr


class TestAddTested:
    def test_a_node_that_nobody_knew_is_then_compatible_by_its_own_row(
        self, tmp_path: Path
    ) -> None:
        site = tmp_path / "site.toml"
        node = tmp_path / "node.json"
        snapshot = json.loads(
            mxenv("probe", "--on", f"recording:{GOOD}", "--format", "json").stdout
        )
        for fact in snapshot["facts"]:
            if fact["key"] in {"metax.kmd", "metax.module.on_disk"} and fact.get("value"):
                fact["value"] = "9.9.9"
        node.write_text(json.dumps(snapshot))
        assert mxenv("check", node).exit_code == 3
        added = parsed("matrix", "add-tested", node, "--evidence", "ticket 1", "--out", site)
        result = mxenv("check", node, "--matrix", site, "--format", "json")
        assert result.exit_code == 0
        (verdict,) = json.loads(result.stdout)["verdicts"]
        (pair,) = [f for f in verdict["findings"] if f["code"] == "MX106"]
        assert pair["row"] == added["row"]
        assert pair["because"][0]["link"] == "ticket 1"

    def test_another_look_adds_its_evidence_and_keeps_comments(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        mxenv("matrix", "add-tested", GOOD, "--evidence", "one", "--out", site)
        site.write_text("# ours\n" + site.read_text())
        mxenv("matrix", "add-tested", GOOD, "--evidence", "two", "--who", "me", "--out", site)
        assert site.read_text().startswith("# ours\n")
        (row,) = tomllib.loads(site.read_text())["tested"]
        assert [piece["link"] for piece in row["evidence"]] == ["one", "two"]

    def test_of_many_who_add_at_once_no_ones_row_is_lost(self, tmp_path: Path) -> None:
        site = tmp_path / "new" / "site.toml"
        snapshot = parsed("probe", "--on", f"recording:{GOOD}")
        running = []
        for number in range(4):
            for fact in snapshot["facts"]:
                if fact["key"] == "metax.kmd" and fact.get("value"):
                    fact["value"] = f"9.9.{number}"
            node = tmp_path / f"{number}.json"
            node.write_text(json.dumps(snapshot))
            command = ("matrix", "add-tested", node, "--evidence", "x", "--out", site)
            running.append(subprocess.Popen([sys.executable, "-m", "mxenv", *command]))
        assert [one.wait(timeout=120) for one in running] == [0] * 4
        rows = tomllib.loads(site.read_text())["tested"]
        assert {row["kmd"] for row in rows} == {f"9.9.{number}" for number in range(4)}
        assert [path.name for path in site.parent.iterdir()] == ["site.toml"]

    def test_a_file_that_somebody_else_writes_is_waited_for_and_then_refused(
        self, tmp_path: Path
    ) -> None:
        site, link = tmp_path / "site.toml", tmp_path / "link.toml"
        link.symlink_to(site)
        with _files.alone(site):
            for path in (site, link):
                with (
                    pytest.raises(UsageError, match="somebody else has been writing it"),
                    _files.alone(path, patience=0.1),
                ):
                    pass
        with _files.alone(link, patience=0):
            assert (tmp_path / ".site.toml.lock").exists()
        assert [path.name for path in tmp_path.iterdir()] == ["link.toml"]

    def test_a_lock_that_a_killed_writer_left_holds_nobody_up(self, tmp_path: Path) -> None:
        (tmp_path / ".site.toml.lock").touch()
        site = tmp_path / "site.toml"
        assert mxenv("matrix", "add-tested", GOOD, "--evidence", "x", "--out", site).exit_code == 0
        assert [path.name for path in tmp_path.iterdir()] == ["site.toml"]

    def test_what_could_not_be_read_is_not_vouched_for(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        bad = RECORDINGS / "c550-pod-sdk-unknown"
        result = mxenv("matrix", "add-tested", bad, "--evidence", "x", "--out", site)
        assert result.exit_code == 2
        assert "cannot become a tested row: metax.sdk: unreadable" in result.stderr
        assert not site.exists()

    def test_nothing_is_no_evidence(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        for option in ("--evidence", "--who"):
            result = mxenv(
                *("matrix", "add-tested", GOOD, "--evidence", "x", "--out", site),
                *(option, " "),
            )
            assert (result.exit_code, site.exists()) == (2, False)

    def test_a_node_that_a_broken_row_speaks_of_stays_so_and_it_is_said(
        self, tmp_path: Path
    ) -> None:
        site, ours = tmp_path / "site.toml", tmp_path / "ours.toml"
        ours.write_text(
            HEAD + '[[broken]]\nid = "b"\ntext = "b"\nwhen = ["metax.kmd == 3.8.30"]\n' + SAID
        )
        result = mxenv(
            *("matrix", "add-tested", GOOD, "--evidence", "x", "--out", site, "--matrix", ours)
        )
        assert result.exit_code == 0
        assert "is still incompatible" in result.stderr


class TestLint:
    def test_what_is_shipped_has_no_flaw(self) -> None:
        result = mxenv("matrix", "lint")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "no flaws\n")

    def test_all_flaws_of_a_file_are_told_with_their_lines(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        site.write_text(
            HEAD
            + '[[rule]]\nid = "a"\ntxt = "x"\nrequires = ["metax.sdc >= 3"]\n'
            + SAID
            + '[[broken]]\nid = "b"\ntext = "x"\nwhen = ["metax.sdk > 3, < 2"]\n'
        )
        result = mxenv("matrix", "lint", site)
        assert result.exit_code == 1
        lines = [
            line.removeprefix(f"{site}:").split(" (")[0] for line in result.stdout.splitlines()
        ]
        assert lines == [
            "4: invalid: rule 'a'.text: missing",
            "6: invalid: rule 'a'.txt: unknown field",
            "7: invalid: rule 'a'.requires[0]: no probe declares the fact 'metax.sdc'",
            "9: invalid: broken 'b'.evidence: missing: a row without evidence is a guess",
        ]
        assert "did you mean 'metax.sdk'?" in result.stdout
        flaws = parsed("matrix", "lint", site)["flaws"]
        assert [flaw["line"] for flaw in flaws] == [4, 6, 7, 9]

    def test_what_is_no_toml_is_an_invalid_file(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        site.write_text("x = \n")
        assert mxenv("matrix", "lint", site).exit_code == 5

    def test_old_evidence_is_told_when_asked_for(self, tmp_path: Path) -> None:
        site = tmp_path / "site.toml"
        old = SAID.replace('grade = "site"', 'grade = "site", when = "2020-01-01"')
        site.write_text(HEAD + '[[series]]\nid = "x"\ncards = ["X1", "X2"]\n' + old)
        assert mxenv("matrix", "lint", site).exit_code == 0
        assert "stale" in mxenv("matrix", "lint", site, "--stale", "30").stdout
