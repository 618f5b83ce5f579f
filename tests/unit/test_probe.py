from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.probe import Probe, snapshot
from mxenv.question import Answers, File, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Snapshot

NOW = datetime(2026, 1, 7, tzinfo=UTC)
QUESTION = File("/a")


def probe_of(key: FactKey, reading: Reading | None) -> Probe:
    def read(answers: Answers) -> Iterator[Fact]:
        del answers
        if reading is not None:
            yield Fact(key=key.name, reading=reading, source="/a")

    return Probe(keys=(key,), questions=(QUESTION,), read=read)


def taken(*probes: Probe, view: View = View.HOST) -> Snapshot:
    return snapshot(probes, Answers({QUESTION: Found("1")}), node="n", view=view, taken_at=NOW)


HERE = FactKey(name="metax.sdk", meaning="")
HOST = FactKey(name="metax.kmd", meaning="", view=View.HOST)
RUNTIME = FactKey(name="container.runtime", meaning="")


def test_a_probe_that_fails_leaves_unreadable_facts_and_costs_no_others() -> None:
    def read(answers: Answers) -> Iterator[Fact]:
        raise ValueError(str(answers[QUESTION]))

    broken = Probe(keys=(HERE,), questions=(), read=read)
    found = taken(broken, probe_of(HOST, Observed("3.8.30")))
    reading = found.reading("metax.sdk")
    assert isinstance(reading, Unreadable)
    assert "ValueError" in reading.reason
    assert found.reading("metax.kmd") == Observed("3.8.30")


def test_a_key_that_a_probe_declares_and_does_not_report_is_unreadable() -> None:
    assert taken(probe_of(HERE, None)).reading("metax.sdk") == Unreadable(
        "the probe did not report it"
    )


def test_a_host_that_runs_in_a_container_is_viewed_as_one() -> None:
    found = taken(probe_of(RUNTIME, Observed("docker")), probe_of(HERE, Observed("3.0.0.8")))
    assert found.view is View.CONTAINER
    assert {fact.view for fact in found.of("metax.sdk")} == {View.CONTAINER}


def test_the_driver_is_the_hosts_wherever_it_is_read() -> None:
    found = taken(probe_of(RUNTIME, Observed("docker")), probe_of(HOST, Observed("3.8.30")))
    assert {fact.view for fact in found.of("metax.kmd")} == {View.HOST}


def test_a_host_without_signs_of_a_container_is_a_host() -> None:
    found = taken(probe_of(RUNTIME, Absent()), probe_of(HERE, Absent()))
    assert found.view is View.HOST
    assert found.reading("metax.sdk") == Absent()


def test_an_image_without_a_driver_says_nothing_about_a_nodes_driver() -> None:
    found = taken(probe_of(HOST, Absent()), probe_of(HERE, Absent()), view=View.IMAGE)
    assert isinstance(found.reading("metax.kmd"), Unreadable)
    assert found.reading("metax.sdk") == Absent()


def test_a_probe_asks_no_second_round_unless_it_says_so() -> None:
    assert tuple(probe_of(HERE, None).more(Answers())) == ()


@pytest.mark.parametrize("said", ["permission denied", "x: operation not permitted"])
def test_what_needs_root_says_so(said: str) -> None:
    key = FactKey(name="a.b", meaning="")
    fact = Fact(key="a.b", reading=Unreadable(said, passing=True), source="test")
    probe = Probe(keys=(key,), questions=(), read=lambda _: [fact])
    given = snapshot([probe], Answers(), node="n", view=View.HOST, taken_at=NOW)
    assert given.reading("a.b") == Unreadable(f"needs root: {said}", passing=True)


@pytest.mark.parametrize("said", ["x" * 100_000, f"{'x' * 100_000}: permission denied"])
def test_no_reason_is_longer_than_a_reader_wants(said: str) -> None:
    key = FactKey(name="a.b", meaning="")
    fact = Fact(key="a.b", reading=Unreadable(said, passing=True), source="test")
    probe = Probe(keys=(key,), questions=(), read=lambda _: [fact])
    reading = snapshot([probe], Answers(), node="n", view=View.HOST, taken_at=NOW).reading("a.b")
    assert isinstance(reading, Unreadable)
    assert reading.passing
    assert len(reading.reason) == 400
    assert reading.reason.endswith("x…")
    assert reading.reason.startswith("needs root: " if "denied" in said else "x")


def test_a_probe_has_nothing_run_on_demand_unless_it_says_so() -> None:
    assert tuple(probe_of(HERE, Absent()).on_demand({"operators": "yes"})) == ()
