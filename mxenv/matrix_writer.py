"""How what was learned is added to a site's file, which keeps every comment that people wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, Array, InlineTable

from mxenv.errors import MatrixError
from mxenv.matrix import SCHEMA, Operator

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from mxenv.matrix import Tested
    from mxenv.verdict import Evidence


def add(text: str, row: Tested | Operator, *, context: str, vendor: str, revision: str) -> str:
    """Return the file ``text`` (empty: a new one) with ``row`` in it, and a new revision.

    A row that is there already gets the evidence; what says the same twice is left as it is.
    """
    try:
        document = tomlkit.parse(text) if text.strip() else _new(vendor)
    except (TOMLKitError, ValueError) as error:
        raise MatrixError(f"not TOML: {error}", context=context) from None
    kind = "operator" if isinstance(row, Operator) else "tested"
    rows = document.setdefault(kind, tomlkit.aot())
    if not isinstance(rows, AoT):
        raise MatrixError("no array of tables", context=f"{context}: {kind}")
    known = [other for other in rows if other.get("id") == row.id]
    before = document.as_string()
    if known:
        _vouch(known[0], row.evidence, f"{context}: {kind}")
    else:
        rows.append(_operator(row) if isinstance(row, Operator) else _table(row))
    if document.as_string() != before:
        document["revision"] = revision
    # The library sets no blank line before a table that it adds.
    head = f'[[{kind}]]\nid = "{row.id}"'
    return re.sub(rf"(?<!\n)\n(?={re.escape(head)})", "\n\n", document.as_string())


def _new(vendor: str) -> tomlkit.TOMLDocument:
    document = tomlkit.document()
    document.add(tomlkit.comment("What was seen working at this site, laid over what is shipped."))
    document.add(tomlkit.nl())
    document.update({"schema": SCHEMA, "vendor": vendor, "revision": ""})
    return document


def _table(row: Tested) -> tomlkit.items.Table:
    table = tomlkit.table()
    texts = {"id": row.id, "card": row.card, "kmd": row.kmd, "sdk": row.sdk}
    texts |= {"os": row.os, "kernel": row.kernel}
    for name, value in texts.items():
        if value:
            table.add(name, value)
    table.add("works", True)
    table.add("evidence", _evidence(row.evidence))
    packages = tomlkit.table()
    packages.update(dict(row.packages))
    table.add("packages", packages)
    return table


def _operator(row: Operator) -> tomlkit.items.Table:
    table = tomlkit.table()
    table.update({"id": row.id, "text": row.text})
    table.add("operators", _listed(row.operators))
    table.add("kind", row.kind)
    if row.dtypes:
        table.add("dtypes", list(row.dtypes))
    table.add("when", _listed(tuple(map(str, row.when))))
    table.add("evidence", _evidence(row.evidence))
    return table


def _listed(texts: tuple[str, ...]) -> Array:
    array = tomlkit.array()
    array.extend(texts)
    return array.multiline(multiline=True)


def _evidence(pieces: tuple[Evidence, ...]) -> Array:
    array = tomlkit.array()
    for piece in pieces:
        array.append(_piece(piece))
    return array.multiline(multiline=True)


def _piece(piece: Evidence) -> InlineTable:
    inline = tomlkit.inline_table()
    inline.update({"link": piece.link, "who": piece.who, "when": piece.when, "grade": piece.grade})
    return inline


def _vouch(known: MutableMapping[str, object], pieces: tuple[Evidence, ...], context: str) -> None:
    said = known.get("evidence")
    if not isinstance(said, list):
        raise MatrixError("no array", context=f"{context} {known['id']!r}.evidence")
    there = [(one.get("link"), one.get("who")) for one in said if isinstance(one, dict)]
    for piece in pieces:
        if (piece.link, piece.who) not in there:
            said.append(_piece(piece))
