from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from mxenv import _plugins
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.probe import read_all
from mxenv.question import (
    Answers,
    Command,
    Completed,
    Env,
    File,
    Found,
    Given,
    Glob,
    Link,
    Question,
    Space,
    Stat,
)

if TYPE_CHECKING:
    from mxenv.probe import Probe

SAFE = {
    ("getconf", "GNU_LIBC_VERSION"),
    ("containerd", "--version"),
    ("crun", "--version"),
    ("docker", "--version"),
    ("nvidia-ctk", "--version"),
    ("podman", "--version"),
    ("runc", "--version"),
}
"""Every command that a probe may have run; what is not here is a change to review."""
RUBBISH = [
    "\ufffd\x01\x02" * 50,
    "[" * 500,
    "=\n:\n==\n::",
    "9" * 5000,
    "None",
    "{}",
    "a: b\n" * 99,
]


def probes() -> dict[str, Probe]:
    own = {name: _plugins.load("probes", name) for name in _plugins.names("probes")}
    vendors = {name: _plugins.load("vendors", name).probe for name in _plugins.names("vendors")}
    return {**own, **vendors}


@pytest.fixture(params=sorted(probes()))
def probe(request: pytest.FixtureRequest) -> Probe:
    return probes()[request.param]


def garbage(question: Question, text: str) -> Given:
    match question:
        case Command():
            return Completed(0, text, text)
        case Glob(pattern):
            path = pattern.replace("*", "x").replace("[0-9]", "0")
            return Found(((path, Found(text)),))
        case File() | Link():
            return Found(text)
        case Env() | Stat() | Space():
            return Absent()  # whatever a variable holds is true of it


def test_no_two_probes_declare_one_fact() -> None:
    names = Counter(key.name for probe in probes().values() for key in probe.keys)
    assert [name for name, count in names.items() if count > 1] == []


def test_every_fact_says_what_it_means(probe: Probe) -> None:
    for key in probe.keys:
        assert re.fullmatch(r"[a-z_]+(?:\.[a-z0-9_]+)*", key.name)
        assert key.meaning


def test_every_fact_says_where_it_is_read(probe: Probe) -> None:
    assert [key.name for key in probe.keys if not key.sources] == []


def test_questions_are_about_absolute_paths(probe: Probe) -> None:
    for question in probe.questions:
        match question:
            case File(path=path) | Link(path=path) | Stat(path=path) | Space(path=path):
                assert path.startswith("/")
            case Glob(pattern=pattern):
                assert pattern.startswith("/")
                assert "**" not in pattern
            case Command() | Env():
                pass


@pytest.mark.parametrize("name", _plugins.names("probes"))
def test_only_what_was_reviewed_is_ever_run(name: str) -> None:
    probe = probes()[name]
    asked = {question.argv for question in probe.questions if isinstance(question, Command)}
    assert asked.union(probe.read_only) <= SAFE


@pytest.mark.parametrize("name", _plugins.names("probes"))
def test_what_a_later_round_runs_was_declared(name: str) -> None:
    probe = probes()[name]
    refused = Answers({question: Unreadable("denied") for question in probe.questions})
    nothing = Answers({question: Absent() for question in probe.questions})
    for answers in (refused, nothing):
        asked = {q.argv for q in probe.more(answers) if isinstance(q, Command)}
        assert asked <= set(probe.read_only)


def test_a_node_that_answers_nothing_leaves_every_fact_unreadable(probe: Probe) -> None:
    facts = list(probe.read(Answers()))
    assert {fact.key for fact in facts} == {key.name for key in probe.keys}
    assert [fact for fact in facts if not isinstance(fact.reading, Unreadable)] == []
    assert list(probe.more(Answers())) == []


def test_a_node_that_has_nothing_leaves_no_fact_out(probe: Probe) -> None:
    nothing = Answers(
        {q: Completed(127) if isinstance(q, Command) else Absent() for q in probe.questions}
    )
    facts = list(read_all([probe], nothing))
    assert {fact.key for fact in facts} == {key.name for key in probe.keys}
    assert [fact for fact in facts if fact.source == "mxenv"] == []


@pytest.mark.parametrize("text", RUBBISH)
@pytest.mark.parametrize("name", _plugins.names("probes"))
def test_rubbish_is_never_believed(name: str, text: str) -> None:
    probe = probes()[name]
    answers = Answers({q: garbage(q, text) for q in probe.questions})
    answers |= Answers({q: garbage(q, text) for q in probe.more(answers)})
    facts = list(probe.read(answers))
    assert {fact.key for fact in facts} == {key.name for key in probe.keys}
    # That a path is there is the answer itself; what it is called and holds is not believed.
    believed = {fact.key for fact in facts if isinstance(fact.reading, Observed)}
    assert believed <= {"iommu.groups", "python.interpreter"}


@pytest.mark.parametrize("text", RUBBISH)
def test_rubbish_costs_no_more_than_its_own_facts(probe: Probe, text: str) -> None:
    answers = Answers({q: garbage(q, text) for q in probe.questions})
    assert {fact.key for fact in read_all([probe], answers)} == {key.name for key in probe.keys}


def test_a_node_that_refuses_everything_says_why(probe: Probe) -> None:
    refused = Answers({question: Unreadable("denied") for question in probe.questions})
    for fact in probe.read(refused):
        assert isinstance(fact.reading, Unreadable)
