"""How much is free where images, models and temporary files go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, Observed
from mxenv.probe import Probe
from mxenv.question import Found, Space

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

PLACES = tuple(map(Space, ("/", "/opt", "/tmp", "/var/lib/containerd", "/var/lib/docker")))  # noqa: S108 - asked about, not written to

KEYS = (
    FactKey(
        name="disk.free_mib",
        meaning="what a user may still write where this path lies",
        instance="path",
        sources="statvfs(3) of each path",
        unit="MiB",
        volatile=True,
        node_only=True,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Tell how much is free at each place; one that is not there is absent."""
    for question in PLACES:
        answer = answers[question]
        reading = Observed(answer.value >> 20) if isinstance(answer, Found) else answer
        yield Fact(
            key="disk.free_mib", instance=question.path, reading=reading, source=question.path
        )


PROBE = Probe(keys=KEYS, questions=PLACES, read=read)
