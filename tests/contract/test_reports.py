"""Every report says everything that matters, and none can turn bad news into good."""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from mxenv import _plugins
from mxenv.facts import Absent, Fact, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.fleet import Failure, Fleet, Member
from mxenv.reports import Page, Report
from mxenv.verdict import Evidence, Finding, Outcome, Place, Verdict, Waiver

if TYPE_CHECKING:
    from mxenv.facts import Reading

SARIF = Path(__file__).parents[1] / "schemas" / "sarif-2.1.0.json"
FORMATS = _plugins.names("reports")
PAPER = Page()
ONE = Observed("1")
SAYS = Evidence(
    link="https://example.org/notes?a=1&b=<2>",
    who="MetaX release notes",
    when="2026-03-02",
    grade="vendor",
)
WAIVER = Waiver(
    code="MX104",
    reason="measured by us; see the ticket",
    owner="platform@example.org",
    expires=date(2027, 1, 31),
)


def finding(outcome: Outcome, code: str = "MX101", waiver: Waiver | None = None) -> Finding:
    return Finding(
        code=code,
        outcome=outcome,
        subject=f"torch-{outcome.word}",
        found="2.8.0+metax3.5.3.9 in /opt/conda, 100% <sure> & \x1b[31mred\x1b[0m\nnext: line, end",
        expected="a build for SDK 3.7.0.*",
        because=(SAYS,),
        remedy="pip install 'torch==2.8.0+metax3.7.0.1'",
        row="metax.toml:rule:wheel-same-maca",
        waiver=waiver,
    )


def verdict(*findings: Finding, subject: str = "node-7") -> Verdict:
    return Verdict(subject=subject, findings=findings, matrix="sha256:" + "ab" * 32)


BAD = verdict(
    finding(Outcome.COMPATIBLE, "MX103"),
    finding(Outcome.UNKNOWN, "MX102"),
    finding(Outcome.INCOMPATIBLE),
    finding(Outcome.INCOMPATIBLE, "MX104", WAIVER),
)
NOTHING = verdict()
PLACED = verdict(
    replace(finding(Outcome.UNKNOWN), place=Place(file="docker/a b/Containerfile", line=7)),
    replace(finding(Outcome.INCOMPATIBLE), place=Place(file="docker/a b/Containerfile", line=31)),
    subject="docker/a b/Containerfile",
)
OPERATOR = Finding(
    code="MX615",
    outcome=Outcome.UNKNOWN,
    subject="unknown operators",
    found="aten::mm.default: nobody asked; 3 of 9 calls",
)
PTX = Finding(
    code="MX620",
    outcome=Outcome.UNKNOWN,
    subject="inline PTX",
    found="k.cu:7 asm",
    place=Place(file="k.cu", line=7),
)
ALIKE = verdict(
    OPERATOR,
    replace(OPERATOR, found="aten::bmm.default: nobody asked; 3 of 9 calls"),
    PTX,
    replace(PTX, found="k.cu:7 asm volatile"),
    replace(PTX, place=Place(file="k.cu", line=9), found="k.cu:9 asm"),
    Finding(code="MX631", outcome=Outcome.UNKNOWN, subject="value", found="guessed", advice=True),
)
"""Findings of which several are about one subject, as programs are told of operators and places."""


def rendered(name: str, *verdicts: Verdict, page: Page = PAPER) -> str:
    report: Report = _plugins.load("reports", name)
    return report.verdicts(verdicts, page)


