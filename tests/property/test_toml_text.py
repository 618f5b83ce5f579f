"""Laws of how values become TOML: whoever reads it has the same values, and tomlkit's text."""

from __future__ import annotations

import tomllib
from datetime import date

import pytest
import tomlkit
from hypothesis import given
from hypothesis import strategies as st

from mxenv import toml_text
from mxenv.toml_text import Octal

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
SCALARS = TEXTS | st.booleans() | st.integers(-(1 << 62), 1 << 62) | st.dates()
VALUES = st.recursive(
    SCALARS | st.lists(SCALARS),
    lambda inner: (
        st.dictionaries(TEXTS, inner)
        | st.lists(st.dictionaries(TEXTS, inner, max_size=3), min_size=1, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(TEXTS, VALUES))
def test_whoever_reads_it_has_the_same_values(document: dict[str, object]) -> None:
    text = toml_text.render(document)
    assert tomllib.loads(text) == document
    assert text == "\n" or not text.startswith("\n")
    assert text.endswith("\n")
    assert "\n\n\n" not in text


@given(SCALARS)
def test_a_value_is_spelt_as_tomlkit_spells_it(value: object) -> None:
    assert toml_text.render({"a": value}) == f"a = {tomlkit.item(value).as_string()}\n"


def test_has_one_fact_a_line_and_tables_after_what_their_owner_says() -> None:
    document = {
        "tool": {"x": {"empty": {}, "names": ["a", "b"]}, "none": []},
        "date": date(2026, 1, 2),
        "odd key": Octal(value=0o644),
        "many": [{"a": 1, "sub": {"b": True}}, {}],
    }
    assert toml_text.render(document) == (
        'date = 2026-01-02\n"odd key" = 0o644\n\n'
        '[tool]\nnone = []\n\n[tool.x]\nnames = [\n    "a",\n    "b",\n]\n\n[tool.x.empty]\n\n'
        "[[many]]\na = 1\n\n[many.sub]\nb = true\n\n[[many]]\n"
    )
    assert tomllib.loads(toml_text.render(document))["odd key"] == 0o644


@pytest.mark.parametrize("value", [None, 1.5, [b"a"]])
def test_refuses_what_it_has_no_spelling_for(value: object) -> None:
    with pytest.raises(TypeError, match="nothing that TOML has"):
        toml_text.render({"a": value})
