"""How the output of ``ls``, ``head``, ``sha256sum`` and others is read, whatever files contain.

Programs name a file with a prefix before it that nobody can foresee (see ``_shell_script``), so
a name is found wherever it stands. One prints of a file what can be understood, or complains of
it, or the shell says what it sees itself; a file of which nothing can be understood is left out.
"""

from __future__ import annotations

import os
import re
import stat
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from mxenv.facts import Unreadable
from mxenv.question import Status
from mxenv.transports._disk import KINDS
from mxenv.transports._shell_tree import Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.transports._shell_talk import Sections

GONE = frozenset({"no such file or directory", "not a directory", "no such process"})
LETTERS = {"-": "file", "d": "directory", "l": "link", "p": "fifo", "c": "char", "b": "block"}
LETTERS |= {"f": "file", "s": "socket"}
LISTED = re.compile(
    rb"^([-bcdlps])([-rwxsStT]{9})[.+@]? +\d+ +\d+ +\d+ +(?:\d+, *\d+|(\d+)) [^\n]*? (?=/)",
    re.MULTILINE,
)
"""How ``ls -ldn`` begins a line, up to the path; no date has a slash in it."""
DIGESTED = re.compile(r"^([0-9a-f]{64}) [ *](.*)$", re.MULTILINE)
BITS = (0o400, 0o200, 0o100, 0o040, 0o020, 0o010, 0o004, 0o002, 0o001)
SPECIAL = {2: (0o4000, "sS"), 5: (0o2000, "sS"), 8: (0o1000, "tT")}
DENIED = Unreadable("permission denied")
NO_LONGER = Unreadable("not a file any more")
CUT = Unreadable("what came of it was not understood")


def entries(
    paths: list[str], sections: Sections, front: str
) -> Mapping[str, Entry | Unreadable | None]:
    """Return what lies at ``paths``, by what ``ls -ldn`` prints of them."""
    listed = _listed(sections[""], front)
    problems = _complaints(sections["!"], front)
    denied = {paths[int(number)] for number in sections["?"].split()}
    found: dict[str, Entry | Unreadable | None] = {}
    for path in paths:
        entry = listed.get(path)
        if entry is not None:
            if entry.status.kind == "link" and not entry.target:
                entry = Entry(entry.status, Unreadable(problems.get(path, DENIED.reason)))
            found[path] = entry
        elif path in denied:
            found[path] = DENIED
        elif path in problems:
            found[path] = None if problems[path] in GONE else Unreadable(problems[path])
    return found


def _listed(output: bytes, front: str) -> dict[str, Entry]:
    before = front.encode()
    heads = [head for head in LISTED.finditer(output) if output.startswith(before, head.end())]
    ends = [*(head.start() for head in heads[1:]), len(output)]
    found = {}
    for head, end in zip(heads, ends, strict=False):
        kind = LETTERS[head[1].decode()]
        text = os.fsdecode(output[head.end() + len(before) : end].removesuffix(b"\n"))
        path, _, target = text.partition(" -> ") if kind == "link" else (text, "", "")
        size = int(head[3] or 0) if kind in {"file", "directory", "link"} else 0
        found[path] = Entry(Status(kind, size, _mode(head[2].decode())), target)
    return found


@lru_cache(maxsize=1 << 8)
def _mode(letters: str) -> int:
    mode = 0
    for at, letter in enumerate(letters):
        special, signs = SPECIAL.get(at, (0, ""))
        if letter in signs:
            mode |= special
        if letter in "rwxst":
            mode |= BITS[at]
    return mode


def _complaints(output: bytes, front: str) -> dict[str, str]:
    """Return what programs say of files that they could not read."""
    said = {}
    for line in os.fsdecode(output).split("\n"):
        _, named, rest = line.partition(front)
        if named:
            path, _, reason = rest.rpartition(": ")
            said[path.removesuffix(" for reading").removesuffix("'")] = reason.strip().lower()
    return said


