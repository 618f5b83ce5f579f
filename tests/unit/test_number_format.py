from __future__ import annotations

from _stacks import matrix

from mxenv.matrix import FORMATS
from mxenv.number_format import cards, support, table

ROW = '[[format]]\nid = "{}"\ncards = [{}]\nformats = ["{}"]\nsupport = "{}"\nEVIDENCE\n'
MATRIX = matrix(
    "".join(
        ROW.format(*values)
        for values in (
            ("a", '"C500"', "bf16", "native"),
            ("b", '"C500", "C550"', "fp8", "software"),
            ("c", '"C500"', "fp8", "no"),
            ("d", '"C550"', "fp8", "unknown"),
        )
    )
)


def test_what_one_row_says_holds() -> None:
    found = support(MATRIX, "C500", "bf16")
    assert (found.support, found.disputed) == ("native", False)
    assert [row.id for row in found.rows] == ["a"]


def test_of_what_no_row_speaks_nothing_is_known() -> None:
    assert support(MATRIX, "C600", "fp8").support == "unknown"
    assert support(MATRIX, "C500", "fp64").rows == ()


def test_where_sources_contradict_each_other_the_least_counts_and_all_are_shown() -> None:
    found = support(MATRIX, "C500", "fp8")
    assert (found.support, found.disputed) == ("no", True)
    assert [row.id for row in found.rows] == ["b", "c"]


def test_somebody_who_does_not_know_contradicts_nobody() -> None:
    found = support(MATRIX, "C550", "fp8")
    assert (found.support, found.disputed) == ("software", False)
    assert len(found.rows) == 2


def test_the_table_has_every_card_and_every_format() -> None:
    whole = table(MATRIX)
    assert tuple(whole) == cards(MATRIX) == ("C500", "C550")
    assert all(tuple(row) == FORMATS for row in whole.values())
    assert whole["C550"]["fp8"].support == "software"
