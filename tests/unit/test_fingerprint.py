from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Snapshot, Unreadable, View
from mxenv.fingerprint import NO_VALUE, Difference, diff, fingerprint

NOW = datetime(2026, 1, 7, tzinfo=UTC)
KEYS = {
    key.name: key
    for key in (
        FactKey(name="libc.version", meaning=""),
        FactKey(name="cpu.count", meaning="", node_only=True),
        FactKey(name="heat", meaning="", volatile=True),
        FactKey(name="model", meaning="", instance="@bdf"),
        FactKey(name="firmware", meaning="", instance="@bdf/unit"),
        FactKey(name="package", meaning="", instance="env/name"),
    )
}


def fact(key: str, value: Reading | str | float | tuple[str, ...], instance: str = "") -> Fact:
    reading = value if isinstance(value, Observed | Absent | Unreadable) else Observed(value)
    return Fact(key=key, instance=instance, reading=reading, source=f"source of {value}")


def snapshot(*facts: Fact) -> Snapshot:
    return Snapshot(node="n", view=View.HOST, taken_at=NOW, facts=facts)


def stack(*facts: Fact) -> str | None:
    return fingerprint(snapshot(*facts), KEYS).stack


def node(*facts: Fact) -> str:
    return fingerprint(snapshot(*facts), KEYS).node


def test_the_canonical_form_is_exactly_this() -> None:
    form = (
        '[["cpu.count",[""],"observed",16],["libc.version",[""],"observed","2.36"],'
        '["model",["0000:01:00.0"],"observed","C\\u00e9"],["package",["/usr","a"],"absent"],'
        '["package",["/usr","b"],"unreadable"],["package",["/usr","c"],"observed",[1.5,"x"]]]'
    )
    given = node(
        fact("package", Absent(), "/usr/a"),
        fact("package", Unreadable("denied"), "/usr/b"),
        fact("package", Observed((1.5, "x")), "/usr/c"),
        fact("model", "C\xe9", "0000:01:00.0"),
        fact("libc.version", "2.36"),
        fact("cpu.count", 16.0),
    )
    assert given == f"mxenv1:{hashlib.sha256(form.encode()).hexdigest()}"


def test_two_nodes_that_differ_in_addresses_and_counts_have_one_stack() -> None:
    one = (
        fact("model", "C500", "0000:01:00.0"),
        fact("firmware", "1.2", "0000:01:00.0/SMP0"),
        fact("cpu.count", 16),
    )
    other = (
        *(fact("model", "C500", f"0000:0{n}:00.0") for n in range(2, 5)),
        *(fact("firmware", "1.2", f"0000:0{n}:00.0/SMP0") for n in range(2, 5)),
        fact("cpu.count", 32),
    )
    assert stack(*one) == stack(*other)
    assert node(*one) != node(*other)


def test_one_card_with_another_firmware_is_another_stack() -> None:
    good = [fact("firmware", "1.2", f"0000:0{n}:00.0/SMP0") for n in range(8)]
    bad = [*good[:-1], fact("firmware", "1.1", "0000:07:00.0/SMP0")]
    assert stack(*good) != stack(*bad)


def test_the_unit_of_a_firmware_is_no_address() -> None:
    assert stack(fact("firmware", "1", "0000:01:00.0/SMP0")) != stack(
        fact("firmware", "1", "0000:01:00.0/SMP1")
    )


def test_what_changes_by_itself_is_in_no_digest() -> None:
    assert fingerprint(snapshot(fact("heat", 40)), KEYS) == fingerprint(snapshot(), KEYS)


def test_what_only_a_running_process_led_to_is_in_no_digest() -> None:
    lasting = fact("package", "1", "/opt/conda/a")
    passing = replace(fact("package", "2", "/srv/job/a"), volatile=True)
    assert stack(lasting, passing) == stack(lasting)
    assert node(lasting, passing) == node(lasting)
    assert diff(snapshot(lasting, passing), snapshot(lasting), KEYS) == ()


def test_sources_and_the_wording_of_reasons_are_in_no_digest() -> None:
    here = Fact(key="libc.version", reading=Unreadable("denied"), source="a")
    there = replace(here, reading=Unreadable("not recorded"), source="b")
    assert fingerprint(snapshot(here), KEYS) == fingerprint(snapshot(there), KEYS)


