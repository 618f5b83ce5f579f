"""How a snapshot is written to a file, and read back with every flaw named by its place."""

from __future__ import annotations

import json
import re
from datetime import datetime
from json.encoder import encode_basestring as _string
from math import isfinite
from typing import TYPE_CHECKING, assert_never

from mxenv import json_document
from mxenv.errors import SnapshotError
from mxenv.facts import Absent, Fact, Observed, Snapshot, Unreadable, View
from mxenv.fingerprint import fingerprint
from mxenv.json_document import Kind, Node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.facts import FactKey, Reading, Value

SCHEMA = "mxenv.snapshot/1"
DIGEST = re.compile(r"mxenv\d+:[0-9a-f]{64}")
FIELDS = ("key", "instance", "status", "value", "reason", "passing", "source", "view", "volatile")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
KIND = Kind(
    title="a snapshot",
    schema=SCHEMA,
    error=SnapshotError,
    hint="make it again with `mxenv probe --out FILE`",
)


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
    facts = ",\n".join(f"  {_line(fact)}" for fact in snapshot.facts)
    body = f"[\n{facts}\n ]" if facts else "[]"
    return "\n".join(["{", *lines, f' "facts": {body}', "}", ""])


def _line(fact: Fact) -> str:
    """Return what `_dump` would, which makes an encoder for each of tens of thousands."""
    told = _fact(fact).items()
    parts = (f'"{n}": {_string(v) if isinstance(v, str) else _dump(v)}' for n, v in told)
    return f"{{{', '.join(parts)}}}"


def from_json(text: str, *, context: str) -> Snapshot:
    """Return the snapshot that a file holds; ``context`` is the file's name.

    Whatever is missing, unknown or of the wrong type raises `SnapshotError` with its place.
    """
    root = json_document.root(text, context=context, kind=KIND)
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
        view=_view(root.child("view")),
        taken_at=_time(root.child("taken_at")),
        facts=tuple(_read_fact(node) for node in facts.items()),
    )


def fact_from_json(text: str, *, context: str) -> Fact:
    """Return the one fact that a line of a snapshot holds, read as strictly."""
    value = json_document.parsed(text, context=context, kind=KIND)
    return _read_fact(Node(value, context, "", KIND))


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


def _view(node: Node) -> View:
    try:
        return View(node.text())
    except ValueError:
        node.fail(f"{node.text()!r} is not one of {', '.join(View)}")


def _time(node: Node) -> datetime:
    try:
        time = datetime.fromisoformat(node.text())
    except ValueError:
        node.fail(f"{node.text()!r} is not a time (ISO 8601)")
    if time.tzinfo is None:
        node.fail(f"{node.text()!r} has no time zone")
    return time


def _read_fact(node: Node) -> Fact:
    node.only(*FIELDS)
    key = node.child("key")
    if not key.text():
        key.fail("empty")
    return Fact(
        key=key.text(),
        instance=node.child("instance").text(),
        reading=_reading(node),
        source=node.child("source").text(),
        view=_view(node.child("view")),
        volatile=node.flag("volatile"),
    )


def _reading(node: Node) -> Reading:
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


def _value(node: Node) -> Value:
    if isinstance(node.value, list):
        return tuple(_single(item) for item in node.items())
    return _single(node)


def _single(node: Node) -> str | int | float:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        node.fail("neither a string nor a number")
    if isinstance(value, str):
        return node.text()
    if isinstance(value, float) and not isfinite(value):
        node.fail("not a finite number")
    return value
