"""Which operators one build of torch can run on a platform, as it says of itself."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

SCHEMA = "mxenv.operators/1"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_ENTRY = re.compile(r"([a-z])([0-9a-z]+(?:,[0-9a-z]+)*)?(?:@([0-9a-z]+))?([+!]?)")


class How(StrEnum):
    """How a build does an operator for one dispatch key."""

    NATIVE = "native"
    """By a kernel for that key."""
    GENERATED = "generated"
    """By a wrapper that does nothing but call another overload."""
    COMPOSITE = "composite"
    """By calling other operators."""
    FALLBACK = "fallback"
    """On the CPU, without a word: data goes there and back."""
    MISSING = "missing"
    UNKNOWN = "unknown"


class Grade(StrEnum):
    """How well it is known that an operator works."""

    REGISTERED = "registered"
    RAN = "ran"
    VERIFIED = "verified"


LETTERS = {how: how.value[0] for how in How}
"""What stands for each in a table: their first letters, all different."""
MARKS = {Grade.REGISTERED: "", Grade.RAN: "+", Grade.VERIFIED: "!"}


@frozen
class Entry:
    """How one operator is done."""

    how: How
    via: tuple[str, ...] = ()
    """The operators that do it, of one that is generated or composite; empty: nobody knows."""
    by: str = ""
    """Who registered it, if that is not torch itself: ``flag_gems``, a library's name."""
    grade: Grade = Grade.REGISTERED


@dataclass(frozen=True, kw_only=True)
class Table:
    """All that a build of torch says for one dispatch key."""

    torch: str
    """The version of the distribution, build tag and all."""
    key: str
    """``CUDA``, ``PrivateUse1``, ``CPU``."""
    entries: Mapping[str, Entry] = field(default_factory=dict)
    """By the operator's name, ``aten::add.Tensor``; ``default`` where an overload has no name."""

    @cached_property
    def digest(self) -> str:
        """Return ``sha256:…`` of the written form."""
        return _digest(_body(self))


def write(table: Table) -> str:
    """Return ``table`` in a few characters an operator: equal tables give equal text.

    No compressor is run, since those differ: names are sorted, and each begins with how many
    characters it shares with the one before; who does the work is given by number.
    """
    body = _body(table)
    return f"{SCHEMA} {_digest(body)} {body}"


def read(text: str) -> Table:
    """Return what `write` wrote; raise `ValueError` for anything else."""
    schema, _, rest = text.partition(" ")
    digest, _, body = rest.partition(" ")
    if schema != SCHEMA:
        raise ValueError(f"{schema[:40]!r} is not {SCHEMA!r}")
    if _digest(body) != digest:
        raise ValueError("is not what its digest says")
    try:
        head = json.loads(body)
        names = _names(head["names"].split(" ")) if head["names"] else []
        codes = head["entries"].split(" ") if head["entries"] else []
        entries = {
            name: _entry(code, names, head["by"]) for name, code in zip(names, codes, strict=True)
        }
        return Table(torch=head["torch"], key=head["key"], entries=entries)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"is not understood ({type(error).__name__}: {error})") from None


def digest_of(text: str) -> str:
    """Return the digest that a written table names; `read` tells whether it is its own."""
    return text.partition(" ")[2].partition(" ")[0]


def summary(table: Table) -> str:
    """Return in one line what ``table`` has."""
    counts = Counter(entry.how for entry in table.entries.values())
    others = sorted({entry.by for entry in table.entries.values()} - {""})
    ways = ", ".join(f"{counts[how]} {how}" for how in How if counts[how])
    by = f"; some by {', '.join(others)}" if others else ""
    return (
        f"torch {table.torch} for {table.key}: {len(table.entries)} operators ({ways}){by}; "
        f"{table.digest}"
    )


def _digest(body: str) -> str:
    return f"sha256:{hashlib.sha256(body.encode()).hexdigest()}"


def _body(table: Table) -> str:
    # What is done by an operator that the build does not know is in no table by itself.
    vias = {name for entry in table.entries.values() for name in entry.via}
    names = sorted({*table.entries, *vias})
    numbers = {name: number for number, name in enumerate(names)}
    registrars = sorted({entry.by for entry in table.entries.values()} - {""})
    missing = Entry(how=How.MISSING)
    codes = [_code(table.entries.get(name, missing), numbers, registrars) for name in names]
    document = {
        "torch": table.torch,
        "key": table.key,
        "by": registrars,
        "names": " ".join(_shared(names)),
        "entries": " ".join(codes),
    }
    return json.dumps(document, separators=(",", ":"))


def _code(entry: Entry, numbers: Mapping[str, int], registrars: Sequence[str]) -> str:
    via = ",".join(_base36(numbers[name]) for name in sorted(entry.via))
    by = f"@{_base36(registrars.index(entry.by))}" if entry.by else ""
    return f"{LETTERS[entry.how]}{via}{by}{MARKS[entry.grade]}"


def _entry(code: str, names: Sequence[str], registrars: Sequence[str]) -> Entry:
    match = _ENTRY.fullmatch(code)
    hows = {letter: how for how, letter in LETTERS.items()}
    if match is None or match[1] not in hows:
        raise ValueError(f"is not understood: {code[:40]!r}")
    grades = {mark: grade for grade, mark in MARKS.items()}
    via = tuple(names[int(number, 36)] for number in match[2].split(",")) if match[2] else ()
    by = registrars[int(match[3], 36)] if match[3] else ""
    return Entry(how=hows[match[1]], via=via, by=by, grade=grades[match[4]])


def _shared(names: Iterable[str]) -> Iterable[str]:
    """Yield each name as what it adds to the one before, after how much it shares with it."""
    before = ""
    for name in names:
        most = min(len(before), len(name), 35)
        same = next((n for n in range(most) if before[n] != name[n]), most)
        yield f"{DIGITS[same]}{name[same:]}"
        before = name


def _names(words: Iterable[str]) -> list[str]:
    names: list[str] = []
    for word in words:
        before = names[-1] if names else ""
        names.append(before[: int(word[:1], 36)] + word[1:])
    return names


def _base36(number: int) -> str:
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits
