"""How to read the matrix of ``mx-smi topo -m`` and ``-n``: how cards and NICs are linked.

It names cards by number, NICs by a legend; the oldest layout has neither banner nor NICs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Observed, Reading, Unreadable
from mxenv.frozen import frozen, slotted
from mxenv.vendors._mxsmi import not_understood
from mxenv.vendors._words import excerpt

if TYPE_CHECKING:
    from collections.abc import Mapping

SELF = "X"
UNKNOWN = "NA"
KINDS = frozenset({SELF, "SYS", "NODE", "PHB", "PXB", "PIX", "MX", "ETH", UNKNOWN})
"""How two are linked, from across sockets to MetaXLink, as the legend below the matrix has it."""

_TITLE = "Device link type matrix"
_MEMBER = r"(?a)(?:GPU|NIC)\d{1,3}"
_AFFINITY = r"(Node|CPU) Affinity"
_NODE = r"(?a)\d{1,3}"
_CPUS = r"(?a)\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*"
_NIC = r"(?a)(NIC\d{1,3}): (\S{1,64})"

Pair = tuple[str, str]


@frozen
class Topology:
    """What the matrix says; what it contradicts itself about is unreadable."""

    links: Mapping[Pair, Reading]
    """Of each pair once: cards and NICs by their labels, in the matrix's order."""
    nodes: Mapping[str, Reading]
    """The NUMA node near a card, by the card's label."""
    cpus: Mapping[str, Reading]
    """The processors near a card."""
    nics: Mapping[str, str]
    """The device behind each NIC's label."""
    complaints: tuple[str, ...] = ()


@slotted
class _Matrix:
    members: list[str]
    near: list[str]
    rows: dict[str, list[str]]
    """The cells of each row that has all of them, by its label."""
    nics: dict[str, str]
    complaints: list[str]


def parse(text: str) -> Topology | Unreadable:
    """Return the links of the matrix; a row unlike the heading counts for nothing."""
    _, title, rest = text.partition(_TITLE)
    matrix = _matrix(rest) if title else None
    if matrix is None:
        return not_understood(text)
    links = {
        (one, other): _link(matrix, one, other)
        for at, one in enumerate(matrix.members)
        for other in matrix.members[at + 1 :]
        if _is_card(one) or _is_card(other)
    }
    return Topology(
        links=links,
        nodes=_near(matrix, "Node", _NODE, number=True),
        cpus=_near(matrix, "CPU", _CPUS, number=False),
        nics=matrix.nics,
        complaints=tuple(matrix.complaints),
    )


def _is_card(label: str) -> bool:
    return label.startswith("GPU")


def _matrix(text: str) -> _Matrix | None:
    matrix: _Matrix | None = None
    for raw in text.splitlines(keepends=True):
        line = raw.strip()
        if not (line and raw.endswith("\n")):
            continue
        if matrix is None:
            matrix = _heading(line)
            if matrix is None:
                return None
        elif nic := re.fullmatch(_NIC, line):
            matrix.nics[nic[1]] = nic[2]
        elif re.match(_MEMBER, line):
            _add(matrix, line)
    return matrix


def _heading(line: str) -> _Matrix | None:
    members = re.split(_AFFINITY, line)[0].split()
    known = all(re.fullmatch(_MEMBER, member) for member in members) and len(set(members)) == len(
        members
    )
    if not members or not known:
        return None
    return _Matrix(members, re.findall(_AFFINITY, line), {}, {}, [])


def _add(matrix: _Matrix, line: str) -> None:
    label, *cells = line.split()
    width = len(matrix.members)
    near = len(matrix.near) if _is_card(label) else 0
    kinds = cells[:width]
    good = (
        label in matrix.members
        and label not in matrix.rows
        and len(cells) == width + near
        and KINDS.issuperset(kinds)
        and all(
            (kind == SELF) == (name == label)
            for name, kind in zip(matrix.members, kinds, strict=True)
        )
    )
    if good:
        matrix.rows[label] = cells
    else:
        matrix.complaints.append(f"a row unlike its heading: {excerpt(line)}")


def _link(matrix: _Matrix, one: str, other: str) -> Reading:
    if one not in matrix.rows or other not in matrix.rows:
        return Unreadable("a row of the matrix is missing or not understood")
    kind = matrix.rows[one][matrix.members.index(other)]
    if kind != matrix.rows[other][matrix.members.index(one)]:
        return Unreadable("the matrix contradicts itself")
    return Unreadable("mx-smi does not know it") if kind == UNKNOWN else Observed(kind)


def _near(matrix: _Matrix, name: str, pattern: str, *, number: bool) -> dict[str, Reading]:
    if name not in matrix.near:
        return {}
    at = len(matrix.members) + matrix.near.index(name)
    found: dict[str, Reading] = {}
    for label in filter(_is_card, matrix.members):
        text = matrix.rows[label][at] if label in matrix.rows else ""
        if re.fullmatch(pattern, text):
            found[label] = Observed(int(text) if number else text)
        else:
            found[label] = Unreadable(f"not told: {excerpt(text)}")
    return found
