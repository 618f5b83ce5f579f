"""Whatever is lost of a text that was recorded, a fact is what it was, or it is not known."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mxenv.api import nodes
from mxenv.facts import Observed
from mxenv.question import Answers, Command, Completed, File, Found, Glob, Part
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.probe import Probe
    from mxenv.question import Given, Question

RECORDINGS = Path(__file__).parents[1] / "recordings"
NAMES = ("c500-8cards", "nvidia-h100-8cards", "nvidia-driver-mismatch", "plain-debian12")
TEXTS = {Part.WHOLE, Part.HEAD, Part.PACKAGES}
"""Parts of which the text is as it lies on the node; all else is an excerpt that mxenv made."""
SHORT = 40
"""Characters of a text that is cut at every place; a longer one is at as many."""
ENDLESS = {"/opt/maca/Version.txt", "/opt/mxdriver/Version.txt", "/opt/hpcc/Version.txt"}
"""Files of one line that nobody has seen the end of: whether it has one is not public."""
Seen = dict[tuple[str, str], set[object]]


class Heard(dict):
    """Answers that tell which of them were looked at."""

    def __init__(self, given: dict[Question, Given]) -> None:
        super().__init__(given)
        self.asked: dict[Question, None] = {}

    def get(self, question: Question, otherwise: Given | None = None) -> Given | None:  # type: ignore[override]
        self.asked[question] = None
        return super().get(question, otherwise)


@cache
def recorded(name: str) -> dict[Question, Given]:
    with nodes.open_host(f"recording:{RECORDINGS / name}") as host:
        return dict(nodes.ask(host).given)


def understood(probe: Probe, given: dict[Question, Given]) -> Seen:
    seen: Seen = defaultdict(set)
    for fact in probe.read(Answers(given)):
        if isinstance(fact.reading, Observed):
            seen[fact.key, fact.instance].add(fact.reading.value)
    return seen


def texts(given: dict[Question, Given]) -> Iterator[tuple[Question, str]]:
    """Yield every text; of many files that match one pattern that of the first."""
    for question, answer in given.items():
        match question, answer:
            case Command(), Completed(0, text):
                yield question, text
            case File(path, part), Found(str(text)) if part in TEXTS and path not in ENDLESS:
                yield question, text
            case Glob(part=part), Found(tuple(matches)) if part in TEXTS:
                first = matches[0][1]
                if isinstance(first, Found):
                    yield question, first.value


def instead(answer: Given, text: str) -> Given:
    match answer:
        case Completed(status, _, errors):
            return Completed(status, text, errors)
        case Found(tuple(matches)):
            return Found(((matches[0][0], Found(text)), *matches[1:]))
        case _:
            return Found(text)


def cut(text: str) -> Iterator[str]:
    step = len(text) // SHORT + 1
    return (text[:end] for end in range(0, len(text), step))


def joined(text: str) -> Iterator[str]:
    """Yield the text with two of its lines made one."""
    lines = text.splitlines(keepends=True)
    for number in range(0, len(lines) - 1, len(lines) // SHORT + 1):
        yield "".join((*lines[:number], lines[number].rstrip("\n"), *lines[number + 1 :]))


def on_a_terminal(text: str) -> Iterator[str]:
    yield text.replace("\n", "\r\n")
    yield re.sub(r"\w+", "\x1b[1;32m\\g<0>\x1b[0m", text)
    yield re.sub(r"(\d)\.(\d)", r"\1,\2", text)


DAMAGES = {"cut": cut, "joined": joined, "on a terminal": on_a_terminal}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", NAMES)
def test_no_fact_is_another_one(name: str, damage: str) -> None:
    given = recorded(name)
    wrong = []
    for probe in nodes.probes():
        heard = Heard(given)
        before = understood(probe, heard)
        asked = {question: given[question] for question in heard.asked if question in given}
        for question, text in texts(asked):
            for damaged in map(clean, DAMAGES[damage](text)):
                changed = {**given, question: instead(given[question], damaged)}
                for label, values in understood(probe, changed).items():
                    if values - before.get(label, set()):
                        wrong.append((question, label, values, damaged[-60:]))
    assert wrong == []
