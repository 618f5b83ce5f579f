"""A JSON document that is read strictly: whatever is wrong is named with its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mxenv.errors import InvalidFile


class Kind:
    """What a document is, and what its reader says of one that is none."""

    __slots__ = ("error", "hint", "name", "schema", "title")

    def __init__(self, *, title: str, schema: str, error: type[InvalidFile], hint: str) -> None:
        """Take the words for it: ``title`` (``a snapshot``), its ``schema``, how it is made."""
        self.title = title
        self.schema = schema
        self.error = error
        self.hint = hint
        self.name = schema.partition("/")[0]


class Node:
    """A value in a document, and where it stands."""

    __slots__ = ("file", "kind", "place", "value")

    def __init__(self, value: object, file: str, place: str, kind: Kind) -> None:
        """Take ``value``, which stands at ``place`` (``facts[3].key``; empty: all) of ``file``."""
        self.value = value
        self.file = file
        self.place = place
        self.kind = kind

    def fail(self, message: str, hint: str = "") -> NoReturn:
        """Raise the error of the document's kind: ``message`` is true of this value."""
        context = f"{self.file}: {self.place}" if self.place else self.file
        raise self.kind.error(message, context=context, hint=hint or self.kind.hint)

    def only(self, *names: str) -> None:
        """Refuse whatever is no object, or has another field than ``names``."""
        if not isinstance(self.value, dict):
            self.fail("not an object")
        unknown = sorted(self.value.keys() - set(names))
        if unknown:
            self.child(unknown[0]).fail("unknown field")

    def has(self, name: str) -> bool:
        """Return whether there is a field ``name``."""
        return isinstance(self.value, dict) and name in self.value

    def child(self, name: str) -> Node:
        """Return the field ``name``, which has to be there."""
        place = f"{self.place}.{name}" if self.place else name
        if not isinstance(self.value, dict):
            self.fail("not an object")
        if name not in self.value:
            Node(None, self.file, place, self.kind).fail("missing")
        return Node(self.value[name], self.file, place, self.kind)

    def items(self) -> Sequence[Node]:
        """Return the entries of a list."""
        if not isinstance(self.value, list):
            self.fail("not a list")
        return [
            Node(v, self.file, f"{self.place}[{n}]", self.kind) for n, v in enumerate(self.value)
        ]

    def text(self) -> str:
        """Return a string that can be written again."""
        if not isinstance(self.value, str):
            self.fail("not a string")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            self.fail("not Unicode text")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """Return a list of strings."""
        return tuple(item.text() for item in self.items())

    def count(self) -> int:
        """Return a whole number that is not negative."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self.fail("not a whole number, zero or more")
        return self.value

    def flag(self, name: str) -> bool:
        """Return a truth that is written only where it holds."""
        if not self.has(name):
            return False
        child = self.child(name)
        if not isinstance(child.value, bool):
            child.fail("neither true nor false")
        return child.value


def root(text: str, *, context: str, kind: Kind) -> Node:
    """Return the document that ``text`` is, its schema looked at."""
    top = Node(parsed(text, context=context, kind=kind), context, "", kind)
    schema = top.child("schema")
    said = schema.text()
    if said.startswith(f"{kind.name}/") and said != kind.schema:
        schema.fail(f"{said!r} is not understood, only {kind.schema!r}", "use a newer mxenv")
    if said != kind.schema:
        schema.fail(f"{said!r} is not {kind.title}")
    return top


def parsed(text: str, *, context: str, kind: Kind) -> object:
    """Return what ``text`` holds; no object in it has a field twice."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = f"{context}: line {error.lineno}"
        raise kind.error(f"not JSON ({error.msg})", context=place, hint=kind.hint) from error
    except (ValueError, RecursionError) as error:
        raise kind.error(f"not JSON ({error})", context=context, hint=kind.hint) from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return fields
