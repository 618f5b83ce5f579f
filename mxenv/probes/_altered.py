"""Which files of a distribution are no longer what was installed, by the digests in its RECORD."""

from __future__ import annotations

import base64
import binascii
import csv
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mxenv import version
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.probes import _places
from mxenv.probes._distributions import RECORD
from mxenv.probes._found import joined
from mxenv.probes._origins import DEBIAN, INSTALLERS
from mxenv.question import File, Found, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from mxenv.facts import Reading
    from mxenv.probes._distributions import Distribution
    from mxenv.question import Answers

MOST = 40_000
"""Files whose digests are asked for, of all distributions together."""
SHOWN = 50
"""Files that a fact names."""
SHA256 = 32
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Line:
    """One file that was installed."""

    path: str
    """As RECORD has it."""
    question: File
    digest: str
    """Hexadecimal; empty if RECORD has none that can be held against the file."""


def record(distribution: Distribution) -> File:
    """Return what to ask for the whole list of installed files."""
    return File(f"{distribution.folder}/RECORD", Part.WHOLE, RECORD)


def chosen(distributions: Iterable[Distribution], answers: Answers) -> dict[str, tuple[Line, ...]]:
    """Return the files to be looked at, by the folder of the metadata.

    Those of an environment that was named come first, then those of vendors.
    """
    left = MOST
    named = {prefix for _, prefix in _places.named(answers)}
    found: dict[str, tuple[Line, ...]] = {}
    for distribution in sorted(distributions, key=lambda each: _order(each, named)):
        answer = answers[record(distribution)]
        if isinstance(answer, Found) and not _unlike(distribution):
            lines = _lines(answer.value, distribution.site)
            if len(lines) <= left:
                left -= len(lines)
                found[distribution.folder] = lines
    return found


def _order(distribution: Distribution, named: Collection[str]) -> tuple[bool, bool, str]:
    reading = distribution.version
    tagged = isinstance(reading, Observed) and version.tag(str(reading.value)) is not None
    return distribution.prefix not in named, not tagged, distribution.folder


@lru_cache(maxsize=1024)
def _lines(text: str, site: str) -> tuple[Line, ...]:
    """Return the lines that have a digest; kept, since every round of questions needs them."""
    return tuple(
        Line(row[0], File(joined(site, row[0]), Part.DIGEST), _digest(row[1]))
        for row in csv.reader(text.splitlines())
        # RECORD itself has none, and what Python compiles it may compile again.
        if len(row) > 1 and row[1] and not row[0].endswith(".pyc")
    )


def _unlike(distribution: Distribution) -> str:
    """Return why files differ from RECORD though nobody altered them; empty if they should not."""
    word = distribution.installer
    if isinstance(word, Found) and word.value.strip() == "conda":
        return "conda writes its own prefix into files, and RECORD does not say which"
    if (isinstance(word, Found) and INSTALLERS.get(word.value.strip()) == "system") or (
        distribution.site.startswith(f"{DEBIAN}/")
    ):
        return "a package of the system may strip and rename files, and RECORD does not say which"
    return ""


def _digest(text: str) -> str:
    """Return a digest as PEP 376 has it (base64, without its padding) in hexadecimal."""
    algorithm, _, value = text.partition("=")
    try:
        digest = base64.b64decode(f"{value}=".encode(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return ""
    return digest.hex() if algorithm == "sha256" and len(digest) == SHA256 else ""


def altered(
    distribution: Distribution, chosen: Mapping[str, tuple[Line, ...]], answers: Answers
) -> Iterator[Reading]:
    """Yield which files differ or are missing, and what could not be held against its RECORD."""
    if reason := _unlike(distribution):
        yield Unreadable(reason)
        return
    whole = answers[record(distribution)]
    if not isinstance(whole, Found):
        yield Unreadable("it has no RECORD") if isinstance(whole, Absent) else whole
        return
    lines = chosen.get(distribution.folder)
    if lines is None:
        yield Unreadable(f"not looked at: more than {MOST} files in all")
        return
    answered = [(line, answers[line.question]) for line in answers.each(lines)]
    wrong = [
        line.path
        for line, answer in answered
        if isinstance(answer, Absent)
        or (isinstance(answer, Found) and line.digest and answer.value != line.digest)
    ]
    unread = [answer for _, answer in answered if isinstance(answer, Unreadable)]
    unknown = sum(not line.digest for line in lines)
    if wrong:
        more = (f"… and {len(wrong) - SHOWN} more",) if len(wrong) > SHOWN else ()
        yield Observed((*wrong[:SHOWN], *more))
    if unread:
        # How many they are differs from one to the next, and equal reasons are told at once.
        reason = f"not every file of it could be read: {unread[0].reason}"
        yield Unreadable(reason, passing=any(answer.passing for answer in unread))
    elif unknown or not lines:
        yield Unreadable(f"RECORD has no digest for {'some' if unknown else 'any'} of its files")
    elif not wrong:
        yield Absent()
