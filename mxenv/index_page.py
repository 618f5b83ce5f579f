"""Which files a page of a package index offers (PEP 503, PEP 691)."""

from __future__ import annotations

import json
from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit, urlunsplit

from mxenv.distribution import SDIST
from mxenv.frozen import frozen

ACCEPT = "application/vnd.pypi.simple.v1+json, text/html;q=0.5"
"""What is asked for: the form in JSON where an index has it."""


@frozen
class Link:
    """One file that is offered."""

    name: str
    """The file's name."""
    url: str
    sha256: str = ""
    """Empty: the page does not say."""


def parse(text: str, *, base: str, kind: str) -> tuple[Link, ...]:
    """Return the wheels and source distributions that a page offers.

    ``base`` is the page's own URL, ``kind`` its content type. `ValueError` says what is wrong
    with a page that is none.
    """
    if kind.partition(";")[0].strip().endswith("json"):
        found = _of_json(text, base)
    elif "html" in kind:
        parser = _Anchors(base)
        parser.feed(text)
        parser.close()
        found = parser.links
    else:
        raise ValueError(f"{kind or 'nothing known'} is no page of links")
    return tuple(link for link in found if link.name.endswith((".whl", SDIST)))


def _of_json(text: str, base: str) -> list[Link]:
    try:
        files = json.loads(text)["files"]
        return [
            Link(
                name=str(entry["filename"]),
                url=urljoin(base, str(entry["url"])),
                sha256=str(entry.get("hashes", {}).get("sha256", "")).lower(),
            )
            for entry in files
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("no list of files in its JSON") from None


class _Anchors(HTMLParser):
    """The links of a page in HTML."""

    def __init__(self, base: str) -> None:
        super().__init__()
        self.base = base
        self.links: list[Link] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where the page says that its links begin, and each link."""
        href = dict(attrs).get("href")
        if not href:
            return
        if tag == "base":
            with suppress(ValueError):
                self.base = urljoin(self.base, href)
        elif tag == "a":
            try:
                parts = urlsplit(urljoin(self.base, href))
            except ValueError:
                return  # whatever it is, it leads nowhere
            algorithm, _, digest = parts.fragment.partition("=")
            self.links.append(
                Link(
                    name=unquote(parts.path.rpartition("/")[-1]),
                    url=urlunsplit(parts._replace(fragment="")),
                    sha256=digest.lower() if algorithm == "sha256" else "",
                )
            )
