"""The compiled form of the shipped rows says what they say, and counts only while it does."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mxenv import matrix_reader
from mxenv.api import _compiled, matrices, nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.bundle import Layer
    from mxenv.matrix import Matrix

SHIPPED = matrices.shipped()


def whole(layer: Layer) -> tuple[dict[str, object], Matrix]:
    """Return what the text itself says, read with every fact that any probe knows."""
    values = tomllib.loads(layer.text)
    return values, matrix_reader.parse([(layer.name, values)], nodes.keys())


@pytest.mark.parametrize("layer", SHIPPED, ids=lambda layer: layer.name)
def test_each_shipped_file_has_one_that_is_up_to_date(
    layer: Layer, golden: Callable[[str, str], None]
) -> None:
    name = layer.name.replace(".toml", ".json")
    golden(f"mxenv/matrices/{name}", _compiled.render(layer.text, *whole(layer)))
    form = _compiled.read(layer)
    assert form is not None
    assert form.rows == whole(layer)[0]


def test_it_makes_the_same_matrix() -> None:
    (layer,) = SHIPPED
    made, read = matrices.parsed([layer]), whole(layer)[1]
    assert made.digest == read.digest
    assert [row.row for row in made.rows] == [row.row for row in read.rows]
    for left, right in zip(made.requirements, read.requirements, strict=True):
        assert list(map(str, left.when + left.requires)) == list(
            map(str, right.when + right.requires)
        )


def test_with_it_the_facts_are_those_that_probes_declare() -> None:
    for layer in SHIPPED:
        form = _compiled.read(layer)
        assert form is not None
        for name, key in form.keys.items():
            own = nodes.keys()[name]
            assert (key.meaning, key.instance, key.view) == (own.meaning, own.instance, own.view)


@pytest.mark.parametrize("layer", SHIPPED, ids=lambda layer: layer.name)
def test_one_of_another_text_is_not_used(layer: Layer) -> None:
    changed = replace(layer, text=layer.text + "\n# a comment\n")
    assert _compiled.read(changed) is None
    assert matrices.parsed([changed]).rows == whole(layer)[1].rows


def test_a_file_that_has_none_is_read_as_it_is() -> None:
    assert _compiled.read(replace(SHIPPED[0], name="other.toml")) is None


def test_a_file_of_a_site_is_never_taken_for_a_shipped_one() -> None:
    assert _compiled.read(replace(SHIPPED[0], kind="site")) is None
