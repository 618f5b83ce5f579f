"""What a process may use at most, as it was allowed whoever asks."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey
from mxenv.probe import Probe
from mxenv.probes._reading import lines, number, running, understood
from mxenv.question import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

LIMITS = File("/proc/self/limits", limit=1 << 14)
UNLIMITED = "unlimited"

NAMES = {
    "limit.memlock": ("Max locked memory", "bytes", "memory that a process may keep from moving"),
    "limit.open_files": ("Max open files", "files", "files that a process may have open"),
    "limit.processes": ("Max processes", "processes", "processes that a user may have"),
}
"""What the kernel calls each limit, and counts it in."""

KEYS = tuple(
    key
    for name, (_, unit, meaning) in NAMES.items()
    for key in (
        # Two shells on one node differ in them.
        FactKey(name=name, meaning=meaning, sources=LIMITS.path, unit=unit, node_only=True),
        FactKey(
            name=f"{name}.hard",
            meaning=f"{meaning}, if it asks for all it may",
            sources=LIMITS.path,
            unit=unit,
            node_only=True,
        ),
    )
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the limits that count now, and those up to which a process may raise them."""
    answer = running(answers[LIMITS])
    for key, (title, unit, _) in NAMES.items():
        for name, column in ((key, 0), (f"{key}.hard", 1)):
            limit = partial(_limit, title=title, unit=unit, column=column)
            reading = understood(answer, limit, title)
            yield Fact(key=name, reading=reading, source=LIMITS.path)


def _limit(text: str, title: str, unit: str, column: int) -> int | str | None:
    for entry in lines(text):
        values = entry.removeprefix(title).split()
        if entry.startswith(f"{title} ") and values[2:] == [unit]:
            value = values[column]
            return UNLIMITED if value == UNLIMITED else number(value)
    return None


PROBE = Probe(keys=KEYS, questions=(LIMITS,), read=read)
