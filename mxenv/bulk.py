"""Many snapshots judged together: what a line says, and what a set of facts is worth, known once.

mxenv writes a snapshot with one fact a line, and two nodes of a fleet differ in few of them. Each
line is read strictly when it is met first, and every snapshot that is not written so is read as
a whole. A verdict depends on the facts that rows, and the rules of judging, look at: nodes that
agree in all of these share one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from mxenv import fleet
from mxenv import snapshot as files
from mxenv.errors import SnapshotError
from mxenv.facts import Unreadable, View
from mxenv.fingerprint import digest, entry, fingerprint
from mxenv.fleet import KINDS, Member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mxenv.facts import Fact, FactKey, Snapshot
    from mxenv.matrix import Matrix, Requirement, Rule
    from mxenv.selector import Selector
    from mxenv.verdict import Finding, Verdict

T = TypeVar("T")
BEGIN, END = '\n "facts": [\n  ', "\n ]\n}\n"
BETWEEN = ",\n  "
"""How mxenv writes the facts of a snapshot."""
MOST_LINES = 60_000
"""Lines that are kept; what is met after that is read anew, and the first are forgotten."""
MOST_SETS = 4_000
"""Sets of facts of which the worth is kept."""
VIEWS = tuple(View)
JUDGED = ("metax.", "python.", "elf.", "kernel.release")
"""Beginnings of the keys that judging looks at whatever the rows say."""


@dataclass(slots=True, kw_only=True)
class _Line:
    """One line of a snapshot, and what it is worth."""

    number: int
    label: int
    """The same on lines that tell the same fact."""
    fact: Fact
    kind: int
    judged: bool
    passing: bool
    entry: str
    """What it adds to the node digest; empty if nothing."""
    stack: str
    """What it adds to the stack digest; empty if nothing."""


def looked_at(matrix: Matrix) -> Callable[[str], bool]:
    """Return what tells whether a verdict can depend on a key."""
    rows: tuple[Rule | Requirement, ...] = (*matrix.rules, *matrix.requirements)
    wants = chain.from_iterable((*row.when, *row.requires) for row in rows)
    broken = chain.from_iterable(row.when for row in matrix.broken)
    asked = [one.selector for one in (*wants, *broken)]
    agreed = (one for row in matrix.rules for one in row.agree)
    pairs: Iterable[Selector] = chain.from_iterable((one.left, one.right) for one in agreed)
    names = {selector.key.name for selector in (*asked, *pairs)}
    return lambda key: key in names or key.startswith(JUDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What came of one snapshot."""

    member: Member
    findings: tuple[Finding, ...]
    matrix: str
    first: str = ""
    """The whole text, if its stack was not met before."""


