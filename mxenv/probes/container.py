"""Whether this is a container, whose, and which devices it was given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading
from mxenv.probe import Probe
from mxenv.probes._reading import best
from mxenv.question import File, Found, Glob, Stat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.question import Answer, Answers

DOCKER = Stat("/.dockerenv")
PODMAN = Stat("/run/.containerenv")
SYSTEMD = File("/run/systemd/container", limit=4096)
"""The runtime's name, if it follows systemd's container interface."""
GROUPS = File("/proc/1/cgroup", limit=1 << 16)
MOUNTS = File("/proc/self/mountinfo", limit=1 << 20)

NODES = (Glob("/dev/mxcd"), Glob("/dev/mxgvm"), Glob("/dev/dri/*"), Glob("/dev/infiniband/*"))

POINT = 4
"""Which field of a line in mountinfo is the mount point (proc_pid_mountinfo(5))."""
OWN_MOUNTS = (["/"], ["/etc/hostname"], ["/etc/hosts"], ["/etc/resolv.conf"])
"""What a runtime mounts for a container itself; a host has the mounts of all its containers too."""
SIGNS = (
    ("kubernetes", re.compile(r"kubepods|/kubelet/pods/|kubernetes\.io")),
    ("docker", re.compile(r"/docker[/-]")),
    ("podman", re.compile(r"libpod|/containers/storage/")),
    ("crio", re.compile(r"\bcrio\b")),
    ("containerd", re.compile(r"containerd")),
    ("lxc", re.compile(r"/lxc[/.]")),
)

KEYS = (
    FactKey(
        name="container.runtime",
        meaning="what runs the container; absent on a host",
        sources=", ".join(q.path for q in (GROUPS, MOUNTS, SYSTEMD, PODMAN, DOCKER)),
    ),
    FactKey(
        name="container.devices",
        meaning="device nodes of accelerators and networks that the container was given",
        sources=", ".join(question.pattern for question in NODES),
        # Equal containers have different cards.
        node_only=True,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read the marks that runtimes leave; the first that says something is believed."""
    marks = tuple(_marks(answers))
    runtime = best(*(reading for reading, _ in marks))
    source = next((source for reading, source in marks if reading == runtime), "")
    yield Fact(key="container.runtime", reading=runtime, source=source)
    devices = _devices(answers) if isinstance(runtime, Observed) else runtime
    yield Fact(key="container.devices", reading=devices, source="/dev")


def _marks(answers: Answers) -> Iterator[tuple[Reading, str]]:
    yield _sign(answers[GROUPS], _any_line), GROUPS.path
    yield _sign(answers[MOUNTS], _own_mounts), MOUNTS.path
    yield _sign(answers[SYSTEMD], _word), SYSTEMD.path
    for question, name in ((PODMAN, "podman"), (DOCKER, "docker")):
        answer = answers[question]
        yield Observed(name) if isinstance(answer, Found) else answer, question.path


def _sign(answer: Answer[str], find: Callable[[str], str | None]) -> Reading:
    if not isinstance(answer, Found):
        return answer
    name = find(answer.value)
    return Absent() if name is None else Observed(name)


def _any_line(text: str) -> str | None:
    return next((name for name, sign in SIGNS if sign.search(text)), None)


def _own_mounts(text: str) -> str | None:
    own = (line for line in text.splitlines() if line.split()[POINT:][:1] in OWN_MOUNTS)
    return _any_line("\n".join(own))


def _word(text: str) -> str | None:
    match = re.fullmatch(r"[a-z][a-z0-9-]{1,30}", text.strip())
    return match[0] if match else None


def _devices(answers: Answers) -> Reading:
    given = [answers[question] for question in NODES]
    paths = sorted(
        path for answer in given if isinstance(answer, Found) for path, _ in answer.value
    )
    if paths:
        return Observed(tuple(paths))
    return best(*(answer for answer in given if not isinstance(answer, Found)))


PROBE = Probe(keys=KEYS, questions=(DOCKER, PODMAN, SYSTEMD, GROUPS, MOUNTS, *NODES), read=read)