@pytest.mark.parametrize("name", FORMATS)
class TestEveryReport:
    def test_it_has_a_title(self, name: str) -> None:
        assert _plugins.load("reports", name).title

    def test_equal_verdicts_give_equal_bytes(self, name: str) -> None:
        assert rendered(name, BAD) == rendered(name, BAD)

    def test_it_ends_with_a_newline_and_holds_no_escape_of_a_terminal(self, name: str) -> None:
        text = rendered(name, BAD, NOTHING)
        assert text.endswith("\n")
        assert "\x1b" not in text

    def test_every_finding_that_is_not_fine_is_named_with_its_code(self, name: str) -> None:
        text = rendered(name, BAD)
        for code in ("MX101", "MX102", "MX104"):
            assert code in text

    def test_what_to_do_is_said(self, name: str) -> None:
        assert "torch==2.8.0+metax3.7.0.1" in rendered(name, BAD)

    def test_the_owner_of_a_waiver_is_named(self, name: str) -> None:
        assert "platform@example.org" in rendered(name, BAD)

    def test_good_and_bad_news_differ(self, name: str) -> None:
        good = verdict(finding(Outcome.COMPATIBLE))
        assert rendered(name, good) != rendered(name, verdict(finding(Outcome.UNKNOWN)))
        assert rendered(name, good) != rendered(name, NOTHING)


ADVISED = verdict(
    finding(Outcome.UNKNOWN),
    finding(Outcome.COMPATIBLE),
    replace(finding(Outcome.COMPATIBLE, "MX127"), advice=True),
)


class TestAdvice:
    """What nobody could check is told apart from what is fine."""

    def test_it_is_counted_apart(self) -> None:
        for name in ("text", "html", "github"):
            assert "1 unknown, 1 compatible, 1 advice" in rendered(name, ADVISED)

    def test_it_has_a_word_of_its_own_in_a_list(self) -> None:
        said = rendered("text", ADVISED, page=Page(verbose=True))
        assert "advice        MX127" in said
        assert said.count("compatible    MX") == 1

    def test_it_is_marked_for_programs(self) -> None:
        document = json.loads(rendered("json", ADVISED))
        assert [f.get("advice") for f in document["verdicts"][0]["findings"]] == [None, None, True]
        results = json.loads(rendered("sarif", ADVISED))["runs"][0]["results"]
        assert [one["kind"] for one in results] == ["fail", "pass", "informational"]

    def test_a_server_takes_it_for_skipped_and_not_for_passed(self) -> None:
        suite = ET.fromstring(rendered("junit", ADVISED))[0]  # noqa: S314 - our own
        assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")


class TestText:
    def test_the_worst_comes_first_and_waived_findings_last(self) -> None:
        lines = [line for line in rendered("text", BAD).splitlines() if "  MX" in line]
        assert [line.split()[:2] for line in lines] == [
            ["incompatible", "MX101"],
            ["unknown", "MX102"],
            ["waived", "MX104"],
        ]

    def test_the_last_line_sums_up(self) -> None:
        assert rendered("text", BAD).splitlines()[-1] == (
            "node-7: INCOMPATIBLE - 1 incompatible, 1 unknown, 1 compatible, 1 waived"
            " (-v shows all), matrix sha256:abababababab"
        )

    def test_what_is_fine_is_shown_when_asked_for(self) -> None:
        assert "MX103" not in rendered("text", BAD)
        assert "MX103" in rendered("text", BAD, page=Page(verbose=True))

    def test_having_checked_nothing_reads_as_unknown(self) -> None:
        assert rendered("text", NOTHING).startswith("node-7: UNKNOWN - nothing was checked")

    @pytest.mark.parametrize("width", [60, 80, 200])
    def test_no_line_is_wider_than_the_page_but_for_words_that_cannot_be_split(
        self, width: int
    ) -> None:
        page = Page(width=width, verbose=True)
        wide = [line for line in rendered("text", BAD, page=page).splitlines() if len(line) > width]
        assert [line for line in wide if len(line.split()) > 2] == []

    def test_paint_changes_no_word(self) -> None:
        painted = rendered(
            "text", BAD, page=Page(width=80, paint=lambda text, style: f"{text}" if style else text)
        )
        assert painted == rendered("text", BAD, page=Page(width=80))


