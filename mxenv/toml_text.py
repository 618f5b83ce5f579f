"""How values are written as TOML: one spelling, one fact a line."""

from __future__ import annotations

import re
from datetime import date
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPED = re.compile(r'[\x00-\x1f"\\\x7f]')
_SHORT = {"\b": r"\b", "\t": r"\t", "\n": r"\n", "\f": r"\f", "\r": r"\r", '"': r"\"", "\\": r"\\"}
"""The escapes that TOML has a letter for."""


@frozen
class Octal:
    """A number that people read in octal, as a file's mode."""

    value: int


def render(document: Mapping[str, object]) -> str:
    """Return ``document`` as TOML: equal documents give equal text.

    Dictionaries are tables, lists of them arrays of tables; what a table says itself comes before
    the tables in it, and a table that holds nothing but tables has no header.
    """
    return "\n".join(_table(document, "")).strip("\n") + "\n"


def _table(table: Mapping[str, object], path: str) -> Iterator[str]:
    """Yield the lines of what is in a table, whose own header was written."""
    for name, value in table.items():
        if not _is_table(value):
            yield f"{_key(name)} = {_value(value)}"
    for name, value in table.items():
        place = f"{path}.{_key(name)}" if path else _key(name)
        if isinstance(value, dict):
            if not value or not all(isinstance(entry, dict) for entry in value.values()):
                yield from ("", f"[{place}]")
            yield from _table(value, place)
        elif isinstance(value, list) and _is_table(value):
            for entry in value:
                yield from ("", f"[[{place}]]", *_table(entry, place))


def _is_table(value: object) -> bool:
    if isinstance(value, list):
        return any(isinstance(entry, dict) for entry in value)
    return isinstance(value, dict)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case Octal():
            return f"0o{value.value:o}"
        case int():
            return str(value)
        case date():
            return value.isoformat()
        case list():
            return _list(value)
        case _:
            msg = f"nothing that TOML has: {value!r}"
            raise TypeError(msg)


def _list(values: Sequence[object]) -> str:
    if not values:
        return "[]"
    lines = "".join(f"    {_value(value)},\n" for value in values)
    return f"[\n{lines}]"


def _text(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"
