"""Two lines contradict if no version meets both, and both can count at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mxenv.asked import Asked
from mxenv.pins import MOST, findings, of_lock, pin
from mxenv.requirement_lines import requirement
from mxenv.verdict import Outcome, Place


def asked(text: str, line: int, *, group: str = "") -> Asked:
    found = requirement(text, Place(file="r.txt", line=line), alternative=group)
    assert isinstance(found, Asked)
    return found


@pytest.mark.parametrize(
    ("texts", "outcome"),
    [(("a==1", "a==2"), Outcome.INCOMPATIBLE), (("a==1", "a>=2"), Outcome.UNKNOWN)],
)
def test_a_range_in_another_file_may_be_for_another_environment(
    texts: tuple[str, str], outcome: Outcome
) -> None:
    here, there = asked(texts[0], 1), asked(texts[1], 1)
    there = replace(there, place=Place(file="s.txt", line=1))
    (found,) = findings([here, there])
    assert found.outcome is outcome
    (found,) = findings([here, there], [frozenset({"r.txt", "s.txt"})])
    assert found.outcome is Outcome.INCOMPATIBLE


def together(*texts: str) -> list[tuple[int, str]]:
    found = list(findings(asked(text, line) for line, text in enumerate(texts, start=1)))
    assert {(f.code, f.outcome) for f in found} <= {("MX416", Outcome.INCOMPATIBLE)}
    return [(f.place.line, f.expected) for f in found if f.place]


@pytest.mark.parametrize(
    "texts",
    [
        ("a==1", "a==2"),
        ("a==1", "A>=2"),
        ("a<1", "a==1.0"),
        ("a==1.0", "a==1.0.1"),
        ("a==2.8.0+cu126", "a==2.8.0+cu121"),
        ("a===x", "a==1"),
        ("a @ https://h/a-1.0-py3-none-any.whl", "a==2"),
        ('a==1 ; python_version < "3.12"', 'a==2 ; python_version >= "3.11"'),
        ("a==1", "a==1,>2"),
    ],
)
def test_what_no_version_meets(texts: tuple[str, str]) -> None:
    (found,) = together(*texts)
    assert found == (2, f"what goes together with {texts[0]} (r.txt:1)")


@pytest.mark.parametrize(
    "texts",
    [
        ("a==1", "a==1.0.0"),
        ("a==1", "a>=1"),
        ("a==1", "a"),
        ("a==2.8.0", "a==2.8.0+metax3.5.3.9"),
        ("a==1.*", "a==2.*"),
        ("a>=2", "a<1"),
        ('a==1 ; python_version < "3.11"', 'a==2 ; python_version >= "3.11"'),
        ('a==1 ; sys_platform == "win32"', "a==2"),
        ("a==${V}", "a==1"),
        ("./folder", "./other"),
    ],
)
def test_what_goes_together(texts: tuple[str, str]) -> None:
    assert together(*texts) == []


def test_each_line_is_told_once() -> None:
    assert [line for line, _ in together("a==1", "a==2", "a==3", "a==1")] == [2, 3]


def test_two_stages_of_a_containerfile_are_apart() -> None:
    one, other, file = asked("a==1", 1), asked("a==2", 2), asked("a==2", 3)
    assert not list(findings([replace(one, base="x"), replace(other, base="x")]))
    assert len(list(findings([replace(one, base="x"), file]))) == 1


def test_what_overrides_others_contradicts_none() -> None:
    one, other = asked("a==1", 1), replace(asked("a==2", 2), overrides=True)
    assert not list(findings([one, other]))


def test_more_ways_than_can_be_compared_are_said_to_be_too_many() -> None:
    found = list(findings(asked(f"a>={n}", n + 1) for n in range(MOST + 5)))
    assert [(one.code, one.outcome) for one in found] == [("MX417", Outcome.UNKNOWN)]


@pytest.mark.parametrize(("groups", "count"), [(("x", "y"), 0), (("x", "x"), 1), (("", "y"), 1)])
def test_two_extras_need_not_be_installed_together(groups: tuple[str, str], count: int) -> None:
    each = [asked(f"a=={n}", n, group=group) for n, group in enumerate(groups, start=1)]
    assert len(list(findings(each))) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a==1", 1),
        ("a>=9", 0),
        ("a==2.0", 0),
        ("a==2", 0),
        ("a==${V}", 0),
        ('a==1 ; sys_platform == "win32"', 0),
    ],
)
def test_a_pin_is_held_against_a_lock(text: str, count: int) -> None:
    found = list(of_lock(asked(text, 4), "2.0", Place(file="pylock.x.toml", line=9)))
    assert len(found) == count
    for one in found:
        assert one.expected == "what goes together with a 2.0 (pylock.x.toml:9)"
        assert one.place == Place(file="r.txt", line=4)


@pytest.mark.parametrize(
    ("text", "pinned"),
    [("a==1", "1"), ("a===1", "1"), ("a==1.*", ""), ("a>=1", ""), ("a==1,<2", "")],
)
def test_a_pin_is_one_version(text: str, pinned: str) -> None:
    assert pin(asked(text, 1)) == pinned
