"""What the torch of an image was asked: in the snapshot that its description names, in its lock."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import locked_operators, operator_platform, operator_table
from mxenv.api import _base_records, nodes
from mxenv.errors import ImageError, InvalidFile
from mxenv.facts import Fact, Observed, Unreadable
from mxenv.selector import PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.facts import Snapshot
    from mxenv.image import Image
    from mxenv.lock import Lock
    from mxenv.operator_table import Table

_ASK = "in a container of the image, or of its base: mxenv probe --operators --out {}"


def beside(image_toml: Path, place: str, file: str, *, what: str, hint: str) -> Path:
    """Return where the file lies that an image description names; it may not leave its folder."""
    folder = Path(os.path.realpath(image_toml.parent))
    path = folder / file
    context = f"{image_toml}: {place}"
    if not Path(os.path.realpath(path)).is_relative_to(folder):
        raise ImageError(f"{file!r} leaves the folder of the image", context=context)
    if not path.exists():
        raise ImageError(f"there is no {what} {file!r}", context=context, hint=hint.format(path))
    return path


def kept(image: Image, image_toml: Path, lock: Lock) -> Lock:
    """Return ``lock`` with what its torch said of the operators that its models need."""
    if not image.operators:
        return replace(lock, torch=None, operators=())
    path = beside(image_toml, "operators", image.operators, what="snapshot", hint=_ASK)
    table = _table(nodes.read_snapshot(path), lock, f"{image_toml}: operators", image.operators)
    return replace(
        lock,
        torch=locked_operators.asked(image.operators, table),
        operators=locked_operators.kept(table, lock.inventories),
    )


def changed(image: Image, image_toml: Path, lock: Lock) -> Iterator[str]:
    """Yield why what the lock keeps is not what the snapshot says that the description names."""
    if lock.torch is None or lock.torch.file != image.operators:
        # That the description names another file, or none, is told of the description itself.
        return
    now = kept(image, image_toml, lock)
    if (now.torch, now.operators) != (lock.torch, lock.operators):
        yield f"operators: {image.operators} does not say what was locked"


def _table(snapshot: Snapshot, lock: Lock, place: str, file: str) -> Table:
    """Return what the torch that is locked said of itself."""
    own = locked_operators.torch_of(lock)
    told: dict[str, Table] = {}
    others, why = set(), ""
    for fact in snapshot.of(operator_platform.KEY):
        if isinstance(fact.reading, Unreadable):
            why = f": {fact.reading.reason}"
        if not isinstance(fact.reading, Observed):
            continue
        table = _read(str(fact.reading.value), place, file)
        installed = snapshot.reading(PACKAGE, f"{fact.instance}/torch")
        if table.torch == own and installed == Observed(own):
            told[table.digest] = table
        else:
            others.add(table.torch)
    if len(told) == 1:
        return told.popitem()[1]
    has = f"torch {own}" if own else "no torch"
    if told:
        said = f"several environments of {file} have {has}, and do not say the same of it"
    elif others:
        said = f"{file} says what torch {', '.join(sorted(others))} has; the image has {has}"
    else:
        said = f"no torch was asked for its operators in {file}{why}"
    raise ImageError(said, context=place, hint=_ASK.format(file))


def _read(text: str, place: str, file: str) -> Table:
    try:
        return operator_table.read(text)
    except ValueError as error:
        said = f"the table of operators in {file} {error}"
        raise ImageError(said, context=place, hint=_ASK.format(file)) from None


def asked(lock: Lock, lock_path: Path, inside: Snapshot, given: Iterable[Snapshot]) -> Snapshot:
    """Return ``inside``, with what the torch of the image said of its operators, if anybody knows.

    The lock tells, the record of its base, or one of the snapshots ``given``; each only of the very
    torch that is locked. What two of them do not say alike decides nothing.
    """
    if not any(one.uses for one in lock.inventories):
        return inside
    prefix = lock.target.prefix
    own = inside.reading(PACKAGE, f"{prefix}/torch")
    told = {
        operator_table.digest_of(str(fact.reading.value)): fact.reading
        for snapshot in (*_recorded(lock, lock_path), *given)
        for fact in snapshot.of(operator_platform.KEY)
        if isinstance(fact.reading, Observed)
        and isinstance(own, Observed)
        and snapshot.reading(PACKAGE, f"{fact.instance}/torch") == own
    }
    table = locked_operators.table_of(lock)
    if lock.torch is not None and table is not None:
        told.setdefault(lock.torch.digest, Observed(operator_table.write(table)))
    if not told:
        return inside
    several = Unreadable(f"{len(told)} tables of the very same torch do not say the same")
    reading = next(iter(told.values())) if len(told) == 1 else several
    fact = Fact(key=operator_platform.KEY, instance=prefix, reading=reading, source="the gate")
    return replace(inside, facts=(*inside.facts, fact))


def _recorded(lock: Lock, lock_path: Path) -> Iterator[Snapshot]:
    """Yield the facts of the base, if its record lies beside the lock."""
    path = _base_records.path_of(lock_path.parent, lock.base.digest)
    if not lock.base.listing or not path.exists():
        return
    try:
        yield _base_records.facts_of(_base_records.open_record(path), str(path))
    except InvalidFile:
        # That it is damaged is told where the lock is held to be fresh.
        return
