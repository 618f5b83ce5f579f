"""The kernel that runs, which in a container is the host's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, View
from mxenv.probe import Probe
from mxenv.probes._reading import running, understood
from mxenv.question import File

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

RELEASE = File("/proc/sys/kernel/osrelease", limit=4096)
BUILD = File("/proc/sys/kernel/version", limit=4096)

KEYS = (
    FactKey(
        name="kernel.release", meaning="the kernel's release, as `uname -r` has it", view=View.HOST
    ),
    FactKey(name="kernel.build", meaning="which build of it, as `uname -v` has it", view=View.HOST),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Read both names of the kernel."""
    release = understood(running(answers[RELEASE]), _release, "kernel release")
    yield Fact(key="kernel.release", reading=release, source=RELEASE.path)
    build = understood(running(answers[BUILD]), _build, "kernel build")
    yield Fact(key="kernel.build", reading=build, source=BUILD.path)


def _release(text: str) -> str | None:
    match = re.fullmatch(r"\d+\.\d+\S*", text.strip())
    return match[0] if match else None


def _build(text: str) -> str | None:
    match = re.fullmatch(r"#\d+[ -~]*", text.strip())
    return match[0] if match else None


PROBE = Probe(keys=KEYS, questions=(RELEASE, BUILD), read=read)
