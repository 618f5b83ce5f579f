"""How Python distributions lie on a disk, and what their metadata says."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from mxenv.distribution import normalised
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.frozen import frozen
from mxenv.question import Found, Glob, Part
from mxenv.version import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.facts import Reading
    from mxenv.question import Answer, Answers, Matches

HEAD = 1 << 16
"""Bytes in which name and version always stand."""
RECORD = 16 << 20
"""Bytes in a list of installed files; that of torch has one."""
WORD = 64
"""Bytes in the name of an installer."""

SITES = ("lib/python3*/site-packages", "lib/python3*/dist-packages")
"""Below a prefix."""
SITE64 = "lib64/python3*/site-packages"
"""The same where ``lib64`` is not only another name of ``lib``."""

LONGEST = 200
"""Characters of a version; PEP 440 names no end, and a line of metadata may have any length."""

INFO = (".dist-info", ".egg-info")
"""How the name of metadata ends."""
PLACE = re.compile(
    r"(?P<prefix>/.*?)/lib(?:64)?/python(?P<series>3[0-9.]*)/(?P<kind>site|dist)-packages"
)
ABOVE = re.compile(r"(?P<prefix>/.*?)/lib(?:64)?/python3[0-9.]*")
FOLDER = re.compile(r"([^/]+?)\.(?:dist|egg)-info")
NAME_FIELD = re.compile(
    r"^Name:[ \t]*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[ \t\r]*\n", re.MULTILINE
)
"""PEP 508."""
VERSION_FIELD = re.compile(
    r"^Version:[ \t]*([A-Za-z0-9][A-Za-z0-9._+!*-]*)[ \t\r]*\n", re.MULTILINE
)


@frozen(kw_only=False)
class Site:
    """The questions about the distributions in the directories that match a pattern."""

    pattern: str
    metadata: tuple[Glob, ...]
    """Name and version, in each form that there is."""
    record: Glob
    """The list of installed files."""
    installer: Glob
    """Who installed it (PEP 376)."""
    origin: Glob
    """Where it came from, if it was named by a URL (PEP 610)."""
    listing: Glob
    """Everything in it: what can be imported from there."""

    # Each is made once (see `site`), and to compare all questions takes long.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def all(self) -> tuple[Glob, ...]:
        """Every question."""
        return (*self.metadata, self.record, self.installer, self.origin, self.listing)

    def folders(self, answers: Answers) -> Iterator[str]:
        """Yield the paths of all metadata, without the names of the files in it."""
        for glob in self.metadata:
            for path, _ in matches(answers, glob):
                folder = path.removesuffix("/METADATA").removesuffix("/PKG-INFO")
                if folder.endswith(INFO):
                    yield folder


@lru_cache(maxsize=4096)
def site(pattern: str) -> Site:
    """Return what to ask for the distributions in the directories that match ``pattern``."""
    forms = ("*.dist-info/METADATA", "*.egg-info/PKG-INFO", "*.egg-info")
    return Site(
        pattern=pattern,
        metadata=tuple(Glob(f"{pattern}/{form}", Part.METADATA, HEAD) for form in forms),
        record=Glob(f"{pattern}/*.dist-info/RECORD", Part.RECORD, RECORD),
        installer=Glob(f"{pattern}/*.dist-info/INSTALLER", Part.HEAD, WORD),
        origin=Glob(f"{pattern}/*.dist-info/direct_url.json", Part.ORIGIN, 1 << 16),
        listing=Glob(f"{pattern}/*"),
    )


@frozen
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
    folder: str
    """Its ``.dist-info``; of an egg that is one file, the file."""
    record: Answer[str] = Absent()
    """As `mxenv.installed.record` has it."""
    installer: Answer[str] = Absent()
    origin: Answer[str] = Absent()

    @property
    def egg(self) -> bool:
        """Return whether it was installed in the way before wheels, which left no RECORD."""
        return self.folder.endswith(".egg-info")


@frozen
class Place:
    """What the path of a directory of distributions says about it."""

    prefix: str
    """Of the environment; Debian's own has what pip adds in /usr/local."""
    series: str
    kind: str


