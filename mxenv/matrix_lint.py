"""Every flaw of the files of a matrix, each with its line: not the first one only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv import contradiction, matrix_reader
from mxenv.errors import MatrixError
from mxenv.matrix import SCHEMA
from mxenv.matrix_reader import KINDS
from mxenv.toml_lines import places

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import date

    from mxenv.contradiction import Remark
    from mxenv.facts import FactKey
    from mxenv.matrix import Matrix

HEAD = ("schema", "vendor", "revision")
MOST = 40
"""Flaws of one row that are looked for; what has more has been read wrongly as a whole."""
_FIELD = re.compile(r"(?:\w+ '[^']*'|\w+\[\d+\])\.?(.*)", re.DOTALL)
_ROW = re.compile(r"(\w+) '([^']*)'")
_SOUND: Mapping[str, object] = {
    "schema": SCHEMA,
    "vendor": "x",
    "revision": "x",
    "id": "x",
    "text": "x",
    "card": "x",
    "kmd": "1.0.0",
    "sdk": "3.0.0.8",
    "works": True,
    "cards": ["x"],
    "formats": ["fp16"],
    "support": "unknown",
    "operators": ["aten::x"],
    "kind": "unknown",
    "applies": "x",
    "components": {"x": "1.0"},
    "evidence": [{"link": "x", "who": "x", "grade": "vendor"}],
}
"""What stands in for a field that is wrong or missing, so that the next flaw can be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file of a matrix, as it was written and as TOML understands it."""

    name: str
    text: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Flaw:
    """What is wrong, and where."""

    file: str
    line: int
    kind: str
    """``invalid``, ``duplicate``, ``contradiction``, ``impossible`` or ``stale``."""
    place: str
    message: str
    hint: str = ""


def lint(
    files: Sequence[File],
    keys: Mapping[str, FactKey],
    *,
    today: date,
    stale: int | None = None,
) -> tuple[Flaw, ...]:
    """Return every flaw of ``files``, which are laid over one another, by file and line.

    With ``stale``, rows of which all dated evidence is older than that many days are flaws too.
    """
    linted = [_Linted(file, keys) for file in files]
    matrix = _together(linted, keys)
    lines = {name: line for one in linted for name, line in one.lines()}
    remarks = contradiction.remarks(matrix, keys, today=today, stale=stale)
    flaws = [flaw for one in linted for flaw in one.flaws]
    return tuple(sorted({*flaws, *(_flaw(remark, lines) for remark in remarks)}))


def _flaw(remark: Remark, lines: Mapping[str, int]) -> Flaw:
    file, kind, name = remark.row.rsplit(":", 2)
    return Flaw(
        file=file,
        line=lines.get(remark.row, 1),
        kind=remark.kind,
        place=f"{kind} '{name}'",
        message=remark.message,
        hint=remark.hint,
    )


class _Linted:
    """A file, what is wrong in it, and the rows that are sound by themselves."""

    def __init__(self, file: File, keys: Mapping[str, FactKey]) -> None:
        self.file = file
        self.keys = keys
        self.places = places(file.text)
        constraints = [f"{name} present" for name in keys][:1]
        self.sound = {**_SOUND, "when": constraints, "requires": constraints}
        self.flaws: list[Flaw] = []
        self.rows: dict[str, dict[int, Mapping[str, object]]] = {}
        """By kind, and by their number in the file."""
        top = {name: value for name, value in file.values.items() if name not in _LISTS}
        head = self._read("", 0, top)
        self.head = {name: head.get(name, _SOUND[name]) for name in HEAD}
        for kind in _LISTS:
            self.rows[kind] = dict(self._rows(kind))

    def _rows(self, kind: str) -> Iterator[tuple[int, Mapping[str, object]]]:
        values = self.file.values.get(kind, [])
        if not isinstance(values, list):
            self._add(kind, 0, f"{kind}: no array of tables", "")
            return
        for number, row in enumerate(values):
            if not isinstance(row, dict):
                self._add(kind, number, f"{kind}[{number}]: no table", "")
            elif kind == "evidence":
                yield number, row
            else:
                # Whether what it overrides is there, the files tell together.
                own = {n: v for n, v in row.items() if n not in {"overrides", "reason"}}
                before = len(self.flaws)
                self._read(kind, number, own)
                if len(self.flaws) == before:
                    yield number, row

    def _read(self, kind: str, number: int, values: Mapping[str, object]) -> Mapping[str, object]:
        """Note every flaw of a row, or of the head, and return it with all of them mended."""
        head = {name: _SOUND[name] for name in HEAD}
        for _ in range(MOST):
            document = {**head, kind: [values]} if kind else values
            try:
                matrix_reader.parse([(self.file.name, document)], self.keys)
            except MatrixError as error:
                place = error.context.removeprefix(self.file.name).removeprefix(": ")
                self._add(kind, number, f"{place}: {error.message}", error.hint)
                values = _mended(values, _path(place) if kind else place, self.sound)
            else:
                break
        return values

    def _add(self, kind: str, number: int, said: str, hint: str) -> None:
        place, _, message = said.partition(": ")
        name = re.split(r"[.\[]", _path(place) if kind else place)[0]
        flaw = Flaw(
            file=self.file.name,
            line=self._line(kind, number, name),
            kind="invalid",
            place=place,
            message=message,
            hint=hint,
        )
        self.flaws.append(flaw)

    def document(self) -> dict[str, object]:
        """Return what is sound of the file."""
        return {**self.head, **{kind: list(rows.values()) for kind, rows in self.rows.items()}}

    def _line(self, kind: str, number: int, name: str = "") -> int:
        """Return the line of a field, of its row, or of the array that the row stands in."""
        at = self.places.get((kind, number))
        return at.of(name) if at else self.places["", 0].of(kind)

    def lines(self) -> Iterator[tuple[str, int]]:
        """Yield the name of every sound row with its line."""
        for kind in KINDS:
            for number, row in self.rows[kind].items():
                yield f"{self.file.name}:{kind}:{row['id']}", self._line(kind, number)

    def drop(self, error: MatrixError) -> bool:
        """Note what is wrong of a row only beside the others, and leave it out."""
        file = f"{self.file.name}: "
        place = error.context.removeprefix(file)
        kind, number = self._meant(place) if error.context.startswith(file) else ("", 0)
        if kind:
            self._add(kind, number, f"{place}: {error.message}", error.hint)
            del self.rows[kind][number]
        return bool(kind)

    def _meant(self, place: str) -> tuple[str, int]:
        if match := _ROW.match(place):
            named = [n for n, row in self.rows[match[1]].items() if row["id"] == match[2]]
            # Of two rows with one id, the second is too many.
            return (match[1], named[-1]) if named else ("", 0)
        match = re.match(r"evidence\[(\d+)\]", place)
        return ("evidence", list(self.rows["evidence"])[int(match[1])]) if match else ("", 0)


_LISTS = (*KINDS, "evidence")


def _path(place: str) -> str:
    """Return the field that is meant, without its row."""
    match = _FIELD.fullmatch(place)
    return match[1] if match else place


def _mended(
    values: Mapping[str, object], path: str, sound: Mapping[str, object]
) -> Mapping[str, object]:
    """Return a row in which the field at ``path`` is right, or gone."""
    name, *rest = re.split(r"[.\[]", path, maxsplit=1)
    value = values.get(name)
    if rest and isinstance(value, list) and (match := re.match(r"(\d+)\]", rest[0])):
        kept = [one for index, one in enumerate(value) if index != int(match[1])]
        return {**values, name: kept or sound.get(name, [])}
    if rest and isinstance(value, dict):
        return {**values, name: {k: v for k, v in value.items() if k != rest[0]}}
    others = {key: one for key, one in values.items() if key != name}
    needed = name in sound and value != sound[name]
    return {**others, name: sound[name]} if needed else others


def _together(linted: Sequence[_Linted], keys: Mapping[str, FactKey]) -> Matrix:
    """Return the matrix of all sound rows, without those that are wrong beside others."""
    while True:
        try:
            documents = [(one.file.name, one.document()) for one in linted]
            return matrix_reader.parse(documents, keys)
        except MatrixError as error:
            # Of two files with one name, the later one has the row that is too many.
            next(one for one in reversed(linted) if one.drop(error))
