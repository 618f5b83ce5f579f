"""Filling a wheelhouse with exactly the wheels of a lock, from wherever they can be had."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mxenv import _plugins
from mxenv._hashing import sha256_of
from mxenv.api import project
from mxenv.errors import IndexFailed, UsageError, WheelError
from mxenv.lock import WHEELHOUSE
from mxenv.resolvers import Indexes, Places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from mxenv._offers import Offers, Place
    from mxenv.errors import MxenvError
    from mxenv.lock import Lock, Package
    from mxenv.resolvers import Resolver

PARALLEL = 8
"""How many files are on their way at once."""


class How(StrEnum):
    """How a wheel came to lie in the wheelhouse."""

    KEPT = "kept"
    FETCHED = "fetched"
    REPLACED = "replaced"
    """A file of that name was there, and it was not the one that was locked."""
    BUILT = "built"
    """From its source distribution, as it was when it was locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A wheelhouse that holds every wheel of a lock, each with the right hash."""

    wheelhouse: Path
    wheels: tuple[tuple[str, How], ...]
    """File names, sorted."""
    notes: tuple[str, ...] = ()
    """Which places did not have what they should."""


@dataclass(frozen=True, slots=True, kw_only=True)
class From:
    """Where to look for wheels, beside the resolver's own configuration."""

    find_links: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    no_index: bool = False
    offline: bool = False
    only_binary: bool = False
    """True: build nothing; what no place has as a wheel is refused."""
    resolver: str = "uv"
    seconds: float = 600.0

    @property
    def given(self) -> bool:
        """Return whether somebody wants wheels from elsewhere than a lock with URLs says."""
        return bool(self.find_links or self.index or self.no_index or self.offline)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all files that are on their way have in common."""

    folder: Path
    places: tuple[Place, ...]
    offers: Offers
    urls: bool
    """True: a URL in the lock is where a wheel is."""
    notes: list[str]


def fetch(
    lock: Path,
    *,
    wheelhouse: Path | None = None,
    where: From | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fetched:
    """Make ``wheelhouse`` hold every wheel of ``lock``; one that is there already is kept.

    ``progress`` is told how many bytes came and how many will come.
    """
    where = where or From()
    locked = project.read_lock(lock)
    folder = wheelhouse or lock.parent / WHEELHOUSE
    found = {package.wheel.name: _present(folder, package) for package in locked.packages}
    missing = tuple(p for p in locked.packages if found[p.wheel.name] is not How.KEPT)
    notes: list[str] = []
    if missing:
        resolver: Resolver = _plugins.load("resolvers", where.resolver)
        indexes = Indexes(
            find_links=where.find_links,
            index=where.index,
            no_index=where.no_index,
            offline=where.offline,
            seconds=where.seconds,
            directory=project.root_of_lock(lock),
        )
        for package in _fill(folder, missing, where, resolver, indexes, progress, notes):
            _build(package, locked, folder, where, resolver, indexes)
            found[package.wheel.name] = How.BUILT
    return Fetched(wheelhouse=folder, wheels=tuple(sorted(found.items())), notes=tuple(notes))


def _present(folder: Path, package: Package) -> How:
    path = folder / package.wheel.name
    if not path.is_file():
        return How.FETCHED
    return How.KEPT if sha256_of(path) == package.wheel.sha256 else How.REPLACED


def _fill(  # noqa: PLR0913, PLR0917 - what a wheelhouse is filled from
    folder: Path,
    missing: tuple[Package, ...],
    where: From,
    resolver: Resolver,
    indexes: Indexes,
    progress: Callable[[int, int], None] | None,
    notes: list[str],
) -> tuple[Package, ...]:
    """Fetch what is missing, many at once; return what is to be built from what was fetched."""
    from mxenv import _download, _lines  # noqa: PLC0415 - imported late: they need requests

    _make(folder)
    urls = not where.given
    # Who wrote down where everything is needs no index, and no resolver to know of any.
    asked = not urls or any(not p.wheel.url for p in missing)
    places = resolver.places(indexes) if asked else Places()
    with _lines.opened(places, _progress(missing, progress)) as offers:
        job = _Job(
            folder=folder,
            places=_lines.in_order(places, offline=where.offline),
            offers=offers,
            urls=urls,
            notes=notes,
        )
        with ThreadPoolExecutor(PARALLEL) as pool:
            futures = [pool.submit(_get, package, job) for package in missing]
            try:
                done, _ = wait(futures, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
            except BaseException:
                # Ctrl-C as well: the threads see it at their next piece.
                _download.halt(offers.line)
                for future in futures:
                    future.cancel()
                raise
        fetched = [future.result() for future in futures]
    return tuple(package for package, whole in zip(missing, fetched, strict=True) if not whole)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror}", context=str(folder)) from None


def _get(package: Package, job: _Job) -> bool:
    """Put a wheel into the wheelhouse, or what it is built from; return whether it is the wheel."""
    wheel, source = package.wheel, package.source
    problems: list[MxenvError] = []
    if _found(
        wheel.name, wheel.sha256, wheel.size, _locations(package, job, problems), job, problems
    ):
        return True
    if source is None:
        raise _failure(wheel.name, problems, job)
    offered = _offered(package.name, source.name, source.sha256, job, problems)
    if not _found(source.name, source.sha256, source.size, offered, job, problems):
        raise _failure(source.name, problems, job)
    return False


def _locations(package: Package, job: _Job, problems: list[MxenvError]) -> Iterator[str]:
    wheel = package.wheel
    if job.urls and wheel.url:
        yield wheel.url
    yield from _offered(package.name, wheel.name, wheel.sha256, job, problems)


def _offered(
    project: str, file: str, sha256: str, job: _Job, problems: list[MxenvError]
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
                        context=str(place),
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
    job: _Job,
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
            job.notes.extend(f"{name} was taken from {host}; {said}" for said in problems)
            return True
    return False


def _failure(name: str, problems: list[MxenvError], job: _Job) -> MxenvError:
    """Return what to raise for a file that no place has; a wrong one is the worst."""
    if not problems:
        places = ", ".join(map(str, job.places)) or "there is no place to look into"
        return IndexFailed(
            f"no index has {name} (asked: {places})",
            hint="name an index or a folder that has it: --index, --find-links",
        )
    wrong = [problem for problem in problems if isinstance(problem, WheelError)]
    worst = (wrong or problems)[0]
    if len(problems) == 1 and name in str(worst):
        return worst
    said = "; ".join(dict.fromkeys(map(str, problems)))
    return type(worst)(f"{name} cannot be had: {said}", hint=worst.hint)


def _build(  # noqa: PLR0913, PLR0917 - what a wheel is built with
    package: Package,
    lock: Lock,
    folder: Path,
    where: From,
    resolver: Resolver,
    indexes: Indexes,
) -> None:
    from mxenv.api import _from_source  # noqa: PLC0415 - imported late: few wheels are built

    if where.only_binary:
        raise IndexFailed(
            f"no index has {package.wheel.name}, which was built from source",
            hint="leave out --only-binary to build it here, or add a folder that has it",
        )
    _from_source.rebuild(package, lock.target, folder, resolver, indexes)


def _progress(
    packages: Iterable[Package], progress: Callable[[int, int], None] | None
) -> Callable[[int], None]:
    total = sum(package.wheel.size for package in packages)
    came = 0
    lock = threading.Lock()

    def tell(count: int) -> None:
        nonlocal came
        with lock:
            came += count
            if progress is not None:
                progress(came, total)

    return tell
