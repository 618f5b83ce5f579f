from __future__ import annotations

import random  # noqa: TC003 - the law's signature is read when it runs
from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from mxenv.facts import Absent, Fact, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.fingerprint import diff, fingerprint
from mxenv.redaction import clean
from mxenv.snapshot import from_json, to_json

KEYS = {
    key.name: key
    for key in (
        FactKey(name="plain", meaning=""),
        FactKey(name="counted", meaning="", node_only=True),
        FactKey(name="moving", meaning="", volatile=True),
        FactKey(name="device", meaning="", instance="@bdf"),
        FactKey(name="unit", meaning="", instance="@bdf/unit"),
        FactKey(name="package", meaning="", instance="env/name"),
    )
}
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
singles = texts | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values = singles | st.lists(singles, max_size=3).map(tuple)
readings = (
    values.map(Observed) | st.just(Absent()) | st.builds(Unreadable, texts, passing=st.booleans())
)
names = st.sampled_from([*KEYS, "unheard of"])
instances = st.sampled_from(["", "0000:01:00.0", "0000:02:00.0/SMP0", "/usr/numpy"])
facts = st.builds(
    Fact, key=names, instance=instances, reading=readings, source=texts, view=st.sampled_from(View)
)
zones = st.integers(-720, 720).map(lambda m: timezone(timedelta(minutes=m)))
times = st.datetimes(min_value=datetime(2000, 1, 1), timezones=zones | st.just(UTC))  # noqa: DTZ001 - the zone is drawn
snapshots = st.builds(
    Snapshot,
    node=texts,
    view=st.sampled_from(View),
    taken_at=times,
    facts=st.lists(facts, max_size=6).map(tuple),
)


def with_facts(snapshot: Snapshot, facts: list[Fact]) -> Snapshot:
    return Snapshot(
        node=snapshot.node, view=snapshot.view, taken_at=snapshot.taken_at, facts=tuple(facts)
    )


class TestAFileHoldsASnapshotWhole:
    @given(snapshots)
    def test_reading_what_was_written_gives_the_snapshot(self, snapshot: Snapshot) -> None:
        assert from_json(to_json(snapshot, KEYS), context="x") == snapshot

    @given(snapshots)
    def test_writing_what_was_read_gives_the_bytes(self, snapshot: Snapshot) -> None:
        text = to_json(snapshot, KEYS)
        assert to_json(from_json(text, context="x"), KEYS) == text


class TestAFingerprintIsOfWhatIsKnown:
    @given(snapshots, st.randoms(use_true_random=False))
    def test_the_order_of_facts_is_no_matter(
        self, snapshot: Snapshot, order: random.Random
    ) -> None:
        shuffled = list(snapshot.facts)
        order.shuffle(shuffled)
        assert fingerprint(with_facts(snapshot, shuffled), KEYS) == fingerprint(snapshot, KEYS)

    @given(snapshots)
    def test_a_fact_told_twice_is_told_once(self, snapshot: Snapshot) -> None:
        twice = with_facts(snapshot, [*snapshot.facts, *snapshot.facts])
        assert fingerprint(twice, KEYS) == fingerprint(snapshot, KEYS)

    @given(snapshots, st.sampled_from(["0001:aa:00.0", "0000:ff:1f.7"]))
    def test_a_card_in_another_slot_leaves_the_stack_as_it_is(
        self, snapshot: Snapshot, slot: str
    ) -> None:
        def moved(fact: Fact) -> Fact:
            if fact.key not in {"device", "unit"}:
                return fact
            instance = fact.instance.replace("0000:01:00.0", slot)
            return Fact(key=fact.key, instance=instance, reading=fact.reading, source=fact.source)

        after = with_facts(snapshot, [moved(fact) for fact in snapshot.facts])
        assert fingerprint(after, KEYS).stack == fingerprint(snapshot, KEYS).stack

    @given(snapshots, readings)
    def test_what_moves_by_itself_changes_nothing(
        self, snapshot: Snapshot, reading: Absent
    ) -> None:
        heat = Fact(key="moving", reading=reading, source="s")
        more = with_facts(snapshot, [*snapshot.facts, heat])
        assert fingerprint(more, KEYS) == fingerprint(snapshot, KEYS)


class TestADiffIsWhatSeparatesTwoDigests:
    @given(snapshots, snapshots)
    def test_there_is_a_difference_exactly_if_the_node_digests_differ(
        self, one: Snapshot, other: Snapshot
    ) -> None:
        same = fingerprint(one, KEYS).node == fingerprint(other, KEYS).node
        assert (not diff(one, other, KEYS)) == same

    @given(snapshots, snapshots)
    def test_the_other_way_round_the_sides_are_exchanged(
        self, one: Snapshot, other: Snapshot
    ) -> None:
        there = [(d.label, d.before, d.after) for d in diff(one, other, KEYS)]
        back = [(d.label, d.after, d.before) for d in diff(other, one, KEYS)]
        assert there == back


TRACES = [
    "/home/",
    "token",
    "=",
    ":",
    "://",
    "@",
    "serial",
    "\x1b[",
    "\x1b]",
    "m",
    " ",
    "a",
    "Bearer ",
    "Basic ",
    "authorization",
    "cookie: ",
    "PRIVATE KEY-----",
    "-----BEGIN ",
    "-----END ",
    "AKIAIOSFODNN7EXAMPLE",
    "sk-",
    "machine a login b password c",
    " --token ",
    "-u a:b",
    "/Users/",
    "\\Users\\",
    "~al/",
    "a@b.org",
    "00:aa:11:bb:22:cc",
    "aa11:bb22:",
    "&sig",
    "https://a:b/c@d",
    "\n",
]
pieces = st.lists(st.sampled_from(TRACES) | st.text(max_size=3), max_size=12).map("".join)


class TestWhatIsCleanStaysAsItIs:
    @given(pieces)
    def test_cleaning_twice_is_cleaning_once(self, text: str) -> None:
        assert clean(clean(text)) == clean(text)

    @given(pieces)
    def test_no_control_character_survives(self, text: str) -> None:
        assert not any(ord(sign) < 32 and sign not in "\t\n" for sign in clean(text))

    @given(pieces, st.from_regex(r"[a-z]{4,8}", fullmatch=True))
    def test_a_home_is_never_named(self, text: str, user: str) -> None:
        assert f"/home/{user}xyz" not in clean(f"{text} /home/{user}xyz/venv")

    @given(pieces)
    def test_what_is_clean_can_be_written(self, text: str) -> None:
        clean(f"{text}\udc80").encode()
