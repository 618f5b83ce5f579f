"""Every file that the wheels of a lock bring, held against the files in an image."""

from __future__ import annotations

import csv
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from posixpath import join, normpath
from typing import TYPE_CHECKING

from mxenv.api import _bytecode_files, _covered
from mxenv.api._inside import METADATA, sites
from mxenv.configuration import lock_path
from mxenv.distribution import normalised
from mxenv.engines import _wheel
from mxenv.layers import START_GATE
from mxenv.stores.unpacked import Want
from mxenv.transports._tree import Unanswered
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mxenv.api._inside import Inside
    from mxenv.lock import Lock, Package
    from mxenv.stores.unpacked import Node

MOST = 20
"""Files of one package that are named; the rest is counted."""
RECORD = "RECORD"
ADDED = "image.toml"
"""Whose the files are that no wheel brings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What the wheels bring."""

    files: dict[str, tuple[str, str]]
    """By path: the package, or `ADDED`, and the hash as a RECORD has it."""
    without: tuple[Package, ...]
    """The packages whose wheels are not here."""


def expected(lock: Lock, wheelhouse: Path) -> Expected:
    """Return what the wheels in the wheelhouse become in the image; each must be the locked one."""
    files: dict[str, tuple[str, str]] = {}
    without = []
    for package in lock.packages:
        path = wheelhouse / package.wheel.name
        if not path.exists():
            without.append(package)
            continue
        with _wheel.opened(path, package, lock.target) as wheel:
            files.update({file.path: (package.name, file.hash) for file in wheel.files})
    for file, sha256 in lock.files:
        files[file.target] = (ADDED, _wheel.text_of(bytes.fromhex(sha256), "sha256"))
    return Expected(files=files, without=tuple(without))


def wanted(lock: Lock, brought: Expected) -> Callable[[str], Want]:
    """Return what to keep of the files of an image as they pass by."""
    places = (*(f"{site}/" for site in sites(lock)), f"{lock.target.scripts}/")
    own = {lock_path(lock.name), START_GATE}

    def want(path: str) -> Want:
        read = path in own or path.endswith((f"/{RECORD}", f"/{METADATA}"))
        kept = Want.CONTENT if read else Want.NOTHING
        hashed = path in brought.files or (brought.without and path.startswith(places))
        return kept | (Want.HASH if hashed else Want.NOTHING)

    return want


def check(inside: Inside, brought: Expected) -> Iterator[Finding]:
    """Yield every file that is not what its wheel brought, by package, and what is too much."""
    files = dict(brought.files)
    for package in brought.without:
        yield from _from_record(inside, package, files)
    compiled = _bytecode_files.places(inside.lock, files)
    problems: dict[tuple[str, str], list[str]] = {}
    nodes = dict(_nodes(inside, files, problems))
    lazily = {n.origin: Want.HASH for n in nodes.values() if not _hash(inside, n)}
    if lazily:
        inside.files.fetch(lazily)
    for path, node in nodes.items():
        name, promised = files[path]
        if compiled and path.endswith(f"/{RECORD}"):
            text = inside.text(path) or ""
            if _bytecode_files.is_record(promised, text, path, compiled):
                continue
        if (said := _differs(promised, _hash(inside, node))) is not None:
            layer = inside.files.description.layers[node.layer].digest
            problems.setdefault((said, name), []).append(f"{path} (layer {layer})")
    for (code, name), paths in sorted(problems.items()):
        yield from _named(code, name, paths)
    yield from _bytecode_files.check(inside, compiled)
    covering = _covered.links(inside, (node.layer for node in nodes.values()))
    yield from _named("MX327", "base", covering)
    yield from _named("MX328", "image", _covered.replaced(inside, files))
    yield from _strangers(inside, files, nodes)
    if not problems and files:
        yield Finding(
            code="MX320",
            outcome=Outcome.COMPATIBLE,
            subject=f"{len(files)} files of {len(inside.lock.packages)} wheels and image.toml",
            found="each has the hash that was locked",
        )


def _nodes(
    inside: Inside, files: dict[str, tuple[str, str]], problems: dict[tuple[str, str], list[str]]
) -> Iterator[tuple[str, Node]]:
    """Yield what lies at each path; note what is missing, or is no file."""
    for path, (name, _) in sorted(files.items()):
        try:
            _, node = inside.node(path)
        except Unanswered as unanswered:
            problems.setdefault(("MX324", name), []).append(f"{path}: {unanswered}")
            continue
        if node is None:
            problems.setdefault(("MX322", name), []).append(path)
        elif node.kind != "file":
            problems.setdefault(("MX321", name), []).append(f"{path} (a {node.kind})")
        else:
            yield path, node


def _hash(inside: Inside, node: Node) -> str:
    content = inside.files.contents.get(node.origin)
    return content.sha256 if content else ""


def _differs(promised: str, found: str) -> str | None:
    """Return the code of what is wrong with a file, if anything is."""
    algorithm, _, value = promised.partition("=")
    if algorithm != "sha256":
        return "MX324"
    try:
        digest = urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except ValueError:
        return "MX323"
    return None if digest == found else "MX321"


