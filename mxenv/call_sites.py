"""Where in source code an operator was called, by the trace that a model's file keeps of it."""

from __future__ import annotations

import re

LARGEST = 1 << 20
"""Characters of a trace that are looked at."""
_FRAME = re.compile(r'File "([^"\n]{1,4096})", line ([0-9]{1,9})')
_INSTALLED = ("/site-packages/", "/dist-packages/")


def innermost(trace: str) -> str:
    """Return ``file:line`` of the last frame of a Python trace; empty if there is none.

    Of torch's own frames only if there are no others: who calls its layers is wanted. What was
    never a file (``<string>``) does not count. Of a file that is installed, the path from where
    packages lie; of another one its name alone, since the rest is about the machine on which the
    model was written, and who did.
    """
    found = [one for one in _FRAME.findall(trace[-LARGEST:]) if not one[0].startswith("<")]
    frames = [f"{_within(path.replace(chr(92), '/'))}:{line}" for path, line in found]
    others = [frame for frame in frames if not frame.startswith("torch/")]
    return (others or frames or [""])[-1]


def _within(path: str) -> str:
    for folder in _INSTALLED:
        _, found, inside = path.rpartition(folder)
        if found:
            return inside
    return path.rpartition("/")[2]
