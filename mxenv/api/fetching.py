"""Filling a wheelhouse with exactly the wheels of a lock, from wherever they can be had."""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from mxenv import _plugins
from mxenv._hashing import sha256_of
from mxenv.api import project
from mxenv.errors import IndexFailed, UsageError
from mxenv.lock import WHEELHOUSE
from mxenv.resolvers import Indexes, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    import requests

    from mxenv._download import Credentials, Wanted
    from mxenv.lock import Package
    from mxenv.resolvers import Resolver

PARALLEL = 8
"""How many files are on their way at once."""
INDEX_VARIABLES = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL")
"""Where uv is told of indexes, and of user names and passwords in their URLs."""


class How(StrEnum):
    """How a wheel came to lie in the wheelhouse."""

    KEPT = "kept"
    FETCHED = "fetched"
    REPLACED = "replaced"
    """A file of that name was there, and it was not the one that was locked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A wheelhouse that holds every wheel of a lock, each with the right hash."""

    wheelhouse: Path
    wheels: tuple[tuple[str, How], ...]
    """File names, sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class From:
    """Where to look for wheels, beside the resolver's own configuration."""

    find_links: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    no_index: bool = False
    offline: bool = False
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
        places = {p.wheel.name: _said(p) for p in missing if p.wheel.url and not where.given}
        sought = tuple(p for p in missing if p.wheel.name not in places)
        if sought:
            places |= resolver.locate(sought, locked.target.python, indexes)
        _fill(folder, _wanted(missing, places), where, _progress(missing, progress))
    return Fetched(wheelhouse=folder, wheels=tuple(sorted(found.items())))


def _said(package: Package) -> Place:
    return Place(location=package.wheel.url, sha256=package.wheel.sha256)


def _present(folder: Path, package: Package) -> How:
    path = folder / package.wheel.name
    if not path.is_file():
        return How.FETCHED
    return How.KEPT if sha256_of(path) == package.wheel.sha256 else How.REPLACED


def _wanted(packages: Iterable[Package], places: Mapping[str, Place]) -> tuple[Wanted, ...]:
    """Match wheels by file name and hash; another file of that name is somebody's mistake."""
    from mxenv._download import Wanted  # noqa: PLC0415 - imported late: it needs requests

    wanted = []
    for package in packages:
        wheel = package.wheel
        place = places.get(wheel.name)
        if place is None:
            raise IndexFailed(
                f"no index has {wheel.name}",
                hint="name an index or a folder that has it: --index, --find-links",
            )
        if place.sha256 and place.sha256 != wheel.sha256:
            raise IndexFailed(
                f"the index has {wheel.name} with sha256 {place.sha256}; locked is {wheel.sha256}",
                hint="find out who changed it; `mxenv lock` takes the new one",
            )
        wanted.append(Wanted(name=wheel.name, sha256=wheel.sha256, location=place.location))
    return tuple(wanted)


def _fill(
    folder: Path, wanted: tuple[Wanted, ...], where: From, progress: Callable[[int], None]
) -> None:
    import requests  # noqa: PLC0415 - imported late: only who downloads needs it

    from mxenv import _download  # noqa: PLC0415 - the same

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot be made: {error.strerror}", context=str(folder)) from None
    stop = threading.Event()
    logins = credentials(where.index, os.environ)
    with requests.Session() as session, ThreadPoolExecutor(PARALLEL) as pool:
        _trust(session)
        line = _download.Line(session=session, logins=logins, stop=stop, progress=progress)
        futures = [pool.submit(_download.put, one, folder, line) for one in wanted]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
        except BaseException:
            # Ctrl-C as well: the threads see it at their next piece, and leave nothing behind.
            stop.set()
            for future in futures:
                future.cancel()
            raise


def credentials(urls: Iterable[str], environ: Mapping[str, str]) -> Credentials:
    """Return the logins in the URLs of indexes, which their files need as well."""
    configured = " ".join(environ.get(name, "") for name in INDEX_VARIABLES)
    logins = {}
    for text in (*urls, *configured.split()):
        parts = urlsplit(text.partition("=")[2] if "=" in text.partition(":")[0] else text)
        if parts.username:
            place = parts.netloc.rpartition("@")[-1]
            logins[place] = (unquote(parts.username), unquote(parts.password or ""))
    return logins


def _trust(session: requests.Session) -> None:
    """Trust what uv trusts: ``SSL_CERT_FILE``, if requests is told nothing of its own."""
    own = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    if not own and (bundle := os.environ.get("SSL_CERT_FILE")):
        session.verify = bundle


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
