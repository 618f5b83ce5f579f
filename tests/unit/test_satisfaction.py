"""A range that nothing can be in is found, and one that something can be in is left alone."""

from __future__ import annotations

import pytest
from _stacks import KEYS

from mxenv.constraint import Constraint
from mxenv.satisfaction import impossible, opposed, satisfiable


def asked(*texts: str) -> list[Constraint]:
    return [Constraint.parse(text, keys=KEYS) for text in texts]


@pytest.mark.parametrize(
    "test",
    [
        ">= 3.0",
        "> 3.0, < 3.0.0.1",
        ">= 2.8, < 2.9, != 2.8",
        "== 3.5.3.*, > 3.5.3.9",
        "> 3.5.3, == 3.5.4.*",
        "in (a, b), != a",
        "< 1000",
        "present",
        "absent",
        "tagged, >= 2.0",
        "untagged",
        "== 5.15.0-*",
        ">= 1.0rc1, < 1.0",
    ],
)
def test_something_can_be_in_a_range(test: str) -> None:
    (constraint,) = asked(f"metax.sdk {test}")
    assert satisfiable(constraint.clauses)


@pytest.mark.parametrize(
    "test",
    [
        ">= 3.0, < 3.0",
        "> 3.1, < 3.0",
        "== 3.5.3.*, < 3.5",
        "== 3.0, == 3.1",
        "in (a, b), == c",
        "absent, present",
        "absent, >= 1",
        "tagged, untagged",
        "== 3.0, != 3.0",
    ],
)
def test_nothing_can_be_in_a_range_that_contradicts_itself(test: str) -> None:
    (constraint,) = asked(f"metax.sdk {test}")
    assert not satisfiable(constraint.clauses)


def test_guards_on_one_fact_hold_together() -> None:
    never = asked("metax.sdk >= 3", "metax.kmd >= 2", "metax.sdk < 2")
    assert impossible(never) == never[2]
    assert impossible(never[:2]) is None
    torch = asked("python.package[torch] >= 3", "python.package[torch] < 2")
    assert impossible(torch) == torch[1]


def test_of_several_cards_each_guard_may_mean_another() -> None:
    assert impossible(asked("metax.device.bios >= 3", "metax.device.bios < 2")) is None


def test_opposites_are_named_by_their_fact() -> None:
    left, right = asked("metax.kmd >= 1", "metax.sdk >= 3"), asked("metax.sdk < 3")
    assert opposed(left, right) == "metax.sdk"
    assert opposed(left, asked("metax.sdk < 4", "metax.smi < 1")) == ""


def test_what_is_impossible_by_itself_opposes_nothing() -> None:
    assert opposed(asked("metax.sdk >= 3, < 2"), asked("metax.sdk == 1")) == ""
