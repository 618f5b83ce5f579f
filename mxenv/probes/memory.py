"""How much memory the machine has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey
from mxenv.probe import Probe
from mxenv.probes._reading import running, understood
from mxenv.question import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

INFO = File("/proc/meminfo", limit=1 << 16)

KEYS = (
    FactKey(
        name="memory.total_mib",
        meaning="memory that the kernel manages",
        unit="MiB",
        node_only=True,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the kernel's account of memory."""
    total = understood(running(answers[INFO]), _total, "MemTotal")
    yield Fact(key="memory.total_mib", reading=total, source=INFO.path)


def _total(text: str) -> int | None:
    match = re.search(r"^MemTotal:\s*(\d{1,15}) kB$", text, re.MULTILINE)
    return int(match[1]) // 1024 if match else None


PROBE = Probe(keys=KEYS, questions=(INFO,), read=read)
