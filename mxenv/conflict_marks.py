"""Two texts as one, with marks where they differ, as git has them: nobody takes that for TOML."""

from __future__ import annotations

from difflib import SequenceMatcher

OURS, MIDDLE, THEIRS = "<<<<<<< ours", "=======", ">>>>>>> theirs"
ANCESTOR = "|||||||"
"""What git may put between, with ``merge.conflictStyle = diff3``."""
LENGTH = len(MIDDLE)


def marked(ours: str, theirs: str) -> str:
    """Return what both have once, and what differs twice, between marks."""
    one, other = ours.splitlines(), theirs.splitlines()
    lines: list[str] = []
    # Lines that are everywhere tell no place from another, and looking at each pair takes long.
    matcher = SequenceMatcher(a=one, b=other, autojunk=True)
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag == "equal":
            lines += one[start:end]
        else:
            lines += [OURS, *one[start:end], MIDDLE, *other[first:last], THEIRS]
    return "".join(f"{line}\n" for line in lines)


def first_mark(text: str) -> int:
    """Return the number of the first line that somebody still has to decide of; 0: there is none.

    A middle alone may be anybody's line.
    """
    ends = (OURS[:LENGTH], THEIRS[:LENGTH])
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if _mark(line) in ends), 0)


def our_side(text: str) -> str:
    """Return ``text`` as it is if each time our side is taken."""
    kept, theirs = [], False
    for line in text.splitlines():
        match _mark(line):
            case "<<<<<<<" | ">>>>>>>":
                theirs = False
            case "=======" | "|||||||":
                theirs = True
            case _:
                kept += [] if theirs else [line]
    return "".join(f"{line}\n" for line in kept)


def _mark(line: str) -> str:
    """Return the mark that a line begins with; one of a longer run of such signs is none."""
    known = {OURS[:LENGTH], MIDDLE, THEIRS[:LENGTH], ANCESTOR}
    return line[:LENGTH] if line[:LENGTH] in known and line[LENGTH:][:1].strip() == "" else ""
