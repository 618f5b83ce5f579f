"""What two locks that came of one make together, and what of it only a person can decide.

Packages are merged by name and tables by key; what was resolved or judged as a whole counts only
while it is the whole of one side. Nothing here resolves: a mixture is marked as one, so that it
is stale until `mxenv lock` looked at it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from mxenv import lock as locks
from mxenv import lock_entries
from mxenv.conflict_marks import marked
from mxenv.frozen import frozen
from mxenv.lock import UNRESOLVED, Lock, Package
from mxenv.lock_entries import ENTRIES, said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from mxenv.lock import Relied

IMAGE = ("built", "recipe")
"""What a lock says of the image that was made from it."""
DERIVED = ("inputs", "relied", *IMAGE)
"""What follows from the rest."""
_NOTHING = object()
"""What an ancestor had that is not there: it is equal to nothing."""

Ends = tuple[object, object]
"""A value with our side of each conflict, and with theirs."""


@frozen
class Conflict:
    """One thing that both sides changed, each in its own way."""

    place: str
    """``packages.numpy``, ``target.python``."""
    before: str
    ours: str
    theirs: str

    def __str__(self) -> str:
        return f"{self.place}: {self.ours} (ours), {self.theirs} (theirs), {self.before} before"


@frozen
class Merged:
    """What came of a merge."""

    lock: Lock
    """With our side of each conflict."""
    other: Lock
    """With their side of each conflict; the same if there is none."""
    conflicts: tuple[Conflict, ...] = ()
    notes: tuple[str, ...] = ()
    """What was left out, and why."""

    @property
    def stale(self) -> bool:
        """Return whether somebody has to resolve the whole."""
        return self.lock.inputs == UNRESOLVED

    @property
    def text(self) -> str:
        """Return what is to be written: no reader takes it before the conflicts are solved."""
        ours, theirs = locks.render(self.lock), locks.render(self.other)
        return marked(ours, theirs) if self.conflicts else ours


def merge(base: Lock | None, ours: Lock, theirs: Lock) -> Merged:
    """Merge two locks that came of ``base``; `None`: they have nothing in common.

    What at most one side changed is as it has it; so is all, if only one changed anything.
    """
    conflicts: list[Conflict] = []
    names = [each.name for each in fields(Lock) if each.name not in DERIVED]
    ends = {name: _field(name, base, ours, theirs, conflicts) for name in names}
    mine = _with(ours, {name: end for name, (end, _) in ends.items()})
    other = _with(ours, {name: end for name, (_, end) in ends.items()})
    for name in sorted(_on_both_lists(mine) | _on_both_lists(other)):
        conflicts.append(_provided_now(name, base, ours, theirs))
        mine, other = _as_in(ours, mine, name), _as_in(theirs, other, name)
    if not conflicts:
        whole, notes = _derived(base, mine, ours, theirs)
        return Merged(lock=whole, other=whole, notes=notes)
    undecided = {"inputs": UNRESOLVED, "relied": None, **dict.fromkeys(IMAGE)}
    return Merged(
        lock=_with(mine, undecided), other=_with(other, undecided), conflicts=tuple(conflicts)
    )


def _with(lock: Lock, values: Mapping[str, object]) -> Lock:
    return replace(lock, **values)  # type: ignore[arg-type] # by the names of its own fields


def _field(
    name: str, base: Lock | None, ours: Lock, theirs: Lock, conflicts: list[Conflict]
) -> Ends:
    before = _NOTHING if base is None else getattr(base, name)
    one, other = getattr(ours, name), getattr(theirs, name)
    same = _same(before, one, other)
    if same is not _NOTHING:
        return same, same
    if name not in ENTRIES:
        conflicts += _conflicts(name, before, one, other)
        return one, other
    held = {} if base is None else lock_entries.of(base, name)
    mine, rest = lock_entries.of(ours, name), lock_entries.of(theirs, name)
    found: dict[tuple[str, int], Ends] = {}
    for key in _order([*mine], [*rest]):
        entry = (held.get(key), mine.get(key), rest.get(key))
        found[key] = end = _entry(*entry)
        if end[0] != end[1]:
            conflicts.append(_conflict(f"{name}.{key[0]}", *entry))
    one, other = ({key: end[at] for key, end in found.items()} for at in (0, 1))
    return _listed(one, [*mine], [*rest]), _listed(other, [*mine], [*rest])


def _listed(
    values: Mapping[tuple[str, int], object], *sides: list[tuple[str, int]]
) -> tuple[object, ...]:
    """Return what is there, in the order of a side that has the same: an image may be its own."""
    there = [key for key, value in values.items() if value is not None]
    alike = [side for side in sides if sorted(side) == sorted(there)]
    return tuple(values[key] for key in min(alike, default=there))


def _same(before: object, ours: object, theirs: object) -> object:
    """Return the value that at most one side changed, or both alike."""
    if theirs in (ours, before):
        return ours
    return theirs if ours == before else _NOTHING


def _entry(before: object, ours: object, theirs: object) -> Ends:
    if isinstance(ours, Package) and isinstance(theirs, Package):
        return _package(before, ours, theirs)
    same = _same(before, ours, theirs)
    return (ours, theirs) if same is _NOTHING else (same, same)


def _package(before: object, ours: Package, theirs: Package) -> Ends:
    """Merge a package: which bytes it is, and then where they are found, which decides nothing."""
    held = before if isinstance(before, Package) else None
    same = _same(held and _unplaced(held), _unplaced(ours), _unplaced(theirs))
    if not isinstance(same, Package):
        return ours, theirs
    if same != _unplaced(theirs):
        return ours, ours
    if same != _unplaced(ours):
        return theirs, theirs
    url = _same(held.wheel.url if held else "", ours.wheel.url, theirs.wheel.url)
    # Two places of the same bytes: without either it is looked for by name and hash.
    wheel = replace(same.wheel, url=url if isinstance(url, str) else "")
    return replace(same, wheel=wheel), replace(same, wheel=wheel)


def _unplaced(package: Package) -> Package:
    return replace(package, wheel=replace(package.wheel, url=""))


def _order(
    ours: Sequence[tuple[str, int]], theirs: Sequence[tuple[str, int]]
) -> list[tuple[str, int]]:
    """Return all keys in our order, each that only they have behind the one it follows there."""
    order = list(ours)
    place = 0
    for key in theirs:
        if key in order:
            place = order.index(key) + 1
        else:
            order.insert(place, key)
            place += 1
    return order


def _conflict(place: str, before: object, ours: object, theirs: object) -> Conflict:
    return Conflict(
        place=place,
        before="nothing" if before is _NOTHING else said(before, ours),
        ours=said(ours, theirs),
        theirs=said(theirs, ours),
    )


def _conflicts(name: str, before: object, ours: object, theirs: object) -> Iterator[Conflict]:
    """Yield each field in which two values differ that go together."""
    held, other = lock_entries.parts(before), lock_entries.parts(theirs)
    for part, value in lock_entries.parts(ours).items():
        if value != other[part]:
            place = f"{name}.{part}" if part else name
            yield _conflict(place, held.get(part, _NOTHING), value, other[part])


def _on_both_lists(lock: Lock) -> set[str]:
    """Return what would be installed although the base provides it."""
    return {package.name for package in lock.packages} & {entry.name for entry in lock.provided}


def _provided_now(name: str, base: Lock | None, ours: Lock, theirs: Lock) -> Conflict:
    before, one, other = (_how(name, lock) if lock else "nothing" for lock in (base, ours, theirs))
    return Conflict(place=f"packages.{name}", before=before, ours=one, theirs=other)


def _how(name: str, lock: Lock) -> str:
    versions = {package.name: f"{package.version} locked" for package in lock.packages}
    versions |= {entry.name: f"{entry.version} provided by the base" for entry in lock.provided}
    return versions.get(name, "nothing")


def _as_in(side: Lock, lock: Lock, name: str) -> Lock:
    """Return ``lock`` with the package ``name`` as ``side`` has it, or has it provided."""
    packages = [one for one in lock.packages if one.name != name]
    packages += [one for one in side.packages if one.name == name]
    provided = [one for one in lock.provided if one.name != name]
    provided += [one for one in side.provided if one.name == name]
    return replace(lock, packages=tuple(packages), provided=tuple(provided))


def _derived(
    base: Lock | None, whole: Lock, ours: Lock, theirs: Lock
) -> tuple[Lock, tuple[str, ...]]:
    """Add what follows from the rest to a merge without conflicts, and say what does not."""
    relied, judged = _relied(base, whole, ours, theirs)
    inputs = _same(base and base.inputs, ours.inputs, theirs.inputs)
    reasons = []
    if not isinstance(inputs, str):
        reasons.append("both sides changed what the image asks for")
    # A side that is a mixture itself resolved nothing.
    sides = [side for side in (ours, theirs) if side.inputs != UNRESOLVED]
    if _resolved(whole) not in map(_resolved, sides):
        reasons.append("what was resolved on each side was never resolved together")
    if not judged:
        reasons.append("what the matrix says of the whole is not known")
    fresh = inputs if isinstance(inputs, str) and not reasons else UNRESOLVED
    whole = _with(whole, {"inputs": fresh, "relied": relied, **dict.fromkeys(IMAGE)})
    image = _image(base, whole, ours, theirs)
    notes = [f"stale: {reason}" for reason in reasons]
    if any((*_said_of_image(ours), *_said_of_image(theirs))) and not any(image):
        notes.append("what is said of an image is left out: it was made from neither side alone")
    return _with(whole, dict(zip(IMAGE, image, strict=True))), tuple(notes)


def _resolved(lock: Lock) -> object:
    packages = tuple(map(_unplaced, lock.packages))
    base = (lock.base.reference, lock.base.digest)
    return packages, lock.provided, lock.requires, lock.target, base, lock.facts


def _judged(lock: Lock) -> object:
    return _resolved(lock), lock.accelerator, lock.waivers


def _relied(base: Lock | None, whole: Lock, ours: Lock, theirs: Lock) -> tuple[Relied | None, bool]:
    """Return what the matrix said of the whole, and whether a side that is no mixture says so."""
    alike = [side for side in (ours, theirs) if _judged(side) == _judged(whole)]
    if len(alike) == len((ours, theirs)):
        same = _same(base.relied if base else _NOTHING, ours.relied, theirs.relied)
        alike = [side for side in alike if side.relied == same]
    if not alike:
        return None, ours.relied is None and theirs.relied is None
    return alike[0].relied, any(side.inputs != UNRESOLVED for side in alike)


def _said_of_image(lock: Lock) -> tuple[object, ...]:
    return tuple(getattr(lock, name) for name in IMAGE)


def _image(base: Lock | None, whole: Lock, ours: Lock, theirs: Lock) -> tuple[object, ...]:
    """Return what is known of the image of the whole, if it is that of a side that has one."""
    plain = locks.without_image(whole)
    sides = [side for side in (ours, theirs) if locks.without_image(side) == plain]
    found = [_said_of_image(side) for side in sides]
    same = found[0] if found else _NOTHING
    if len(found) == len((ours, theirs)):
        # One table of the file: half of what each says would be no image at all.
        same = _same(_said_of_image(base) if base else _NOTHING, *found)
    return same if isinstance(same, tuple) else (None,) * len(IMAGE)
