"""What was found on a node: its Python environments, and what lies in each directory of theirs."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.facts import Observed, Unreadable
from mxenv.frozen import slotted
from mxenv.probe import DENIED
from mxenv.probes import _distributions
from mxenv.probes._distributions import INFO, Place, Site, matches, place
from mxenv.probes._environment import INTERPRETER, Environment
from mxenv.probes._places import sound
from mxenv.question import TOO_MUCH, Env, File, Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.facts import Reading
    from mxenv.probes._distributions import Distribution
    from mxenv.probes._places import Asked
    from mxenv.question import Answer, Answers

PYTHONPATH = Env("PYTHONPATH")
CODE = ("import ", "import\t")
"""How a line of a ``.pth`` file begins that is run."""
ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|$)")
"""A part of a path that leads to no name below."""
MOST = 256
"""Directories that ``.pth`` files and variables may add."""
PATCH_LEVEL = re.compile(r'^#define PY_VERSION\s+"(3\.\d+\.\d+[a-z0-9+]*)"', re.MULTILINE)
PYVENV = re.compile(
    r"^version(?:_info)?[ \t]*=[ \t]*(3\.\d+\.\d+)(?:\.final\.0)?[ \t\r]*\n", re.MULTILINE
)
CONDA = re.compile(r"/conda-meta/python-(3\.\d+\.\d+)-[^/]*\.json$")


@slotted
class Disk:
    """What is known of all environments, and of all directories that can be on their paths."""

    answers: Answers
    environments: dict[str, Environment] = field(default_factory=dict)
    names: dict[str, list[str]] = field(default_factory=dict)
    """What lies in each directory of distributions."""
    added: dict[str, Place] = field(default_factory=dict)
    """The directories that ``.pth`` files and variables add, and whose they are."""
    unlisted: dict[str, Unreadable] = field(default_factory=dict)
    """The directories of which only the metadata is known."""
    _sites: dict[str, Site] = field(default_factory=dict)
    """The questions that led to each directory."""
    _installed: dict[Site, dict[str, list[Distribution]]] = field(default_factory=dict)
    _unsigned: dict[Site, bool] = field(default_factory=dict)

    def at(self, directory: str) -> list[Distribution]:
        """Return what is installed in a directory."""
        site = self._sites.get(directory)
        if site is None:
            return []
        known = self._installed.get(site)
        if known is None:
            known = self._installed[site] = {}
            for found in _distributions.installed(self.answers, site, self.added):
                known.setdefault(found.site, []).append(found)
        return known.get(directory, [])

    def unsigned(self, directory: str) -> bool:
        """Return whether nothing beside some metadata near ``directory`` says who installed it."""
        site = self._sites[directory]
        if site not in self._unsigned:
            self._unsigned[site] = self._lacks(site)
        return self._unsigned[site]

    def _lacks(self, site: Site) -> bool:
        told = {
            path.rpartition("/")[0]
            for glob in (site.installer, site.origin)
            for path, _ in self.answers.each(matches(self.answers, glob))
        }
        return any(
            path.rpartition("/")[0] not in told
            for glob in site.metadata
            for path, _ in self.answers.each(matches(self.answers, glob))
        )

    def visible(self, environment: Environment) -> list[Distribution]:
        """Return the distributions of an environment: those of other series are not its own."""
        series, prefix = environment.series, environment.prefix
        return [
            distribution
            for directory in self._of(prefix)
            for distribution in self.answers.each(self.at(directory))
            if not series or distribution.series in {series, "3"}
        ]

    def sites(self, environment: Environment) -> tuple[str, ...]:
        """Return the directories in which an environment has distributions."""
        return tuple(sorted({found.site for found in self.visible(environment)}))

    def _of(self, prefix: str) -> list[str]:
        wanted = []
        for directory in self.names:
            where = self.added.get(directory) or place(directory)
            if where is not None and where.prefix == prefix:
                wanted.append(directory)
        return wanted

    def environment(self, prefix: str) -> Environment:
        """Return the environment at ``prefix``, an empty one if nothing was found of it yet."""
        return self.environments.setdefault(prefix, Environment(prefix))

    def look(self, site: Site) -> None:
        """Note what lies in the directories that ``site`` asks about."""
        listing = self.answers[site.listing]
        if isinstance(listing, Found):
            found = [path for path, part in listing.value if isinstance(part, Found)]
        else:
            found = list(site.folders(self.answers))  # as recordings of before have it
        last: str | None = None
        names: list[str] = []
        for path in self.answers.each(found):
            directory, _, name = path.rpartition("/")
            if directory != last:
                last, names = directory, self.names.setdefault(directory, [])
                self._sites[directory] = site
                if isinstance(listing, Unreadable):
                    self.unlisted[directory] = listing
            names.append(name)

    def forget(self, directory: str) -> None:
        """Take away a directory that is another one by a second name."""
        del self.names[directory]


def survey(answers: Answers, asked: Iterable[Asked]) -> Disk:
    """Put together what was answered, without a look into any metadata."""
    asked = tuple(asked)
    disk = Disk(answers)
    for questions in asked:
        sites = (*questions.sites, *questions.sites64(answers))
        for site in sites:
            disk.look(site)
        for prefix, site_path, reason in _distributions.closed(answers, sites):
            disk.environment(prefix).closed.append(("python.site", site_path, reason))
        for path, leads in answers.each(matches(answers, questions.binaries)):
            _interpreter(disk, path, leads)
    _twins(disk)
    for directory, names in disk.names.items():
        where = place(directory)
        if where is not None and any(name.endswith(INFO) for name in names):
            disk.environment(where.prefix).folders.add(where.series)
    for questions in asked:
        _describe(disk, questions)
    for directory, owner in _added(disk):
        disk.added.setdefault(directory, owner)
        disk.look(_distributions.site(directory))
    return disk


def _interpreter(disk: Disk, path: str, leads: Answer[str]) -> None:
    match = INTERPRETER.fullmatch(path)
    if match and isinstance(leads, Found):
        disk.environment(match["prefix"]).interpreters[path] = leads.value
    elif isinstance(leads, Unreadable) and "/bin/python3" not in path:
        # A directory on the way: whatever is behind it may well be an environment.
        closed = disk.environment(path.removesuffix("/bin")).closed
        closed.append(("python.version", path, leads))


def _twins(disk: Disk) -> None:
    """Forget each ``lib64`` that is a link to ``lib``, and shows all of it a second time."""
    for directory in [d for d in disk.names if "/lib64/" in d]:
        twin = disk.names.get(directory.replace("/lib64/", "/lib/"))
        if twin is not None and sorted(twin) == sorted(disk.names[directory]):
            disk.forget(directory)


def _describe(disk: Disk, asked: Asked) -> None:
    """Note what is said of the environments that were found."""
    for prefix, reading, source in _versions(disk.answers, asked):
        if prefix in disk.environments:
            disk.environments[prefix].versions.append((reading, source))
    unread = disk.answers[asked.pyvenv]
    if isinstance(unread, Unreadable):
        for prefix in filter(asked.meant, disk.environments):
            disk.environments[prefix].venv = unread
    for metadata in (site.metadata[0] for site in asked.sites):
        unlisted = disk.answers[metadata]
        if isinstance(unlisted, Unreadable) and _hides(unlisted):
            closed = ("python.site", metadata.pattern, unlisted)
            for prefix in filter(asked.meant, disk.environments):
                disk.environments[prefix].closed.append(closed)
    for path, content in matches(disk.answers, asked.pyvenv):
        prefix = path.rpartition("/")[0]
        if prefix in disk.environments:
            disk.environments[prefix].venv = content


def _hides(unlisted: Unreadable) -> bool:
    """Return whether distributions may be there that were asked for in vain.

    What a recording or a report has not was not asked for where it was made.
    """
    return unlisted.passing or any(why in unlisted.reason for why in (*DENIED, TOO_MUCH))


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


def path_files(disk: Disk) -> Iterator[File]:
    """Yield the ``.pth`` files in every directory of distributions."""
    for directory, names in disk.names.items():
        if place(directory) is not None:
            every = disk.answers.each(names)
            yield from (path_file(directory, name) for name in every if name.endswith(".pth"))


def path_file(directory: str, name: str) -> File:
    """Return what to ask of one ``.pth`` file."""
    return File(f"{directory}/{name}", limit=1 << 16)


def _added(disk: Disk) -> list[tuple[str, Place]]:
    """Return the directories that ``.pth`` files and the variable add."""
    nobody = Place(prefix="", series="", kind="")
    variable = disk.answers[PYTHONPATH]
    texts = variable.value.split(":") if isinstance(variable, Found) else []
    found = [(text.rstrip("/"), nobody) for text in texts]
    for question in path_files(disk):
        directory = question.path.rpartition("/")[0]
        answer = disk.answers[question]
        lines = answer.value.splitlines() if isinstance(answer, Found) else []
        kept = [line.rstrip() for line in lines if line.strip() and line[:1] != "#"]
        owner = place(directory) or nobody
        found += [(joined(directory, line), owner) for line in kept if not line.startswith(CODE)]
    new = [(path, owner) for path, owner in found if sound(path) and path not in disk.names]
    return new[:MOST]


def joined(site: str, line: str) -> str:
    """Return the directory that a line of a ``.pth`` file in ``site`` means."""
    if not ODD.search(line):
        return f"{site}/{line}"  # nearly all of tens of thousands
    kept: list[str] = []
    for part in (line if line.startswith("/") else f"{site}/{line}").split("/"):
        if part == "..":
            kept = kept[:-1]
        elif part not in {"", "."}:
            kept.append(part)
    return "".join(f"/{part}" for part in kept)
