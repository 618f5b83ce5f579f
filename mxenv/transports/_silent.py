"""What an image that nobody runs cannot answer, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from mxenv.facts import Unreadable
from mxenv.question import Command, Env, File, Glob, Link, Option, Space, Stat, Symbols

if TYPE_CHECKING:
    from mxenv.question import Given, Question

OF_A_NODE = ("/proc", "/sys", "/dev")
"""What the kernel of a running node fills; in an image it is empty or left over."""


def of_an_image(question: Question) -> Given | None:
    """Return why an image cannot answer ``question``, or `None`: its files can."""
    match question:
        case Command():
            return Unreadable("an image runs no command")
        case Env():
            return Unreadable("an image that does not run has no environment")
        case Space():
            return Unreadable("an image has no free space")
        case Option():
            return Unreadable("an image cannot say what is wanted of it")
        case File(path=path) | Glob(pattern=path) | Link(path) | Stat(path) | Symbols(path=path):
            if any(path == top or path.startswith(f"{top}/") for top in OF_A_NODE):
                return Unreadable(
                    f"an image's {'/'.join(path.split('/')[:2])} says nothing about a node"
                )
            return None
        case _:
            assert_never(question)
