"""What two locks have that is not the same: packages, base, host, provided, image, all of it."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from mxenv import lock_entries
from mxenv.difference import Change
from mxenv.frozen import frozen
from mxenv.lock import Lock
from mxenv.lock_entries import ENTRIES, said

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST = ("name", "base", "packages", "provided", "host")
"""What tells most; the other fields follow as they stand in a lock."""
CALLED = {"built": "image"}
"""Where a field has another name in the file."""


@frozen
class Locks:
    """Two locks, and what is not the same."""

    before: str
    """What the first is called."""
    after: str
    changes: tuple[Change, ...]


def compare(before: Lock, after: Lock) -> tuple[Change, ...]:
    """Return every difference: none exactly if the locks are equal."""
    names = [each.name for each in fields(Lock)]
    ordered = sorted(names, key=lambda name: (name not in FIRST, _rank(name)))
    return tuple(change for name in ordered for change in _changes(name, before, after))


def _rank(name: str) -> int:
    return FIRST.index(name) if name in FIRST else len(FIRST)


def _changes(name: str, before: Lock, after: Lock) -> Iterator[Change]:
    one, other = getattr(before, name), getattr(after, name)
    if one == other:
        return
    part = CALLED.get(name, name)
    if name in ENTRIES:
        yield from _entries(name, before, after)
        return
    left, right = lock_entries.parts(one), lock_entries.parts(other)
    for inner in dict.fromkeys((*left, *right)):
        # What says nothing is the same as what is not there.
        before_, after_ = left.get(inner) or None, right.get(inner) or None
        if inner and before_ != after_:
            yield _change(part, inner, before_, after_)
        elif not inner and one is not None and other is not None:
            yield _change(part, inner, one, other)


def _entries(name: str, before: Lock, after: Lock) -> Iterator[Change]:
    left, right = lock_entries.of(before, name), lock_entries.of(after, name)
    changed = [key for key in dict.fromkeys((*left, *right)) if left.get(key) != right.get(key)]
    for key in sorted(changed):
        yield _change(name, key[0], left.get(key), right.get(key))
    if not changed:
        yield Change(part=name, name="", before=_listed(left), after=_listed(right))


def _listed(entries: dict[tuple[str, int], object]) -> str:
    return "in the order " + ", ".join(name for name, _ in entries)


def _change(part: str, name: str, before: object, after: object) -> Change:
    return Change(
        part=part,
        name=name,
        before=None if before is None else said(before, after),
        after=None if after is None else said(after, before),
    )
