from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mxenv.errors import SnapshotError
from mxenv.json_document import Kind, Node, root

if TYPE_CHECKING:
    from collections.abc import Callable

KIND = Kind(title="a thing", schema="x.thing/1", error=SnapshotError, hint="make it")


def top(**fields: Any) -> Node:
    return root(json.dumps({"schema": "x.thing/1", **fields}), context="f", kind=KIND)


def test_what_is_there_is_read() -> None:
    node = top(names=["a", "b"], number=3, off=False)
    assert node.child("names").texts() == ("a", "b")
    assert node.child("number").count() == 3
    assert not node.flag("off")
    assert not node.flag("missing")


@pytest.mark.parametrize(
    ("value", "read", "said"),
    [
        ("x", Node.items, "f: v: not a list"),
        ([1], Node.texts, "f: v[0]: not a string"),
        (-1, Node.count, "f: v: not a whole number, zero or more"),
        (True, Node.count, "f: v: not a whole number, zero or more"),
        (1.0, Node.count, "f: v: not a whole number, zero or more"),
        ("\ud800", Node.text, "f: v: not Unicode text"),
        ([], lambda node: node.child("x"), "f: v: not an object"),
        ([], lambda node: node.only("x"), "f: v: not an object"),
        ({"y": 1}, lambda node: node.only("x"), "f: v.y: unknown field"),
        ({}, lambda node: node.child("x"), "f: v.x: missing"),
        ({"x": 1}, lambda node: node.flag("x"), "f: v.x: neither true nor false"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(
    value: Any, read: Callable[[Node], object], said: str
) -> None:
    with pytest.raises(SnapshotError) as caught:
        read(top(v=value).child("v"))
    assert (str(caught.value), caught.value.hint) == (said, "make it")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "f: line 1: not JSON (Expecting property name enclosed in double quotes)"),
        ('{"a": 1, "a": 2}', "f: not JSON ('a' stands twice in one object)"),
        ("[" * 200_000, "f: not JSON (maximum recursion depth exceeded"),
        ('{"schema": "x.thing/2"}', "f: schema: 'x.thing/2' is not understood, only 'x.thing/1'"),
        ('{"schema": "y/1"}', "f: schema: 'y/1' is not a thing"),
        ("[]", "f: not an object"),
    ],
)
def test_what_is_no_such_document_is_refused(text: str, said: str) -> None:
    with pytest.raises(SnapshotError) as caught:
        root(text, context="f", kind=KIND)
    assert str(caught.value).startswith(said)
