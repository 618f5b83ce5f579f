"""A lock as named entries: what of it can be compared, merged, and said in a line."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from mxenv.image import AddedFile
from mxenv.inventoried import Inventoried
from mxenv.lock import Package, Provided
from mxenv.verdict import Waiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mxenv.lock import Lock, Source

Entry = tuple[str, object]

ENTRIES: Mapping[str, Callable[[Lock], Iterable[Entry]]] = {
    "packages": lambda lock: ((package.name, package) for package in lock.packages),
    "requires": lambda lock: ((text, text) for text in lock.requires),
    "provided": lambda lock: ((entry.name, entry) for entry in lock.provided),
    "facts": lambda lock: ((name, (name, value)) for name, value in lock.facts),
    "variables": lambda lock: ((name, (name, value)) for name, value in lock.variables),
    "files": lambda lock: ((file.target, (file, sha256)) for file, sha256 in lock.files),
    "inventories": lambda lock: ((kept.file, kept) for kept in lock.inventories),
    "models": lambda lock: ((text, text) for text in lock.models),
    "operators": lambda lock: ((name, (name, said)) for name, said in lock.operators),
    "system": lambda lock: ((text, text) for text in lock.system),
    "host": lambda lock: ((text, text) for text in lock.host),
    "waivers": lambda lock: ((f"{w.code} {w.subject}".strip(), w) for w in lock.waivers),
}
"""The fields of a lock that hold several things, each by what it is called."""
SAME = 12
"""Digits of a hash that tell two apart."""


def of(lock: Lock, field: str) -> dict[tuple[str, int], object]:
    """Return the entries of a field by their name, and how many had it before them."""
    found: dict[tuple[str, int], object] = {}
    seen: Counter[str] = Counter()
    for name, value in ENTRIES[field](lock):
        found[name, seen[name]] = value
        seen[name] += 1
    return found


def parts(value: object) -> dict[str, object]:
    """Return the fields of a value that is one thing of several, by name; else itself."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return {"": value}


def said(value: object, beside: object = None) -> str:  # noqa: PLR0911 - one for each kind
    """Return ``value`` in words that tell it from ``beside``."""
    match value:
        case None:
            return "nothing"
        case Package():
            return _package(value, beside)
        case Provided():
            return value.version
        case Inventoried():
            return value.said
        case Waiver():
            return f"until {value.expires} by {value.owner}: {value.reason}"
        case (AddedFile() as file, str(sha256)):
            return f"{file.source}, mode {file.mode:o}, sha256 {sha256[:SAME]}"
        case (str(), str(text)):
            return text or "empty"
        case bool():
            return "yes" if value else "no"
        case tuple():
            return ", ".join(said(one) for one in value) or "nothing"
        case _:
            return str(value) or "nothing"


def _package(package: Package, beside: object) -> str:
    """Return the version, and all else that differs where it is the same."""
    if not isinstance(beside, Package) or beside.version != package.version:
        return package.version
    wheel, other = package.wheel, beside.wheel
    more = [f"sha256 {wheel.sha256[:SAME]}"] if wheel.sha256 != other.sha256 else []
    if wheel.name != other.name:
        more.insert(0, wheel.name)
    if wheel.url != other.url:
        more.append(f"at {wheel.url}" if wheel.url else "in the wheelhouse")
    if package.requires_python != beside.requires_python:
        more.append(f"for Python {package.requires_python or 'of any version'}")
    if wheel.size != other.size:
        more.append(f"{wheel.size} bytes" if wheel.size else "of unknown size")
    if package.source != beside.source:
        more.append(_built_from(package.source))
    return f"{package.version} ({', '.join(more)})" if more else package.version


def _built_from(source: Source | None) -> str:
    if source is None:
        return "not built here"
    return f"built from {source.name}, sha256 {source.sha256[:SAME]}, with {source.builder}"
