"""What downloads share: a session, the logins of indexes, and the places where files lie."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from mxenv._download import ATTEMPTS, Line
from mxenv._offers import Offers, Place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import requests

    from mxenv._download import Credentials
    from mxenv.resolvers import Places


@contextmanager
def opened(
    places: Places, progress: Callable[[int], None] | None = None, *, attempts: int = ATTEMPTS
) -> Iterator[Offers]:
    """Give what asks ``places``, each host with its own login."""
    import requests  # noqa: PLC0415 - imported late: only who downloads needs it

    with requests.Session() as session:
        _trust(session)
        yield Offers(
            Line(
                session=session,
                logins=credentials((*places.index, *places.find_links)),
                stop=threading.Event(),
                progress=progress or (lambda _: None),
                attempts=attempts,
            )
        )


def in_order(places: Places, *, offline: bool = False) -> tuple[Place, ...]:
    """Return ``places`` as they are asked: folders and pages of links come before indexes."""
    found = (
        *(Place(location=location) for location in places.find_links),
        *(Place(location=location, index=True) for location in places.index),
    )
    return tuple(p for p in found if not offline or urlsplit(p.location).scheme in {"", "file"})


def credentials(urls: Iterable[str]) -> Credentials:
    """Return the logins in the URLs of indexes, for files whose place a lock names."""
    logins = {}
    for url in urls:
        parts = urlsplit(url)
        if parts.username:
            place = parts.netloc.rpartition("@")[-1]
            logins[place] = (unquote(parts.username), unquote(parts.password or ""))
    return logins


def _trust(session: requests.Session) -> None:
    """Trust what uv trusts, as far as it is there, if requests is told nothing of its own."""
    own = os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
    named = (os.environ.get(name, "") for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    there = [place for place in named if place and Path(place).exists()]
    if there and not own:
        session.verify = there[0]
