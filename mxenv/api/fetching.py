"""Filling a wheelhouse with exactly the wheels of a lock, from wherever they can be had."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from mxenv import _plugins
from mxenv._hashing import sha256_of
from mxenv.api import _getting, project
from mxenv.errors import IndexFailed, LockError, UsageError
from mxenv.lock import WHEELHOUSE
from mxenv.resolvers import Indexes, Places

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

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
    notes: list[tuple[str, str]] = []
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
    _check_sizes(locked, lock, folder)
    return Fetched(
        wheelhouse=folder, wheels=tuple(sorted(found.items())), notes=tuple(_getting.said(notes))
    )


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
    notes: list[tuple[str, str]],
) -> tuple[Package, ...]:
    """Fetch what is missing, many at once; return what is to be built from what was fetched."""
    from mxenv import _download, _lines  # noqa: PLC0415 - imported late: they need requests

    _make(folder)
    urls = not where.given
    # Who wrote down where everything is needs no index, and no resolver to know of any.
    asked = not urls or any(not p.wheel.url for p in missing)
    places = resolver.places(indexes) if asked else Places()
    with _lines.opened(places, _progress(missing, progress)) as offers:
        job = _getting.Job(
            folder=folder,
            places=_lines.in_order(places, offline=where.offline),
            offers=offers,
            urls=urls,
            notes=notes,
        )
        with ThreadPoolExecutor(PARALLEL) as pool:
            futures = [pool.submit(_getting.get, package, job) for package in missing]
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


def _check_sizes(lock: Lock, path: Path, folder: Path) -> None:
    """Refuse a lock that is wrong about its wheels: uv would, when there is no network any more."""
    for index, package in enumerate(lock.packages):
        wheel = package.wheel
        size = (folder / wheel.name).stat().st_size
        if wheel.size not in {0, size}:
            raise LockError(
                f"{wheel.size}, and {wheel.name} with the locked sha256 has {size} bytes",
                context=f"{path}: packages[{index}].wheels[0].size",
                hint="`mxenv lock` writes it anew",
            )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror}", context=str(folder)) from None


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
