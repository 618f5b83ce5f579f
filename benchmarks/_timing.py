"""How long commands take and how much memory they need, measured side by side."""

from __future__ import annotations

import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BIN = Path(sys.executable).parent
MXENV = str(BIN / "mxenv")
MIB_OF_KIB = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one run took."""

    seconds: float
    peak_mib: float
    """The most memory that any one of its processes held (``ru_maxrss``)."""
    cpu_seconds: float = 0.0
    """What it and its children computed; what a daemon did for it is not in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One of the commands that are compared."""

    title: str
    argv: tuple[str, ...]
    before: Callable[[], None] = lambda: None
    """What puts everything back before each run; not measured."""
    environment: tuple[tuple[str, str], ...] = ()


UNUSUAL = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
"""Variables of build machines: without them Python keeps what it compiled, as users have it."""


def _surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in UNUSUAL}


def once(contender: Contender) -> Cost:
    """Run it once; a failure ends the benchmark, since its time would mean nothing."""
    contender.before()
    # What the run before left to be written is not to be waited for by this one.
    os.sync()
    began = time.perf_counter()
    with subprocess.Popen(
        contender.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**_surroundings(), **dict(contender.environment)},
    ) as process:
        said = process.stdout.read() if process.stdout else b""
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{contender.title} exited with {process.returncode}:\n{said.decode()[-4000:]}")
    return Cost(
        seconds=seconds,
        peak_mib=used.ru_maxrss / MIB_OF_KIB,
        cpu_seconds=used.ru_utime + used.ru_stime,
    )


def compare(
    contenders: Sequence[Contender], *, runs: int, warm_up: bool = True
) -> tuple[Cost, ...]:
    """Run them in turn, so that a busy moment of the machine hits all; return the medians."""
    costs: list[list[Cost]] = [[] for _ in contenders]
    for contender in contenders if warm_up else ():
        once(contender)
    for _ in range(runs):
        for contender, measured in zip(contenders, costs, strict=True):
            measured.append(once(contender))
    return tuple(
        Cost(
            seconds=statistics.median(cost.seconds for cost in measured),
            peak_mib=statistics.median(cost.peak_mib for cost in measured),
            cpu_seconds=statistics.median(cost.cpu_seconds for cost in measured),
        )
        for measured in costs
    )


def machine() -> str:
    """Return one line on the machine: what was measured means nothing without it."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.partition(":")[2] for line in lines if line.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{' '.join(model.split())}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"{platform.system()} {platform.release()}, "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table; the first is the head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def verdict(ratio: str, *, met: bool) -> str:
    """Return how a target went."""
    return f"{ratio} ({'met' if met else 'missed'})"
