"""One table of a TOML document, read strictly: whatever is wrong is named with its place."""

from __future__ import annotations

import difflib
import tomllib
from datetime import date, datetime
from typing import TYPE_CHECKING, NoReturn

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.errors import InvalidFile

UNKNOWN = "unknown field"
"""What is wrong with a field that a later mxenv may well know."""


def document(text: str, *, context: str, error: type[InvalidFile]) -> Table:
    """Return the root table of ``text``; every error of its readers is an ``error``."""
    if text.startswith("\ufeff"):
        hint = "save it as UTF-8 without one"
        raise error("begins with a byte order mark", context=context, hint=hint)
    try:
        values = tomllib.loads(text)
    except ValueError as fault:
        # Not only the parser's own errors: a number of 5000 digits, a date that no year has.
        raise error(f"not TOML: {fault}", context=context) from None
    except RecursionError:
        raise error("not TOML that anybody wrote: nested too deeply", context=context) from None
    return Table(values=values, context=context, error=error)


@frozen
class Table:
    """A table, and where it stands."""

    values: Mapping[str, object]
    context: str
    error: type[InvalidFile]
    place: str = ""
    """``tool.mxenv.base``, ``packages[3]``; empty for the root."""

    def fail(self, name: str, message: str, *, hint: str = "") -> NoReturn:
        """Raise: ``message`` is true of the field ``name`` (of the table itself if empty)."""
        place = ".".join(part for part in (self.place, name) if part)
        context = f"{self.context}: {place}" if place else self.context
        raise self.error(message, context=context, hint=hint)

    def only(self, *known: str) -> None:
        """Refuse every field that is not among ``known``, and say which one is nearest."""
        for name in self.values:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
                self.fail(name, UNKNOWN, hint=hint)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a string; without ``default`` it has to be there, and not be empty."""
        value = self.values.get(name, default)
        if value is None:
            self.fail(name, "missing")
        if not isinstance(value, str):
            self.fail(name, f"{_kind(value)} where a string belongs")
        if not value and default is None:
            self.fail(name, "empty")
        return value

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number that is not negative."""
        value = self.values.get(name, default)
        if value is None:
            self.fail(name, "missing")
        if not isinstance(value, int) or isinstance(value, bool):
            self.fail(name, f"{_kind(value)} where a whole number belongs")
        if value < 0:
            self.fail(name, "negative")
        return value

    def flag(self, name: str) -> bool:
        """Return a boolean; one that is missing is false."""
        value = self.values.get(name, False)
        if not isinstance(value, bool):
            self.fail(name, f"{_kind(value)} where true or false belongs")
        return value

    def day(self, name: str) -> date:
        """Return a date."""
        value = self.values.get(name)
        if value is None:
            self.fail(name, "missing")
        if not isinstance(value, date) or isinstance(value, datetime):
            self.fail(name, f"{_kind(value)} where a date belongs", hint="as 2027-01-31, unquoted")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return an array of strings, none of them empty; a missing one is empty."""
        values = self.values.get(name, [])
        if not isinstance(values, list):
            self.fail(name, f"{_kind(values)} where an array of strings belongs")
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{name}[{index}]", f"{_kind(value)} where a string belongs")
            if not value.strip():
                self.fail(f"{name}[{index}]", "empty")
        return tuple(values)

    def table(self, name: str, *, required: bool = False) -> Table:
        """Return a table inside this one; a missing one is empty, unless ``required``."""
        value = self.values.get(name)
        if value is None:
            if required:
                self.fail(name, "missing")
            value = {}
        return self._inner(name, value)

    def tables(self, name: str) -> tuple[Table, ...]:
        """Return an array of tables; a missing one is empty."""
        values = self.values.get(name, [])
        if not isinstance(values, list):
            self.fail(name, f"{_kind(values)} where an array of tables belongs")
        return tuple(self._inner(f"{name}[{i}]", value) for i, value in enumerate(values))

    def pairs(self, name: str) -> tuple[tuple[str, str], ...]:
        """Return a table of strings as pairs, sorted by name."""
        inner = self.table(name)
        return tuple((key, inner.text(key, "")) for key in sorted(inner.values))

    def _inner(self, name: str, value: object) -> Table:
        if not isinstance(value, dict):
            self.fail(name, f"{_kind(value)} where a table belongs")
        place = f"{self.place}.{name}" if self.place else name
        return Table(values=value, context=self.context, error=self.error, place=place)


def _kind(value: object) -> str:
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "a table"
        case _:
            return "a date or a time"
