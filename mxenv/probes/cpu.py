"""The processors: their architecture, model and number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.probes._reading import running, understood
from mxenv.question import File, Found, Glob

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

INFO = File("/proc/cpuinfo", limit=8 << 20)
ARCH = File("/proc/sys/kernel/arch", limit=4096)
"""There since Linux 6.1."""
LOADERS = Glob("/lib*/ld-*.so.[0-9]")
"""The loaders of programs, each with its architecture in its name; images have them too."""

ARCHITECTURES = {"x86-64": "x86_64", "x86_64": "x86_64", "aarch64": "aarch64"}

KEYS = (
    FactKey(name="machine.arch", meaning="the architecture, as `uname -m` has it"),
    FactKey(name="cpu.model", meaning="what the processors call themselves"),
    FactKey(name="cpu.count", meaning="how many the kernel runs on", node_only=True),
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


def _arch(text: str) -> str | None:
    return text.strip() if re.fullmatch(r"[a-z0-9_]{2,16}\s*", text) else None


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
    match = re.search(r"^model name\s*:[ \t]*(\S.*?)[ \t]*$", text, re.MULTILINE)
    if match:
        return match[1]
    # ARM kernels give numbers only.
    parts = [
        re.search(rf"^CPU {name}\s*:[ \t]*(0x[0-9a-f]+)", text, re.MULTILINE)
        for name in ("implementer", "part")
    ]
    return f"ARM {' '.join(part[1] for part in parts if part)}" if all(parts) else None


def _count(text: str) -> int | None:
    return len(re.findall(r"^processor\s*:\s*\d+", text, re.MULTILINE)) or None


PROBE = Probe(keys=KEYS, questions=(INFO, ARCH, LOADERS), read=read)
