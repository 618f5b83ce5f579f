"""How the files of a matrix are read: strictly, and a wrong word is named with the right one."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv import advice_reader, overlay, version
from mxenv.constraint import Agreement
from mxenv.distribution import normalised
from mxenv.errors import MatrixError, UsageError
from mxenv.matrix import SCHEMA, Broken, Matrix, Release, Rule, Series, Tested
from mxenv.row_parts import constraints, evidence, one_of, piece
from mxenv.selector import Selector
from mxenv.table import Table
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mxenv.facts import FactKey
    from mxenv.verdict import Evidence

KINDS = ("release", "rule", "broken", "tested", "series", "requirement", "format", "operator")
SEVERITIES = {"incompatible": Outcome.INCOMPATIBLE, "unknown": Outcome.UNKNOWN}
_COVERING = {"vendor", "site"}
"""Whose word on driver and SDK counts: the maker's, and that of whoever runs the nodes."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


def parse(
    documents: Sequence[tuple[str, Mapping[str, object]]], keys: Mapping[str, FactKey]
) -> Matrix:
    """Return the matrix that the files (name and content) make together, later ones on top."""
    roots = [Table(values=values, context=name, error=MatrixError) for name, values in documents]
    for root in roots:
        _head(root)
    placed = {kind: [_placed(t, kind) for r in roots for t in r.tables(kind)] for kind in KINDS}
    added = (table for root in roots for table in root.tables("evidence"))
    rows, overrides = overlay.lay(placed, added, piece)
    _unique(rows)
    return Matrix(
        digest=_digest(documents),
        files=tuple((root.context, root.text("revision")) for root in roots),
        releases=tuple(map(_release, rows["release"])),
        rules=tuple(_rule(table, keys) for table in rows["rule"]),
        broken=tuple(_broken(table, keys) for table in rows["broken"]),
        tested=tuple(map(_tested, rows["tested"])),
        series=tuple(map(_series, rows["series"])),
        requirements=tuple(advice_reader.requirement(table, keys) for table in rows["requirement"]),
        formats=tuple(map(advice_reader.number_format, rows["format"])),
        operators=tuple(advice_reader.operator(table, keys) for table in rows["operator"]),
        overrides=overrides,
    )


def _head(root: Table) -> None:
    root.only("schema", "vendor", "revision", "evidence", *KINDS)
    if root.text("schema") != SCHEMA:
        root.fail("schema", f"not {SCHEMA!r}", hint="it was written for another mxenv")
    root.text("vendor")
    root.text("revision")


def _placed(table: Table, kind: str) -> Table:
    """Return the table with a place that a person finds: by id, where it has one."""
    name = table.text("id")
    if not _ID.fullmatch(name):
        table.fail("id", f"{name!r} is no id", hint="letters, digits, and . _ + - between them")
    return replace(table, place=f"{kind} {name!r}")


def _unique(rows: Mapping[str, Sequence[Table]]) -> None:
    first: dict[str, str] = {}
    for table in (table for tables in rows.values() for table in tables):
        if earlier := first.get(table.place):
            table.fail("id", f"it stands in {earlier} already", hint="give the row another id")
        first[table.place] = table.context


def _digest(documents: Sequence[tuple[str, Mapping[str, object]]]) -> str:
    """Return a digest of what is said: not of names, comments, order of keys or white space."""
    canonical = json.dumps(
        [values for _, values in documents],
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        default=str,
    )
    return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _release(table: Table) -> Release:
    table.only("id", "sdk", "python", "components", "note", "evidence")
    components = _components(table, "components")
    if not components and "sdk" not in table.values:
        table.fail("components", "missing, and 'sdk' as well: nothing was published together")
    return Release(
        id=table.text("id"),
        file=table.context,
        sdk=_sdk(table, ""),
        python=table.text("python", ""),
        components=components,
        note=table.text("note", ""),
        evidence=evidence(table),
    )


