"""How to read ``nvidia-smi topo -m``: which way leads from one card to another."""

from __future__ import annotations

import re
from itertools import combinations

from mxenv.facts import Unreadable
from mxenv.vendors._words import excerpt

_CARD = r"(?a)GPU(\d{1,3})"
_WAY = r"(?a)NV\d{1,2}|PIX|PXB|PHB|NODE|SYS"
_SELF = "X"
_GAP = r"\t+| {2,}"

Ways = dict[tuple[int, int], str]
"""The way between two cards by their numbers, the smaller one first."""


def parse(text: str) -> Ways | Unreadable:
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
    return _ways(rows, count)


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
