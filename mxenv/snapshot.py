"""How a snapshot is written to a file, and read back with every flaw named by its place."""

from __future__ import annotations

import json
import re
from datetime import datetime
from math import isfinite
from typing import TYPE_CHECKING, NoReturn, assert_never

from mxenv.errors import SnapshotError
from mxenv.facts import Absent, Fact, Observed, Snapshot, Unreadable, View
from mxenv.fingerprint import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.facts import FactKey, Reading, Value

SCHEMA = "mxenv.snapshot/1"
DIGEST = re.compile(r"mxenv\d+:[0-9a-f]{64}")
FIELDS = ("key", "instance", "status", "value", "reason", "passing", "source", "view", "volatile")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
REMAKE = "make it again with `mxenv probe --out FILE`"


def to_json(snapshot: Snapshot, keys: Mapping[str, FactKey]) -> str:
    """Return ``snapshot`` as a file has it: one fact a line, equal snapshots equal bytes."""
    digests = fingerprint(snapshot, keys)
    head = {
        "schema": SCHEMA,
        "node": snapshot.node,
        "view": snapshot.view.value,
        "taken_at": snapshot.taken_at.isoformat(),
        "fingerprint": {"stack": digests.stack, "node": digests.node},
    }
    lines = [f" {_dump(name)}: {_dump(value)}," for name, value in head.items()]
    facts = ",\n".join(f"  {_dump(_fact(fact))}" for fact in snapshot.facts)
    body = f"[\n{facts}\n ]" if facts else "[]"
    return "\n".join(["{", *lines, f' "facts": {body}', "}", ""])


def from_json(text: str, *, context: str) -> Snapshot:
    """Return the snapshot that a file holds; ``context`` is the file's name.

    Whatever is missing, unknown or of the wrong type raises `SnapshotError` with its place.
    """
    root = _Node(_parse(text, context), context, "")
    _schema(root)
    root.only("schema", "node", "view", "taken_at", "fingerprint", "facts")
    digests = root.child("fingerprint")
    digests.only("stack", "node")
    for name in ("stack", "node"):
        digest = digests.child(name)
        if not (digest.value is None and name == "stack") and not DIGEST.fullmatch(digest.text()):
            digest.fail("not a fingerprint")
    facts = root.child("facts")
    return Snapshot(
        node=root.child("node").text(),
        view=root.child("view").view(),
        taken_at=_time(root.child("taken_at")),
        facts=tuple(_read_fact(node) for node in facts.items()),
    )


def fact_from_json(text: str, *, context: str) -> Fact:
    """Return the one fact that a line of a snapshot holds, read as strictly."""
    return _read_fact(_Node(_parse(text, context), context, ""))


def _fact(fact: Fact) -> dict[str, object]:
    entry: dict[str, object] = {"key": fact.key, "instance": fact.instance}
    match fact.reading:
        case Observed(value):
            entry |= {"status": "observed", "value": value}
        case Absent():
            entry |= {"status": "absent"}
        case Unreadable(reason, passing):
            entry |= {"status": "unreadable", "reason": reason}
            entry |= {"passing": True} if passing else {}
        case _:
            assert_never(fact.reading)
    entry |= {"source": fact.source, "view": fact.view.value}
    return entry | ({"volatile": True} if fact.volatile else {})


def _dump(value: object) -> str:
    return _ENCODER.encode(value)


class _Node:
    """A value in the document, and where it stands."""

    __slots__ = ("file", "place", "value")

    def __init__(self, value: object, file: str, place: str) -> None:
        self.value = value
        self.file = file
        self.place = place

    def fail(self, message: str, hint: str = REMAKE) -> NoReturn:
        context = f"{self.file}: {self.place}" if self.place else self.file
        raise SnapshotError(message, context=context, hint=hint)

    def only(self, *names: str) -> None:
        if not isinstance(self.value, dict):
            self.fail("not an object")
        unknown = sorted(self.value.keys() - set(names))
        if unknown:
            self.child(unknown[0]).fail("unknown field")

    def has(self, name: str) -> bool:
        return isinstance(self.value, dict) and name in self.value

    def child(self, name: str) -> _Node:
        place = f"{self.place}.{name}" if self.place else name
        if not isinstance(self.value, dict):
            self.fail("not an object")
        if name not in self.value:
            _Node(None, self.file, place).fail("missing")
        return _Node(self.value[name], self.file, place)

    def items(self) -> Sequence[_Node]:
        if not isinstance(self.value, list):
            self.fail("not a list")
        return [_Node(v, self.file, f"{self.place}[{n}]") for n, v in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.fail("not a string")
        try:
            self.value.encode()
        except UnicodeEncodeError:
            self.fail("not Unicode text")
        return self.value

    def flag(self, name: str) -> bool:
        """Return a truth that is written only where it holds."""
        if not self.has(name):
            return False
        child = self.child(name)
        if not isinstance(child.value, bool):
            child.fail("neither true nor false")
        return child.value

    def view(self) -> View:
        try:
            return View(self.text())
        except ValueError:
            self.fail(f"{self.text()!r} is not one of {', '.join(View)}")


def _schema(root: _Node) -> None:
    schema = root.child("schema")
    if schema.text() == SCHEMA:
        return
    if schema.text().startswith("mxenv.snapshot/"):
        schema.fail(f"{schema.text()!r} is not understood, only {SCHEMA!r}", "use a newer mxenv")
    schema.fail(f"{schema.text()!r} is not a snapshot")


def _time(node: _Node) -> datetime:
    try:
        time = datetime.fromisoformat(node.text())
    except ValueError:
        node.fail(f"{node.text()!r} is not a time (ISO 8601)")
    if time.tzinfo is None:
        node.fail(f"{node.text()!r} has no time zone")
    return time


def _read_fact(node: _Node) -> Fact:
    node.only(*FIELDS)
    key = node.child("key")
    if not key.text():
        key.fail("empty")
    return Fact(
        key=key.text(),
        instance=node.child("instance").text(),
        reading=_reading(node),
        source=node.child("source").text(),
        view=node.child("view").view(),
        volatile=node.flag("volatile"),
    )


def _reading(node: _Node) -> Reading:
    status = node.child("status")
    fields = {"observed": {"value"}, "absent": set(), "unreadable": {"reason", "passing"}}
    if status.text() not in fields:
        status.fail(f"{status.text()!r} is not one of {', '.join(fields)}")
    for name in sorted({"value", "reason", "passing"} - fields[status.text()]):
        if node.has(name):
            node.child(name).fail(f"does not belong to a fact that is {status.text()}")
    match status.text():
        case "observed":
            return Observed(_value(node.child("value")))
        case "absent":
            return Absent()
        case _:
            return Unreadable(node.child("reason").text(), node.flag("passing"))


def _value(node: _Node) -> Value:
    if isinstance(node.value, list):
        return tuple(_single(item) for item in node.items())
    return _single(node)


def _single(node: _Node) -> str | int | float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        node.fail("neither a string nor a number")
    if isinstance(value, str):
        return node.text()
    if isinstance(value, float) and not isfinite(value):
        node.fail("not a finite number")
    return value


def _parse(text: str, context: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        place = f"{context}: line {error.lineno}"
        raise SnapshotError(f"not JSON ({error.msg})", context=place, hint=REMAKE) from error
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"not JSON ({error})", context=context, hint=REMAKE) from error


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return fields
