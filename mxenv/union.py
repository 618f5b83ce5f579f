"""Whether what is added to a base gets along with what the base holds already."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.distribution import normalised
from mxenv.errors import Incompatible
from mxenv.layers import SHARE
from mxenv.redaction import UNPRINTABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.layers import Entry
    from mxenv.listing import Listing, Place
    from mxenv.lock import Lock

EXECUTABLE = 0o111
_STEM = re.compile(r"(.+?)-[^-]+\.(?:dist|egg)-info|([^.]+)(?:\..+)?")
"""What a distribution's files lie in, or are called."""


def check(owners: Iterable[tuple[str, Iterable[Entry]]], base: Listing, lock: Lock) -> None:
    """Refuse a file where the base has something else, and one below what is no directory there.

    Equal bytes are let through. An engine would let the upper layer win each time: a file of the
    base's torch quietly replaced, or a link of the base covered by a directory with one file.
    """
    there = {"/": base.names("/")}
    for owner, entries in owners:
        for entry in entries:
            folder, _, name = entry.path.rpartition("/")
            place = _names(folder or "/", there, base, owner, lock).get(name)
            # A base that mxenv built says things of itself, which are of this image from now on.
            own = folder == SHARE
            if place is not None and not own and not _equal(place, entry):
                raise _both(owner, entry, place, lock)


def _names(
    folder: str, there: dict[str, Mapping[str, Place]], base: Listing, owner: str, lock: Lock
) -> Mapping[str, Place]:
    """Return what the base has in ``folder``; it is asked for no more than is there."""
    if folder not in there:
        above, _, name = folder.rpartition("/")
        place = _names(above or "/", there, base, owner, lock).get(name)
        if place is not None and place.kind != "directory":
            where = f" to {UNPRINTABLE.sub('?', place.target)}" if place.target else ""
            raise Incompatible(
                f"{owner} brings a file below it, and in {_holder(folder, lock)} it is "
                f"a {place.kind}{where}",
                context=folder,
                hint="run `mxenv lock` again, which follows the base's links; "
                "if it stays so, leave the package out, or choose another version",
            )
        there[folder] = {} if place is None else base.names(folder)
    return there[folder]


def _equal(place: Place, entry: Entry) -> bool:
    return (
        place.kind == "file"
        and (place.sha256, place.size) == (entry.sha256, entry.size)
        and bool(place.mode & EXECUTABLE) == bool(entry.mode & EXECUTABLE)
    )


def _both(owner: str, entry: Entry, place: Place, lock: Lock) -> Incompatible:
    """Say that a path belongs to both, and in what they differ."""
    if place.kind != "file":
        differ = f"there it is a {place.kind}"
    elif place.size == entry.size and not place.sha256:
        differ = "whether the bytes are the same is not known"
    elif (place.sha256, place.size) == (entry.sha256, entry.size):
        differ = "one may be executed, the other not"
    else:
        differ = f"not the same: {entry.size} bytes, and {place.size} there"
    return Incompatible(
        f"{owner} brings it, and {_holder(entry.path, lock)} has it: {differ}",
        context=entry.path,
        hint="what the base provides is never replaced: leave the package, or the added file, out "
        "of the image description, choose a version without it, or take another base",
    )


def _holder(path: str, lock: Lock) -> str:
    """Return who brought what lies at ``path`` in the base, as far as its place tells."""
    for site in (lock.target.purelib, lock.target.platlib):
        if path.startswith(f"{site}/"):
            top = path.removeprefix(f"{site}/").partition("/")[0]
            found = _STEM.fullmatch(top)
            name = normalised(found[1] or found[2]) if found else ""
            for entry in lock.provided:
                if entry.name == name:
                    return f"{entry.name} {entry.version} of the base"
    return f"the base {lock.base.reference}"
