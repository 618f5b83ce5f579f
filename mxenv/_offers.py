"""What indexes, pages of links and folders offer of a distribution."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

import requests
import urllib3

from mxenv import index_page
from mxenv._download import (
    OK,
    PASSING,
    PATIENCE,
    Line,
    advice,
    asked,
    host_of,
    pause,
    reason,
    status,
)
from mxenv.distribution import project_of
from mxenv.errors import IndexFailed
from mxenv.frozen import frozen
from mxenv.index_page import Link
from mxenv.stores._words import retry_after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

NOT_THERE = frozenset({404, 410})
REFUSED = frozenset({401, 403})
LARGEST = 1 << 26
"""Bytes of a page; the largest that indexes are known to have are a tenth of it."""
LOGIN = "give its login in the URL, or in ~/.netrc; it is written nowhere and goes to no other host"


@frozen
class Place:
    """One place where files lie."""

    location: str
    """A URL, or the absolute path of a folder."""
    index: bool = False
    """True: it has a page for each distribution (PEP 503); else one for all."""

    def __str__(self) -> str:
        """Return what people call it: never a login."""
        return host_of(self.location) or unquote(urlsplit(self.location).path)


def labels(places: Iterable[Place]) -> Mapping[Place, str]:
    """Return what to call each of ``places`` where they are spoken of together.

    One host may have many indexes, and only then is more of an address told than the host.
    """
    listed = tuple(places)
    called = Counter(map(str, listed))
    return {
        place: f"{place}{unquote(urlsplit(place.location).path)}"
        if called[str(place)] > 1 and "://" in place.location
        else str(place)
        for place in listed
    }


@dataclass(slots=True)
class Offers:
    """What places offer; each page is loaded once, and a place that is down is asked once."""

    line: Line
    _pages: dict[str, tuple[Link, ...]] = field(default_factory=dict)
    _down: dict[Place, IndexFailed] = field(default_factory=dict)
    _loading: threading.Lock = field(default_factory=threading.Lock)

    def of(self, project: str, place: Place) -> tuple[Link, ...]:
        """Return the files of ``project`` at ``place``; `IndexFailed` says that it is not known."""
        if (down := self._down.get(place)) is not None:
            raise IndexFailed(down.message, context=down.context, hint=down.hint)
        if place.index:
            found = self._read(f"{place.location.rstrip('/')}/{project}/", place, _page)
        elif "://" in place.location:
            with self._loading:
                if place.location not in self._pages:
                    self._pages[place.location] = self._read(place.location, place, _page)
            found = self._pages[place.location]
        else:
            found = self._read(place.location, place, _folder)
        own = _login_of(place)
        return tuple(own(link) for link in found if project_of(link.name) == project)

    def all(self, place: Place) -> tuple[Link, ...]:
        """Return everything that a page of links has."""
        return tuple(map(_login_of(place), self._read(place.location, place, _page)))

    def _read(
        self, location: str, place: Place, read: Callable[[str, Line], tuple[Link, ...]]
    ) -> tuple[Link, ...]:
        try:
            return read(location, self.line)
        except IndexFailed as error:
            self._down[place] = error
            raise


def _login_of(place: Place) -> Callable[[Link], Link]:
    """Return what adds the login of ``place`` to the files that lie on the same host."""
    host, login = host_of(place.location), urlsplit(place.location).netloc.rpartition("@")[0]

    def add(link: Link) -> Link:
        parts = urlsplit(link.url)
        if not login or parts.netloc != host:
            return link
        url = urlunsplit(parts._replace(netloc=f"{login}@{host}"))
        return Link(name=link.name, url=url, sha256=link.sha256)

    return add


def _page(url: str, line: Line) -> tuple[Link, ...]:
    parts = urlsplit(url)
    if parts.scheme == "file":
        page = Path(unquote(parts.path))
        page = page / "index.html" if page.is_dir() else page
        if not page.is_file():
            return ()
        return index_page.parse(page.read_text(errors="replace"), base=url, kind="text/html")
    attempt, said, wish = 0, "", None
    while attempt < line.attempts and (wish or 0) <= PATIENCE:
        if attempt and line.stop.wait(pause(line, attempt, wish)):
            break
        attempt, wish = attempt + 1, None
        try:
            with asked(url, line, {"Accept": index_page.ACCEPT}) as answer:
                said = status(answer)
                if answer.status_code not in PASSING:
                    return _links(answer)
                wish = retry_after(answer.headers.get("Retry-After", ""))
        except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
            said = reason(error)
    raise IndexFailed(said or "stopped", context=host_of(url), hint=advice(said))


def _links(answer: requests.Response) -> tuple[Link, ...]:
    host = host_of(answer.url)
    if answer.status_code in NOT_THERE:
        return ()
    if answer.status_code != OK:
        hint = LOGIN if answer.status_code in REFUSED else ""
        raise IndexFailed(status(answer), context=host, hint=hint)
    content = bytearray()
    for chunk in answer.iter_content(1 << 16):
        content += chunk
        if len(content) > LARGEST:
            raise IndexFailed("its page does not end", context=host)
    kind = answer.headers.get("Content-Type", "")
    try:
        return index_page.parse(content.decode(errors="replace"), base=answer.url, kind=kind)
    except ValueError as fault:
        raise IndexFailed(f"what answers is no package index: {fault}", context=host) from None


def _folder(location: str, _: Line) -> tuple[Link, ...]:
    try:
        # To read what is no file may never come to an end.
        names = sorted(path.name for path in Path(location).iterdir() if path.is_file())
    except OSError as error:
        raise IndexFailed(f"cannot be read: {error.strerror}", context=location) from None
    return tuple(Link(name=name, url=str(Path(location, name))) for name in names)