def alone(sections: Sections) -> Entry | Unreadable | None:
    """Return what lies at the one path that was asked for, by what the shell sees there itself."""
    letter, *numbers = sections[""].decode(errors="replace").split() or [""]
    if letter == "!":
        return DENIED
    if letter == "-":
        return None
    kind = LETTERS.get(letter)
    if kind is None:
        return CUT
    mode, size = (int(numbers[0], 16), int(numbers[1])) if len(numbers) > 1 else (0, 0)
    kind = KINDS.get(stat.S_IFMT(mode), kind)
    target = os.fsdecode(sections[">"].removesuffix(b"\n"))
    return Entry(Status(kind, size, stat.S_IMODE(mode)), target or DENIED if kind == "link" else "")


def names(path: str, sections: Sections, front: str) -> tuple[str, ...] | Unreadable:
    """Return the names in a directory."""
    output = sections[""]
    if output == b"!":
        return DENIED
    if output and not output.endswith(b"\0"):
        return CUT
    before = f"{front}{path.rstrip('/')}/"
    found = [os.fsdecode(name).removeprefix(before) for name in output.split(b"\0")[:-1]]
    return tuple(name for name in found if name not in {".", ".."})


def heads(paths: list[str], sections: Sections, front: str) -> Mapping[str, bytes | Unreadable]:
    """Return the contents that ``head`` prints, each behind the name of its file."""
    output = sections[""]
    problems = _complaints(sections["!"], front)
    places: list[tuple[str, int, int]] = []
    at = 0
    for path in (*paths, "/dev/null"):
        title = os.fsencode(f"==> {front}{path} <==\n")
        start = output.find(title, at)
        if start >= 0:
            at = start + len(title)
            places.append((path, start, at))
    found: dict[str, bytes | Unreadable] = {}
    for (path, _, begin), (_, end, _) in pairwise(places):
        found[path] = output[begin : end - 1]  # there is an empty line before each name
    for path in paths:
        if path in problems:
            found[path] = Unreadable(problems[path])
        elif len(paths) == 1 and sections["!"].strip():
            # Whatever it complains of, in whatever way it writes this name, it is this file.
            reason = sections["!"].decode(errors="replace").rpartition(": ")[2]
            found[path] = Unreadable(reason.strip().lower())
    ended = bool(places) and places[-1][0] == "/dev/null"
    return {path: found.get(path, NO_LONGER if ended else CUT) for path in paths}


def digests(paths: list[str], sections: Sections, front: str) -> Mapping[str, str | Unreadable]:
    """Return what ``sha256sum`` prints."""
    problems = _complaints(sections["!"], front)
    output = os.fsdecode(sections[""])
    if len(paths) == 1 and (only := re.match(r"\\?([0-9a-f]{64}) ", output)):
        return {paths[0]: only[1]}
    lines = [match for match in DIGESTED.finditer(output) if match[2].startswith(front)]
    found = {match[2].removeprefix(front): match[1] for match in lines}
    silent = "no program for it" if b"no program for it" in sections["!"] else NO_LONGER.reason
    return {path: found.get(path) or Unreadable(problems.get(path, silent)) for path in paths}


def packages(limit: int, sections: Sections) -> bytes | Unreadable:
    """Return the lines of dpkg's database that are wanted, if it is not larger than ``limit``."""
    size = sections[""]
    if size == b"!":
        return DENIED
    if not size.isdigit():
        return NO_LONGER
    return Unreadable(f"larger than {limit} bytes") if int(size) > limit else sections[">"]


def free(sections: Sections) -> int | Unreadable:
    """Return the free bytes that ``df -P -k`` prints."""
    line = sections[""].decode(errors="replace").strip().rpartition("\n")[2]
    match = re.search(r"\s\d+\s+-?\d+\s+(-?\d+)\s+(?:\d+%|-)\s+/", line)
    if match is None:
        reason = sections["!"].decode(errors="replace").strip().rpartition(": ")[2]
        return Unreadable(reason.lower() or CUT.reason)
    return max(0, int(match[1])) * 1024
