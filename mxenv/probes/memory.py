"""Memory: how much there is, its big pages, and what programs may share through files."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.probe import Probe
from mxenv.probes._reading import SYSFS, line, lines, number, running, understood, visible
from mxenv.question import File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

INFO = File("/proc/meminfo", limit=1 << 16)
MOUNTS = File("/proc/self/mountinfo", limit=1 << 20)
RESERVED = Glob("/sys/kernel/mm/hugepages/hugepages-*/nr_hugepages", Part.WHOLE, 64)
TRANSPARENT = File("/sys/kernel/mm/transparent_hugepage/enabled", limit=4096)

POINT = 4
"""Which field of a line in mountinfo is the mount point."""
OWN = 3
"""Fields after the dash: type, source, options."""
CHOICES = {"always", "madvise", "never"}
SHM = "/dev/shm"  # noqa: S108 - what is mounted there is asked about, nothing is written
KEYS = (
    FactKey(
        name="memory.total_mib",
        meaning="memory that the kernel manages",
        sources=INFO.path,
        unit="MiB",
        node_only=True,
    ),
    FactKey(
        name="memory.swap_mib",
        meaning="space for what memory does not hold",
        sources=INFO.path,
        unit="MiB",
        node_only=True,
    ),
    FactKey(
        name="memory.hugepages",
        meaning="big pages that are set aside, by their size",
        instance="size",
        sources=RESERVED.pattern,
        view=View.HOST,
        node_only=True,
    ),
    FactKey(
        name="memory.transparent_hugepage",
        meaning="whether big pages are used unasked: always, madvise, never",
        sources=TRANSPARENT.path,
        view=View.HOST,
    ),
    FactKey(
        name="memory.shm_mib",
        meaning="what programs may share through files in /dev/shm at most",
        sources=f"{MOUNTS.path}; where no size stands there, half of {INFO.path}",
        unit="MiB",
        node_only=True,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the kernel's account of memory, and how it is mounted to be shared."""
    info = running(answers[INFO])
    for key, name in (("memory.total_mib", "MemTotal"), ("memory.swap_mib", "SwapTotal")):
        reading = understood(info, partial(_mib, name=name), name)
        yield Fact(key=key, reading=reading, source=INFO.path)
    yield from _hugepages(answers)
    transparent = understood(
        visible(answers[TRANSPARENT], answers[SYSFS]), _chosen, "choice between brackets"
    )
    yield Fact(key="memory.transparent_hugepage", reading=transparent, source=TRANSPARENT.path)
    yield Fact(key="memory.shm_mib", reading=_shm(answers), source=MOUNTS.path)


def _mib(text: str, name: str, share: int = 1) -> int | None:
    for entry in lines(text):
        value, _, unit = entry.removeprefix(f"{name}:").strip().partition(" ")
        if entry.startswith(f"{name}:") and unit == "kB":
            kib = number(value)
            return None if kib is None else kib // 1024 // share
    return None


def _hugepages(answers: Answers) -> Iterator[Fact]:
    answer = visible(answers[RESERVED], answers[SYSFS])
    if not isinstance(answer, Found):
        yield Fact(key="memory.hugepages", reading=answer, source=RESERVED.pattern)
        return
    for path, content in answer.value:
        size = path.split("/")[-2].removeprefix("hugepages-")
        reading = understood(content, lambda text: number(line(text) or ""), "number of pages")
        yield Fact(key="memory.hugepages", instance=size, reading=reading, source=path)


def _chosen(text: str) -> str | None:
    words = (line(text) or "").split()
    chosen = [word[1:-1] for word in words if word[:1] == "[" and word[-1:] == "]"]
    known = all(word.strip("[]") in CHOICES for word in words)
    return chosen[0] if known and len(chosen) == 1 else None


def _shm(answers: Answers) -> Reading:
    """Return the size of the file system that hides all others at /dev/shm: the last one."""
    answer = running(answers[MOUNTS])
    if not isinstance(answer, Found):
        return answer
    mounts = tuple(_mounted(answer.value))
    if not mounts:
        # The list may be another's, or end too early: none in it is not none at all.
        return Unreadable(f"nothing is mounted at {SHM}")
    kind, options = mounts[-1]
    if kind != "tmpfs":
        return Unreadable(f"a {kind} is mounted at {SHM}")
    sizes = [option for option in options.split(",") if option.startswith("size=")]
    if sizes:
        kib = number(sizes[-1][len("size=") : -1]) if sizes[-1].endswith("k") else None
        return Observed(kib // 1024) if kib is not None else Unreadable(f"it has {sizes[-1]!r}")
    # tmpfs(5): half of all memory, and then it is not shown.
    half = partial(_mib, name="MemTotal", share=2)
    return understood(running(answers[INFO]), half, "MemTotal")


def _mounted(text: str) -> Iterator[tuple[str, str]]:
    """Yield type and options of each file system at /dev/shm (proc_pid_mountinfo(5))."""
    for entry in lines(text):
        fields = entry.split()
        if fields[POINT : POINT + 1] == [SHM]:
            rest = fields[fields.index("-") + 1 :] if "-" in fields else []
            yield (rest[0], rest[2]) if len(rest) == OWN else ("?", "")


PROBE = Probe(keys=KEYS, questions=(INFO, MOUNTS, RESERVED, TRANSPARENT, SYSFS), read=read)