def test_a_reading_that_failed_for_a_passing_reason_leaves_no_stack_digest() -> None:
    late = fact("libc.version", Unreadable("time limit", passing=True))
    assert stack(late) is None
    assert stack(fact("libc.version", Unreadable("denied"))) is not None


def test_a_passing_failure_of_a_fact_outside_the_stack_is_no_matter() -> None:
    assert stack(fact("cpu.count", Unreadable("time limit", passing=True))) == stack()


def test_a_source_that_read_a_fact_counts_and_one_that_could_not_does_not() -> None:
    read = fact("libc.version", "2.36")
    for other in (Unreadable("denied"), Absent()):
        assert stack(read, fact("libc.version", other)) == stack(read)
    assert stack(fact("libc.version", Absent()), fact("libc.version", Unreadable("x"))) == stack(
        fact("libc.version", Unreadable("y"))
    )


def test_sources_that_disagree_are_both_part_of_the_digest() -> None:
    both = stack(fact("libc.version", "2.36"), fact("libc.version", "2.35"))
    assert both not in {stack(fact("libc.version", v)) for v in ("2.35", "2.36")}


def test_a_key_that_this_version_does_not_know_counts_as_it_stands() -> None:
    assert node(fact("new", "1", "a/b")) != node(fact("new", "1", "a/c"))


def test_a_key_none_of_whose_instances_was_found_is_told_from_one_never_asked() -> None:
    assert stack(fact("firmware", Absent())) != stack()


def test_every_differing_fact_is_named_with_both_values() -> None:
    before = snapshot(
        fact("libc.version", "2.36"),
        fact("package", "1", "/usr/a"),
        fact("package", Observed(("x", "y")), "/usr/same"),
        fact("cpu.count", 16),
        fact("heat", 40),
    )
    after = snapshot(
        fact("libc.version", Unreadable("denied")),
        fact("package", Absent(), "/usr/b"),
        fact("package", Observed(("x", "y")), "/usr/same"),
        fact("cpu.count", 32),
        fact("heat", 50),
    )
    told = [(d.label, d.kind, d.before, d.after) for d in diff(before, after, KEYS)]
    assert told == [
        ("cpu.count", "changed", (Observed(16),), (Observed(32),)),
        ("libc.version", "changed", (Observed("2.36"),), (Unreadable("denied"),)),
        ("package[/usr/a]", "removed", (Observed("1"),), ()),
        ("package[/usr/b]", "added", (), (Absent(),)),
    ]


def test_of_a_list_that_may_not_be_whole_nobody_knows_what_it_lacks() -> None:
    before = snapshot(fact("package", "1", "/usr/a"), fact("firmware", "7", "0:1/boot"))
    for mark in ("", "/usr", "/usr/*"):
        after = snapshot(fact("package", Unreadable("cut"), mark), fact("firmware", Absent()))
        told = {d.label: d for d in diff(before, after, KEYS)}
        assert told["package[/usr/a]"].after == (Unreadable("cut"),)
        assert told["package[/usr/a]"].kind == "changed"
        assert told["firmware[0:1/boot]"].after == ()


def test_a_list_of_one_place_says_nothing_of_another() -> None:
    before = snapshot(fact("package", "1", "/usr/a"))
    after = snapshot(fact("package", Unreadable("cut"), "/opt/*"))
    assert {d.label: d.after for d in diff(before, after, KEYS)}["package[/usr/a]"] == ()


def test_what_tells_most_is_two_values_and_least_is_none() -> None:
    sides = {"value": (Observed(1),), "gone": (Absent(),), "no": (), "unknown": (Unreadable("x"),)}

    def rank(before: str, after: str) -> int:
        one = Difference(key="k", instance="", before=sides[before], after=sides[after])
        other = Difference(key="k", instance="", before=sides[after], after=sides[before])
        assert one.rank == other.rank
        return one.rank

    assert rank("value", "value") < rank("value", "gone") == rank("value", "no")
    assert rank("value", "gone") < rank("value", "unknown") < NO_VALUE
    assert {rank("unknown", "gone"), rank("unknown", "no"), rank("gone", "no")} == {NO_VALUE}
