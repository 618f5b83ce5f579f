"""The bytecode of an image that asked for it: where it may lie, and who vouches for it."""

from __future__ import annotations

import csv
import hashlib
from posixpath import join, normpath
from typing import TYPE_CHECKING

from mxenv.api._inside import sites
from mxenv.engines import _wheel
from mxenv.transports._tree import Unanswered
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from mxenv.api._inside import Inside
    from mxenv.lock import Lock


def places(lock: Lock, files: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return where a build may have put bytecode of the wheels' modules, each with its package."""
    if not lock.bytecode:
        return {}
    within = tuple(f"{site}/" for site in sites(lock))
    packages = {package.name for package in lock.packages}
    return {
        _wheel.cached(path, lock.target.python): name
        for path, (name, _) in files.items()
        if name in packages and path.endswith(".py") and path.startswith(within)
    }


def is_record(promised: str, text: str, path: str, compiled: Container[str]) -> bool:
    """Return whether a RECORD is the promised one, but for the rows of bytecode.

    Which modules have any depends on the Python that compiled them.
    """
    rest = "".join(
        line
        for line in text.splitlines(keepends=True)
        if not any(place in compiled for place in _without_hash(line, path))
    )
    return _wheel.text_of(hashlib.sha256(rest.encode()).digest(), "sha256") == promised


def _without_hash(text: str, path: str) -> Iterator[str]:
    """Yield what the RECORD at ``path`` names and does not vouch for."""
    root = path.rpartition("/")[0].rpartition("/")[0]
    try:
        for row in csv.reader(text.splitlines()):
            if len(row) == 3 and not row[1]:  # noqa: PLR2004 - path, hash, size
                yield normpath(join(root, row[0]))
    except csv.Error:
        return


def check(inside: Inside, compiled: Mapping[str, str]) -> Iterator[Finding]:
    """Yield the bytecode that is not there, or that no layer of the lock brought.

    Nothing else says what is in it: no wheel has any, and a RECORD has no hash of it.
    """
    doubtful: dict[str, list[str]] = {}
    for path in sorted(_named(inside, compiled)):
        name = compiled[path]
        try:
            _, node = inside.node(path)
        except Unanswered as unanswered:
            yield _finding("MX324", name, f"not comparable: {path}: {unanswered}")
            continue
        if node is None:
            yield _finding("MX322", name, f"missing: {path}")
        elif node.kind != "file" or (inside.ours and node.layer not in inside.ours):
            layer = inside.files.description.layers[node.layer].digest
            yield _finding("MX321", name, f"altered: {path} (layer {layer})")
        elif not inside.ours:
            doubtful.setdefault(name, []).append(path)
    for name, paths in doubtful.items():
        more = f" and {len(paths) - 1} more" if paths[1:] else ""
        yield Finding(
            code="MX326",
            outcome=Outcome.UNKNOWN,
            subject=name,
            found=f"bytecode that nobody vouches for: {paths[0]}{more}",
            expected="layers that the lock records, or that somebody signed",
            remedy="name the LOCK into which `mxenv build` wrote the image's digests, or --key PUB",
        )


def _named(inside: Inside, compiled: Mapping[str, str]) -> set[str]:
    """Return the bytecode that some RECORD names; any other is brought by nobody."""
    found: set[str] = set()
    for site in sites(inside.lock) if compiled else ():
        place, folder = inside.folder(site)
        for name in folder.children if folder else ():
            if name.endswith(".dist-info"):
                path = f"{place}/{name}/RECORD"
                found.update(_without_hash(_text(inside, path), path))
    return found & compiled.keys()


def _text(inside: Inside, path: str) -> str:
    try:
        return inside.text(path) or ""
    except Unanswered:
        return ""


def _finding(code: str, name: str, found: str) -> Finding:
    return Finding(
        code=code,
        outcome=Outcome.UNKNOWN if code == "MX324" else Outcome.INCOMPATIBLE,
        subject=name,
        found=found,
        expected="the bytecode that was built",
        remedy="do not use this image; run `mxenv build` again",
    )
