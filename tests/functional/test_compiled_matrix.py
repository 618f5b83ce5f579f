"""The compiled form of the shipped rows says what they say, and counts only while it does."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mxenv.api import _compiled, matrices

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.bundle import Layer


@pytest.mark.parametrize("layer", matrices.shipped(), ids=lambda layer: layer.name)
def test_each_shipped_file_has_one_that_is_up_to_date(
    layer: Layer, golden: Callable[[str, str], None]
) -> None:
    name = layer.name.replace(".toml", ".json")
    values = tomllib.loads(layer.text)
    golden(f"mxenv/matrices/{name}", _compiled.render(layer.text, values))
    assert _compiled.rows(layer) == values
    assert json.loads(_compiled.render(layer.text, values)).keys() == {"of", *values}


@pytest.mark.parametrize("layer", matrices.shipped(), ids=lambda layer: layer.name)
def test_one_of_another_text_is_not_used(layer: Layer) -> None:
    changed = replace(layer, text=layer.text + "\n# a comment\n")
    assert _compiled.rows(changed) is None
    assert matrices.document(changed) == tomllib.loads(layer.text)


def test_a_file_that_has_none_is_read_as_it_is() -> None:
    other = replace(matrices.shipped()[0], name="other.toml", text="x = 1")
    assert _compiled.rows(other) is None
    assert matrices.document(other) == {"x": 1}
