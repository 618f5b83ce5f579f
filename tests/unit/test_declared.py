"""All files of a project together: what one names takes effect where it is named."""

from __future__ import annotations

import pytest

from mxenv import requirement_lines, stages
from mxenv.asked import Elsewhere, Source, Statement, Unread
from mxenv.declared import MOST_UNREAD, Link, judge
from mxenv.scene import Ground, Surroundings
from mxenv.verdict import Outcome, Place

LOCK = Place(file="lockfiles/pylock.x.toml", line=7)
BASE = "registry.example.org/vendor/vllm@sha256:" + "ab" * 32
GROUND = Ground(
    reference=BASE,
    accelerator="metax",
    place=LOCK,
    held={"torch": ("2.8.0+metax3.5.3.9", LOCK), "numpy": ("1.26.4", LOCK)},
)
AROUND = Surroundings(grounds=(GROUND,), published={})
NOTHING = Surroundings(published={})


def requirements(file: str, text: str) -> Source:
    statements = tuple(requirement_lines.parse(text, file=file))
    return Source(file=file, kind="requirements", statements=statements)


def containerfile(file: str, text: str) -> Source:
    return Source(file=file, kind="Containerfile", statements=tuple(stages.parse(text, file=file)))


def told(
    *sources: Source, links: tuple[Link, ...] = (), around: Surroundings = AROUND
) -> list[tuple[str, str]]:
    found = judge(sources, links, around)
    assert list(found) == [source.file for source in sources]
    return [
        (one.code, str(one.place))
        for findings in found.values()
        for one in findings
        if one.code != "MX410"
    ]


@pytest.mark.parametrize(
    ("reference", "outcome"),
    [
        ("a/b@sha256:0", None),
        ("a/b:1@sha256:0", None),
        ("a/b:1", Outcome.UNKNOWN),
        ("h:5000/b:1", Outcome.UNKNOWN),
        ("h:5000/b", Outcome.INCOMPATIBLE),
        ("a/b:latest", Outcome.INCOMPATIBLE),
        ("a", Outcome.INCOMPATIBLE),
        ("$A", Outcome.UNKNOWN),
        ("a;reboot", Outcome.INCOMPATIBLE),
    ],
)
def test_a_base_without_a_digest_is_not_pinned(reference: str, outcome: Outcome | None) -> None:
    findings = judge([containerfile("C", f"\nFROM {reference}")], (), NOTHING)["C"]
    assert [(one.code, one.outcome, one.place) for one in findings] == (
        [("MX415", outcome, Place(file="C", line=2))]
        if outcome is not None
        else [("MX410", Outcome.COMPATIBLE, Place(file="C"))]
    )
    assert "docker://a;" not in findings[0].remedy.replace("'docker://a;reboot'", "")


def test_a_file_in_which_nothing_is_wrong_says_what_was_compared() -> None:
    (found,) = judge([requirements("r.txt", "a\n./b")], (), AROUND)["r.txt"]
    assert (found.code, found.outcome) == ("MX410", Outcome.COMPATIBLE)
    assert found.found == "2 statements, held against 1 lock and the other files"
    (found,) = judge([requirements("r.txt", "a")], (), NOTHING)["r.txt"]
    assert found.found == "1 statement, held against no lock and the other files"


def test_what_is_not_understood_is_unknown_and_hundreds_of_lines_are_few() -> None:
    text = "\n".join(f"bad req {n}" for n in range(MOST_UNREAD + 5))
    findings = judge([requirements("r.txt", text)], (), AROUND)["r.txt"]
    assert {one.code for one in findings} == {"MX417"}
    assert {one.outcome for one in findings} == {Outcome.UNKNOWN}
    assert len(findings) == MOST_UNREAD + 1
    assert findings[-1].found == "5 more lines that are not understood"


def test_a_line_of_nothing_has_a_subject() -> None:
    unread = Unread(text="", reason="x", place=Place(file="r"))
    source = Source(file="r", kind="requirements", statements=(unread,))
    (found,) = judge([source], (), AROUND)["r"]
    assert found.subject == "?"


