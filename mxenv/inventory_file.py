"""How an inventory is written to a file, and read back with every flaw named by its place."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from mxenv import json_document
from mxenv.errors import InventoryError
from mxenv.inventory import (
    SCHEMA,
    Assumption,
    Hit,
    Inventory,
    Kernel,
    Phase,
    Stored,
    Use,
    document,
)
from mxenv.json_document import Kind, Node

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = Kind(
    title="an inventory",
    schema=SCHEMA,
    error=InventoryError,
    hint="make it again with `mxenv ops MODEL --out FILE`",
)
TEXTS = ("name", "reader", "source", "architecture", "mode", "dtype")
PAIRS = ("inputs", "tools", "packages")
MODES = ("inference", "training")

T = TypeVar("T")


def to_json(inventory: Inventory) -> str:
    """Return ``inventory`` as a file has it: one entry a line, equal inventories equal bytes."""
    lines = []
    for name, value in document(inventory).items():
        if isinstance(value, list) and value:
            entries = ",\n".join(f"  {_dump(entry)}" for entry in value)
            lines.append(f" {_dump(name)}: [\n{entries}\n ]")
        else:
            lines.append(f" {_dump(name)}: {_dump(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_json(text: str, *, context: str) -> Inventory:
    """Return the inventory that a file holds; ``context`` is the file's name.

    Whatever is missing, unknown or of the wrong type raises `InventoryError` with its place.
    """
    root = json_document.root(text, context=context, kind=KIND)
    lists = ("uses", "kernels", "formats", "hits", "assumptions")
    root.only("schema", *TEXTS, *PAIRS, *lists, "gaps")
    for name in ("name", "reader", "source"):
        root.child(name)
    mode = _text(root, "mode") or "inference"
    if mode not in MODES:
        root.child("mode").fail(f"{mode!r} is not one of {', '.join(MODES)}")
    return Inventory(
        name=_text(root, "name"),
        reader=_text(root, "reader"),
        source=_text(root, "source"),
        architecture=_text(root, "architecture"),
        mode=mode,
        dtype=_text(root, "dtype"),
        inputs=_pairs(root, "inputs"),
        tools=_pairs(root, "tools"),
        packages=_pairs(root, "packages"),
        uses=_list(root, "uses", _use),
        kernels=_list(root, "kernels", _kernel),
        formats=_list(root, "formats", _stored),
        hits=_list(root, "hits", _hit),
        assumptions=_list(root, "assumptions", _assumption),
        gaps=root.child("gaps").texts() if root.has("gaps") else (),
    )


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(node: Node, name: str) -> str:
    return node.child(name).text() if node.has(name) else ""


def _texts(node: Node, name: str) -> tuple[str, ...]:
    return node.child(name).texts() if node.has(name) else ()


def _count(node: Node, name: str) -> int:
    return node.child(name).count() if node.has(name) else 0


def _pairs(root: Node, name: str) -> tuple[tuple[str, str], ...]:
    if not root.has(name):
        return ()
    inner = root.child(name)
    if not isinstance(inner.value, dict):
        inner.fail("not an object")
    return tuple((key, inner.child(key).text()) for key in inner.value)


def _list(root: Node, name: str, read: Callable[[Node], T]) -> tuple[T, ...]:
    return tuple(read(node) for node in root.child(name).items()) if root.has(name) else ()


def _phase(node: Node) -> Phase:
    child = node.child("phase")
    try:
        return Phase(child.text())
    except ValueError:
        child.fail(f"{child.text()!r} is not one of {', '.join(Phase)}")


def _use(node: Node) -> Use:
    node.only("operator", "phase", "dtypes", "calls", "module", "site", "one_of", "samples")
    operator = node.child("operator")
    space, _, rest = operator.text().partition("::")
    name, point, overload = rest.partition(".")
    if not (space and name) or (point and not overload):
        operator.fail("not namespace::name.overload")
    return Use(
        operator=operator.text(),
        phase=_phase(node),
        dtypes=_texts(node, "dtypes"),
        calls=_count(node, "calls"),
        module=_text(node, "module"),
        site=_text(node, "site"),
        one_of=_texts(node, "one_of"),
        samples=_texts(node, "samples"),
    )


def _kernel(node: Node) -> Kernel:
    node.only("kind", "name", "phase", "calls", "module", "site")
    return Kernel(
        kind=node.child("kind").text(),
        name=node.child("name").text(),
        phase=_phase(node),
        calls=_count(node, "calls"),
        module=_text(node, "module"),
        site=_text(node, "site"),
    )


def _stored(node: Node) -> Stored:
    node.only("scheme", "weights", "activations", "tensors", "bytes", "note")
    return Stored(
        scheme=node.child("scheme").text(),
        weights=node.child("weights").text(),
        activations=_text(node, "activations"),
        tensors=_count(node, "tensors"),
        bytes=_count(node, "bytes"),
        note=_text(node, "note"),
    )


def _hit(node: Node) -> Hit:
    node.only("file", "line", "kind", "name", "area")
    return Hit(
        file=node.child("file").text(),
        line=node.child("line").count(),
        kind=node.child("kind").text(),
        name=_text(node, "name"),
        area=_text(node, "area"),
    )


def _assumption(node: Node) -> Assumption:
    node.only("kind", "subject", "site", "count", "said")
    return Assumption(
        kind=node.child("kind").text(),
        subject=node.child("subject").text(),
        site=_text(node, "site"),
        count=_count(node, "count"),
        said=_text(node, "said"),
    )