class TestTextOfASnapshot:
    """Nothing that was not read may look as if it was."""

    KEYS: ClassVar = {
        key.name: key
        for key in (
            FactKey(name="metax.kmd", meaning="driver"),
            FactKey(name="metax.device.model", meaning="model", instance="@bdf"),
            FactKey(name="metax.device.memory_mib", meaning="", instance="@bdf", unit="MiB"),
            FactKey(name="python.package", meaning="", instance="env/name"),
        )
    }

    def text(self, *facts: tuple[str, str, Reading] | Fact, page: Page = PAPER) -> str:
        snapshot = Snapshot(
            node="node-7",
            view=View.HOST,
            taken_at=datetime(2026, 3, 2, tzinfo=UTC),
            facts=tuple(
                fact
                if isinstance(fact, Fact)
                else Fact(key=fact[0], instance=fact[1], reading=fact[2], source="mx-smi")
                for fact in facts
            ),
        )
        render = _plugins.load("reports", "text").snapshot
        return str(render(snapshot, self.KEYS, page))

    def test_a_reason_is_shown_where_a_value_would_be(self) -> None:
        text = self.text(("metax.kmd", "", Unreadable("it exited with 1")))
        assert "kmd  unreadable: it exited with 1" in text

    def test_what_is_absent_is_said_so(self) -> None:
        assert "absent: kmd" in self.text(("metax.kmd", "", Absent()))

    def test_of_many_that_are_absent_it_is_said_how_many(self) -> None:
        text = self.text(*(("boot.parameter", f"p{n}", Absent()) for n in range(20)))
        assert "absent: parameter x 20\n" in text

    def test_a_list_that_is_not_whole_says_so_beside_what_is_in_it(self) -> None:
        some = Fact(key="python.package", reading=Observed(("b.py",)), source="RECORD")
        late = replace(some, reading=Unreadable("late"))
        assert "b.py; not all: late\n" in self.text(some, late)
        assert "not all" not in self.text(some, replace(late, source="elsewhere"))

    def test_of_sources_that_disagree_none_is_left_out(self) -> None:
        facts = [
            Fact(key="metax.kmd", reading=Observed(value), source=source)
            for value, source in (("3.8", "a"), ("3.9", "b"), ("3.8", "c"))
        ]
        text = self.text(*facts)
        assert "kmd  sources disagree: 3.8 (a, c) | 3.9 (b)\n" in text
        assert "disagree" not in self.text(facts[0], facts[2])

    def test_a_word_has_no_unit(self) -> None:
        card = "metax.device.memory_mib"
        text = self.text((card, "0:0", Observed("unlimited")), (card, "0:1", Observed("12")))
        assert "unlimited\n" in text
        assert "12 MiB\n" in text

    def test_what_one_source_has_nothing_of_is_not_absent_if_another_has(self) -> None:
        text = self.text(("python.package", "", Absent()), ("python.package", "/usr/x", ONE))
        assert "package[/usr/x]  1" in text
        assert "absent" not in text

    def test_much_that_could_not_be_read_for_one_reason_is_one_line(self) -> None:
        lost = Unreadable("gone")
        many = [(f"os.k{n}", "", lost) for n in range(5)]
        text = self.text(*many, ("os.z", "", Unreadable("no")))
        assert "  z  unreadable: no\n  unreadable, gone: k0, k1, k2, k3, k4\n" in text
        assert "k3  unreadable: gone  (mx-smi, host)" in self.text(*many, page=Page(verbose=True))
        assert "k2  unreadable: gone\n" in self.text(*many[:3])

    def test_a_nodes_own_cards_come_first_and_what_nobody_knows_last(self) -> None:
        text = self.text(
            ("boot.x", "", Unreadable("no")),
            ("cpu.count", "", ONE),
            ("metax.device.model", "0:0", ONE),
            ("nvidia.device.count", "", Observed(0)),
        )
        heads = [line for line in text.splitlines() if line and not line.startswith(" ")]
        assert heads[1:] == ["metax", "cpu", "nvidia", "boot", "fingerprint"]

    def test_cards_that_read_the_same_are_one_line_and_the_odd_one_its_own(self) -> None:
        cards = [("metax.device.memory_mib", f"0000:{n}:00.0", Observed(65536)) for n in range(7)]
        text = self.text(*cards, ("metax.device.memory_mib", "0000:7:00.0", Observed(1)))
        assert "device.memory_mib x 7           65536 MiB" in text
        assert "device.memory_mib[0000:7:00.0]  1 MiB" in text

    def test_a_distribution_that_a_vendor_built_is_shown_among_many(self) -> None:
        many = [("python.package", f"/usr/p{n}", Observed("1.0")) for n in range(40)]
        torch = ("python.package", "/usr/torch", Observed("2.8.0+metax3.5.3.9"))
        text = self.text(*many, torch)
        assert "package[/usr/torch]  2.8.0+metax3.5.3.9" in text
        assert "40 more distributions (-v lists them)" in text
        assert "/usr/p39" not in text
        assert "/usr/p39" in self.text(*many, torch, page=Page(verbose=True))

    def test_the_source_of_a_fact_is_shown_when_all_is_wanted(self) -> None:
        text = self.text(("metax.kmd", "", Observed("3.8.30")), page=Page(verbose=True))
        assert "3.8.30  (mx-smi, host)" in text

    def test_a_reading_that_failed_for_a_passing_reason_leaves_no_stack_digest(self) -> None:
        text = self.text(("metax.kmd", "", Unreadable("timed out", passing=True)))
        assert "stack  none: a reading failed for a passing reason, probe again" in text

    def test_what_a_node_says_cannot_steer_a_terminal(self) -> None:
        assert "\x1b" not in self.text(("metax.kmd", "", Observed("3\x1b[2J")))


