"""From where a Python environment would import: its path, copies on it, what hides what."""

from __future__ import annotations

import re
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Unreadable
from mxenv.frozen import frozen, slotted
from mxenv.probes import _distributions
from mxenv.probes._found import CODE, PYTHONPATH, joined, path_file
from mxenv.probes._places import sound, user_base
from mxenv.question import Env, File, Found, Glob, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.probes._distributions import Distribution
    from mxenv.probes._environment import Environment
    from mxenv.probes._found import Disk
    from mxenv.question import Answers, Question

NO_USER = Env("PYTHONNOUSERSITE")
QUESTIONS = (PYTHONPATH, NO_USER)
MOST = 64
"""Directories that the ``.pth`` files of one environment may add."""
HARMLESS = re.compile(
    r"distutils-precedence\.pth|_virtualenv\.pth|__editable__\..*\.pth|.*-nspkg\.pth"
    r"|a1_coverage\.pth|coloredlogs\.pth"
)
"""Files whose code hides no package: it comes after all that lies on the path, or joins folders."""
SUFFIXES = ("py", "pyc", "so", "abi3.so")


@frozen(kw_only=False)
class Entry:
    """One directory of the path."""

    directory: str
    volatile: bool = False
    """True if only whoever asks has it: a variable, a home."""


@slotted
class Path:
    """Where one environment looks, in order; and why there may be more to it."""

    entries: list[Entry] = field(default_factory=list)
    reasons: list[Unreadable] = field(default_factory=list)

    def add(self, directory: str, *, volatile: bool = False) -> bool:
        """Add a directory, unless it is there already."""
        if any(entry.directory == directory for entry in self.entries):
            return False
        self.entries.append(Entry(directory, volatile))
        return True

    def lasting(self) -> Path:
        """Return the path without what only whoever asks has."""
        return Path([entry for entry in self.entries if not entry.volatile], self.reasons)


def path_of(environment: Environment, disk: Disk) -> Path:
    """Return where ``environment`` looks for what is imported, as ``site.py`` puts it together."""
    path = Path()
    series = environment.series
    if not series:
        path.reasons.append(Unreadable("which series of Python it has is not known"))
        return path
    variable = disk.answers[PYTHONPATH]
    for directory in variable.value.split(":") if isinstance(variable, Found) else ():
        if sound(directory.rstrip("/")):
            path.add(directory.rstrip("/"), volatile=True)
    base = _base(environment, disk, path)
    isolated = isinstance(environment.venv, Found) and environment.base is None
    if not isolated and not isinstance(disk.answers[NO_USER], Found):
        user = f"{user_base(disk.answers)}/lib/python{series}/site-packages"
        _site(path, user, disk, volatile=True)
    for owner in (environment, *([base] if base else [])):
        for directory in _directories(owner, series, disk):
            _site(path, directory, disk)
        path.reasons += [reason for key, _, reason in owner.closed if key == "python.site"]
    return path


def _base(environment: Environment, disk: Disk, path: Path) -> Environment | None:
    if isinstance(environment.venv, Unreadable):
        path.reasons.append(environment.venv)
    prefix = environment.base
    if prefix is None:
        return None
    base = disk.environments.get(prefix)
    if base is None:
        path.reasons.append(Unreadable("the environment that it is based on was not found"))
    return base


def _directories(environment: Environment, series: str, disk: Disk) -> list[str]:
    prefix = environment.prefix
    own = [f"{prefix}/lib/python{series}/site-packages"]
    own.insert(0, f"{prefix}/lib64/python{series}/site-packages")
    if prefix == "/usr":
        debian = [
            f"/usr/local/lib/python{series}/dist-packages",
            "/usr/lib/python3/dist-packages",
            f"/usr/lib/python{series}/dist-packages",
        ]
        if any(directory in disk.names for directory in debian):
            return [directory for directory in debian if directory in disk.names]
        local = disk.environments.get("/usr/local")
        if local is None or not local.interpreters:
            # How distributions made of RPMs have it.
            places = ("lib64", "lib")
            own = [f"/usr/local/{lib}/python{series}/site-packages" for lib in places] + own
    return [directory for directory in own if directory in disk.names]


