from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from mxenv.errors import HostUnreachable
from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Snapshot, Unreadable, View
from mxenv.fingerprint import stack_diff
from mxenv.fleet import SHOWN, Failure, Fleet, Member, _letters, groups, member, together
from mxenv.verdict import Finding, Outcome, Verdict

KEYS = {
    key.name: key
    for key in (
        FactKey(name="os.id", meaning=""),
        FactKey(name="x.bios", meaning="", instance="@bdf"),
        FactKey(name="x.unit", meaning="", instance="name"),
        FactKey(name="x.count", meaning="", node_only=True),
    )
}


def snapshot(*facts: tuple[str, str, Reading]) -> Snapshot:
    return Snapshot(
        node="n",
        view=View.HOST,
        taken_at=datetime(2026, 1, 7, tzinfo=UTC),
        facts=tuple(
            Fact(key=key, instance=instance, reading=reading, source=f"s{i}")
            for i, (key, instance, reading) in enumerate(facts)
        ),
    )


PLAIN = snapshot(("os.id", "", Observed("debian")))
OTHER = snapshot(("os.id", "", Observed("ubuntu")))


def in_short(given: Snapshot, address: str) -> Member:
    return member(given, KEYS, address=address, seconds=1.0)


def test_a_node_in_short_counts_every_fact_once_by_its_best_reading() -> None:
    given = snapshot(
        ("os.id", "", Observed("debian")),
        ("os.id", "", Unreadable("x")),
        ("x.count", "", Unreadable("x")),
        ("x.count", "", Absent()),
        ("x.bios", "a", Absent()),
    )
    short = in_short(given, "local:")
    assert (short.read, short.unreadable, short.absent) == (1, 1, 1)
    assert (short.node, short.address) == ("n", "local:")


def test_the_largest_group_comes_first_and_the_others_say_what_sets_them_apart() -> None:
    nodes = {"a": OTHER, "b": PLAIN, "c": PLAIN}
    members = [in_short(given, name) for name, given in nodes.items()]
    stacks = {m.stack: nodes[m.address] for m in members}
    first, second = groups(members, stacks.__getitem__, KEYS)
    assert (first.name, first.members, first.differences) == ("A", ("b", "c"), ())
    assert (second.name, second.members, second.count) == ("B", ("a",), 1)
    (difference,) = second.differences
    assert difference.before == (Observed("debian"),)
    assert difference.after == (Observed("ubuntu"),)
    fleet = Fleet(members=tuple(members), groups=(first, second))
    assert [fleet.group(m) for m in members] == ["B", "A", "A"]


def test_a_node_that_could_not_be_asked_in_full_is_in_no_group() -> None:
    late = snapshot(("os.id", "", Unreadable("not answered in time", passing=True)))
    short = in_short(late, "a")
    assert groups([short], lambda _: late, KEYS) == ()
    assert Fleet(members=(short,)).group(short) == ""


def test_many_differences_are_counted_and_the_first_of_them_kept() -> None:
    odd = snapshot(*(("x.unit", f"{n:03}", Observed("1")) for n in range(SHOWN + 5)))
    nodes = {"a": PLAIN, "b": PLAIN, "c": odd}
    members = [in_short(given, name) for name, given in nodes.items()]
    stacks = {m.stack: nodes[m.address] for m in members}
    _, last = groups(members, stacks.__getitem__, KEYS)
    assert (len(last.differences), last.count) == (SHOWN, SHOWN + 6)


def test_those_that_tell_most_are_kept() -> None:
    units = [("x.unit", f"{n:03}", Absent()) for n in range(SHOWN)]
    odd = snapshot(*units, ("x.unit", "zzz", Observed("1")))
    nodes = {"a": PLAIN, "b": PLAIN, "c": odd}
    members = [in_short(given, name) for name, given in nodes.items()]
    stacks = {m.stack: nodes[m.address] for m in members}
    _, last = groups(members, stacks.__getitem__, KEYS)
    assert [one.label for one in last.differences[:2]] == ["os.id", "x.unit[zzz]"]


def test_a_fleet_knows_how_it_failed() -> None:
    failure = Failure.of(HostUnreachable("no route", context="ssh:a", hint="see ssh -v"))
    assert failure == Failure(message="ssh:a: no route", hint="see ssh -v", status=4)
    failed = Member(address="ssh:a", seconds=0.1, failure=failure)
    fine = replace(failed, failure=None)
    assert Fleet(members=(failed, fine)).statuses == (4,)


def test_two_stacks_differ_by_what_is_plugged_in_and_not_by_where() -> None:
    one = snapshot(("x.bios", "00:01", Observed("1")), ("x.count", "", Observed(1)))
    moved = snapshot(("x.bios", "00:02", Observed("1")), ("x.count", "", Observed(2)))
    mixed = snapshot(("x.bios", "00:01", Observed("1")), ("x.bios", "00:02", Observed("2")))
    assert stack_diff(one, moved, KEYS) == ()
    (difference,) = stack_diff(one, mixed, KEYS)
    assert (difference.label, difference.kind) == ("x.bios", "changed")
    assert difference.after == (Observed("1"), Observed("2"))


def test_groups_are_named_as_columns_are() -> None:
    assert [_letters(n) for n in (0, 25, 26, 27, 702)] == ["A", "Z", "AA", "AB", "AAA"]


def test_equal_verdicts_name_the_first_of_their_nodes() -> None:
    finding = Finding(code="MX1", outcome=Outcome.COMPATIBLE, subject="s", found="f")
    verdicts = [Verdict(subject=f"n{i}", findings=(finding,)) for i in range(6)]
    other = replace(verdicts[0], matrix="x")
    assert [verdict.subject for verdict in together([*verdicts, other])] == [
        "n0, n1, n2, n3 and 2 more",
        "n0",
    ]


def test_verdicts_that_share_their_findings_stand_together() -> None:
    findings = (Finding(code="MX101", outcome=Outcome.UNKNOWN, subject="x", found="y"),)
    given = [Verdict(subject=name, findings=findings, matrix="m") for name in "abc"]
    (one,) = together(iter(given))
    assert one.subject == "a, b, c"
    apart = together([*given, Verdict(subject="d", findings=findings, matrix="other")])
    assert [verdict.subject for verdict in apart] == ["a, b, c", "d"]
