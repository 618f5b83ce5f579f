"""How one file of a lock gets into a wheelhouse: from the first place that has it whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv._hashing import sha256_of
from mxenv.errors import IndexFailed, WheelError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from mxenv._offers import Offers, Place
    from mxenv.errors import MxenvError
    from mxenv.lock import Package

MOST = 3
"""Files that are named in one note; the rest is counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What all files that are on their way have in common."""

    folder: Path
    places: tuple[Place, ...]
    offers: Offers
    urls: bool
    """True: a URL in the lock is where a wheel is."""
    notes: list[tuple[str, str]]
    """What there is to say, each with the file of which it is true."""


def get(package: Package, job: Job) -> bool:
    """Put a wheel into the wheelhouse, or what it is built from; return whether it is the wheel."""
    wheel, source = package.wheel, package.source
    problems: list[MxenvError] = []
    if _found(
        wheel.name, wheel.sha256, wheel.size, _locations(package, job, problems), job, problems
    ):
        return True
    if source is None:
        raise _failure(wheel.name, problems, job)
    there = job.folder / source.name
    if there.is_file() and sha256_of(there) == source.sha256:
        return False
    offered = _offered(package.name, source.name, source.sha256, job, problems)
    if not _found(source.name, source.sha256, source.size, offered, job, problems):
        raise _failure(source.name, problems, job)
    return False


def _locations(package: Package, job: Job, problems: list[MxenvError]) -> Iterator[str]:
    wheel = package.wheel
    if job.urls and wheel.url:
        yield wheel.url
    yield from _offered(package.name, wheel.name, wheel.sha256, job, problems)


def _offered(
    project: str, file: str, sha256: str, job: Job, problems: list[MxenvError]
) -> Iterator[str]:
    """Yield where ``file`` can be had; note who has another file of that name, or says nothing."""
    for place in job.places:
        try:
            links = job.offers.of(project, place)
        except IndexFailed as error:
            problems.append(error)
            continue
        for link in links:
            if link.name != file:
                continue
            if link.sha256 and link.sha256 != sha256:
                problems.append(
                    WheelError(
                        f"the index has {file} with sha256 {link.sha256}; locked is {sha256}",
                        context=_labels(job)[place],
                        hint="find out who changed it; `mxenv lock` takes the new one",
                    )
                )
            else:
                yield link.url


def _found(  # noqa: PLR0913, PLR0917 - a file, where it may be, and what became of it
    name: str,
    sha256: str,
    size: int,
    locations: Iterable[str],
    job: Job,
    problems: list[MxenvError],
) -> bool:
    """Put a file into the wheelhouse from the first place that has it whole and unchanged."""
    from mxenv import _download  # noqa: PLC0415 - imported late: it needs requests

    for location in locations:
        wanted = _download.Wanted(name=name, sha256=sha256, size=size, location=location)
        try:
            _download.put(wanted, job.folder, job.offers.line)
        except (IndexFailed, WheelError) as error:
            if job.offers.line.stop.is_set():
                raise
            problems.append(error)
        else:
            host = _download.host_of(location) or location
            job.notes.extend((f"taken from {host}; {said}", name) for said in problems)
            return True
    return False


def _failure(name: str, problems: list[MxenvError], job: Job) -> MxenvError:
    """Return what to raise for a file that no place has; a wrong one is the worst."""
    if not problems:
        places = ", ".join(_labels(job).values())
        asked = f"no index has {name} (asked: {places})"
        return IndexFailed(
            asked if places else f"there is no place to look for {name}",
            hint="name an index or a folder that has it: --index, --find-links",
        )
    wrong = [problem for problem in problems if isinstance(problem, WheelError)]
    worst = (wrong or problems)[0]
    if len(problems) == 1 and name in str(worst):
        return worst
    said = "; ".join(dict.fromkeys(map(str, problems)))
    return type(worst)(f"{name} cannot be had: {said}", hint=worst.hint)


def _labels(job: Job) -> Mapping[Place, str]:
    from mxenv import _offers  # noqa: PLC0415 - imported late: it needs requests

    return _offers.labels(job.places)


def said(notes: list[tuple[str, str]]) -> Iterator[str]:
    """Yield what there is to say: once, however many files it is true of."""
    files: dict[str, list[str]] = {}
    for text, name in sorted(notes):
        files.setdefault(text, []).append(name)
    for text, names in files.items():
        more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
        yield f"{', '.join(names[:MOST])}{more}: {text}"
