"""Folders and pages of wheels with an order, as uv takes them: the first that has a name counts.

By itself uv takes the highest version of all folders and indexes, so that anybody who can publish
under the name of a vendor's wheel would come before it.
"""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from mxenv.distribution import project_of
from mxenv.index_page import Link

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def listed(place: str) -> tuple[Link, ...]:
    """Return the files at ``place``: in a folder, or on a page of links."""
    if "://" not in place:
        paths = sorted(path for path in Path(place).iterdir() if path.is_file())
        return tuple(Link(name=path.name, url=path.as_uri()) for path in paths)
    from mxenv import _lines  # noqa: PLC0415 - imported late: it needs requests
    from mxenv._offers import Place  # noqa: PLC0415 - the same
    from mxenv.resolvers import Places  # noqa: PLC0415 - the same

    with _lines.opened(Places(find_links=(place,))) as offers:
        return offers.all(Place(location=place))


def merged(places: Iterable[str]) -> Mapping[str, tuple[Link, ...]]:
    """Return the files of each distribution, all of the first place that has any."""
    found: dict[str, tuple[Link, ...]] = {}
    for place in places:
        here: dict[str, list[Link]] = {}
        for link in listed(place):
            if name := project_of(link.name):
                here.setdefault(name, []).append(link)
        found = {name: tuple(links) for name, links in here.items()} | found
    return found


def as_index(files: Mapping[str, tuple[Link, ...]], folder: Path) -> str:
    """Write an index (PEP 503) of ``files`` into ``folder``; return its URL."""
    folder.mkdir()
    for name, links in files.items():
        page = folder / name / "index.html"
        page.parent.mkdir()
        page.write_text("<!DOCTYPE html>\n" + "".join(map(_anchor, links)))
    return folder.as_uri()


def _anchor(link: Link) -> str:
    digest = f"#sha256={link.sha256}" if link.sha256 else ""
    return f'<a href="{html.escape(link.url)}{digest}">{html.escape(link.name)}</a>\n'


def as_folder(files: Mapping[str, tuple[Link, ...]], folder: Path) -> str:
    """Fill ``folder`` with links to ``files``, which are of this machine; return its path."""
    folder.mkdir()
    for links in files.values():
        for link in links:
            (folder / link.name).symlink_to(unquote(urlsplit(link.url).path))
    return str(folder)