class TestJson:
    SCHEMA = json.loads(
        importlib.resources.files("mxenv")
        .joinpath("schemas/verdict.schema.json")
        .read_text(encoding="utf-8")
    )

    @pytest.mark.parametrize("verdicts", [(), (BAD,), (BAD, NOTHING)])
    def test_it_obeys_its_schema(self, verdicts: tuple[Verdict, ...]) -> None:
        jsonschema.validate(json.loads(rendered("json", *verdicts)), self.SCHEMA)

    def test_the_outcome_is_that_of_the_worst_verdict(self) -> None:
        good = verdict(finding(Outcome.COMPATIBLE))
        assert json.loads(rendered("json", good))["outcome"] == "compatible"
        assert json.loads(rendered("json", good, NOTHING))["outcome"] == "unknown"
        assert json.loads(rendered("json", good, BAD))["outcome"] == "incompatible"
        assert json.loads(rendered("json"))["outcome"] == "unknown"


class TestJUnit:
    def test_unknown_fails_as_well_and_waived_is_skipped(self) -> None:
        suite = ET.fromstring(rendered("junit", BAD))[0]  # noqa: S314 - our own text
        assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("4", "2", "1")
        assert len(suite.findall("testcase/failure")) == 2

    def test_what_it_counts_is_what_is_in_it(self) -> None:
        suite = ET.fromstring(rendered("junit", ALIKE))[0]  # noqa: S314 - our own text
        assert suite.get("failures") == str(len(suite.findall("testcase/failure"))) == "5"
        assert suite.get("skipped") == str(len(suite.findall("testcase/skipped"))) == "1"

    def test_no_two_cases_have_one_name_and_each_says_what_it_is_about(self) -> None:
        suite = ET.fromstring(rendered("junit", ALIKE))[0]  # noqa: S314 - our own text
        assert [case.get("name") for case in suite] == [
            "MX615 unknown operators: aten::mm.default",
            "MX615 unknown operators: aten::bmm.default",
            "MX620 inline PTX at k.cu:7",
            "MX620 inline PTX at k.cu:7 (2)",
            "MX620 inline PTX at k.cu:9",
            "MX631 value",
        ]

    def test_nothing_is_said_of_what_there_is_not(self) -> None:
        suite = ET.fromstring(rendered("junit", verdict(PTX)))[0]  # noqa: S314 - our own text
        said = suite.findtext("testcase/failure") or ""
        assert said.splitlines() == ["at: k.cu:7", "found: k.cu:7 asm"]

    def test_an_empty_verdict_is_a_failure(self) -> None:
        suite = ET.fromstring(rendered("junit", NOTHING))[0]  # noqa: S314 - our own text
        assert suite.get("failures") == "1"