_SAID = {
    "MX321": ("altered", "as it was locked"),
    "MX322": ("missing", "there: it was locked"),
    "MX323": ("a RECORD that cannot be relied upon", "the RECORD of the locked wheel"),
    "MX324": ("not comparable", "to be compared with its wheel"),
    "MX325": ("brought by no wheel", "only what the locked wheels bring"),
    "MX327": ("covered by a directory", "the link that the base has"),
    "MX328": ("replaced or removed on top", "as the image that was built has it"),
    "MX326": ("bytecode brought by no wheel", "no bytecode but that of a build"),
}


_REMEDIES = {
    "MX324": "run `mxenv fetch LOCK`, then verify again",
    "MX327": "run `mxenv lock` and `mxenv build` again: a lock puts nothing below a link",
    "MX326": "run `mxenv build` again, and add nothing to the image",
}


def _named(code: str, name: str, paths: list[str]) -> Iterator[Finding]:
    """Yield one finding a file, then one for the rest."""
    word, wish = _SAID[code]
    unknown = code in {"MX324", "MX326"}
    for path in sorted(paths)[:MOST]:
        yield Finding(
            code=code,
            outcome=Outcome.UNKNOWN if unknown else Outcome.INCOMPATIBLE,
            subject=name,
            found=f"{word}: {path}",
            expected=wish,
            remedy=_REMEDIES.get(code, "do not use this image; run `mxenv build` again"),
        )
    if len(paths) > MOST:
        yield Finding(
            code=code,
            outcome=Outcome.UNKNOWN if unknown else Outcome.INCOMPATIBLE,
            subject=name,
            found=f"{word}: {len(paths) - MOST} more files",
            expected=wish,
        )


def _from_record(
    inside: Inside, package: Package, files: dict[str, tuple[str, str]]
) -> Iterator[Finding]:
    """Add what the RECORD inside the image says, if that RECORD itself can be relied upon."""
    place, node = _record(inside, package)
    if node is None:
        yield from _named("MX323", package.name, [f"{place}: not there"])
        return
    if node.layer not in inside.ours:
        if inside.ours:
            digest = inside.files.description.layers[node.layer].digest
            yield from _named("MX323", package.name, [f"{place}: put there by layer {digest}"])
        else:
            # Whoever alters a file alters its row as well.
            yield from _named("MX324", package.name, [f"{place}: its wheel is not here"])
    root = place.rpartition("/")[0].rpartition("/")[0]
    try:
        rows = [row for row in csv.reader((inside.text(place) or "").splitlines()) if row]
        for path, promised, _ in rows:
            if promised:
                files[normpath(join(root, path))] = (package.name, promised)
    except (ValueError, csv.Error):
        yield from _named("MX323", package.name, [f"{place}: no table of path, hash and size"])


def _record(inside: Inside, package: Package) -> tuple[str, Node | None]:
    """Return the RECORD of a package; wheels spell their names in more than one way."""
    for site in sites(inside.lock):
        place, folder = inside.folder(site)
        for name in sorted(folder.children if folder else ()):
            stem, _, kind = name.rpartition(".")
            if kind == "dist-info" and normalised(stem.partition("-")[0]) == package.name:
                path = f"{place}/{name}/{RECORD}"
                return path, inside.files.at(path)
    return f"RECORD of {package.name}", None


def _strangers(
    inside: Inside, files: dict[str, tuple[str, str]], nodes: dict[str, Node]
) -> Iterator[Finding]:
    """Yield files that came with or after our layers, where Python looks, and in no RECORD."""
    # Where no wheel was added, all that lies there is the base's, as far as the lock's layers.
    own = min(inside.ours, default=_covered.last(inside))
    first = min((node.layer for node in nodes.values()), default=own)
    known = {*files, *(file.target for file, _ in inside.lock.files)}
    found: list[str] = []
    compiled: list[str] = []
    for site in sites(inside.lock):
        folder = inside.files.at(site)
        if folder is None:
            continue
        known |= _recorded(inside, site, folder)
        for path, node in _covered.below(site, folder):
            if node.layer >= first and path not in known:
                layer = inside.files.description.layers[node.layer].digest
                kind = compiled if "/__pycache__/" in path else found
                kind.append(f"{path} (layer {layer})")
    for said in _covered.modules(inside):
        (compiled if "/__pycache__/" in said else found).append(said)
    yield from _named("MX325", "site directory", found)
    # A container that ran and was committed leaves it; but Python runs it before the source.
    if compiled:
        more = f" and {len(compiled) - 1} more" if compiled[1:] else ""
        yield from _named("MX326", "site directory", [f"{compiled[0]}{more}"])


def _recorded(inside: Inside, site: str, folder: Node) -> set[str]:
    """Return what any RECORD there names; a distribution that is in no lock has a finding."""
    found: set[str] = set()
    for name, child in folder.children.items():
        record = child.children.get(RECORD) if name.endswith(".dist-info") else None
        content = inside.files.contents.get(record.origin) if record else None
        if content is not None:
            found.add(f"{site}/{name}/{RECORD}")
            for line in content.data.decode(errors="replace").splitlines():
                path = next(csv.reader([line]), [""])[0] if line.strip() else ""
                found.add(normpath(join(site, path)))
    return found