@lru_cache(maxsize=1024)
def place(site: str) -> Place | None:
    """Return what the path of a directory says, `None` if it holds no distributions."""
    match = PLACE.fullmatch(site)
    if match is None:
        return None
    kind = match["kind"]
    debian = kind == "dist" and match["prefix"] == "/usr/local"
    return Place(prefix="/usr" if debian else match["prefix"], series=match["series"], kind=kind)


def sites(prefix: str) -> tuple[Site, ...]:
    """Return what to ask for the distributions below ``prefix``, which may be a pattern."""
    return tuple(site(f"{prefix}/{each}") for each in SITES)


def installed(answers: Answers, asked: Site, owners: Mapping[str, Place]) -> Iterator[Distribution]:
    """Yield every distribution found; ``owners`` says whose a directory is that does not tell."""
    records, installers, origins = (
        _Beside(answers, glob) for glob in (asked.record, asked.installer, asked.origin)
    )
    for path, answer in answers.each(_metadata(answers, asked)):
        folder = path.removesuffix("/METADATA").removesuffix("/PKG-INFO")
        directory, _, last = folder.rpartition("/")
        where, match = owners.get(directory) or place(directory), FOLDER.fullmatch(last)
        if where is not None and match is not None:
            named, _, rest = match[1].partition("-")
            yield Distribution(
                prefix=where.prefix,
                series=where.series,
                site=directory,
                name=normalised(named),
                version=_version(answer, named, rest.partition("-")[0]),
                path=path,
                folder=folder,
                record=records.of(folder),
                installer=installers.of(folder),
                origin=origins.of(folder),
            )


class _Beside:
    """A file that lies beside metadata, or not, in the folders of one site."""

    def __init__(self, answers: Answers, glob: Glob) -> None:
        answer = answers[glob]
        self._name = f"/{glob.pattern.rpartition('/')[2]}"
        self._known = dict(answer.value) if isinstance(answer, Found) else {}
        self._otherwise = Absent() if isinstance(answer, Found) else answer

    def of(self, folder: str) -> Answer[str]:
        return self._known.get(f"{folder}{self._name}", self._otherwise)


def closed(answers: Answers, asked: Iterable[Site]) -> Iterator[tuple[str, str, Unreadable]]:
    """Yield every directory of distributions that could not be looked into, after its prefix."""
    reasons = {
        path: part
        for site in asked
        for glob in site.metadata
        for path, part in matches(answers, glob)
        if isinstance(part, Unreadable)
    }
    for path, reason in reasons.items():
        if where := place(path):
            yield where.prefix, path, reason
        elif match := ABOVE.fullmatch(path):
            yield match["prefix"], path, reason


def matches(answers: Answers, question: Glob) -> Matches:
    """Return what matched, if anything did."""
    answer = answers[question]
    return answer.value if isinstance(answer, Found) else ()


def _metadata(answers: Answers, site: Site) -> Iterator[tuple[str, Answer[str]]]:
    found = {path: part for glob in site.metadata for path, part in matches(answers, glob)}
    for path, part in found.items():
        # An egg-info is a file or a folder, and the pattern for the file matches the folder too.
        if not isinstance(part, Absent) and f"{path}/PKG-INFO" not in found:
            yield path, part


def _version(answer: Answer[str], name: str, version: str) -> Reading:
    """Return the version in metadata, if its folder, by what is in its name, agrees with that."""
    if not isinstance(answer, Found):
        return answer
    head = answer.value
    found, named = VERSION_FIELD.search(head), NAME_FIELD.search(head)
    if found is None:
        return Unreadable(f"no Version in it: {head[:40]!r}")
    if len(found[1]) > LONGEST:
        return Unreadable(f"its version has {len(found[1])} characters")
    if named and named[1] != name and normalised(named[1]) != normalised(name):
        return Unreadable(f"it is of {named[1]}, and its folder of {name}")
    if version not in {"", found[1]} and not _same(version, found[1]):
        return Unreadable(f"it says {found[1]}, and its folder {version}")
    return Observed(found[1])


def _same(folder: str, version: str) -> bool:
    """Return whether two versions are one; a folder's name has no hyphen in its parts."""
    return folder == version.replace("-", "_") or parse(folder.replace("_", "-")) == parse(version)
