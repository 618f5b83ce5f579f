"""Rows that speak against one another, or of nothing that can be, are pointed out."""

from __future__ import annotations

from datetime import date

import pytest
from _stacks import KEYS, TODAY, matrix

from mxenv.contradiction import Remark, dated, remarks

SETS = """
[[release]]
id = "a"
sdk = "3.5.3.*"
components = { torch = "2.8.0+metax3.5.3.9", vllm = "0.17.0" }
EVIDENCE
[[release]]
id = "b"
sdk = "3.7.0.*"
components = { torch = "2.8.0+metax3.5.3.9" }
EVIDENCE
[[release]]
id = "c"
sdk = "3.5.3.20"
components = { torch = "2.8.0+metax3.5.3.9" }
EVIDENCE
[[release]]
id = "d"
components = { torch = "2.8.0+metax3.5.3.9" }
EVIDENCE
[[release]]
id = "e"
sdk = "3.8.0.*"
components = { vllm = "0.17.0" }
EVIDENCE
"""
RULE = """
[[rule]]
id = "{id}"
text = "{id}"
when = [{when}]
requires = [{requires}]
EVIDENCE
"""
TESTED = """
[[tested]]
id = "t"
card = "C500"
kmd = "3.8.30"
sdk = "3.5.3.20"
packages = { torch = "2.8.0+metax3.5.3.9", vllm = "0.17.*" }
works = true
EVIDENCE
"""
BROKEN = '[[broken]]\nid = "b"\ntext = "b"\nwhen = [{when}]\nEVIDENCE\n'


def rule(name: str, *, when: str = "", requires: str = '"metax.sdk >= 3"') -> str:
    return RULE.format(id=name, when=when, requires=requires)


EVIDENCED = """
[[rule]]
id = "x"
text = "t"
requires = ["metax.sdk >= 3"]
evidence = [{ link = "l", who = "w", when = "WHEN", grade = "site" }]
"""


def said(text: str, *, stale: int | None = None) -> list[Remark]:
    return list(remarks(matrix(text), KEYS, today=TODAY, stale=stale))


def told(text: str, *, stale: int | None = None) -> list[tuple[str, str]]:
    return [(r.kind, r.row.partition(":")[2] + " " + r.message) for r in said(text, stale=stale)]


def test_one_set_of_builds_is_for_one_sdk() -> None:
    assert told(SETS.replace(', vllm = "0.17.0" }', " }", 1)) == [
        (
            "contradiction",
            "release:b has the builds of test.toml:release:a for the SDK 3.7.0.*, and not 3.5.3.*",
        )
    ]


def test_a_row_that_says_what_another_says_is_one_too_many() -> None:
    both = rule("x") + rule("y") + rule("z", requires='"metax.sdk >= 4"')
    assert told(both) == [("duplicate", "rule:y says what test.toml:rule:x says")]


def test_of_advice_that_no_fact_tells_the_words_count() -> None:
    row = '[[requirement]]\nid = "x"\ntext = "one"\napplies = "HAMi"\nEVIDENCE\n'
    other = row.replace('"x"', '"y"')
    assert told(row + other.replace("one", "two")) == []
    assert [kind for kind, _ in told(row + other)] == ["duplicate"]


def test_a_guard_that_nothing_meets_is_pointed_out() -> None:
    (remark,) = said(rule("x", when='"metax.kmd >= 3", "metax.kmd < 2"'))
    assert remark.kind == "impossible"
    assert remark.message == "never applies: nothing can be metax.kmd < 2"
    assert told(BROKEN.format(when='"metax.kmd > 3, < 3"'))[0][0] == "impossible"


def test_what_nothing_can_keep_is_pointed_out() -> None:
    (remark,) = said(rule("x", requires='"metax.sdk >= 3", "metax.sdk < 2"'))
    assert remark.message == "can never be kept: nothing can be metax.sdk < 2"


def test_rules_that_ask_the_opposite_are_pointed_out_if_both_can_apply() -> None:
    low, high = '"metax.sdk < 3"', '"metax.sdk >= 3"'
    opposite = rule("x", requires=low) + rule("y", requires=high)
    assert told(opposite) == [
        (
            "contradiction",
            "rule:x asks of metax.sdk what test.toml:rule:y excludes, and both can apply",
        )
    ]
    apart = rule("x", when='"metax.kmd < 2"', requires=low)
    assert told(apart + rule("y", when='"metax.kmd >= 2"', requires=high)) == []


def test_rules_that_only_compare_ask_no_opposite() -> None:
    agree = rule("x", requires="").replace(
        "requires = []", 'agree = [{ left = "metax.kmd", right = "metax.sdk", fields = 2 }]'
    )
    assert told(agree + rule("y")) == []


@pytest.mark.parametrize(
    "when",
    [
        '"metax.kmd == 3.8.30"',
        '"python.package[torch].sdk == 3.5.3.9"',
        '"metax.device.model == C500", "metax.sdk < 4"',
    ],
)
def test_what_was_seen_working_is_not_broken(when: str) -> None:
    assert told(TESTED + BROKEN.format(when=when)) == [
        ("contradiction", "tested:t was seen working, and test.toml:broken:b has it as broken")
    ]


@pytest.mark.parametrize(
    "when",
    [
        '"metax.kmd == 3.8.29"',
        '"metax.kmd == 3.8.30", "kernel.release < 5"',
        '"python.package[vllm] present"',
        '"python.package[other] absent"',
    ],
)
def test_what_a_tested_row_does_not_tell_is_not_held_against_it(when: str) -> None:
    assert told(TESTED + BROKEN.format(when=when)) == []


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("2099-01-01", ["which is a day that is yet to come"]),
        ("2099-01", ["which is a day that is yet to come"]),
        ("2026-13", ["which is no day"]),
        ("2026-02-30", ["which is no day"]),
        ("2024-02-29", []),
        (TODAY.isoformat(), []),
        (TODAY.isoformat()[:7], []),
        ("revision 2099-01-01", []),
        ("", []),
    ],
)
def test_evidence_is_of_a_day_that_was(when: str, said: list[str]) -> None:
    row = EVIDENCED.replace("WHEN", when)
    assert [one.message.partition(", ")[2] for one in remarks(
        matrix(row), KEYS, today=TODAY)] == said  # fmt: skip


def test_old_evidence_is_pointed_out_where_none_is_newer() -> None:
    old = '{ link = "x", who = "x", when = "2024-05", grade = "site" }'
    new = old.replace("2024-05", "2026-11-01")
    undated = old.replace("2024-05", "revision 1")
    text = rule("x").replace("EVIDENCE", f"evidence = [{old}, {undated}]")
    text += rule("y", requires='"metax.sdk >= 4"').replace("EVIDENCE", f"evidence = [{old}, {new}]")
    text += rule("z", requires='"metax.sdk >= 5"').replace("EVIDENCE", f"evidence = [{undated}]")
    assert told(text) == []
    assert told(text, stale=365) == [("stale", "rule:x its newest evidence is of 2024-05-31")]
    assert told(text, stale=3650) == []


@pytest.mark.parametrize(
    ("when", "day"),
    [
        ("2026-03-02", date(2026, 3, 2)),
        ("2026-02", date(2026, 2, 28)),
        ("2026-13", None),
        ("0000-01", None),
        ("2026-02-30", None),
        ("revision 2026", None),
        ("", None),
    ],
)
def test_a_date_is_read_where_one_is_told(when: str, day: date | None) -> None:
    assert dated(when) == day