def _site(path: Path, directory: str, disk: Disk, *, volatile: bool = False) -> None:
    """Add a directory of distributions, and what its ``.pth`` files add."""
    if directory not in disk.names or not path.add(directory, volatile=volatile):
        return
    if directory in disk.unlisted:
        path.reasons.append(disk.unlisted[directory])
    for name in sorted(disk.names[directory]):
        if not name.endswith(".pth"):
            continue
        answer = disk.answers[path_file(directory, name)]
        if isinstance(answer, Unreadable):
            path.reasons.append(answer)
        for line in answer.value.splitlines() if isinstance(answer, Found) else ():
            if line.startswith(CODE):
                if not HARMLESS.fullmatch(name):
                    reason = f"{directory}/{name} has code that Python runs when it starts"
                    path.reasons.append(Unreadable(reason))
            elif line.strip() and not line.startswith("#"):
                _added(path, directory, line.rstrip(), disk, volatile=volatile)


def _added(path: Path, site: str, line: str, disk: Disk, *, volatile: bool) -> None:
    directory = joined(site, line)
    if not sound(directory) or len(path.entries) >= MOST:
        path.reasons.append(Unreadable(f"{site} adds {line[:60]!r}, which was not looked into"))
        return
    answer = disk.answers[_distributions.site(directory).listing]
    match answer:
        case Found():
            path.add(directory, volatile=volatile)
        case Unreadable():
            path.reasons.append(answer)
        case Absent() if directory.endswith((".egg", ".zip")):
            path.reasons.append(Unreadable(f"{directory} may be an archive that holds packages"))
        case _:
            pass


def copies(path: Path, disk: Disk) -> dict[str, tuple[str, ...]]:
    """Return the distributions of which there are several on the path, with their metadata."""
    found: dict[str, list[str]] = {}
    for entry in path.entries:
        for distribution in disk.answers.each(disk.at(entry.directory)):
            found.setdefault(distribution.name, []).append(distribution.folder)
    return {name: tuple(folders) for name, folders in found.items() if len(folders) > 1}


def questions(path: Path, disk: Disk) -> Iterator[Question]:
    """Yield what decides whether one of several directories hides what lies in another."""
    for entry in path.entries:
        for distribution in disk.answers.each(disk.at(entry.directory)):
            if isinstance(distribution.record, Absent):
                yield top_level(distribution)
    yield from (found.package for found in hidden(path, disk) if found.package is not None)


@frozen(kw_only=False)
class Hidden:
    """Of one name that a distribution installs, from where it would be imported instead."""

    distribution: Distribution
    name: str
    instead: str
    """A path without its ``.py``: a module, or a folder."""
    package: Glob | None
    """What has to match for it to count: a folder with nothing in it hides nothing."""


def hidden(path: Path, disk: Disk) -> Iterator[Hidden]:
    """Yield every name that another directory on the path has as well, and comes first with."""
    if len(path.entries) < 2:  # noqa: PLR2004 - one directory hides nothing of itself
        return
    tables = [_importable(tuple(disk.names.get(e.directory, ()))) for e in path.entries]
    for number, entry in enumerate(path.entries):
        for distribution in disk.answers.each(disk.at(entry.directory)):
            for name in imports(distribution, disk.answers):
                others = [*range(number)]
                if name not in tables[number]:
                    others += range(number + 1, len(tables))
                for other in others:
                    for file in tables[other].get(name, ()):
                        place = f"{path.entries[other].directory}/{file}"
                        package = None if "." in file else Glob(f"{place}/__init__.*")
                        yield Hidden(distribution, name, place, package)


@lru_cache(maxsize=256)
def _importable(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for file in names:
        name, _, suffix = file.partition(".")
        if name.isidentifier() and (not suffix or _suffix(suffix)):
            found[name] = (*found.get(name, ()), file)
    return found


def _suffix(suffix: str) -> bool:
    return suffix in SUFFIXES or (suffix.startswith("cpython-") and suffix.endswith(".so"))


def imports(distribution: Distribution, answers: Answers) -> Iterator[str]:
    """Yield the names that it installs to be imported; what several share (PEP 420) is none."""
    record, listed = distribution.record, answers[top_level(distribution)]
    if isinstance(record, Found):
        for line in record.value.splitlines()[1:]:
            folder, _, init = line.partition("/")
            name, _, suffix = line.partition(".")
            if init == "__init__.py":
                yield folder
            elif "/" not in line and name.isidentifier() and _suffix(suffix):
                yield name
    elif isinstance(listed, Found):
        yield from (name for name in listed.value.split() if name.isidentifier())


def top_level(distribution: Distribution) -> File:
    """Return what to ask for the names that it installs, if it has no RECORD."""
    return File(f"{distribution.folder}/top_level.txt", Part.HEAD, 1 << 14)


def counts(found: Hidden, answers: Answers) -> bool | Unreadable:
    """Return whether it really hides, as far as that is known."""
    if found.package is None:
        return True
    answer = answers[found.package]
    return answer if isinstance(answer, Unreadable) else isinstance(answer, Found)