def _rule(table: Table, keys: Mapping[str, FactKey]) -> Rule:
    table.only(
        "id", "text", "when", "requires", "agree", "severity", "covers", "remedy", "evidence"
    )
    requires = constraints(table, "requires", keys)
    agree = tuple(_agreement(inner, keys) for inner in table.tables("agree"))
    if not requires and not agree:
        table.fail("requires", "missing, and 'agree' as well: the rule asks for nothing")
    said = evidence(table)
    return Rule(
        id=table.text("id"),
        file=table.context,
        text=table.text("text"),
        when=constraints(table, "when", keys),
        requires=requires,
        agree=agree,
        severity=SEVERITIES[one_of(table, "severity", tuple(SEVERITIES), "incompatible")],
        covers_driver=_covers(table, said),
        remedy=table.text("remedy", ""),
        evidence=said,
    )


def _covers(table: Table, said: tuple[Evidence, ...]) -> bool:
    if "covers" not in table.values:
        return False
    one_of(table, "covers", ("driver",), "driver")
    if not any(one.grade in _COVERING for one in said):
        table.fail("covers", "only the vendor or the site can say that", hint="see its evidence")
    return True


def _broken(table: Table, keys: Mapping[str, FactKey]) -> Broken:
    table.only("id", "text", "when", "severity", "remedy", "evidence")
    when = constraints(table, "when", keys)
    if not when:
        table.fail("when", "missing: without it every node is broken")
    return Broken(
        id=table.text("id"),
        file=table.context,
        text=table.text("text"),
        when=when,
        severity=SEVERITIES[one_of(table, "severity", tuple(SEVERITIES), "incompatible")],
        remedy=table.text("remedy", ""),
        evidence=evidence(table),
    )


def _tested(table: Table) -> Tested:
    table.only("id", "card", "kmd", "sdk", "packages", "os", "kernel", "works", "note", "evidence")
    if table.values.get("works") is not True:
        table.fail("works", "a tested row is one that works", hint="what fails is a [[broken]] row")
    kmd = table.text("kmd")
    if not version.fields(kmd):
        table.fail("kmd", f"{kmd!r} is no version")
    sdk = _sdk(table)
    if sdk.endswith("*"):
        table.fail("sdk", f"{sdk!r} was not tested: one version was")
    return Tested(
        id=table.text("id"),
        file=table.context,
        card=table.text("card"),
        kmd=kmd,
        sdk=sdk,
        packages=_components(table, "packages"),
        os=table.text("os", ""),
        kernel=table.text("kernel", ""),
        note=table.text("note", ""),
        evidence=evidence(table),
    )


def _series(table: Table) -> Series:
    table.only("id", "cards", "evidence")
    cards = table.texts("cards")
    if not cards:
        table.fail("cards", "empty")
    return Series(id=table.text("id"), file=table.context, cards=cards, evidence=evidence(table))


def _sdk(table: Table, default: str | None = None) -> str:
    sdk = table.text("sdk", default)
    if sdk and len(version.fields(sdk)) < 2 + (not sdk.endswith(".*")):
        table.fail("sdk", f"{sdk!r} is no SDK version", hint="as '3.0.0.8', or '3.5.3.*'")
    return sdk


def _components(table: Table, name: str) -> tuple[tuple[str, str], ...]:
    found = []
    for distribution, text in table.pairs(name):
        if not version.fields(text):
            table.fail(f"{name}.{distribution}", f"{text!r} is no version")
        found.append((normalised(distribution), text))
    return tuple(sorted(found))


def _agreement(table: Table, keys: Mapping[str, FactKey]) -> Agreement:
    table.only("left", "right", "fields", "but")
    fields = table.integer("fields")
    if not fields:
        table.fail("fields", "0 fields agree always")
    return Agreement(
        left=_selector(table, "left", keys),
        right=_selector(table, "right", keys),
        fields=fields,
        but=tuple(map(normalised, table.texts("but"))),
    )


def _selector(table: Table, name: str, keys: Mapping[str, FactKey]) -> Selector:
    try:
        return Selector.parse(table.text(name), keys=keys)
    except UsageError as error:
        table.fail(name, error.message, hint=error.hint)
