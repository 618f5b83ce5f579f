from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.patience import LATE, Patience
from mxenv.probe import CROWDED, MOST, Probe, snapshot
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


PACKAGE = FactKey(name="python.package", meaning="", instance="env/name")


class Clock:
    """A time that passes only where a test says so."""

    def __init__(self, seconds: float) -> None:
        self.left = seconds

    def answers(self) -> Answers:
        return Answers({QUESTION: Found("1")}, patience=Patience(lambda: self.left))

    def takes(self, seconds: float, key: FactKey) -> Probe:
        """Return a probe that needs so long for its one answer."""

        def read(answers: Answers) -> Iterator[Fact]:
            text = answers[QUESTION]
            self.left -= seconds
            yield Fact(key=key.name, reading=Observed(str(text)), source="/a")
            yield Fact(key=key.name, instance=str(answers[QUESTION]), reading=Absent(), source="")

        return Probe(keys=(key,), questions=(), read=read)

    def endless(self, key: FactKey) -> Probe:
        """Return a probe that reads one package after the other and is never through."""

        def read(answers: Answers) -> Iterator[Fact]:
            number = 0
            while True:
                assert answers[QUESTION] == Found("1")
                self.left -= 0.25
                number += 1
                name = f"/usr/p{number}"
                yield Fact(key=key.name, instance=name, reading=Observed("1"), source="/a")

        return Probe(keys=(key, HERE), questions=(), read=read)


def understood(clock: Clock, *probes: Probe) -> Snapshot:
    return snapshot(probes, clock.answers(), node="n", view=View.HOST, taken_at=NOW)


class TestTimeIsOver:
    """What was understood by then stays; of everything else it is said that it was not."""

    def test_of_a_list_that_was_cut_there_may_be_more(self) -> None:
        found = understood(clock := Clock(8), clock.endless(PACKAGE))
        assert clock.left == 0
        assert found.reading("python.package", "/usr/p1") == Observed("1")
        assert found.reading("python.package", "/usr/p32") == Observed("1")
        assert found.reading("python.package") == LATE
        assert found.reading("metax.sdk") == LATE

    def test_one_that_is_never_through_costs_no_others(self) -> None:
        clock = Clock(8)
        found = understood(clock, clock.endless(PACKAGE), probe_of(HOST, Observed("3.8.30")))
        assert found.reading("metax.kmd") == Observed("3.8.30")
        assert clock.left == 0

    def test_one_that_needs_more_than_its_share_gets_what_is_left(self) -> None:
        clock = Clock(8)
        found = understood(clock, clock.takes(3, HERE), probe_of(HOST, Observed("1")))
        assert found.reading("metax.sdk") == Observed("Found(value='1')")
        clock = Clock(8)
        # The first part of it is over before it is through; the second time there is enough.
        found = understood(clock, clock.takes(3, HERE), *3 * [probe_of(HOST, Observed("1"))])
        assert clock.left == 2
        assert LATE not in {fact.reading for fact in found.facts}

    def test_without_any_time_nothing_is_known_and_nothing_made_up(self) -> None:
        clock = Clock(0)
        found = understood(clock, clock.takes(1, HERE), clock.endless(PACKAGE))
        assert {fact.reading for fact in found.facts} == {LATE}

    def test_more_facts_than_are_kept_are_not_passed_over_in_silence(self) -> None:
        clock = Clock(float(MOST))
        found = understood(clock, clock.endless(PACKAGE), probe_of(HOST, Observed("3.8.30")))
        assert len(found.of("python.package")) == MOST + 1
        assert found.reading("python.package") == CROWDED
        assert found.reading("metax.kmd") == Observed("3.8.30")
