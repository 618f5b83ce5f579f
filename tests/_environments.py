"""What the probe of Python environments reads of files that are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.probes import python
from mxenv.question import Answers
from mxenv.transports._memory import tree
from mxenv.transports._tree import answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.facts import Fact, Reading
    from mxenv.question import Given, Question

ROUNDS = 5


class Readings(dict[str, "list[Reading]"]):
    """What was read, by label; a dictionary that knows the facts as well."""

    facts: tuple[Fact, ...] = ()

    def volatile(self, label: str) -> bool:
        """Return whether a fact enters no fingerprint."""
        return all(fact.volatile for fact in self.facts if fact.label == label)


def read(
    files: Mapping[str, bytes],
    links: Mapping[str, str] | None = None,
    given: Mapping[Question, Given] | None = None,
) -> tuple[Fact, ...]:
    """Return the facts that the probe reads from a tree of ``files``."""
    node = tree(files, links or {})
    answers = Answers()
    asked = dict.fromkeys(python.PROBE.questions)
    for _ in range(ROUNDS):
        answers |= answer(node, asked, (given or {}).get)
        asked = {q: None for q in python.PROBE.more(answers) if q not in answers.given}
    assert not asked
    return tuple(python.PROBE.read(answers))


def look(
    files: Mapping[str, str],
    links: Mapping[str, str] | None = None,
    given: Mapping[Question, Given] | None = None,
) -> Readings:
    """Return what the probe reads from a tree of ``files``, by label."""
    readings = Readings()
    readings.facts = read({path: text.encode() for path, text in files.items()}, links, given)
    for fact in readings.facts:
        readings.setdefault(fact.label, []).append(fact.reading)
    return readings
