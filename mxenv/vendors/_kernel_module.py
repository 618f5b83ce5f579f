"""What the kernel says of any vendor's module: whether it is loaded."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.question import File, Found

if TYPE_CHECKING:
    from mxenv.question import Answers, Stat

MODULES = File("/proc/modules")
KERNEL = File("/proc/sys/kernel/osrelease")
_STATE = r"(?m)^{} \d+ \d+ \S+ (\w+)"


def in_sysfs(answers: Answers, module: Stat) -> Reading:
    """Return whether the folder of a module is there."""
    match answers[module]:
        case Found():
            return Observed("loaded")
        case Absent():
            return Absent()
        case Unreadable() as unreadable:
            return unreadable


def in_modules(answers: Answers, name: str) -> Reading:
    """Return what the list of modules says of one."""
    match answers[MODULES]:
        case Found(text):
            line = re.search(_STATE.format(name), text)
            if line and line[1] != "Live":
                return Unreadable(f"it is on its way: {line[1]}", passing=True)
            return Observed("loaded") if line else Absent()
        case Absent() if isinstance(answers[KERNEL], Found):
            # A kernel that can load no modules has no list of them.
            return Absent()
        case Absent():
            return Unreadable("/proc is not to be seen")
        case Unreadable() as unreadable:
            return unreadable
