"""Time may be over at any moment: what was understood is right, and the rest is said to be open."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import count
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import _layouts
import pytest

from mxenv.api import nodes
from mxenv.facts import Absent, Observed, Unreadable, View, observed
from mxenv.patience import LATE, Late, Patience
from mxenv.probe import snapshot
from mxenv.question import Answers, Command, Completed, File, Found, Glob, Part
from mxenv.redaction import clean_answers
from mxenv.snapshot import to_json
from mxenv.transports import Terms, Timed, local

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from mxenv.facts import Snapshot
    from mxenv.question import Answer, Question

NOW = datetime(2026, 1, 7, tzinfo=UTC)
RECORDINGS = Path(__file__).parents[1] / "recordings"
NAMES = ("c500-8cards", "nvidia-a100-mig-container")
EVERY_NODE = sorted(folder.name for folder in RECORDINGS.iterdir() if folder.is_dir())
STEPS = 24
"""Moments at which time is over, of each node."""


def moments(whole: Callable[[Patience], object]) -> list[int]:
    """Return how often the time may be looked at until it is over, from never to nearly enough."""
    looks = 0

    def left() -> float:
        nonlocal looks
        looks += 1
        return inf

    whole(Patience(left))
    return sorted({looks * step // STEPS for step in range(STEPS)} | set(range(5)))


def looks(number: int) -> Patience:
    """Return a patience that ends when it was looked at so often."""
    left = count(number, -1)
    return Patience(lambda: next(left))


@cache
def answered(name: str) -> Answers:
    with nodes.open_host(f"recording:{RECORDINGS / name}") as host:
        return nodes.ask(host)


def understood(answers: Answers) -> Snapshot:
    return snapshot(nodes.probes(), answers, node="n", view=View.HOST, taken_at=NOW)


@pytest.mark.parametrize("name", NAMES)
def test_time_that_is_over_while_answers_are_understood_makes_no_fact_wrong(name: str) -> None:
    answers = answered(name)
    whole = understood(answers)
    known = {(f.key, f.instance, f.source): f.reading for f in whole.facts}
    for moment in moments(lambda patience: understood(replace(answers, patience=patience))):
        cut = understood(replace(answers, patience=looks(moment)))
        for fact in cut.facts:
            assert fact.reading in (LATE, known.get((fact.key, fact.instance, fact.source))), moment
        for key in {fact.key for fact in whole.facts}:
            lacking = set(whole.instances(key)) - set(cut.instances(key))
            assert not lacking or LATE in {fact.reading for fact in cut.of(key)}, (key, moment)
        if cut.facts != whole.facts:
            assert nodes.fingerprint_of(cut).stack is None


@pytest.mark.parametrize("name", NAMES)
def test_time_that_is_over_while_answers_are_masked_lets_none_through(name: str) -> None:
    answers = answered(name)
    secret = "hf_" + 20 * "x"
    given = {
        question: Completed(0, f"{given.stdout}\n{secret}")
        if isinstance(given, Completed)
        else given
        for question, given in answers.given.items()
    }
    raw = Answers(given)
    whole = clean_answers(raw)
    late = 0
    for moment in moments(lambda patience: clean_answers(replace(raw, patience=patience))):
        cut = clean_answers(replace(raw, patience=looks(moment)))
        for question, answer in whole.given.items():
            assert cut[question] in (LATE, answer)
            late += cut[question] == LATE
        assert secret not in str(cut.given)
    assert late


@pytest.mark.parametrize("name", NAMES)
def test_one_answer_that_did_not_come_in_time_makes_nothing_absent(name: str) -> None:
    answers = answered(name)
    whole = understood(answers)
    nothing = {f.key for f in whole.facts if isinstance(f.reading, Absent)}
    wrong = []
    for question in answers.given:
        cut = understood(replace(answers, given={**answers.given, question: LATE}))
        wrong += [
            (question, fact.label)
            for fact in cut.facts
            if isinstance(fact.reading, Absent)
            and fact.key not in nothing
            and not any(isinstance(other.reading, Unreadable) for other in cut.of(fact.key))
        ]
    assert wrong == []


@pytest.mark.parametrize("name", EVERY_NODE)
def test_of_a_list_that_one_late_answer_cut_it_is_said_that_there_may_be_more(name: str) -> None:
    answers = answered(name)
    whole = understood(answers)
    silent = []
    for question in answers.given:
        cut = understood(replace(answers, given={**answers.given, question: LATE}))
        for key in {fact.key for fact, _ in observed(whole.facts)}:
            read = {fact.instance for fact, _ in observed(whole.of(key))}
            marks = [fact.instance for fact in cut.of(key) if isinstance(fact.reading, Unreadable)]
            silent += [
                (question, key, instance)
                for instance in read - cut.instances(key).keys()
                if not any(instance.startswith(mark.removesuffix("*")) for mark in marks)
            ]
    assert silent == []


def test_a_round_of_more_answers_than_can_be_masked_in_time_costs_no_earlier_one() -> None:
    answers = answered("c500-8cards")
    usual = understood(answers)
    host = Slow(crowded(answers, 0), 1.5)
    many = Answers({File(f"/a/{number}"): Found(20 * f"{number} ") for number in range(200_000)})
    asked: list[int] = []

    def gather(questions: Iterable[Question]) -> Answers:
        asked.append(1)
        found = Slow.gather(host, questions)
        return found | many if len(asked) > 1 else found

    host.gather = gather  # type: ignore[method-assign]
    found = nodes.look(host, now=NOW)
    assert len(asked) > 1
    for key in ("os.id", "metax.kmd", "metax.device.count"):
        assert found.reading(key) == usual.reading(key)


class Slow:
    """A node that answers at once, and has so much to say that it cannot be understood in time."""

    name = "slow"
    view = View.HOST

    def __init__(self, given: Answers, seconds: float) -> None:
        self.given = given
        self.deadline = time.monotonic() + seconds

    def gather(self, questions: Iterable[Question]) -> Answers:
        return Answers({question: self.given[question] for question in questions})


def crowded(answers: Answers, packages: int) -> Answers:
    """Return the answers of a node, with so many distributions in its environment besides."""
    given = dict(answers.given)
    at = "/opt/conda/lib/python3.10/site-packages"
    folders = [f"{at}/p{number}-1.dist-info" for number in range(packages)]
    read: list[tuple[str, Answer[str]]]
    read = [(f"{f}/METADATA", Found(f"Name: p{n}\nVersion: 1\n")) for n, f in enumerate(folders)]
    listed: list[tuple[str, Answer[str]]] = [(folder, Found("")) for folder in folders]
    site = "/opt/conda/lib/python3*/site-packages"
    given[Glob(f"{site}/*.dist-info/METADATA", Part.METADATA, 1 << 16)] = Found(tuple(read))
    given[Glob(f"{site}/*")] = Found(tuple(listed))
    return Answers(given, answers.otherwise)


@pytest.mark.parametrize("seconds", [0.05, 1.0, 3.0])
def test_a_node_of_which_more_is_to_be_understood_than_there_is_time_for_ends(
    seconds: float,
) -> None:
    answers = answered("c500-8cards")
    usual = understood(answers)
    host = Slow(crowded(answers, 150_000), seconds)
    began = time.monotonic()
    found = nodes.look(host, now=NOW)
    to_json(found, nodes.keys())
    # The least that each step is given, and a busy machine.
    assert time.monotonic() - began < seconds + 1.5
    assert isinstance(found.reading("python.package"), Unreadable)
    for key in ("os.id", "metax.kmd", "metax.device.count"):
        assert found.reading(key) == usual.reading(key)


def test_what_was_not_asked_since_time_was_over_may_be_asked_another_time() -> None:
    answers = answered("c500-8cards")
    host = Slow(crowded(answers, 150_000), 0.001)
    found = nodes.ask(host)
    assert found[File("/nobody/asked")] in (LATE, nodes.NOT_IN_TIME)


@pytest.mark.parametrize("scheme", ["root", "recording", "report", "oci"])
def test_whatever_is_asked_has_an_end_once_it_is_given_one(scheme: str, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("PyTorch version: 2.8.0\n")
    places = {
        "root": RECORDINGS / "c500-8cards/root",
        "recording": RECORDINGS / "c500-8cards",
        "report": report,
        "oci": _layouts.image(tmp_path / "x", [_layouts.file("etc/os-release", "ID=debian\n")]),
    }
    began = time.monotonic()
    with nodes.open_host(f"{scheme}:{places[scheme]}", nodes.Wanted(seconds=60.0)) as host:
        assert isinstance(host, Timed)
        assert 0 <= host.deadline - began - 60 < 5
    with nodes.open_host(f"{scheme}:{places[scheme]}") as host:
        assert isinstance(host, Timed)
        assert host.deadline == inf


def test_a_recording_that_is_given_no_time_is_not_known_for_a_passing_reason() -> None:
    wanted = nodes.Wanted(seconds=1e-9)
    late = nodes.probe(f"recording:{RECORDINGS / 'c500-8cards'}", now=NOW, wanted=wanted)
    assert late.reading("os.id") == Unreadable("not answered in time", passing=True)
    assert not any(isinstance(fact.reading, Observed | Absent) for fact in late.facts)


def test_a_live_machine_has_to_be_understood_within_its_time_as_well() -> None:
    began = time.monotonic()
    host = local.host(Terms(seconds=8.0), {})
    assert 0 <= host.deadline - began - 8 < 1
    # Some of it is kept for what is done with the answers.
    assert 1 < host.deadline - host.watch.deadline < 2
    host.end()


def test_a_probe_hands_on_that_time_is_over() -> None:
    with pytest.raises(Late):
        Answers(patience=Patience(lambda: 0.0))[Command(("uname",))]
