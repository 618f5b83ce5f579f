"""Where an installed distribution came from, as far as anything on the disk says so."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from mxenv.credential import MASK
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.probes._importing import imports, top_level
from mxenv.question import File, Found, Glob, Part
from mxenv.redaction import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.facts import Reading
    from mxenv.probes._distributions import Distribution
    from mxenv.probes._found import Disk
    from mxenv.question import Answer, Answers, Question

INSTALLERS = {
    # PEP 610: these write direct_url.json unless a distribution was found by its name.
    **dict.fromkeys(("pip", "uv", "poetry", "pdm"), "index"),
    "conda": "conda",
    **dict.fromkeys(("rpm", "dpkg", "debian"), "system"),
    "mxenv": "mxenv",
}
"""What the word in INSTALLER means."""
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}")
UNSAID = Unreadable("no file says who installed it")
BROKEN = Unreadable("its direct_url.json is not understood")
DPKG = "/var/lib/dpkg/info"
DEBIAN = "/usr/lib/python3"
"""Where Debian's packages, and no others, are to put what they bring."""


def origin(distribution: Distribution, disk: Disk) -> Reading:
    """Return where ``distribution`` came from."""
    match distribution.origin:
        case Unreadable():
            return distribution.origin
        case Found(text):
            return _direct(text)
        case Absent():
            pass
    if distribution.egg and distribution.site in disk.added:
        return Observed(f"editable {distribution.site}")
    return _installer(distribution, disk.answers)


def _installer(distribution: Distribution, answers: Answers) -> Reading:
    installer = distribution.installer
    if isinstance(installer, Unreadable):
        return installer
    if isinstance(installer, Absent):
        return _owner(distribution, answers)
    word = installer.value.strip()
    if word in INSTALLERS:
        return Observed(INSTALLERS[word])
    shown = word if WORD.fullmatch(word) else "something"
    return Unreadable(f"installed by {shown}, which does not say from where")


def _direct(text: str) -> Reading:
    """Return what PEP 610 has, once what is secret in it is gone."""
    try:
        given = json.loads(text)
        url: object = given["url"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return BROKEN
    if not isinstance(url, str) or MASK in url:
        return BROKEN
    words = _words(given, url)
    return Observed(words) if words else BROKEN


def _words(given: object, url: str) -> str:
    path = clean(_unquoted(url.removeprefix("file://"))) if url.startswith("file://") else ""
    match given:
        case {"dir_info": {"editable": True}} if path:
            return f"editable {path}"
        case {"dir_info": {}} if path:
            return f"directory {path}"
        case {"vcs_info": {"vcs": str(vcs), "commit_id": str(commit)}} if MASK not in vcs + commit:
            return f"vcs {vcs}+{url} @{commit}"
        case {"archive_info": {}}:
            return f"archive {path.rpartition('/')[2]}" if path else f"url {url}"
        case _:
            return ""


def _unquoted(path: str) -> str:
    if "%" not in path:
        return path
    from urllib.parse import unquote  # noqa: PLC0415 - imported late: few paths need it

    return unquote(path)


def _owner(distribution: Distribution, answers: Answers) -> Reading:
    """Return which manager of packages has it in its own lists."""
    asked = tuple(_lists(distribution, answers))
    for question in asked:
        for path, answer in _texts(question, answers):
            if isinstance(answer, Found) and _has(answer.value, distribution):
                return Observed("system" if path.startswith(DPKG) else "conda")
    return UNSAID


def _texts(question: File | Glob, answers: Answers) -> Iterator[tuple[str, Answer[str]]]:
    if isinstance(question, File):
        yield question.path, answers[question]
        return
    answer = answers[question]
    yield from answer.value if isinstance(answer, Found) else ()


def _has(text: str, distribution: Distribution) -> bool:
    """Return whether a list of files has the metadata: whole paths, or those below a prefix."""
    if text.startswith("{"):
        try:
            files = json.loads(text)["files"]
        except (ValueError, KeyError, TypeError):
            return False
        below = distribution.path.removeprefix(f"{distribution.prefix}/")
        return isinstance(files, list) and below in files
    return distribution.path in text.splitlines()


def questions(distribution: Distribution, answers: Answers) -> Iterator[Question]:
    """Yield what to ask about a distribution of which no file beside it says where it is from."""
    if isinstance(distribution.installer, Absent) and isinstance(distribution.origin, Absent):
        yield from _lists(distribution, answers)


def _lists(distribution: Distribution, answers: Answers) -> Iterator[File | Glob]:
    if distribution.site.startswith(f"{DEBIAN}/"):
        if not isinstance(distribution.record, Found):
            yield top_level(distribution)
        for name in sorted(_package_names(distribution, answers)):
            yield File(f"{DPKG}/python3-{name}.list", Part.WHOLE, 4 << 20)
    elif distribution.prefix not in {"", "/usr", "/usr/local"}:
        version = distribution.version
        if isinstance(version, Observed):
            yield Glob(
                f"{distribution.prefix}/conda-meta/{distribution.name}-{version.value}-*.json",
                Part.ORIGIN,
                8 << 20,
            )


def _package_names(distribution: Distribution, answers: Answers) -> set[str]:
    """Return what Debian may call it: after the distribution, or what it is imported as."""
    spelt = distribution.folder.rpartition("/")[2].split("-")[0].removesuffix(".egg")
    names = {distribution.name, spelt.lower(), *map(str.lower, imports(distribution, answers))}
    return {name.replace("_", "-") for name in names if WORD.fullmatch(name)}
