"""How to read ``nvidia-smi topo -m``: which way leads from card to card, and what is near one."""

from __future__ import annotations

import re
from itertools import combinations

from mxenv.facts import Unreadable
from mxenv.frozen import frozen
from mxenv.vendors._words import excerpt

_CARD = r"(?a)GPU(\d{1,3})"
_WAY = r"(?a)NV\d{1,2}|PIX|PXB|PHB|NODE|SYS"
_CPUS = r"(?a)\d{1,4}-\d{1,4}(?:,\d{1,4}-\d{1,4})*"
_NODE = r"(?a)\d{1,3}"
_SELF = "X"
_GAP = r"\t+| {2,}"

Ways = dict[tuple[int, int], str]
"""The way between two cards by their numbers, the smaller one first."""
Near = dict[int, tuple[str, int]]
"""The processors and the NUMA node near a card, by its number."""


@frozen(kw_only=False)
class Topology:
    """What the matrix says."""

    ways: Ways
    near: Near

    @property
    def count(self) -> int:
        """Return how many cards it speaks of."""
        return len({number for pair in self.ways for number in pair} | {0})


def parse(text: str) -> Topology | Unreadable:
    """Return every way; a matrix that is cut, or says two things of two cards, is not trusted.

    A column counts by its name: between those of the cards and what follows (network devices,
    affinities, whose names differ from release to release) there is no rule.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    head = next((line for line in lines if _cells(line)[:1] == ["GPU0"]), "")
    names = _cells(head)
    count = sum(1 for name in names if re.fullmatch(_CARD, name))
    if not count or names[:count] != [f"GPU{n}" for n in range(count)]:
        return Unreadable(f"its matrix is not understood: {excerpt(text)}")
    rows: dict[int, list[str]] = {}
    for line in lines[lines.index(head) + 1 :]:
        cells = _cells(line)
        found = re.fullmatch(_CARD, cells[0]) if cells else None
        if found and int(found[1]) in rows:
            return Unreadable(f"its matrix has a row twice: {excerpt(line)}")
        if found:
            rows[int(found[1])] = cells[1 : count + 1]
    ways = _ways(rows, count)
    return ways if isinstance(ways, Unreadable) else Topology(ways, _near(text))


def _near(text: str) -> Near:
    """Return what is near each card, where both cells are what their names say, to their ends."""
    near: Near = {}
    at: tuple[int, int] | None = None
    for line in text.splitlines(keepends=True):
        cells = [cell.strip() for cell in line.split("\t")]
        if {"CPU Affinity", "NUMA Affinity"} <= set(cells):
            at = cells.index("CPU Affinity"), cells.index("NUMA Affinity")
        card = re.fullmatch(_CARD, cells[0])
        if at is None or card is None or not line.endswith("\n") or len(cells) <= max(at):
            continue
        cpus, node = (cells[column] for column in at)
        if re.fullmatch(_CPUS, cpus) and re.fullmatch(_NODE, node):
            near[int(card[1])] = cpus, int(node)
    return near


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(_GAP, line.strip())]


def _ways(rows: dict[int, list[str]], count: int) -> Ways | Unreadable:
    if sorted(rows) != list(range(count)):
        return Unreadable(f"its matrix has columns of {count} cards, rows of {len(rows)}")
    for number, row in rows.items():
        ways = row[:number] + row[number + 1 :]
        if (
            len(row) != count
            or row[number] != _SELF
            or not all(re.fullmatch(_WAY, way) for way in ways)
        ):
            return Unreadable(f"the row of GPU{number} is not understood: {excerpt(' '.join(row))}")
    found = {(a, b): rows[a][b] for a, b in combinations(range(count), 2)}
    if any(rows[b][a] != way for (a, b), way in found.items()):
        return Unreadable("its matrix says two things of the way between two cards")
    return found
