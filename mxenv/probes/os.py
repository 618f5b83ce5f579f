"""The distribution: what ``os-release`` calls it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.question import File, Found

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answer, Answers

RELEASE = File("/etc/os-release", limit=1 << 16)
FALLBACK = File("/usr/lib/os-release", limit=1 << 16)
"""Where os-release(5) says to look next."""

LINE = re.compile(r"""^([A-Z][A-Z0-9_]*)=(["']?)(.*)\2$""")
ID = re.compile(r"[a-z0-9._-]+")
VERSION = re.compile(r"[A-Za-z0-9._-]+")

KEYS = (
    FactKey(
        name="os.id",
        meaning="the distribution, as `ID` in os-release: debian, ubuntu",
        sources=f"{RELEASE.path}, {FALLBACK.path}",
    ),
    FactKey(
        name="os.version",
        meaning="version of the distribution, as `VERSION_ID` in os-release",
        sources=f"{RELEASE.path}, {FALLBACK.path}",
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read os-release; a rolling distribution has no version."""
    question = FALLBACK if isinstance(answers[RELEASE], Absent) else RELEASE
    answer = answers[question]
    yield Fact(key="os.id", reading=_field(answer, "ID", ID), source=question.path)
    yield Fact(
        key="os.version", reading=_field(answer, "VERSION_ID", VERSION), source=question.path
    )


def _field(answer: Answer[str], name: str, form: re.Pattern[str]) -> Reading:
    if not isinstance(answer, Found):
        return answer
    *whole, rest = answer.value.split("\n")
    fields = {m[1]: m[3] for line in whole if (m := LINE.match(line.strip()))}
    if name not in fields and rest.strip():
        return Unreadable(f"it ends in the middle of a line: {rest[-40:]!r}")
    if not fields:
        return Unreadable(f"not an os-release file: {answer.value[:40]!r}")
    if name not in fields:
        return Absent()
    if not form.fullmatch(fields[name]):
        return Unreadable(f"{name} is {fields[name][:40]!r}")
    return Observed(fields[name])


PROBE = Probe(keys=KEYS, questions=(RELEASE, FALLBACK), read=read)
