"""Where in a base the folders are that something is put into, and what a layer would do to them.

Engines differ in what becomes of a link of the base when a layer has something below it: an overlay
file system covers it with a directory, and with ``/lib`` the program loader is gone. So no layer
ever has a path that leads through one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.errors import Incompatible
from mxenv.facts import Absent, Unreadable
from mxenv.layers import parents
from mxenv.question import Found, Glob, Link, Part, Stat, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.image import AddedFile
    from mxenv.listing import Listing
    from mxenv.lock import Target
    from mxenv.probe import Host
    from mxenv.question import Answers

PLAIN = 0o755
"""What an engine makes a directory that a layer has something below and no entry for."""
UNSURE = frozenset(
    f"/{name}"
    for name in (
        *("bin", "lib", "lib32", "lib64", "libx32", "root", "run", "sbin", "tmp", "usr/lib64"),
        *("usr/local/man", "var/lock", "var/run", "var/spool/mail", "var/tmp"),
    )
)
"""Directories that are links in many bases, or that not everybody may read or write."""
ELSEWHERE = "name a folder of its own, as /opt/NAME"


def resolved(target: Target, host: Host) -> Target:
    """Return ``target`` with its folders where the base's links lead, and the links below them."""
    answers = _asked(host, (target.purelib, target.platlib, target.scripts, target.data))
    there = replace(
        target,
        purelib=_leads(target.purelib, answers),
        platlib=_leads(target.platlib, answers),
        scripts=_leads(target.scripts, answers),
        data=_leads(target.data, answers),
    )
    return replace(there, links=tuple(sorted(_links(there, host))))


def check(files: Iterable[AddedFile], host: Host) -> None:
    """Refuse a file whose folder is a link in the base, or one that a layer would change."""
    files = tuple(files)
    answers = _asked(host, (file.target for file in files))
    for index, file in enumerate(files):
        place = f"files[{index}].target: {file.target!r}"
        folder = file.target.rpartition("/")[0] or "/"
        if folder != "/" and (real := _leads(folder, answers)) != folder:
            name = f"{real.rstrip('/')}/{file.target.rpartition('/')[2]}"
            message = f"{place} leads through a link of the base"
            raise Incompatible(message, hint=f"write {name!r}")
        for path, status in _there(file.target, answers):
            if path == file.target and status.kind == "directory":
                raise Incompatible(f"{place} is a directory of the base", hint=ELSEWHERE)
            if path != file.target and (status.kind, status.mode) != ("directory", PLAIN):
                has = f"a {status.kind} of mode {status.mode:o}"
                message = f"{place}: {path} is {has} in the base, and a layer would change it"
                raise Incompatible(message, hint=ELSEWHERE)


def unowned(files: Iterable[AddedFile], hashes: Mapping[str, str], listing: Listing) -> None:
    """Refuse a file that would take the place of one of the base, unless the bytes are equal."""
    for index, file in enumerate(files):
        place = listing.at(file.target)
        if place is None or (place.sha256 and place.sha256 == hashes.get(file.source)):
            continue
        known = place.kind != "file" or place.sha256
        differ = "and is another one" if known else "and whether it is the same is not known"
        raise Incompatible(
            f"files[{index}].target: {file.target!r} is a {place.kind} of the base, {differ}",
            hint=ELSEWHERE,
        )


def unseen(files: Iterable[AddedFile]) -> None:
    """Refuse a file of which no snapshot tells what becomes of its folder."""
    for index, file in enumerate(files):
        if unsure := UNSURE.intersection(parents(file.target)):
            raise Incompatible(
                f"files[{index}].target: {file.target!r}: a snapshot does not tell whether "
                f"{min(unsure)} is a link in the base",
                hint=ELSEWHERE,
            )


def _asked(host: Host, paths: Iterable[str]) -> Answers:
    every = {step for path in paths for step in (path, *parents(path))}
    return host.gather([kind(path) for path in sorted(every) for kind in (Link, Stat)])


def _leads(path: str, answers: Answers) -> str:
    """Return where ``path`` is in the base, as far as it is there."""
    for step in (path, *parents(path)):
        match answers[Link(step)]:
            case Found(value):
                return value.rstrip("/") + path[len(step) :]
            case Absent():
                continue
            case Unreadable(reason):
                raise Incompatible(f"where {step} of the base leads cannot be told: {reason}")
    return path


def _there(path: str, answers: Answers) -> Iterator[tuple[str, Status]]:
    for step in (path, *parents(path)):
        match answers[Stat(step)]:
            case Found(value):
                yield step, value
            case Absent():
                continue
            case Unreadable(reason):
                raise Incompatible(f"what {step} of the base is cannot be told: {reason}")


def _links(target: Target, host: Host) -> Iterator[tuple[str, str]]:
    """Yield the folders below those of ``target`` that are links, and where they lead."""
    below = (f"{target.data}/*", f"{target.data}/*/*", f"{target.purelib}/*")
    patterns = [Glob(pattern, Part.LINK) for pattern in below]
    answers = host.gather(patterns)
    leads: dict[str, str] = {}
    for pattern in patterns:
        match answers[pattern]:
            case Found(matches):
                found = ((path, lead) for path, lead in matches if isinstance(lead, Found))
                leads |= {path: lead.value for path, lead in found if lead.value != path}
            case Absent():
                continue
            case Unreadable(reason):
                raise Incompatible(f"what lies in {pattern.pattern} cannot be told: {reason}")
    yield from _folders(leads, host.gather([Stat(lead) for lead in set(leads.values())]))


def _folders(leads: Mapping[str, str], answers: Answers) -> Iterator[tuple[str, str]]:
    """Yield the links that lead to a directory, or to nothing yet."""
    for path, lead in leads.items():
        match answers[Stat(lead)]:
            case Found(status) if status.kind != "directory":
                continue
            case _ if path.rpartition("/")[0] in leads:
                continue  # the link above it says so
            case _:
                yield path, lead
