"""Locks as files beside one another: merged, exported, compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import _files, lock_export, lock_merge, snapshot
from mxenv._files import write_atomically
from mxenv.api import locking, nodes, project
from mxenv.facts import Observed, Snapshot, Unreadable
from mxenv.lock import Lock

if TYPE_CHECKING:
    from datetime import datetime

    from mxenv.facts import Fact
    from mxenv.lock_merge import Merged

PACKAGE = "python.package"
MARK = "lock-version"
"""What every PEP 751 file has, and no snapshot."""


def merge(base: Path, ours: Path, theirs: Path, *, out: Path | None = None) -> Merged:
    """Merge two locks that came of ``base`` into ``out``, which is ``ours`` unless named.

    An empty ``base``, as git has it for what both sides added, is no common origin. If one of
    them is no lock nothing is written.
    """
    origin = None if _is_empty(base) else project.read_lock(base)
    merged = lock_merge.merge(origin, project.read_lock(ours), project.read_lock(theirs))
    write_atomically(out or ours, merged.text)
    return merged


def _is_empty(path: Path) -> bool:
    try:
        return not _files.read(path, limit=project.LARGEST).strip()
    except (OSError, ValueError):
        return False  # which is said when it is read as a lock


def export(lock: Path, *, form: str, out: Path | None = None) -> str:
    """Return ``lock`` in a format of `mxenv.lock_export`, and write it to ``out`` if named."""
    text = lock_export.FORMATS[form](project.read_lock(lock))
    if out is not None:
        write_atomically(out, text)
    return text


def held(target: str, *, now: datetime) -> Lock | Snapshot:
    """Return what ``target`` names: a lock, a snapshot, a recording, or what an address reaches.

    A pipe has no name that tells, and can be read but once: what it holds does.
    """
    path = Path(target)
    if not _may_be_a_lock(path):
        return nodes.snapshot_of(target, now=now)
    text = project.lock_text(path)
    if path.suffix == ".toml" or MARK in text:
        return project.parse_lock(text, path)
    return snapshot.from_json(text, context=target)


def _may_be_a_lock(path: Path) -> bool:
    try:
        return (path.suffix == ".toml" and path.is_file()) or path.is_fifo()
    except (OSError, ValueError):
        return False  # too long for a path, or not one


def as_nodes(before: Lock | Snapshot, after: Lock | Snapshot) -> tuple[Snapshot, Snapshot]:
    """Return a lock and a snapshot as two snapshots of what the lock speaks of: nothing else."""
    match before, after:
        case Lock(), Snapshot():
            mine, there = _spoken_of(before, after)
            return mine, there
        case Snapshot(), Lock():
            mine, there = _spoken_of(after, before)
            return there, mine
        case Snapshot(), Snapshot():
            return before, after
        case _:
            raise TypeError("two locks are no nodes")


def _spoken_of(lock: Lock, there: Snapshot) -> tuple[Snapshot, Snapshot]:
    """Return what ``lock`` promises, and what of a node can be held against that."""
    promised = locking.snapshot_of(lock, taken_at=there.taken_at)
    facts = tuple(fact for fact in promised.facts if isinstance(fact.reading, Observed))
    known = {fact.key for fact in facts} | {PACKAGE}
    prefix = lock.target.prefix

    def counts(fact: Fact) -> bool:
        inside = fact.instance == prefix or fact.instance.startswith(f"{prefix}/")
        return fact.key in known and (inside or not fact.key.startswith("python."))

    kept = [fact for fact in there.facts if counts(fact)]
    seen = {(fact.key, fact.instance) for fact in kept}
    lacking = {fact.key for fact in facts if (fact.key, fact.instance) not in seen}
    # What is not listed is not there only if the list is whole.
    kept += [f for f in there.facts if f.key in lacking and _is_of_all(f) and not counts(f)]
    return replace(promised, facts=facts), replace(there, facts=tuple(kept))


def _is_of_all(fact: Fact) -> bool:
    return isinstance(fact.reading, Unreadable) and fact.instance in {"", "*"}