@dataclass(slots=True, kw_only=True)
class Bulk:
    """What is remembered from one snapshot to the next."""

    keys: Mapping[str, FactKey]
    judge: Callable[[Snapshot], Verdict]
    looked_at: Callable[[str], bool]
    _lines: dict[str, _Line] = field(default_factory=dict)
    _met: int = 0
    _labels: dict[tuple[str, str], int] = field(default_factory=dict)
    _shapes: dict[tuple[int, ...], tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    _verdicts: dict[tuple[int, ...], Verdict] = field(default_factory=dict)
    _firsts: set[str] = field(default_factory=set)

    def take(self, text: str, *, address: str) -> Taken:
        """Return what the snapshot ``text`` is, and what is said of it."""
        if (known := self._known(text, address)) is None:
            return self._whole(text, address)
        return self._taken(*known, text, address)

    def read(self, text: str, *, address: str) -> Snapshot:
        """Return the snapshot ``text``, as `snapshot.from_json` does, and sooner."""
        if (known := self._known(text, address)) is None:
            return files.from_json(text, context=address)
        bare, lines = known
        return replace(bare, facts=tuple(line.fact for line in lines))

    def _known(self, text: str, address: str) -> tuple[Snapshot, list[_Line]] | None:
        """Return the snapshot without its facts, and those; `None` if it has to be read whole."""
        head, begins, rest = text.partition(BEGIN)
        if not begins or not rest.endswith(END):
            return None
        known = self._lines.get
        try:
            bare = files.from_json(f'{head}\n "facts": []\n}}\n', context=address)
            texts = rest[: -len(END)].split(BETWEEN)
            return bare, [known(one) or self._line(one) for one in texts]
        except SnapshotError:
            return None  # what is wrong is told with its place

    def _line(self, text: str) -> _Line:
        if len(self._lines) >= MOST_LINES:
            self._lines.clear()
        self._met += 1
        line = self._lines[text] = self._read(text, self._met)
        return line

    def _read(self, text: str, number: int) -> _Line:
        fact = files.fact_from_json(text, context="a line")
        key = self.keys.get(fact.key)
        lasting = not (fact.volatile or (key is not None and key.volatile))
        node_only = key is not None and key.node_only
        return _Line(
            number=number,
            label=self._labels.setdefault((fact.key, fact.instance), len(self._labels)),
            fact=fact,
            kind=KINDS[type(fact.reading)],
            judged=self.looked_at(fact.key),
            passing=isinstance(fact.reading, Unreadable) and fact.reading.passing,
            entry=entry(fact, self.keys, addresses=True) if lasting else "",
            stack=entry(fact, self.keys, addresses=False) if lasting and not node_only else "",
        )

    def _whole(self, text: str, address: str) -> Taken:
        snapshot = files.from_json(text, context=address)
        verdict = self.judge(snapshot)
        member = fleet.member(snapshot, self.keys, address=address, seconds=0.0)
        return self._done(member, verdict, text)

    def _taken(self, bare: Snapshot, lines: Sequence[_Line], text: str, address: str) -> Taken:
        made: list[Snapshot] = []

        def snapshot() -> Snapshot:
            if not made:
                made.append(replace(bare, facts=tuple(line.fact for line in lines)))
            return made[0]

        groups = self._groups(lines)
        kinds = [line.kind for line in lines]
        stack: str | None = digest(_best([line.stack for line in lines], kinds, groups))
        if any(line.passing for line in lines):
            stack = fingerprint(snapshot(), self.keys).stack
        twice = [lines[index].number for group in groups for index in group]
        judged = [line.number for line in lines if line.judged]
        asked = (VIEWS.index(bare.view), *judged, *twice)
        if asked not in self._verdicts:
            _bound(self._verdicts)
            self._verdicts[asked] = self.judge(snapshot())
        counts = _counts(kinds, groups)
        member = Member(
            address=address,
            seconds=0.0,
            node=bare.node,
            stack=stack,
            digest=digest(_best([line.entry for line in lines], kinds, groups)),
            read=counts[0],
            unreadable=counts[1],
            absent=counts[2],
        )
        return self._done(member, self._verdicts[asked], text)

    def _groups(self, lines: Sequence[_Line]) -> tuple[tuple[int, ...], ...]:
        """Return where the lines stand that tell one fact from several sources."""
        labels = tuple([line.label for line in lines])
        if labels not in self._shapes:
            _bound(self._shapes)
            at: dict[int, list[int]] = {}
            for index, label in enumerate(labels):
                at.setdefault(label, []).append(index)
            self._shapes[labels] = tuple(tuple(n) for n in at.values() if len(n) > 1)
        return self._shapes[labels]

    def _done(self, member: Member, verdict: Verdict, text: str) -> Taken:
        first = member.stack is not None and member.stack not in self._firsts
        if member.stack is not None:
            self._firsts.add(member.stack)
        return Taken(
            member=replace(member, outcome=verdict.outcome),
            findings=verdict.findings,
            matrix=verdict.matrix,
            first=text if first else "",
        )


def _bound(kept: dict[tuple[int, ...], T]) -> None:
    if len(kept) >= MOST_SETS:
        kept.clear()


def _counts(kinds: Sequence[int], groups: Iterable[Sequence[int]]) -> list[int]:
    """Return how many facts of each kind there are; of several readings of one, the best counts."""
    counts = [kinds.count(kind) for kind in range(len(KINDS))]
    for group in groups:
        for index in group:
            counts[kinds[index]] -= 1
        counts[min(kinds[index] for index in group)] += 1
    return counts


def _best(entries: list[str], kinds: Sequence[int], groups: Iterable[Sequence[int]]) -> list[str]:
    """Return ``entries`` without those of facts that another source tells better."""
    for group in groups:
        lasting = [index for index in group if entries[index]]
        best = min((kinds[index] for index in lasting), default=0)
        for index in lasting:
            if kinds[index] != best:
                entries[index] = ""
    return entries
