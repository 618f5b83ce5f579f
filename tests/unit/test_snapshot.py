from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from mxenv.errors import SnapshotError
from mxenv.facts import Absent, Fact, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.snapshot import from_json, to_json

NOW = datetime(2026, 1, 7, tzinfo=UTC)
KEYS = {"libc.version": FactKey(name="libc.version", meaning="")}
WHOLE = Snapshot(
    node="caf\xe9",
    view=View.CONTAINER,
    taken_at=NOW,
    facts=(
        Fact(key="a", reading=Observed(("x", 1, 2.5)), source="s"),
        Fact(key="a", instance="i/j", reading=Absent(), source="s", view=View.IMAGE),
        Fact(key="b", reading=Unreadable("no"), source="s"),
        Fact(key="c", reading=Observed("1"), source="/proc/7/exe", volatile=True),
        Fact(key="libc.version", reading=Unreadable("late", passing=True), source="s"),
    ),
)


def test_a_snapshot_is_read_back_as_it_was() -> None:
    assert from_json(to_json(WHOLE, KEYS), context="x") == WHOLE


def test_a_file_has_its_digests_and_one_fact_a_line() -> None:
    text = to_json(WHOLE, KEYS)
    document = json.loads(text)
    assert document["schema"] == "mxenv.snapshot/1"
    assert document["fingerprint"]["stack"] is None
    assert document["fingerprint"]["node"].startswith("mxenv1:")
    assert [line for line in text.splitlines() if '"key"' in line and "caf\xe9" not in line] == [
        line for line in text.splitlines() if line.startswith("  {")
    ]
    assert len(text.splitlines()) == 6 + 5 + 3


def test_a_snapshot_of_nothing_is_a_file_too() -> None:
    nothing = Snapshot(node="n", view=View.HOST, taken_at=NOW, facts=())
    assert from_json(to_json(nothing, KEYS), context="x") == nothing


def document(**fields: Any) -> dict[str, Any]:
    return {**json.loads(to_json(WHOLE, KEYS)), **fields}


def with_fact(**fields: Any) -> dict[str, Any]:
    good = {"key": "k", "instance": "", "status": "absent", "source": "s", "view": "host"}
    fact = {name: value for name, value in {**good, **fields}.items() if value != "LEFT OUT"}
    return document(facts=[fact])


@pytest.mark.parametrize(
    ("wrong", "place", "message"),
    [
        (document(schema="mxenv.snapshot/9"), "schema", "'mxenv.snapshot/9' is not understood"),
        (document(schema="other"), "schema", "'other' is not a snapshot"),
        (document(schema=1), "schema", "not a string"),
        (document(extra=1), "extra", "unknown field"),
        (document(node=None), "node", "not a string"),
        (document(node="\ud800"), "node", "not Unicode text"),
        (document(view="moon"), "view", "'moon' is not one of host, container, image"),
        (document(taken_at="noon"), "taken_at", "'noon' is not a time (ISO 8601)"),
        (document(taken_at="2026-01-07T00:00:00"), "taken_at", "has no time zone"),
        (document(fingerprint=[]), "fingerprint", "not an object"),
        (document(fingerprint={}), "fingerprint.stack", "missing"),
        (document(fingerprint={"stack": None, "node": "x"}), "fingerprint.node", "not a fingerp"),
        (document(fingerprint={"stack": None, "node": None}), "fingerprint.node", "not a string"),
        (document(facts={}), "facts", "not a list"),
        (document(facts=[1]), "facts[0]", "not an object"),
        (with_fact(key=""), "facts[0].key", "empty"),
        (with_fact(key="LEFT OUT"), "facts[0].key", "missing"),
        (with_fact(status="maybe"), "facts[0].status", "'maybe' is not one of observed, absent"),
        (with_fact(volatile="yes"), "facts[0].volatile", "neither true nor false"),
        (with_fact(value=1), "facts[0].value", "does not belong to a fact that is absent"),
        (with_fact(status="observed"), "facts[0].value", "missing"),
        (with_fact(status="observed", value=True), "facts[0].value", "neither a string nor a"),
        (with_fact(status="observed", value=[None]), "facts[0].value[0]", "neither a string nor"),
        (with_fact(status="observed", value=["\ud800"]), "facts[0].value[0]", "not Unicode text"),
        (with_fact(status="unreadable"), "facts[0].reason", "missing"),
        (
            with_fact(status="unreadable", reason="r", passing=1),
            "facts[0].passing",
            "neither true nor false",
        ),
    ],
)
def test_every_flaw_is_named_by_its_place(wrong: Any, place: str, message: str) -> None:
    with pytest.raises(SnapshotError) as raised:
        from_json(json.dumps(wrong), context="node.json")
    assert raised.value.context == f"node.json: {place}"
    assert message in raised.value.message


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("", "node.json: line 1"),
        ('{"a": 1,\n b', "node.json: line 2"),
        ('{"a": 1, "a": 2}', "node.json"),
        ("[" * 100_000, "node.json"),
        ("[]", "node.json"),
        ("1", "node.json"),
    ],
)
def test_what_is_no_json_object_is_no_snapshot(text: str, context: str) -> None:
    with pytest.raises(SnapshotError) as raised:
        from_json(text, context=context.partition(":")[0])
    assert raised.value.context == context


def test_a_number_that_is_none_is_refused() -> None:
    text = json.dumps(with_fact(status="observed", value=float("inf")))
    with pytest.raises(SnapshotError, match="not a finite number"):
        from_json(text, context="x")
