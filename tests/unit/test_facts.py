from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mxenv.facts import (
    Absent,
    Fact,
    FactKey,
    Observed,
    Reading,
    Snapshot,
    Unreadable,
    View,
    observed,
)

NOW = datetime(2026, 1, 7, tzinfo=UTC)


def fact(key: str, reading: Reading, *, instance: str = "", source: str = "here") -> Fact:
    return Fact(key=key, instance=instance, reading=reading, source=source)


def snapshot(*facts: Fact) -> Snapshot:
    return Snapshot(node="n", view=View.HOST, taken_at=NOW, facts=facts)


@pytest.mark.parametrize(
    ("instance", "text", "parts"),
    [
        ("", "", ()),
        ("@bdf", "0000:0e:00.0", ("0000:0e:00.0",)),
        ("env/name", "/opt/conda/torch", ("/opt/conda", "torch")),
        ("env/name", "torch", ("torch",)),
    ],
)
def test_only_the_first_part_of_an_instance_may_hold_a_slash(
    instance: str, text: str, parts: tuple[str, ...]
) -> None:
    assert FactKey(name="k", meaning="m", instance=instance).parts(text) == parts


def test_what_an_option_named_is_told_from_what_was_looked_for_by_itself() -> None:
    assert Fact(key="a.b", reading=Absent(), source="--python").wanted
    assert not Fact(key="a.b", reading=Absent(), source="/usr/bin").wanted


def test_a_label_names_the_instance_when_there_is_one() -> None:
    assert fact("a.b", Absent()).label == "a.b"
    assert fact("a.b", Absent(), instance="i").label == "a.b[i]"


def test_the_order_in_which_facts_arrive_does_not_matter() -> None:
    a, b = fact("a", Absent()), fact("b", Observed("1"))
    assert snapshot(b, a) == snapshot(a, b)


def test_a_key_that_nobody_asked_for_is_not_known() -> None:
    assert snapshot().reading("a") == Unreadable("not asked")
    assert snapshot(fact("a", Observed(1), instance="x")).reading("a") == Unreadable("not asked")


@pytest.mark.parametrize(
    ("readings", "counts"),
    [
        ((Absent(), Observed("3")), Observed("3")),
        ((Unreadable("r"), Observed("3")), Observed("3")),
        ((Absent(), Unreadable("r")), Unreadable("r")),
        ((Absent(),), Absent()),
    ],
)
def test_what_one_source_read_counts_more_than_what_another_could_not(
    readings: tuple[Reading, ...], counts: Reading
) -> None:
    facts = [fact("a", reading, source=str(n)) for n, reading in enumerate(readings)]
    assert snapshot(*facts).reading("a") == counts
    assert snapshot(*reversed(facts)).reading("a") == counts


def test_only_what_was_read_has_a_value() -> None:
    read = fact("a", Observed(("x", 1)))
    assert list(observed((fact("b", Absent()), read, fact("c", Unreadable("r"))))) == [
        (read, ("x", 1))
    ]
