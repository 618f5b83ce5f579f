"""Judged among many, a node is what it is alone: no fact that matters is passed by."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv import bulk, fleet
from mxenv import snapshot as files
from mxenv.api import checking, nodes
from mxenv.bulk import Bulk
from mxenv.facts import Absent, Observed, Unreadable

if TYPE_CHECKING:
    from mxenv.facts import Snapshot
    from mxenv.matrix import Matrix

NOW = datetime(2026, 11, 30, tzinfo=UTC)
RECORDINGS = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
READINGS = st.one_of(
    st.just(Absent()),
    st.just(Unreadable("dark")),
    st.just(Unreadable("late", passing=True)),
    st.sampled_from(["3.0.0.8", "9.9", "x"]).map(Observed),
)


@cache
def matrix() -> Matrix:
    return checking.load_matrix()


@cache
def learned(name: str) -> Snapshot:
    return nodes.snapshot_of(str(RECORDINGS / name), now=NOW)


MANY = Bulk(
    keys=nodes.keys(),
    judge=partial(checking.check, matrix=matrix(), today=NOW.date()),
    looked_at=bulk.looked_at(matrix()),
)
"""One for all examples: what one leaves behind must not be taken for the next."""


@settings(max_examples=150)
@given(st.sampled_from(NAMES), st.data())
def test_a_node_among_many_is_what_it_is_alone(name: str, data: st.DataObject) -> None:
    snapshot = learned(name)
    facts = list(snapshot.facts)
    for _ in range(data.draw(st.integers(0, 3))):
        number = data.draw(st.integers(0, len(facts) - 1))
        fact = facts[number]
        match data.draw(st.sampled_from(["gone", "changed", "twice"])):
            case "gone":
                facts.pop(number)
            case "changed":
                facts[number] = replace(fact, reading=data.draw(READINGS))
            case _:
                facts.append(replace(fact, reading=data.draw(READINGS), source="other"))
    changed = replace(snapshot, facts=tuple(facts))
    taken = MANY.take(files.to_json(changed, nodes.keys()), address="a")
    alone = checking.check(changed, matrix(), today=date(2026, 11, 30))
    assert taken.findings == alone.findings
    member = fleet.member(changed, nodes.keys(), address="a", seconds=0.0)
    assert replace(taken.member, outcome=None) == member
