"""What a ``pyproject.toml`` asks for: dependencies, extras, groups, uv's limits and sources."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mxenv import requirement_lines, toml_strings
from mxenv.asked import Asked, Included, Index, Unread
from mxenv.errors import InvalidFile
from mxenv.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.asked import Statement
    from mxenv.toml_strings import Path

ELSEWHERE = {
    ("tool", "poetry", "dependencies"): "Poetry's own",
    ("tool", "poetry", "group"): "Poetry's own",
    ("tool", "pdm", "dev-dependencies"): "PDM's own",
    ("tool", "hatch", "envs"): "Hatch's own",
    ("tool", "pixi"): "pixi's own",
}
"""Tables that ask for distributions in a way of their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Document:
    """A document, and where its strings stand."""

    file: str
    values: Mapping[str, object]
    lines: Mapping[Path, int]

    def place(self, path: Path) -> Place:
        """Return the line of what is at ``path``, or of the first string in it or above it."""
        exact = self.lines.get(path)
        inside = (line for at, line in self.lines.items() if at[: len(path)] == path)
        return Place(file=self.file, line=exact or min(inside, default=1))

    def get(self, *path: str) -> object:
        value: object = self.values
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value

    def texts(self, *path: str | int) -> Iterator[tuple[Path, object]]:
        """Yield the elements of the array at ``path``."""
        value: object = self.values
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        for index, one in enumerate(value if isinstance(value, list) else ()):
            yield (*path, index), one


def parse(text: str, *, file: str) -> Iterator[Statement]:
    """Yield what the document ``text`` asks for; one that is not TOML raises `InvalidFile`."""
    try:
        values = tomllib.loads(text)
        lines = toml_strings.lines(text)
    except ValueError as fault:
        raise InvalidFile(f"not TOML: {fault}", context=file) from None
    except RecursionError:
        message = "not TOML that anybody wrote: nested too deeply"
        raise InvalidFile(message, context=file) from None
    document = _Document(file=file, values=values, lines=lines)
    yield from _listed(document, "", "project", "dependencies")
    for table in ("project", "optional-dependencies"), ("dependency-groups",):
        groups = document.get(*table)
        for name in groups if isinstance(groups, dict) else ():
            yield from _listed(document, str(name), *table, str(name))
    yield from _listed(document, "dev", "tool", "uv", "dev-dependencies")
    for name in ("constraint-dependencies", "override-dependencies"):
        overrides = name.startswith("override")
        for one in _listed(document, "", "tool", "uv", name):
            if isinstance(one, Asked):
                yield replace(one, limits=True, overrides=overrides)
            else:
                yield one
    yield from _indexes(document)
    yield from _sources(document)
    yield from _dynamic(document)
    yield from _elsewhere(document)


def _listed(document: _Document, group: str, *path: str) -> Iterator[Statement]:
    value = document.get(*path)
    if value is not None and not isinstance(value, list):
        yield _unread(document, path, "not an array of requirements")
    for at, one in document.texts(*path):
        if isinstance(one, str):
            place = document.place(at)
            yield requirement_lines.requirement(one, place, alternative=group)
        elif not (isinstance(one, dict) and "include-group" in one):
            # A group that is included is read by itself.
            yield _unread(document, at, "not a requirement")


def _unread(document: _Document, path: Path, reason: str) -> Unread:
    return Unread(text=".".join(map(str, path)), reason=reason, place=document.place(path))


def _indexes(document: _Document) -> Iterator[Statement]:
    for at, one in document.texts("tool", "uv", "index"):
        if isinstance(one, dict) and isinstance(one.get("url"), str):
            yield Index(url=one["url"], place=document.place((*at, "url")))
        else:
            yield _unread(document, at, "an index without an address")
    for name in ("index-url", "extra-index-url", "find-links"):
        found = document.get("tool", "uv", name)
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, str):
                yield Index(url=one, place=document.place(("tool", "uv", name)))


def _sources(document: _Document) -> Iterator[Statement]:
    """Yield distributions that uv takes from an address of their own."""
    table = document.get("tool", "uv", "sources")
    for name, source in table.items() if isinstance(table, dict) else ():
        each = source if isinstance(source, list) else [source]
        for one in each:
            url = one.get("url") if isinstance(one, dict) else None
            if isinstance(url, str):
                place = document.place(("tool", "uv", "sources", name))
                when = f" ; {one['marker']}" if isinstance(one.get("marker"), str) else ""
                group = str(one.get("extra") or one.get("group") or "")
                found = requirement_lines.requirement(
                    f"{name} @ {url}{when}", place, alternative=group
                )
                # That it is asked for stands elsewhere; this says which file it is.
                yield replace(found, limits=True) if isinstance(found, Asked) else found


def _dynamic(document: _Document) -> Iterator[Statement]:
    """Yield the files that setuptools takes dependencies from."""
    dynamic = document.get("project", "dynamic")
    if not isinstance(dynamic, list) or "dependencies" not in dynamic:
        return
    path = ("tool", "setuptools", "dynamic", "dependencies", "file")
    named = document.get(*path)
    files = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    for one in files:
        if isinstance(one, str):
            yield Included(files=(one,), text=one, place=document.place(path))
    if not files:
        reason = "dependencies that a build backend computes are not known"
        yield _unread(document, ("project", "dynamic"), reason)


def _elsewhere(document: _Document) -> Iterator[Statement]:
    for path, whose in ELSEWHERE.items():
        if document.get(*path):
            yield _unread(document, path, f"dependencies in {whose} form are not read")
