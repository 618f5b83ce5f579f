"""Python environments: where they are, which interpreter, which distributions; none is ever run."""

from __future__ import annotations

import re
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from mxenv.facts import EVERY, Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.probes import _importing, _packages, _places
from mxenv.probes._distributions import site
from mxenv.probes._found import PYTHONPATH, path_files, survey
from mxenv.probes._places import KNOWN, RUNNING, USER, Asked, named
from mxenv.probes._reading import best
from mxenv.question import File, Found, Option, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mxenv.facts import Value
    from mxenv.probes._environment import Environment
    from mxenv.probes._found import Disk
    from mxenv.question import Answers, Question

__all__ = ["DPKG", "KEYS", "PROBE", "RUNNING", "Asked"]

DPKG = File("/var/lib/dpkg/status", Part.PACKAGES, limit=32 << 20)
"""Where Debian's own interpreter has its whole version."""
DEEP = Option("deep")
UNASKED = Unreadable("looked at only if it is asked for (--deep)")
ALIKE = Unreadable("not looked into: with names masked, those of several people look alike")
DEBIAN = re.compile(r"^Version: (?:\d+:)?(3\.\d+\.\d+(?:~[a-z0-9]+)?)[-+][^\n]*\n", re.MULTILINE)

KEYS = (
    FactKey(
        name="python.interpreter",
        meaning="the path of an environment's Python",
        instance="env",
        sources="PREFIX/bin/python3* below usual places, /proc/*/exe, --python",
    ),
    FactKey(
        name="python.version",
        meaning="its version, with all three fields",
        instance="env",
        sources="patchlevel.h, pyvenv.cfg, conda-meta, /var/lib/dpkg/status",
    ),
    FactKey(
        name="python.series",
        meaning="its version, the first two fields",
        instance="env",
        sources="the name of its interpreter, or of its lib/python3.*",
    ),
    FactKey(
        name="python.site",
        meaning="the directories that hold its distributions",
        instance="env",
        sources="PREFIX/lib/python3*/{site,dist}-packages",
    ),
    *_packages.KEYS,
)


def more(answers: Answers) -> Iterator[Question]:
    """Ask for the environments that lie elsewhere, and for what the first answers leave open."""
    asked = (*_places.lasting(answers), *_places.passing(answers))
    for questions in asked:
        if questions not in KNOWN:
            yield from questions.all
        if isinstance(answers[questions.lib64], Found):
            yield from (glob for each in questions.sites64(answers) for glob in each.all)
    disk = survey(answers, asked)
    yield from path_files(disk)
    for directory in disk.added:
        yield from site(directory).all
    yield from _packages.further(disk, deep=isinstance(answers[DEEP], Found))


def read(answers: Answers) -> Iterator[Fact]:
    """Read every environment that was found; where none can be, say so."""
    lasting, passing = _places.lasting(answers), _places.passing(answers)
    disk = survey(answers, (*lasting, *passing))
    met = {asked.prefix for asked in passing}
    # Of what lasts the same is said whether or not a process shows something else besides.
    told: set[str] = set()
    unlisted: list[Reading] = []
    for fact in _each(disk, met):
        if not fact.volatile:
            told.add(fact.key)
            unlisted += [fact.reading] if fact.instance.endswith(f"/{EVERY}") else []
        yield fact
    lasts = not disk.environments.keys() <= met
    if lasts:
        yield from _closed(answers)
    yield from _unmet(answers, disk)
    yield from _masked(answers, disk)
    nothing = next(iter(unlisted), Absent()) if lasts else _nothing(answers)
    for key in KEYS:
        if key.name not in told:
            reading = UNASKED if key.name == _packages.ALTERED and lasts else nothing
            yield Fact(key=key.name, reading=reading, source=KNOWN[0].binaries.pattern)


def _each(disk: Disk, met: Collection[str]) -> Iterator[Fact]:
    """Yield one fact after the other: of a crowded node there are more than are kept."""
    for prefix in sorted(disk.environments):
        for fact in _facts(disk.environments[prefix], disk):
            yield replace(fact, volatile=True) if prefix in met else fact
    yield from _packages.facts(disk, met, deep=isinstance(disk.answers[DEEP], Found))


def _unmet(answers: Answers, disk: Disk) -> Iterator[Fact]:
    """Yield what is known of a path that was named, and where no environment was found."""
    for path, prefix in named(answers):
        reading: Reading = Absent()
        if not prefix:
            reading = Unreadable("neither an interpreter nor a prefix, as an absolute path")
        elif isinstance(answer := answers[Asked(prefix).binaries], Unreadable):
            reading = answer
        if prefix not in disk.environments:
            yield Fact(key="python.interpreter", instance=path, reading=reading, source="--python")


