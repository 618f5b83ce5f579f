"""What the files of a project ask for: read, with the files that they name."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import _files, pyproject, requirement_lines, stages
from mxenv.api import _scan
from mxenv.asked import Elsewhere, Included, Source
from mxenv.declared import Link
from mxenv.errors import InvalidFile, UsageError
from mxenv.redaction import clean
from mxenv.verdict import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.asked import Statement

MOST_STATEMENTS = 100_000
"""Lines that ask for something, in all files."""
LARGEST = 1 << 20
"""Bytes in a file that asks for something; what is larger was not written by anybody."""


class Reading:
    """The files of one project, each read once; what a link leads out of it to is not."""

    def __init__(self, tree: Path) -> None:
        """Read nothing yet; ``tree`` is the project's folder."""
        self._tree = tree
        self._count = 0
        self._links: list[Link] = []
        self._sources: dict[Path, Source] = {}

    @property
    def sources(self) -> tuple[Source, ...]:
        """Return every file that was read, those that others name as well."""
        return tuple(sorted(self._sources.values(), key=lambda source: source.file))

    @property
    def links(self) -> tuple[Link, ...]:
        """Return which file names which."""
        names = {str(real): source.file for real, source in self._sources.items()}
        links = (
            replace(link, origin=names[link.origin], target=names[link.target])
            for link in self._links
        )
        return tuple(dict.fromkeys(links))

    def read(self, files: Iterable[Path]) -> None:
        """Read ``files``, and what they name, and what that names."""
        left = [(path, _scan.kind_of(path) or "requirements") for path in files]
        while left:
            path, kind = left.pop()
            real = Path(os.path.realpath(path))
            if real not in self._sources:
                if len(self._sources) >= _scan.MOST_FILES:
                    message = f"more than {_scan.MOST_FILES} files to read"
                    raise UsageError(message, context=str(self._tree), hint="name a folder below")
                self._sources[real] = self._source(path, kind, left)
                self._count += len(self._sources[real].statements)
                if self._count > MOST_STATEMENTS:
                    message = f"more than {MOST_STATEMENTS} lines that ask for something"
                    raise UsageError(message, context=str(self._tree), hint="name a folder below")

    def _source(self, path: Path, kind: str, left: list[tuple[Path, str]]) -> Source:
        file = _scan.shown(path)
        statements: list[Statement] = []
        for statement in self._statements(path, kind, file):
            if isinstance(statement, Included):
                statements += self._included(statement, path, kind, left)
            else:
                statements.append(statement)
        return Source(file=file, kind=kind, statements=tuple(statements))

    def _statements(self, path: Path, kind: str, file: str) -> Iterator[Statement]:
        if not _scan.inside(path, self._tree):
            reason = "a link that leads out of what is judged"
            yield Elsewhere(text=path.name, reason=reason, place=Place(file=file))
            return
        text = _text(path, file)
        match kind:
            case "pyproject":
                yield from pyproject.parse(text, file=file)
            case "Containerfile":
                yield from stages.parse(text, file=file)
            case _:
                yield from requirement_lines.parse(text, file=file)

    def _included(
        self, named: Included, path: Path, kind: str, left: list[tuple[Path, str]]
    ) -> Iterator[Statement]:
        """Note a file that ``path`` names; yield why it is not read, if it is not."""
        name = named.files[0]
        if "://" in name or name == "-":
            yield _elsewhere(named, f"{clean(name)}: nothing is fetched")
            return
        folders = (path.parent, self._tree) if kind == "Containerfile" else (path.parent,)
        candidates = [folder / file for file in named.files for folder in folders]
        found = next((one for one in candidates if os.path.lexists(one)), None)
        if found is None:
            # What a Containerfile names may be in the image, or be made there.
            absent = kind != "Containerfile"
            yield _elsewhere(named, f"there is no {name}", absent=absent)
        elif not _scan.inside(found, self._tree):
            yield _elsewhere(named, f"{name} leads out of what is judged")
        elif found.name.startswith("pylock."):
            # A lock is judged by itself, if it is one of mxenv's; what it holds is exact.
            yield from _of_another(named, found)
        elif found.suffix in {".py", ".cfg", ".yml", ".yaml", ".lock"}:
            yield _elsewhere(named, f"{name} is no requirements file")
        else:
            left.append((found, _scan.kind_of(found) or "requirements"))
            self._links.append(
                Link(
                    # One file may be named in several ways, and is shown in one.
                    origin=os.path.realpath(path),
                    target=os.path.realpath(found),
                    base=named.base,
                    forced=named.forced,
                    limits=named.limits,
                    stages=named.stages,
                )
            )


def _of_another(named: Included, lock: Path) -> Iterator[Statement]:
    if b"[tool.mxenv" not in _files.read(lock, limit=LARGEST << 4):
        yield _elsewhere(named, f"{lock.name} is no lock of mxenv")


def _elsewhere(named: Included, reason: str, *, absent: bool = False) -> Elsewhere:
    return Elsewhere(text=clean(named.text), reason=reason, place=named.place, absent=absent)


def _text(path: Path, file: str) -> str:
    try:
        return _files.read(path, limit=LARGEST).decode()
    except UnicodeDecodeError as fault:
        raise InvalidFile(f"not UTF-8 at byte {fault.start}", context=file) from None
    except (OSError, ValueError) as fault:
        raise InvalidFile(f"cannot be read: {_files.why(fault)}", context=file) from None
