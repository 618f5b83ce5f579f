"""What the script that asks torch for its operators has printed, as the text of a table."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING

from mxenv.facts import Observed, Unreadable
from mxenv.operator_table import LETTERS, Entry, How, Table, write

if TYPE_CHECKING:
    from mxenv.facts import Reading
    from mxenv.question import Completed

SCHEMA = "mxenv.asked/1"
SIGNAL = 128
"""What a shell adds to the number of the signal that ended a program."""
MOST = 50_000
"""Operators; a build has 4,000."""
NAME = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*\.\w+", re.ASCII)
BY = re.compile(r"[\w.+-]{1,60}", re.ASCII)
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+!-]{0,199}")
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}")
HOWS = {letter: how for how, letter in LETTERS.items()}
QUOTED = 200
"""Characters of what somebody said that are told."""
REASON = 400
"""Characters of what the script itself says."""


def reading(answer: Completed | Unreadable, seconds: float) -> Reading:
    """Return the table as `mxenv.operator_table` writes it, or why there is none."""
    if isinstance(answer, Unreadable):
        return answer
    if answer.timed_out:
        return Unreadable(f"torch was not imported and asked within {seconds:.0f} s", passing=True)
    line = next((ln for ln in answer.stdout.splitlines() if ln.startswith(f"{SCHEMA} ")), "")
    if not line:
        return Unreadable(_without_a_word(answer))
    return _told(line)


def _told(line: str) -> Reading:
    """Return what the one line says, if all of it arrived."""
    _, digest, text = (*line.split(" ", 2), "", "")[:3]
    whole = digest == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    # Words of a reason may have been masked on the way: it is one all the same.
    if not whole and not text.startswith('{"error"'):
        return Unreadable("what torch said did not arrive whole")
    try:
        said = json.loads(text)
        return Unreadable(str(said["error"])[:REASON]) if "error" in said else _understood(said)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        return Unreadable(f"what torch said is not understood ({error})")


def _without_a_word(answer: Completed) -> str:
    """Return how a Python ended that told nothing, and its last words."""
    if answer.missing:
        return "there is no such interpreter"
    words = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    last = f": {words[-1][:QUOTED]}" if words else ""
    if answer.returncode > SIGNAL:
        return f"its Python was ended by signal {answer.returncode - SIGNAL}{last}"
    return f"its Python ended with status {answer.returncode} and without an answer{last}"


def _understood(said: dict[str, object]) -> Reading:
    version, key, operators = said["torch"], said["dispatch"], said["operators"]
    if not (isinstance(version, str) and VERSION.fullmatch(version)):
        raise ValueError("its version")
    if not (isinstance(key, str) and WORD.fullmatch(key)):
        raise ValueError("its dispatch key")
    if not isinstance(operators, list) or not 0 < len(operators) <= MOST:
        raise ValueError("its operators")
    entries = dict(map(_entry, operators))
    return Observed(write(Table(torch=version, key=key, entries=entries)))


def _entry(line: str) -> tuple[str, Entry]:
    name, letter, *words = line.split(" ")
    by = words.pop()[1:] if words and words[-1].startswith("@") else ""
    how = HOWS.get(letter)
    names = all(map(NAME.fullmatch, (name, *words)))
    alone = how not in {How.COMPOSITE, How.GENERATED}
    if how is None or not names or (by and not BY.fullmatch(by)) or (words and alone):
        raise ValueError(f"{line[:QUOTED]!r}")
    return name, Entry(how=how, via=tuple(words), by=by)
