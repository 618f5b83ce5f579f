"""Python environments: where they are, which interpreter, which distributions; none is ever run."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, FactKey, Observed, Reading, Unreadable
from mxenv.probe import Probe
from mxenv.probes import _distributions
from mxenv.probes._distributions import matches
from mxenv.probes._environment import INTERPRETER, Environment
from mxenv.probes._reading import best
from mxenv.question import Env, File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.facts import Value
    from mxenv.question import Answer, Answers, Question

PREFIXES = (
    "/usr",
    "/usr/local",
    "/opt/conda",
    "/opt/conda/envs/*",
    "/opt/miniconda3",
    "/opt/miniconda3/envs/*",
    "/opt/venv",
    "/opt/mxenv",
    "/venv",
    "/root/.pyenv/versions/*",
    "/root/miniconda3",
    "/root/miniconda3/envs/*",
)
"""Where images and nodes keep environments."""
ACTIVE = (Env("VIRTUAL_ENV"), Env("CONDA_PREFIX"))
RUNNING = Glob("/proc/[0-9]*/exe", Part.LINK)
DPKG = File("/var/lib/dpkg/status", Part.PACKAGES, limit=32 << 20)
"""Where Debian's own interpreter has its whole version."""

PATCH_LEVEL = re.compile(r'^#define PY_VERSION\s+"(3\.\d+\.\d+[a-z0-9+]*)"', re.MULTILINE)
PYVENV = re.compile(r"^version(?:_info)?\s*=\s*(3\.\d+\.\d+)", re.MULTILINE)
CONDA = re.compile(r"/conda-meta/python-(3\.\d+\.\d+)-[^/]*\.json$")
DEBIAN = re.compile(r"^Version: (?:\d+:)?(3\.\d+\.\d+(?:~[a-z0-9]+)?)", re.MULTILINE)
PREFIX = re.compile(r"(?:/[^/\s*?\[\]]+){1,20}")

