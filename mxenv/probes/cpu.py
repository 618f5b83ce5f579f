"""The processors: their architecture, model, number, and how their frequency is governed."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.probe import Probe
from mxenv.probes._reading import SYSFS, line, number, running, understood, visible
from mxenv.question import File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

INFO = File("/proc/cpuinfo", limit=8 << 20)
ARCH = File("/proc/sys/kernel/arch", limit=4096)
"""There since Linux 6.1."""
LOADERS = Glob("/lib*/ld-*.so.[0-9]")
"""The loaders of programs, each with its architecture in its name; images have them too."""
GOVERNORS = Glob("/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", Part.WHOLE, 64)
NUMA = File("/sys/devices/system/node/online", limit=4096)

LABEL = re.compile(r"^([^\s:][^:\n]*?)[ \t]*:", re.MULTILINE)
NUMBERED = re.compile(r"^processor[ \t]*:[ \t]*(\d+)[ \t\r]*\n", re.MULTILINE)

ARCHITECTURES = {"x86-64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64"}

KEYS = (
    FactKey(
        name="machine.arch",
        meaning="the architecture, as `uname -m` has it",
        sources=f"{ARCH.path}, {LOADERS.pattern}",
    ),
    FactKey(name="cpu.model", meaning="what the processors call themselves", sources=INFO.path),
    FactKey(
        name="cpu.count",
        meaning="how many processors the kernel runs on",
        sources=INFO.path,
        node_only=True,
    ),
    FactKey(
        name="cpu.governor",
        meaning="what decides how fast processors run; several if not all have the same",
        sources=GOVERNORS.pattern,
        view=View.HOST,
    ),
    FactKey(
        name="cpu.numa_nodes",
        meaning="how many groups with memory of their own the processors form",
        sources=NUMA.path,
        view=View.HOST,
        node_only=True,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the kernel's list of processors, and what programs are built for."""
    arch = understood(answers[ARCH], _arch, "architecture")
    yield Fact(key="machine.arch", reading=arch, source=ARCH.path)
    yield Fact(key="machine.arch", reading=_loaders(answers), source=LOADERS.pattern)
    model = understood(running(answers[INFO]), _model, "model of a processor")
    yield Fact(key="cpu.model", reading=model, source=INFO.path)
    count = understood(running(answers[INFO]), _count, "processor")
    yield Fact(key="cpu.count", reading=count, source=INFO.path)
    yield Fact(key="cpu.governor", reading=_governor(answers), source=GOVERNORS.pattern)
    numa = understood(visible(answers[NUMA], answers[SYSFS]), _numa, "list of nodes")
    yield Fact(key="cpu.numa_nodes", reading=numa, source=NUMA.path)


def _arch(text: str) -> str | None:
    arch = line(text) or ""
    return arch if re.fullmatch(r"[a-z0-9_]{2,16}", arch) else None


def _loaders(answers: Answers) -> Reading:
    answer = answers[LOADERS]
    if not isinstance(answer, Found):
        return answer
    names = re.findall(r"/ld-(?:linux|musl)-([\w-]+)\.so", " ".join(p for p, _ in answer.value))
    known = {ARCHITECTURES[name] for name in names if name in ARCHITECTURES}
    if len(known) > 1:
        return Unreadable(f"programs of several architectures run here: {', '.join(sorted(known))}")
    return Observed(known.pop()) if known else Absent()


def _model(text: str) -> str | None:
    # Each to the end of its line: half of a name would be another model's.
    match = re.search(r"^model name\s*:[ \t]*([^\s:][^:\t\n]*?)[ \t\r]*\n", text, re.MULTILINE)
    if match:
        return match[1]
    # ARM kernels give numbers only.
    parts = [
        re.search(rf"^CPU {name}\s*:[ \t]*(0x[0-9a-f]+)[ \t\r]*\n", text, re.MULTILINE)
        for name in ("implementer", "part")
    ]
    return f"ARM {' '.join(part[1] for part in parts if part)}" if all(parts) else None


def _count(text: str) -> int | None:
    """Return how many processors are listed; how many a damaged list had nobody knows.

    Of none anything is told without its number, and behind the last one is an empty line.
    """
    numbers = NUMBERED.findall(text)
    *blocks, rest = [LABEL.findall(block) for block in re.split(r"\n[ \t\r]*\n", text)]
    most = max(Counter(chain.from_iterable((*blocks, rest))).values(), default=0)
    whole = text.endswith("\n") and "processor" not in rest and len(set(numbers)) == most
    return most if whole and most == len(numbers) else None


def _governor(answers: Answers) -> Reading:
    answer = visible(answers[GOVERNORS], answers[SYSFS])
    if not isinstance(answer, Found):
        return answer
    names = set()
    for path, content in answer.value:
        if isinstance(content, Absent):
            continue  # that processor was taken off meanwhile
        if isinstance(content, Unreadable):
            return content
        name = re.fullmatch(r"[a-z_]{2,24}", line(content.value) or "")
        if name is None:
            return Unreadable(f"no governor in {path}: {content.value[:40]!r}")
        names.add(name[0])
    if not names:
        return Absent()
    return Observed(tuple(sorted(names)) if len(names) > 1 else names.pop())


def _numa(text: str) -> int | None:
    """Return how many numbers a list as ``0-1,4`` names."""
    count, last = 0, -1
    for part in (line(text) or "").split(","):
        one, dash, other = part.partition("-")
        first, end = number(one), number(other) if dash else number(one)
        if first is None or end is None or not last < first <= end:
            return None
        count += end - first + 1
        last = end
    return count


PROBE = Probe(keys=KEYS, questions=(INFO, ARCH, LOADERS, GOVERNORS, NUMA, SYSFS), read=read)
