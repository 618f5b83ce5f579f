"""What programs that mxenv started leave behind, known by a mark whoever its parent has become."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MARK = "MXENV_RUNS"
"""A variable that holds the mark of a program, and of all that it starts."""
LOOKS = 5
"""Times that is looked for what was left behind."""
PAUSE = 0.02
"""Seconds between two of them."""


def end_marked(marks: Mapping[str, int]) -> None:
    """Kill what is left of programs: children with a session and a parent of their own.

    ``marks`` are those of the programs, each with the process id that it had.
    """
    for _ in range(LOOKS):
        # While one looks, another may fork.
        left = list(_marked(marks))
        if not left:
            return
        for pid in left:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(PAUSE)


def _marked(marks: Mapping[str, int]) -> Iterator[int]:
    known = [mark.encode() for mark in marks]
    first = min(marks.values())
    if _last_pid() < first:
        first = 0  # process ids have begun anew meanwhile
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - names are all that is wanted
    except OSError:
        return  # no Linux: nobody tells who started what
    for name in names:
        if name.isdigit() and int(name) >= first and int(name) != os.getpid():
            signs = _signs(f"/proc/{name}")
            if any(mark in signs for mark in known):
                yield int(name)


def _last_pid() -> int:
    try:
        return int(_content("/proc/loadavg").split()[-1])
    except (OSError, ValueError, IndexError):
        return 0


def _signs(process: str) -> bytes:
    """Return where the mark of a program is: its variables, and the names of its open files.

    A process that has ended and is not reaped has none.
    """
    signs = b""
    with suppress(OSError):
        signs += _content(f"{process}/environ")
    with suppress(OSError):
        for number in os.listdir(f"{process}/fd"):  # noqa: PTH208 - names are all that is wanted
            with suppress(OSError):
                signs += os.fsencode(os.readlink(f"{process}/fd/{number}"))  # noqa: PTH115 - bytes out
    return signs


def _content(path: str) -> bytes:
    # Neither `pathlib` nor a reader with a buffer: every probe of a node that has tools ends here.
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - see above
        return file.read()
