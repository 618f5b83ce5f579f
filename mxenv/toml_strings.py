"""In which line of a TOML document each of its strings stands."""

from __future__ import annotations

import re
import tomllib

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'"
    r"|#[^\n]*",
    re.DOTALL,
)
_MARK = "\ue000{}\ue001"
"""What stands for a string while the document is read: characters that nobody writes."""
_MARKED = re.compile("\ue000([0-9]+)\ue001")

Path = tuple[str | int, ...]
"""Where in the document a string is: names of tables and fields, numbers of elements."""


def lines(text: str) -> dict[Path, int]:
    """Return the line in which each string of a valid document begins.

    The parser tells no places. So each string is replaced by a mark, and the parser tells where in
    the document each mark ended up.
    """
    found: list[tuple[int, str]] = []
    number, at = 1, 0
    parts: list[str] = []
    for token in _TOKEN.finditer(text):
        number += text.count("\n", at, token.start())
        parts.append(text[at : token.start()])
        if token[0].startswith("#"):
            parts.append(token[0])
        else:
            parts.append(f'"{_MARK.format(len(found))}"')
            found.append((number, token[0]))
        number += token[0].count("\n")
        at = token.end()
    document = tomllib.loads("".join((*parts, text[at:])))
    places: dict[Path, int] = {}
    _walk(document, (), found, places)
    return places


def _walk(value: object, path: Path, found: list[tuple[int, str]], places: dict[Path, int]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            match = _MARKED.fullmatch(name)
            own = tomllib.loads(f"s = {found[int(match[1])][1]}")["s"] if match else name
            _walk(inner, (*path, own), found, places)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            _walk(inner, (*path, index), found, places)
    elif isinstance(value, str) and (match := _MARKED.fullmatch(value)):
        places[path] = found[int(match[1])][0]
