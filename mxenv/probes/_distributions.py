"""How Python distributions lie on a disk, and what the heads of their metadata say."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv.distribution import normalised
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.question import File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.facts import Reading
    from mxenv.question import Answer, Answers, Matches

HEAD = 1024
"""Bytes in which name and version nearly always stand: they are among the first lines."""
LONG_HEAD = 1 << 16
"""Where they do not."""

SITES = (
    "lib/python3*/site-packages",
    "lib/python3*/dist-packages",
    "lib64/python3*/site-packages",
)
"""Below a prefix."""
FORMS = ("*.dist-info/METADATA", "*.egg-info/PKG-INFO", "*.egg-info")

PLACE = re.compile(
    r"(?P<site>(?P<prefix>/.*?)/lib(?:64)?/python(?P<series>3[0-9.]*)/(?P<kind>site|dist)-packages)"
    r"/(?P<folder>[^/]+?)\.(?:dist|egg)-info(?:/.*)?"
)
SITE = re.compile(r"(?P<prefix>/.*?)/lib(?:64)?/python3[0-9.]*(?:/(?P<kind>site|dist)-packages)?")
END = re.compile(r"\n[ \t]*\n|\A[ \t]*\n")
NAME_FIELD = re.compile(
    r"^Name:[ \t]*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[ \t]*$", re.MULTILINE
)
"""PEP 508."""
VERSION_FIELD = re.compile(r"^Version:[ \t]*([A-Za-z0-9][A-Za-z0-9._+!*-]*)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """One installed distribution."""

    prefix: str
    series: str
    """``3.11``; ``3`` where Debian keeps what all of its interpreters share."""
    site: str
    name: str
    """Normalised (PEP 503)."""
    version: Reading
    path: str
    """Of the metadata."""


def questions(prefix: str) -> tuple[Glob, ...]:
    """Return what to ask for the distributions below ``prefix``, which may be a pattern."""
    return tuple(
        Glob(f"{prefix}/{site}/{form}", Part.HEAD, HEAD) for site in SITES for form in FORMS
    )


def longer(answers: Answers, asked: Iterable[Glob]) -> Iterator[File]:
    """Yield what to ask again, since name or version were not among the first lines."""
    for path, answer in _metadata(answers, asked):
        if isinstance(answer, Found) and None in _fields(answer.value):
            yield File(path, Part.HEAD, LONG_HEAD)


def installed(answers: Answers, asked: Iterable[Glob]) -> Iterator[Distribution]:
    """Yield every distribution found; two copies of one in one environment are two."""
    seen = set()
    for path, answer in _metadata(answers, asked):
        place = PLACE.fullmatch(path)
        if place is None:
            continue
        again = answers[File(path, Part.HEAD, LONG_HEAD)]
        distribution = _distribution(place, path, again if isinstance(again, Found) else answer)
        # ``lib64`` is often a link to ``lib``, and shows all of it a second time.
        twin = (path.replace("/lib64/", "/lib/"), distribution.version)
        if twin not in seen:
            seen.add(twin)
            yield distribution


def closed(answers: Answers, asked: Iterable[Glob]) -> Iterator[tuple[str, str, Unreadable]]:
    """Yield every directory of distributions that could not be looked into, after its prefix."""
    reasons = {path: part for question in asked for path, part in matches(answers, question)}
    for path, reason in reasons.items():
        place = SITE.fullmatch(path)
        if place is not None and isinstance(reason, Unreadable):
            yield _environment(place), path, reason


def matches(answers: Answers, question: Glob) -> Matches:
    """Return what matched, if anything did."""
    answer = answers[question]
    return answer.value if isinstance(answer, Found) else ()


def _metadata(answers: Answers, asked: Iterable[Glob]) -> Iterator[tuple[str, Answer[str]]]:
    found = {path: part for question in asked for path, part in matches(answers, question)}
    for path, part in found.items():
        # An egg-info is a file or a folder, and the pattern for the file matches the folder too.
        if f"{path}/PKG-INFO" not in found and not isinstance(part, Absent):
            yield path, part


def _distribution(place: re.Match[str], path: str, answer: Answer[str]) -> Distribution:
    from_folder = place["folder"].split("-")[0]
    name, version = (None, None) if not isinstance(answer, Found) else _fields(answer.value)
    return Distribution(
        prefix=_environment(place),
        series=place["series"],
        site=place["site"],
        name=normalised(name or from_folder),
        version=_version(answer, version),
        path=path,
    )


def _environment(place: re.Match[str]) -> str:
    """Return the prefix of the environment; Debian's own has what pip adds in /usr/local."""
    debian = place["kind"] == "dist" and place["prefix"] == "/usr/local"
    return "/usr" if debian else place["prefix"]


def _version(answer: Answer[str], version: str | None) -> Reading:
    if not isinstance(answer, Found):
        return answer
    if version is None:
        return Unreadable(f"no Version in it: {answer.value[:40]!r}")
    return Observed(version)


def _fields(head: str) -> tuple[str | None, str | None]:
    """Return name and version, each `None` if it is not there or not one."""
    # The description follows after an empty line, and may say anything.
    fields = END.split(head, maxsplit=1)[0]
    name, version = NAME_FIELD.search(fields), VERSION_FIELD.search(fields)
    return name[1] if name else None, version[1] if version else None