class TestGithub:
    def test_an_annotation_is_one_line_and_escaped(self) -> None:
        lines = rendered("github", BAD).splitlines()
        assert [line.split(" ")[0] for line in lines] == [
            "::error",
            "::notice",
            "::warning",
            "::error",
        ]
        assert "100%25 <sure>" in lines[0]

    def test_a_verdict_on_a_file_points_at_it(self) -> None:
        text = rendered("github", verdict(finding(Outcome.UNKNOWN), subject="a/pylock.x.toml"))
        assert text.startswith("::warning file=a/pylock.x.toml,title=MX101 torch-unknown::found")


class TestSarif:
    def run(self, *verdicts: Verdict) -> dict[str, list[dict[str, object]]]:
        document = json.loads(rendered("sarif", *verdicts))
        assert document["version"] == "2.1.0"
        run: dict[str, list[dict[str, object]]] = document["runs"][0]
        return run

    def test_no_two_results_have_one_fingerprint(self) -> None:
        known = [str(r["partialFingerprints"]) for r in self.run(ALIKE, BAD)["results"]]
        assert len(set(known)) == len(known)

    def test_what_is_no_failure_has_no_level(self) -> None:
        levels = {(r["kind"] == "fail", r["level"] == "none") for r in self.run(ALIKE)["results"]}
        assert levels == {(True, False), (False, True)}

    def test_levels_follow_outcomes(self) -> None:
        levels = {r["ruleId"]: (r["level"], r["kind"]) for r in self.run(BAD)["results"]}
        assert levels["MX101"] == ("error", "fail")
        assert levels["MX102"] == ("warning", "fail")
        assert levels["MX103"] == ("none", "pass")

    def test_a_waived_finding_is_suppressed_with_its_reason(self) -> None:
        waived = [r for r in self.run(BAD)["results"] if r["ruleId"] == "MX104"]
        assert waived[0]["suppressions"] == [
            {
                "kind": "external",
                "status": "accepted",
                "justification": "platform@example.org, until 2027-01-31: "
                "measured by us; see the ticket",
            }
        ]

    def test_a_file_is_a_physical_location(self) -> None:
        result = self.run(verdict(finding(Outcome.UNKNOWN), subject="a b/image.toml"))["results"][0]
        assert result["locations"][0]["physicalLocation"] == {  # type: ignore[index] # parsed JSON
            "artifactLocation": {"uri": "a%20b/image.toml"},
            "region": {"startLine": 1},
        }

    @pytest.mark.parametrize("verdicts", [(), (BAD,), (BAD, NOTHING), (PLACED, BAD)])
    def test_it_obeys_the_schema_of_the_standard(self, verdicts: tuple[Verdict, ...]) -> None:
        schema = json.loads(SARIF.read_text(encoding="utf-8"))
        jsonschema.validate(json.loads(rendered("sarif", *verdicts)), schema)

    def test_the_schema_of_the_standard_refuses_what_is_none(self) -> None:
        schema = json.loads(SARIF.read_text(encoding="utf-8"))
        document = json.loads(rendered("sarif", PLACED))
        document["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"] = {
            "startLine": 0
        }
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, schema)


