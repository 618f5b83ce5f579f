"""On which line of a TOML text a row begins, and each of its fields: for people who edit it."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEADER = re.compile(r"\s*\[\[\s*[\"']?([A-Za-z0-9_-]+)[\"']?\s*\]\]")
_OTHER = re.compile(r"\s*\[[^\[]")
_FIELD = re.compile(r"\s*[\"']?([A-Za-z0-9_-]+)[\"']?\s*(?:=|\.)")


@frozen
class Place:
    """Where one row stands."""

    line: int
    fields: dict[str, int] = field(default_factory=dict)
    """The line of each field, as far as it begins one."""

    def of(self, name: str) -> int:
        """Return the line of a field, or of the row if the field has none."""
        return self.fields.get(name, self.line)


def places(text: str) -> Mapping[tuple[str, int], Place]:
    """Return the place of each row by its kind and number; of the top itself by ``("", 0)``.

    TOML's parser tells no lines. What looks like a row inside a string of many lines is taken for
    one, which costs nothing but a wrong line.
    """
    current = Place(line=1)
    found = {("", 0): current}
    counts: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if match := _HEADER.match(line):
            kind = match[1]
            current = Place(line=number)
            found[kind, counts.get(kind, 0)] = current
            counts[kind] = counts.get(kind, 0) + 1
        elif _OTHER.match(line):
            current = Place(line=number)
        elif match := _FIELD.match(line):
            current.fields.setdefault(match[1], number)
    return found