KEYS = (
    FactKey(
        name="python.interpreter", meaning="the path of an environment's Python", instance="env"
    ),
    FactKey(name="python.version", meaning="its version, with all three fields", instance="env"),
    FactKey(name="python.series", meaning="its version, the first two fields", instance="env"),
    FactKey(
        name="python.site", meaning="the directories that hold its distributions", instance="env"
    ),
    FactKey(
        name="python.package",
        meaning="the version of an installed distribution, as its metadata has it",
        instance="env/name",
    ),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """The questions about the environments below one prefix, which may be a pattern."""

    prefix: str

    @property
    def binaries(self) -> Glob:
        """The interpreters."""
        return Glob(f"{self.prefix}/bin/python3*", Part.LINK)

    @property
    def headers(self) -> Glob:
        """A header that is installed with every Python that was not packaged by Debian."""
        return Glob(f"{self.prefix}/include/python3*/patchlevel.h", Part.WHOLE, 1 << 16)

    @property
    def pyvenv(self) -> Glob:
        """What makes a folder a virtual environment (PEP 405)."""
        return Glob(f"{self.prefix}/pyvenv.cfg", Part.WHOLE, 1 << 16)

    @property
    def conda(self) -> Glob:
        """Conda's record of its Python."""
        return Glob(f"{self.prefix}/conda-meta/python-3*.json")

    @property
    def distributions(self) -> tuple[Glob, ...]:
        """The heads of all metadata."""
        return _distributions.questions(self.prefix)

    @property
    def all(self) -> tuple[Glob, ...]:
        """Every question."""
        return (self.binaries, self.headers, self.pyvenv, self.conda, *self.distributions)


KNOWN = tuple(map(Asked, PREFIXES))


def more(answers: Answers) -> Iterator[Question]:
    """Ask for the environments in use that lie elsewhere, and again for uncommon metadata."""
    for asked in _elsewhere(answers):
        yield from asked.all
    for asked in KNOWN:
        yield from _distributions.longer(answers, asked.distributions)


def read(answers: Answers) -> Iterator[Fact]:
    """Read every environment that was found; where none can be, say so."""
    lasting = _environments(answers, KNOWN)
    found = _environments(answers, _elsewhere(answers)) | lasting
    facts = [
        replace(fact, volatile=prefix not in lasting)
        for prefix in sorted(found)
        for fact in _facts(found[prefix], answers)
    ]
    told = {fact.key for fact in facts}
    yield from facts
    if found and (closed := _closed(answers)):
        yield closed
    nothing = Absent() if found else _nothing(answers)
    for key in KEYS:
        if key.name not in told:
            yield Fact(key=key.name, reading=nothing, source=KNOWN[0].binaries.pattern)


def _elsewhere(answers: Answers) -> tuple[Asked, ...]:
    """Return the questions about prefixes that a variable or a running interpreter led to."""
    prefixes = set()
    for variable in ACTIVE:
        value = answers[variable]
        if isinstance(value, Found):
            prefixes.add(value.value.rstrip("/"))
    running = answers[RUNNING]
    for _, leads in running.value if isinstance(running, Found) else ():
        match = INTERPRETER.fullmatch(leads.value) if isinstance(leads, Found) else None
        if match:
            prefixes.add(match["prefix"])
    return tuple(Asked(prefix) for prefix in sorted(prefixes) if _new(prefix))


def _new(prefix: str) -> bool:
    if not PREFIX.fullmatch(prefix) or "/.." in prefix or "/./" in prefix:
        return False
    patterns = (re.escape(known).replace(r"\*", "[^/]+") for known in PREFIXES)
    return not any(re.fullmatch(pattern, prefix) for pattern in patterns)


def _environments(answers: Answers, asked: Iterable[Asked]) -> dict[str, Environment]:
    found: dict[str, Environment] = {}
    for questions in asked:
        for path, leads in matches(answers, questions.binaries):
            _interpreter(found, path, leads)
        for distribution in _distributions.installed(answers, questions.distributions):
            _at(found, distribution.prefix).distributions.append(distribution)
        for prefix, site, reason in _distributions.closed(answers, questions.distributions):
            _at(found, prefix).closed.append(("python.site", site, reason))
    for questions in asked:
        for prefix, reading, source in _versions(answers, questions):
            if prefix in found:
                found[prefix].versions.append((reading, source))
    return found


def _at(found: dict[str, Environment], prefix: str) -> Environment:
    return found.setdefault(prefix, Environment(prefix))


def _interpreter(found: dict[str, Environment], path: str, leads: Answer[str]) -> None:
    match = INTERPRETER.fullmatch(path)
    if match and isinstance(leads, Found):
        _at(found, match["prefix"]).interpreters[path] = leads.value
    elif isinstance(leads, Unreadable) and "/bin/python3" not in path:
        # A directory on the way: whatever is behind it may well be an environment.
        _at(found, path.removesuffix("/bin")).closed.append(("python.version", path, leads))


def _versions(answers: Answers, asked: Asked) -> Iterator[tuple[str, Reading, str]]:
    for path, content in matches(answers, asked.headers):
        yield path.rpartition("/include/")[0], _written(content, PATCH_LEVEL), path
    for path, content in matches(answers, asked.pyvenv):
        yield path.rpartition("/")[0], _written(content, PYVENV), path
    for path, _ in matches(answers, asked.conda):
        match = CONDA.search(path)
        if match:
            yield path[: match.start()], Observed(match[1]), path


def _written(content: Answer[str], form: re.Pattern[str]) -> Reading:
    if not isinstance(content, Found):
        return content
    match = form.search(content.value)
    return Observed(match[1]) if match else Unreadable("no version of Python in it")


def _facts(environment: Environment, answers: Answers) -> Iterator[Fact]:
    env = environment.prefix
    distributions = environment.visible()
    if environment.interpreters or distributions:
        path = environment.interpreter
        reading: Reading = Observed(path) if path else Absent()
        source = f"{env}/bin/python3*"
        yield Fact(key="python.interpreter", instance=env, reading=reading, source=source)
        series = environment.series
        reading = Observed(series) if series else Unreadable("no interpreter or folder names it")
        yield Fact(key="python.series", instance=env, reading=reading, source=path or source)
        for reading, source in _whole_versions(environment, answers):
            yield Fact(key="python.version", instance=env, reading=reading, source=source)
        sites = tuple(sorted({distribution.site for distribution in distributions}))
        reading = Observed(sites) if sites else Absent()
        yield Fact(key="python.site", instance=env, reading=reading, source=f"{env}/lib/python3*")
    for key, source, reason in environment.closed:
        yield Fact(key=key, instance=env, reading=reason, source=source)
    for found in distributions:
        instance = f"{env}/{found.name}"
        yield Fact(
            key="python.package", instance=instance, reading=found.version, source=found.path
        )


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
    match = DEBIAN.search(stanza)
    return Observed(match[1].replace("~", "")) if match else Absent()


def _closed(answers: Answers) -> Fact | None:
    """Return the fact that there may be more environments than were found, if there may."""
    answered = {asked.prefix: answers[asked.binaries] for asked in KNOWN}
    closed = {p: answer for p, answer in answered.items() if isinstance(answer, Unreadable)}
    if not closed:
        return None
    reasons = ", ".join(sorted({answer.reason for answer in closed.values()}))
    reading = Unreadable(
        f"others may be below {', '.join(closed)} ({reasons})",
        passing=any(answer.passing for answer in closed.values()),
    )
    return Fact(key="python.interpreter", reading=reading, source="*/bin/python3*")


def _nothing(answers: Answers) -> Reading:
    """Return why no environment was found: none is there, or no place could be looked into."""
    return best(*(a for q in KNOWN if not isinstance(a := answers[q.binaries], Found)))


PROBE = Probe(
    keys=KEYS,
    questions=(*ACTIVE, RUNNING, DPKG, *(glob for asked in KNOWN for glob in asked.all)),
    read=read,
    more=more,
)