def _masked(answers: Answers, disk: Disk) -> Iterator[Fact]:
    """Yield the places that have a Python, and of which nothing is known."""
    for prefix in sorted({*_places.pythons(answers)} - disk.environments.keys()):
        yield Fact(key="python.interpreter", instance=prefix, reading=ALIKE, source="bin/python3")


def _facts(environment: Environment, disk: Disk) -> Iterator[Fact]:
    env = environment.prefix
    sites = disk.sites(environment)
    if environment.interpreters or sites:
        path = environment.interpreter
        reading: Reading = Observed(path) if path else _no_interpreter(disk.answers, env)
        source = f"{env}/bin/python3*"
        yield Fact(key="python.interpreter", instance=env, reading=reading, source=source)
        series = environment.series
        reading = Observed(series) if series else Unreadable("no interpreter or folder names it")
        yield Fact(key="python.series", instance=env, reading=reading, source=path or source)
        for reading, source in _whole_versions(environment, disk.answers):
            yield Fact(key="python.version", instance=env, reading=reading, source=source)
        reading = Observed(sites) if sites else Absent()
        yield Fact(key="python.site", instance=env, reading=reading, source=f"{env}/lib/python3*")
    for key, source, reason in environment.closed:
        yield Fact(key=key, instance=env, reading=reason, source=source)
        if key == "python.site":
            # Whatever lies there is not among the distributions that were found.
            every = f"{env}/{EVERY}"
            yield Fact(key="python.package", instance=every, reading=reason, source=source)


def _no_interpreter(answers: Answers, env: str) -> Reading:
    """Return what it means that an environment has none, if it was looked for there."""
    looked = (asked for asked in (Asked(env), *KNOWN) if fnmatchcase(env, asked.prefix))
    for asked in looked:
        answer = answers.given.get(asked.binaries)
        if isinstance(answer, Unreadable):
            return answer
    return Absent()


def _whole_versions(environment: Environment, answers: Answers) -> Iterator[tuple[Reading, str]]:
    """Yield the versions of its own interpreter: headers of others may lie there too."""
    told = [*environment.versions]
    if environment.prefix == "/usr":
        told.append((_debian(answers, environment.series), DPKG.path))
    own = False
    for reading, source in told:
        if isinstance(reading, Observed) and _of_series(reading.value, environment.series):
            own = True
            yield reading, source
    if not own:
        yield Unreadable("no file that was read has its last field"), "mxenv"


def _of_series(version: Value, series: str) -> bool:
    return not series or str(version).startswith(f"{series}.")


def _debian(answers: Answers, series: str) -> Reading:
    answer = answers[DPKG]
    if not isinstance(answer, Found):
        return answer
    start = f"\n{answer.value}".find(f"\nPackage: python{series}-minimal\n")
    end = answer.value.find("\n\n", start)
    stanza = answer.value[start : end if end > 0 else None] if start >= 0 else ""
    match = DEBIAN.search(f"{stanza}\n" if end > 0 else stanza)
    return Observed(match[1].replace("~", "")) if match else Absent()


def _closed(answers: Answers) -> Iterator[Fact]:
    """Yield that there may be more environments than were found, if there may."""
    answered = {asked.prefix: answers[asked.binaries] for asked in KNOWN if asked.prefix != USER}
    closed = {p: answer for p, answer in answered.items() if isinstance(answer, Unreadable)}
    if not closed:
        return
    reasons = ", ".join(sorted({answer.reason for answer in closed.values()}))
    reading = Unreadable(
        f"others may be below {', '.join(closed)} ({reasons})",
        passing=any(answer.passing for answer in closed.values()),
    )
    # What could not be looked into may have none; what did not answer in time has some.
    keys = ("python.interpreter", "python.series", "python.version", "python.site")
    for key in keys if reading.passing else keys[:1]:
        yield Fact(key=key, reading=reading, source="*/bin/python3*")


def _nothing(answers: Answers) -> Reading:
    """Return why no environment was found: none is there, or no place could be looked into."""
    return best(*(a for q in KNOWN if not isinstance(a := answers[q.binaries], Found)))


PROBE = Probe(
    keys=KEYS,
    questions=(
        *_places.QUESTIONS,
        DPKG,
        DEEP,
        PYTHONPATH,
        _importing.NO_USER,
        *(glob for asked in KNOWN for glob in asked.all),
    ),
    read=read,
    more=more,
)
