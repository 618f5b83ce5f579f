from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from mxenv.comparison import compare
from mxenv.facts import Absent, Fact, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.fingerprint import fingerprint

VENDORS = ("acme", "zeta")
KEYS = {
    key.name: key
    for key in (
        *(FactKey(name=f"{vendor}.kmd", meaning="") for vendor in VENDORS),
        *(FactKey(name=f"{vendor}.device.count", meaning="", node_only=True) for vendor in VENDORS),
        *(
            FactKey(name=f"{vendor}.device.firmware", meaning="", instance="@bdf/unit")
            for vendor in VENDORS
        ),
        FactKey(name="acme.accl", meaning="", alike="collectives"),
        FactKey(name="zeta.heat", meaning="", volatile=True),
        FactKey(name="pci.numa_node", meaning="", instance="@bdf"),
        FactKey(name="os.id", meaning=""),
    )
}
readings = st.one_of(
    st.sampled_from([Absent(), Unreadable("no"), Unreadable("late", passing=True)]),
    st.sampled_from(["", "1", "2", 0, 1, 1.5, ("a", 1)]).map(Observed),
)
facts = st.builds(
    Fact,
    key=st.sampled_from([*KEYS, "odd.thing", "acme.undeclared"]),
    instance=st.sampled_from(["", "0000:01:00.0", "0000:01:00.0/gsp", "0000:02:00.0/gsp"]),
    reading=readings,
    source=st.sampled_from(["a", "b"]),
    volatile=st.booleans(),
)
snapshots = st.lists(facts, max_size=12).map(
    lambda some: Snapshot(
        node="n", view=View.HOST, taken_at=datetime(2026, 3, 2, tzinfo=UTC), facts=tuple(some)
    )
)


@given(snapshots, snapshots)
def test_nothing_differs_exactly_if_the_digests_are_equal(one: Snapshot, other: Snapshot) -> None:
    same = fingerprint(one, KEYS).node == fingerprint(other, KEYS).node
    assert same == (not compare(one, other, KEYS, VENDORS).differences)


@given(snapshots, snapshots)
def test_no_value_that_differs_is_left_out(one: Snapshot, other: Snapshot) -> None:
    compared = compare(one, other, KEYS, VENDORS)
    shown = {
        (side.key, item.reading)
        for pair in compared.counterparts
        for side in (pair.before, pair.after)
        for item in side.items
    }
    for difference in compared.differences:
        for reading in (*difference.before, *difference.after):
            if isinstance(reading, Observed) and difference not in compared.others:
                count = difference.key.endswith(".device.count") and reading.value == 0
                assert count or (difference.key, reading) in shown


@given(snapshots, snapshots)
def test_looked_at_from_the_other_end_the_same_things_stand_side_by_side(
    one: Snapshot, other: Snapshot
) -> None:
    there = compare(one, other, KEYS, VENDORS)
    back = compare(other, one, KEYS, VENDORS)
    assert [(c.name, c.before, c.after) for c in there.counterparts] == [
        (c.name, c.after, c.before) for c in back.counterparts
    ]
    assert len(there.others) == len(back.others)
