"""What the kernel was told when it was booted, and whether an IOMMU is in use since."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.credential import MASK
from mxenv.excerpt import PARAMETERS
from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.probe import Probe
from mxenv.probes._reading import SYSFS, line, running, visible
from mxenv.question import File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

LINE = File("/proc/cmdline", Part.BOOT, limit=1 << 16)
GROUPS = Glob("/sys/kernel/iommu_groups/?")
"""The first ten: a server has hundreds, and one is enough."""
SET = "set"
"""The value of a parameter that was given without one."""

KEYS = (
    FactKey(
        name="boot.parameter",
        meaning="a parameter that the kernel was booted with (`set` if without a value; several "
        "in their order if given more than once); no others than these are read",
        instance="name",
        sources=LINE.path,
        view=View.HOST,
    ),
    FactKey(
        name="iommu.groups",
        meaning="that devices are in IOMMU groups, so that an IOMMU stands between them and memory",
        sources="/sys/kernel/iommu_groups",
        view=View.HOST,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the parameters that matter; one that was not given is absent."""
    answer = running(answers[LINE])
    given: dict[str, list[str]] | Unreadable
    if isinstance(answer, Found):
        given = _parameters(answer.value)
    else:
        given = answer if isinstance(answer, Unreadable) else Unreadable("not asked")
    if isinstance(given, Unreadable):
        yield Fact(key="boot.parameter", reading=given, source=LINE.path)
    else:
        for name in PARAMETERS:
            reading = _reading(given.get(name, []))
            yield Fact(key="boot.parameter", instance=name, reading=reading, source=LINE.path)
    yield Fact(key="iommu.groups", reading=_groups(answers), source=GROUPS.pattern)


def _parameters(text: str) -> dict[str, list[str]] | Unreadable:
    words = line(text)
    if words is None:
        return Unreadable("cut short")
    given: dict[str, list[str]] = {}
    for word in words.split():
        name, sign, value = word.partition("=")
        if name not in PARAMETERS:
            return Unreadable(f"not the parameters of a kernel: {name[:40]!r}")
        given.setdefault(name, []).append(value if sign else SET)
    return given


def _reading(values: list[str]) -> Reading:
    if MASK in values:
        return Unreadable("its value is not kept: it has not the form of one")
    if not values:
        return Absent()
    return Observed(values[0] if len(values) == 1 else tuple(values))


def _groups(answers: Answers) -> Reading:
    answer = visible(answers[GROUPS], answers[SYSFS])
    return Observed("present") if isinstance(answer, Found) else answer


PROBE = Probe(keys=KEYS, questions=(LINE, GROUPS, SYSFS), read=read)