class TestGitlab:
    """An array of issues as GitLab's code quality takes it; an empty one means all is fine."""

    def issues(self, *verdicts: Verdict) -> list[dict[str, Any]]:
        issues: list[dict[str, Any]] = json.loads(rendered("gitlab", *verdicts))
        return issues

    def test_what_is_fine_is_no_issue(self) -> None:
        assert self.issues(verdict(finding(Outcome.COMPATIBLE))) == []

    def test_an_issue_has_what_gitlab_asks_for(self) -> None:
        for issue in self.issues(BAD, NOTHING, PLACED):
            assert issue.keys() == {
                "description",
                "check_name",
                "fingerprint",
                "severity",
                "location",
            }
            assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
            assert issue["location"]["path"]
            assert issue["location"]["lines"]["begin"] >= 1

    def test_no_two_issues_have_one_fingerprint(self) -> None:
        issues = self.issues(BAD, BAD, PLACED)
        assert len({issue["fingerprint"] for issue in issues}) == len(issues)

    def test_a_fingerprint_stays_when_the_line_moves(self) -> None:
        moved = tuple(
            replace(one, place=replace(one.place, line=one.place.line + 5))
            for one in PLACED.findings
            if one.place
        )
        before, after = self.issues(PLACED), self.issues(replace(PLACED, findings=moved))
        assert [i["fingerprint"] for i in before] == [i["fingerprint"] for i in after]
        assert before != after

    def test_a_waived_finding_is_information(self) -> None:
        severities = {i["check_name"]: i["severity"] for i in self.issues(BAD)}
        assert severities == {"MX101": "critical", "MX102": "major", "MX104": "info"}


class TestPlaces:
    """A finding that a line of a file says is shown at that line, in every format."""

    def test_text_says_file_and_line(self) -> None:
        assert "    at        docker/a b/Containerfile:31\n" in rendered("text", PLACED)

    def test_a_page_says_file_and_line(self) -> None:
        assert "docker/a b/Containerfile:31: 2.8.0" in rendered("html", PLACED)

    def test_json_has_it_and_obeys_its_schema(self) -> None:
        document = json.loads(rendered("json", PLACED))
        jsonschema.validate(document, TestJson.SCHEMA)
        places = [one["place"] for one in document["verdicts"][0]["findings"]]
        assert places == [{"file": "docker/a b/Containerfile", "line": n} for n in (7, 31)]

    def test_github_annotates_the_line(self) -> None:
        text = rendered("github", PLACED)
        assert text.startswith("::error file=docker/a b/Containerfile,line=31,title=MX101")

    def test_sarif_has_a_region(self) -> None:
        results = json.loads(rendered("sarif", PLACED))["runs"][0]["results"]
        assert [one["locations"][0]["physicalLocation"] for one in results] == [
            {
                "artifactLocation": {"uri": "docker/a%20b/Containerfile"},
                "region": {"startLine": line},
            }
            for line in (7, 31)
        ]

    def test_gitlab_has_the_line_where_it_begins(self) -> None:
        locations = [issue["location"] for issue in json.loads(rendered("gitlab", PLACED))]
        assert [one["lines"]["begin"] for one in locations] == [31, 7]

    def test_junit_has_file_and_line(self) -> None:
        suite = ET.fromstring(rendered("junit", PLACED))[0]  # noqa: S314 - our own text
        cases = suite.findall("testcase")
        assert [(c.get("file"), c.get("line")) for c in cases] == [
            ("docker/a b/Containerfile", "7"),
            ("docker/a b/Containerfile", "31"),
        ]


def test_a_narrow_page_has_no_line_of_a_node_that_is_wider() -> None:
    members = (
        Member(address="recording:" + "x" * 40, node="n" * 30, seconds=1.0, digest="d", read=3),
        Member(
            address="ssh:node-2",
            seconds=1.0,
            failure=Failure(message="ssh:node-2: " + "no route " * 20, status=4),
        ),
    )
    render = _plugins.load("reports", "text").fleet
    wide, narrow = (render(Fleet(members=members), Page(width=width)) for width in (400, 80))
    assert max(map(len, narrow.splitlines())) <= 80
    for word in ("seconds", "error", "n" * 30):
        assert word in wide
        assert word not in narrow
    assert all(" ".join(text.split()).count("no route") == 20 for text in (wide, narrow))
