"""What a lock keeps of the operators of its torch: those that its models need, an operator a line.

The whole table of a build has some thousands. Those that a model calls, those that may run in the
place of one, and those by way of which they are done decide of it exactly what the whole would.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.lock import AskedTorch
from mxenv.matrix import stem
from mxenv.operator_table import Entry, Grade, How, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mxenv.inventoried import Inventoried
    from mxenv.lock import Lock

_WORDS = re.compile(
    r"(?P<how>[a-z]+)(?: \((?P<grade>ran|verified)\))?"
    r"(?: through (?P<via>\S+::\S+(?: \S+::\S+)*))?(?: by (?P<by>\S.*))?"
)


def kept(table: Table, inventories: Iterable[Inventoried]) -> tuple[tuple[str, str], ...]:
    """Return what ``table`` says of the operators that the models need, in words, by name."""
    needed: set[str] = set()
    todo = [name for one in inventories for use in one.uses for name in (use.operator, *use.one_of)]
    by_stem: dict[str, list[str]] = {}
    for name in table.entries:
        by_stem.setdefault(stem(name), []).append(name)
    while todo:
        name = todo.pop()
        # Of a name without an overload every one is meant.
        for each in {name, *(by_stem.get(name, ()) if name == stem(name) else ())} - needed:
            needed.add(each)
            todo += table.entries[each].via if each in table.entries else ()
    return tuple((name, words(table.entries[name])) for name in sorted(needed & {*table.entries}))


def words(entry: Entry) -> str:
    """Return ``entry`` as a lock has it: ``composite through aten::mm.default``."""
    grade = f" ({entry.grade})" if entry.grade is not Grade.REGISTERED else ""
    via = f" through {' '.join(sorted(entry.via))}" if entry.via else ""
    by = f" by {entry.by}" if entry.by else ""
    return f"{entry.how}{grade}{via}{by}"


def entry(said: str) -> Entry:
    """Return what `words` wrote; raise `ValueError` for anything else."""
    match = _WORDS.fullmatch(said)
    if match is None or match["how"] not in {*How}:
        raise ValueError(f"{said!r} is not understood")
    return Entry(
        how=How(match["how"]),
        grade=Grade(match["grade"] or Grade.REGISTERED),
        via=tuple((match["via"] or "").split()),
        by=match["by"] or "",
    )


def torch_of(lock: Lock) -> str:
    """Return the version of torch that the image of ``lock`` has; nothing if it has none."""
    versions = {one.name: one.version for one in lock.provided}
    versions |= {one.name: one.version for one in lock.packages}
    return versions.get("torch", "")


def table_of(lock: Lock) -> Table | None:
    """Return what is kept of the table, if it is that of the torch that is locked."""
    asked = lock.torch
    if asked is None or asked.version != torch_of(lock):
        return None
    entries = {name: entry(said) for name, said in lock.operators}
    return Table(torch=asked.version, key=asked.key, entries=entries)


def asked(file: str, table: Table) -> AskedTorch:
    """Return what a lock says of the table in ``file``."""
    return AskedTorch(file=file, digest=table.digest, version=table.torch, key=table.key)
