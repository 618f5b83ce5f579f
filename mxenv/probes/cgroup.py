"""Which version of control groups the kernel has mounted: container runtimes differ in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.facts import Fact, FactKey, Observed, Reading, Unreadable, View
from mxenv.probe import Probe
from mxenv.question import Found, Stat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answers

UNIFIED = Stat("/sys/fs/cgroup/cgroup.controllers")
"""In every directory of the second version, and in none of the first (cgroups(7))."""
CONTROLLERS = tuple(Stat(f"/sys/fs/cgroup/{name}") for name in ("memory", "devices", "cpu"))
"""Of the first version each is mounted by itself."""

KEYS = (
    FactKey(
        name="cgroup.version",
        meaning="version of the control groups that runtimes use: 1 or 2",
        sources="/sys/fs/cgroup",
        view=View.HOST,
    ),
)


def read(answers: Answers) -> Iterator[Fact]:
    """Tell the versions apart by what is there; the second beside the first does not count."""
    yield Fact(key="cgroup.version", reading=_version(answers), source="/sys/fs/cgroup")


def _version(answers: Answers) -> Reading:
    for version, questions in (("2", (UNIFIED,)), ("1", CONTROLLERS)):
        if any(isinstance(answers[question], Found) for question in questions):
            return Observed(version)
    unknown = (a for q in (UNIFIED, *CONTROLLERS) if isinstance(a := answers[q], Unreadable))
    return next(unknown, Unreadable("no control groups are mounted here"))


PROBE = Probe(keys=KEYS, questions=(UNIFIED, *CONTROLLERS), read=read)
