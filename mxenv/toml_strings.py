"""In which line of a TOML document each of its strings stands."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)
_AFTER_KEY = re.compile(r"[ \t]*[=.]")
_MARK = "\ue000{}\ue001"
"""What stands for a string while the document is read: characters that nobody writes."""
_MARKED = re.compile("\ue000([0-9]+)\ue001")

Path = tuple[str | int, ...]
"""Where in the document a string is: names of tables and fields, numbers of elements."""


@dataclass(slots=True)
class _Reader:
    """What is known of the text up to here."""

    line: int = 1
    depth: int = 0
    """How many brackets are open."""
    header: bool = False
    """True in a line that names a table."""
    found: list[int] = field(default_factory=list)
    """The line of each string."""

    def go_past(self, text: str, *, first: bool) -> None:
        """Count what lies between two strings."""
        before, broken, rest = text.rpartition("\n")
        self.depth += sum((c in "[{") - (c in "]}") for c in before)
        if broken or first:
            self.header = not self.depth and rest.lstrip().startswith("[")
        self.depth += sum((c in "[{") - (c in "]}") for c in rest)
        self.line += text.count("\n")


def lines(text: str) -> dict[Path, int]:
    """Return the line in which each string of a valid document begins.

    The parser tells no places. So each string is replaced by a mark, and the parser tells where in
    the document each mark ended up.
    """
    reader, parts, at = _Reader(), list[str](), 0
    for token in _TOKEN.finditer(text):
        between = text[at : token.start()]
        reader.go_past(between, first=not at)
        parts.append(between)
        key = reader.header or _AFTER_KEY.match(text, token.end())
        if key or token[0].startswith("#"):
            parts.append(token[0])
        else:
            parts.append(f'"{_MARK.format(len(reader.found))}"')
            reader.found.append(reader.line)
        reader.line += token[0].count("\n")
        at = token.end()
    document = tomllib.loads("".join((*parts, text[at:])))
    places: dict[Path, int] = {}
    _walk(document, (), reader.found, places)
    return places


def _walk(value: object, path: Path, found: list[int], places: dict[Path, int]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _walk(inner, (*path, name), found, places)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _walk(inner, (*path, index), found, places)
    elif isinstance(value, str) and (match := _MARKED.fullmatch(value)):
        places[path] = found[int(match[1])]