@pytest.mark.parametrize(
    ("absent", "outcome"), [(True, Outcome.INCOMPATIBLE), (False, Outcome.UNKNOWN)]
)
def test_a_file_that_is_not_read_is_said_so(*, absent: bool, outcome: Outcome) -> None:
    statement: Statement = Elsewhere(
        text="-r x", reason="there is no x", place=Place(file="r"), absent=absent
    )
    source = Source(file="r", kind="requirements", statements=(statement,))
    (found,) = judge([source], (), AROUND)["r"]
    assert (found.code, found.outcome) == ("MX418", outcome)


def test_a_requirement_takes_effect_in_the_image_that_its_file_is_installed_into() -> None:
    asks = requirements("a/r.txt", "torch>=2.9")
    vendors = containerfile("C", f"FROM {BASE}")
    others = containerfile("C", "FROM python@sha256:0")
    into = Link(origin="C", target="a/r.txt", base=BASE)
    elsewhere = Link(origin="C", target="a/r.txt", base="python@sha256:0")
    assert told(asks, vendors, links=(into,)) == [("MX411", "a/r.txt:1")]
    assert told(asks, others, links=(elsewhere,)) == []
    assert told(asks) == [("MX411", "a/r.txt:1")]


def test_a_file_is_installed_where_the_file_that_names_it_is() -> None:
    sources = (
        containerfile("C", f"FROM {BASE}"),
        requirements("a/r.txt", ""),
        requirements("b/s.txt", "torch"),
    )
    first = Link(origin="C", target="a/r.txt", base=BASE, forced=True)
    then = Link(origin="a/r.txt", target="b/s.txt")
    assert told(*sources, links=(then, first)) == [("MX411", "b/s.txt:1")]


def test_files_that_name_one_another_are_read_all_the_same() -> None:
    sources = requirements("r.txt", "torch>=2.9"), requirements("s.txt", "numpy")
    links = Link(origin="r.txt", target="s.txt"), Link(origin="s.txt", target="r.txt")
    assert told(*sources, links=links) == [("MX411", "r.txt:1")]


def test_a_file_that_is_named_as_a_constraint_only_asks_for_nothing() -> None:
    sources = requirements("r.txt", "x"), requirements("c.txt", "vllm")
    limits = Link(origin="r.txt", target="c.txt", limits=True)
    asks = Link(origin="r.txt", target="c.txt")
    assert told(*sources, links=(limits,)) == []
    assert told(*sources, links=(limits, asks)) == [("MX414", "c.txt:1")]


def test_pins_are_compared_in_one_folder_or_where_one_file_names_the_other() -> None:
    one, other = requirements("a/r.txt", "x==1"), requirements("b/r.txt", "x==2")
    assert told(one, other) == []
    link = Link(origin="a/r.txt", target="b/r.txt", limits=True)
    assert told(one, other, links=(link,)) == [("MX416", "b/r.txt:1")]
    assert told(one, requirements("a/s.txt", "x==2")) == [("MX416", "a/s.txt:1")]
    assert told(requirements("r.txt", "x==1\nx==2")) == [("MX416", "r.txt:2")]


def test_a_line_that_asks_for_the_vendors_build_says_which_cards_all_are_for() -> None:
    lines = "torch==2.8.0+metax3.5.3.9\n-i https://h/whl/cu126"
    (found,) = judge([requirements("r.txt", lines)], (), NOTHING)["r.txt"]
    assert (found.code, found.outcome) == ("MX413", Outcome.INCOMPATIBLE)


def test_two_stages_are_two_environments() -> None:
    text = "FROM a@sha256:0\nRUN pip install x==1\nFROM b@sha256:0\nRUN pip install x==2"
    assert told(containerfile("C", text)) == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("numpy==2", ["MX416"]),
        ("numpy==1.26.4", []),
        ("torch==2.9", ["MX411"]),
        ("-i https://h", []),
    ],
)
def test_a_pin_is_held_against_the_locks_but_for_the_builds_of_the_vendor(
    text: str, codes: list[str]
) -> None:
    assert [code for code, _ in told(requirements("r.txt", text))] == codes


def test_a_lock_that_is_not_there_contradicts_nothing() -> None:
    unlocked = Ground(reference="x", accelerator="metax", place=LOCK, held={}, known=False)
    around = Surroundings(grounds=(unlocked,), published={})
    assert told(requirements("r.txt", "numpy==2"), around=around) == []
