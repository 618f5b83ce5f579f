"""The kernel that runs, which in a container is the host's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, View
from mxenv.probe import Probe
from mxenv.probes._reading import line, running, understood
from mxenv.question import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

RELEASE = File("/proc/sys/kernel/osrelease", limit=4096)
BUILD = File("/proc/sys/kernel/version", limit=4096)

FLAVOUR = re.compile(
    r"(?:-(?!rc\d)([A-Za-z][A-Za-z0-9._+-]*)"
    r"|\.(?!x86_64|aarch64|loongarch64)([a-z]+\d+[a-z0-9]*)(?:_\d+)?"
    r"(?:\.(?:x86_64|aarch64|loongarch64))?)$"
)
"""Whose build it is: all at the end after a dash (``5.15.0-58-generic``, ``6.8.0-10-nvidia-64k``),
or the tag of a distribution after a dot (``5.4.241-24.0017.23.tl3``, ``4.18.0-477.el8_8.x86_64``).
"""

KEYS = (
    FactKey(
        name="kernel.release",
        meaning="the kernel's release, as `uname -r` has it",
        sources=RELEASE.path,
        view=View.HOST,
    ),
    FactKey(
        name="kernel.flavour",
        meaning="whose build the release says it is: generic, azure, tl3, el8",
        sources=RELEASE.path,
        view=View.HOST,
    ),
    FactKey(
        name="kernel.build",
        meaning="which build of the kernel, as `uname -v` has it",
        sources=BUILD.path,
        view=View.HOST,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read both names of the kernel."""
    release = understood(running(answers[RELEASE]), _release, "kernel release")
    yield Fact(key="kernel.release", reading=release, source=RELEASE.path)
    yield Fact(key="kernel.flavour", reading=_flavour(release), source=RELEASE.path)
    build = understood(running(answers[BUILD]), _build, "kernel build")
    yield Fact(key="kernel.build", reading=build, source=BUILD.path)


def _release(text: str) -> str | None:
    match = re.fullmatch(r"\d+\.\d+[!-~]*", line(text) or "")
    return match[0] if match else None


def _flavour(release: Reading) -> Reading:
    """Return the flavour; a kernel as it comes from kernel.org has none."""
    if not isinstance(release, Observed):
        return release
    match = FLAVOUR.search(str(release.value))
    return Observed(match[1] or match[2]) if match else Absent()


def _build(text: str) -> str | None:
    match = re.fullmatch(r"#\d+[ -~]*", line(text) or "")
    return match[0] if match else None


PROBE = Probe(keys=KEYS, questions=(RELEASE, BUILD), read=read)
