"""What of a node will be looked up most likely: asking for all of it at once saves ways there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv.question import File, Glob, Link, Space, Stat
from mxenv.transports._patterns import pattern_of, split, wild
from mxenv.transports._tree import Unanswered

if TYPE_CHECKING:
    from mxenv.question import Question
    from mxenv.transports._shell_tree import ShellTree
    from mxenv.transports._tree import Walker


def foreseen(walker: Walker, tree: ShellTree, question: Question) -> bool:
    """Want what ``question`` leads to, as far as that is known; return whether that is all of it.

    It costs little to want what is not there, or not under this name.
    """
    try:
        match question:
            case File(path=path) | Link(path) | Stat(path) | Space(path):
                tree.along("", path.split("/"))
            case Glob(pattern):
                return _expected(walker, tree, *split(pattern))
            case _:
                pass
    except Unanswered:
        return False
    except ValueError:
        pass
    return True


def _expected(walker: Walker, tree: ShellTree, at: str, segments: tuple[str, ...]) -> bool:
    fixed = next((n for n, segment in enumerate(segments) if wild(segment)), len(segments))
    here = tree.along(at, segments[:fixed])
    if fixed == len(segments):
        return True
    try:
        place = walker.find(here or "/")
    except Unanswered:
        # Nearly always it is a directory, and no link is on the way to it.
        tree.listings.wanted[here or "/"] = None
        return False
    if place.status is None or place.status.kind != "directory":
        return True
    matches = pattern_of(segments[fixed]).match
    whole = True
    for name in tree.names(place.path):
        if matches(name):
            try:
                below = f"{place.path}/{name}"
                whole &= _expected(walker, tree, below, segments[fixed + 1 :])
            except Unanswered:
                whole = False
            except ValueError:
                pass  # no file has such a name
    return whole
