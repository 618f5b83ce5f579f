"""Whatever becomes of a file of rows, lint tells what is wrong of it and never breaks."""

from __future__ import annotations

import tomllib
from datetime import date
from functools import cache
from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv import matrix_reader
from mxenv.api import matrices, nodes
from mxenv.errors import MatrixError
from mxenv.matrix_lint import File, lint

if TYPE_CHECKING:
    from collections.abc import Mapping

TODAY = date(2026, 11, 30)
SCALARS: st.SearchStrategy[object] = st.one_of(
    st.booleans(),
    st.integers(-3, 10**30),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.dates(),
    st.sampled_from(["metax.sdk >= 3", "3.5.3.*", "vendor", "metax.toml:rule:torch-abi"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abiklorstx", max_size=6), inner, max_size=3)
    ),
    max_leaves=5,
)


@cache
def shipped() -> Mapping[str, object]:
    (layer,) = matrices.shipped()
    few = {
        kind: rows[:4] if isinstance(rows, list) else rows
        for kind, rows in matrices.document(layer).items()
    }
    few["evidence"] = [
        {"row": "x.toml:rule:torch-abi", "link": "x", "who": "x", "grade": "site"},
    ]
    return few


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, object]:
    """Return the shipped rows, some fields of which are gone, or something else."""
    document: dict[str, object] = dict(shipped())
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(sorted(document)))
        rows = document[kind]
        if not isinstance(rows, list) or not rows or draw(st.integers(0, 9)) == 0:
            document[kind] = draw(VALUES)
            continue
        number = draw(st.integers(0, len(rows) - 1))
        row = rows[number]
        if not isinstance(row, dict):
            continue
        name = draw(st.sampled_from([*sorted(row), "overrides", "reason", "odd"]))
        changed = {key: value for key, value in row.items() if key != name}
        if draw(st.booleans()):
            changed[name] = draw(VALUES)
        document[kind] = [*rows[:number], changed, *rows[number + 1 :]]
    return document


@settings(max_examples=150)
@given(mutated())
def test_a_file_has_flaws_exactly_if_it_is_refused(document: dict[str, object]) -> None:
    file = File(name="x.toml", text="", values=document)
    found = [f for f in lint([file], nodes.keys(), today=TODAY) if f.kind == "invalid"]
    try:
        matrix_reader.parse([(file.name, document)], nodes.keys())
    except MatrixError:
        assert found
    else:
        assert not found


@settings(max_examples=50)
@given(st.data())
def test_lines_taken_out_of_the_text_break_nothing(data: st.DataObject) -> None:
    (layer,) = matrices.shipped()
    lines = layer.text.splitlines(keepends=True)
    begin = data.draw(st.integers(0, len(lines) - 1))
    end = data.draw(st.integers(begin, min(len(lines), begin + 40)))
    text = "".join(lines[:begin] + lines[end:])
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    file = File(name="x.toml", text=text, values=values)
    for flaw in lint([file], nodes.keys(), today=TODAY):
        assert 1 <= flaw.line <= len(lines)
