"""Of many snapshots each is taken for what it is, however much of it was met before."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from _stacks import DARK, GONE, KEYS, TODAY, fact, matrix, node

from mxenv import bulk, fleet
from mxenv import snapshot as files
from mxenv.bulk import Bulk
from mxenv.errors import SnapshotError
from mxenv.facts import FactKey, Unreadable, View
from mxenv.judgement import judge

if TYPE_CHECKING:
    from mxenv.facts import Snapshot
    from mxenv.verdict import Verdict

MORE = {
    **KEYS,
    "heat": FactKey(name="heat", meaning="", volatile=True),
    "memory": FactKey(name="memory", meaning="", node_only=True),
}
ROWS = matrix(
    """
[[rule]]
id = "r"
text = "x"
when = ["libc.version present"]
requires = ["metax.sdk >= 3"]
agree = [{ left = "metax.kmd", right = "metax.smi", fields = 2 }]
EVIDENCE
[[broken]]
id = "b"
text = "b"
when = ["container.runtime present"]
EVIDENCE
[[requirement]]
id = "q"
text = "q"
when = ["env[X] present"]
requires = ["metax.sdk >= 2"]
EVIDENCE
"""
)
NODE = node({"torch": "2.8.0+metax3.5.3.9"}, fact("memory", 7), fact("heat", 40))


class Counting:
    """Judges, and knows how often."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, snapshot: Snapshot) -> Verdict:
        self.count += 1
        return judge(snapshot, ROWS, today=TODAY)


def fresh() -> tuple[Bulk, Counting]:
    counting = Counting()
    return Bulk(keys=MORE, judge=counting, looked_at=bulk.looked_at(ROWS)), counting


def text(snapshot: Snapshot) -> str:
    return files.to_json(snapshot, MORE)


def agrees(many: Bulk, given: Snapshot) -> None:
    taken = many.take(text(given), address="a")
    whole = fleet.member(given, MORE, address="a", seconds=0.0)
    verdict = judge(given, ROWS, today=TODAY)
    assert replace(taken.member, outcome=None) == whole
    assert (taken.findings, taken.matrix) == (verdict.findings, verdict.matrix)
    assert taken.member.outcome is verdict.outcome


def test_what_is_said_of_a_snapshot_is_what_would_be_said_of_it_alone() -> None:
    many, counting = fresh()
    for given in (
        NODE,
        replace(NODE, node="other"),
        node({"torch": "2.8.0+metax3.5.3.9"}, fact("memory", 8)),
        node({"torch": "2.8.0+metax3.5.3.9"}, fact("metax.sdk", "3.5.3.21", source="b")),
        node({"torch": DARK}, fact("metax.sdk", DARK, source="b")),
        node({"torch": GONE}, fact("heat", 1), fact("heat", DARK, source="b")),
        node({"torch": "1"}, fact("memory", DARK), fact("memory", DARK, source="b")),
        node({"torch": "1"}, fact("memory", Unreadable("late", passing=True))),
        node({"torch": "1"}, fact("libc.version", Unreadable("late", passing=True))),
        node({"torch": "1"}, replace(fact("libc.version", "2.36"), volatile=True)),
        node({"torch": "1"}, fact("unheard.of", "x")),
        node({"torch": "1"}, view=View.IMAGE),
    ):
        agrees(many, given)
        agrees(many, given)
    assert counting.count < 24


def test_nodes_that_agree_in_what_is_looked_at_are_judged_once() -> None:
    many, counting = fresh()
    for number in range(5):
        given = replace(NODE, node=f"n{number}")
        more = (*given.facts, fact("os.id", f"x{number}"))
        agrees(many, replace(given, facts=more))
    assert counting.count == 1
    agrees(many, node({"torch": "2.9"}))
    assert counting.count == 2


def test_two_sources_that_disagree_make_a_difference_whatever_they_tell() -> None:
    many, counting = fresh()
    one, other = fact("os.id", "x"), fact("os.id", "y", source="b")
    agrees(many, node({"torch": "1"}, one))
    agrees(many, node({"torch": "1"}, one, other))
    assert counting.count == 2


def test_the_first_snapshot_of_a_stack_is_handed_on_whole() -> None:
    many, _ = fresh()
    given = text(NODE)
    assert many.take(given, address="a").first == given
    assert many.take(given, address="b").first == ""
    late = node({"torch": "1"}, fact("libc.version", Unreadable("late", passing=True)))
    assert many.take(text(late), address="c").first == ""
    spaced = text(node({"torch": "3"})).replace('"facts"', ' "facts"')
    assert many.take(spaced, address="d").first == spaced
    assert many.take(spaced, address="e").first == ""


def test_a_snapshot_that_is_written_otherwise_is_read_as_a_whole() -> None:
    many, _ = fresh()
    spaced = text(NODE).replace('"facts"', ' "facts"')
    taken = many.take(spaced, address="a")
    assert replace(taken.member, outcome=None) == fleet.member(NODE, MORE, address="a", seconds=0.0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('"observed"', '"seen"'), r"a: facts\[0\].status"),
        (('"view": "host",\n', '"view": "moon",\n'), "a: view"),
        (("mxenv.snapshot/1", "mxenv.snapshot/9"), "a: schema"),
        (("\n }", ""), "a: line"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(change: tuple[str, str], said: str) -> None:
    many, _ = fresh()
    broken = text(NODE).replace(*change, 1)
    if change[1] == "":
        broken = text(NODE)[:-20]
    with pytest.raises(SnapshotError, match=said):
        many.take(broken, address="a")


def test_a_snapshot_is_read_as_it_is_however_it_is_written() -> None:
    many, _ = fresh()
    for given in (text(NODE), text(NODE), text(NODE).replace('"facts"', ' "facts"')):
        assert many.read(given, address="a") == NODE


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "MOST_LINES", 4)
    monkeypatch.setattr(bulk, "MOST_SETS", 1)
    many, counting = fresh()
    for number in range(3):
        agrees(many, node({"torch": f"{number}"}))
    assert counting.count == 3
    assert len(many._lines) <= 4
    assert len(many._verdicts) == 1


def test_what_rows_ask_for_is_looked_at() -> None:
    looked = bulk.looked_at(ROWS)
    names = ["libc.version", "metax.smi", "container.runtime", "env", "python.package"]
    assert all(map(looked, names))
    assert not any(map(looked, ["os.id", "memory", "kernel.build"]))


def test_judging_is_given_what_it_needs() -> None:
    judged = partial(judge, matrix=ROWS, today=TODAY)
    many = Bulk(keys=MORE, judge=judged, looked_at=lambda _: True)
    agrees(many, NODE)
