"""A row is found on the line on which it was written."""

from __future__ import annotations

from mxenv.toml_lines import places

TEXT = """\
schema = "x"
# [[rule]]
[[rule]]
id = "a"
"text" = "b"

[[ "broken" ]]
id = "c"
  [[rule]]
when = [
  "x = 3",
]
id.x = 1
[other]
id = 9
"""


def test_rows_are_counted_by_kind() -> None:
    found = places(TEXT)
    assert {at: place.line for at, place in found.items()} == {
        ("", 0): 1,
        ("rule", 0): 3,
        ("broken", 0): 7,
        ("rule", 1): 9,
    }


def test_a_field_has_a_line_and_one_that_is_missing_that_of_its_row() -> None:
    found = places(TEXT)
    assert [found["rule", 0].of(name) for name in ("id", "text", "when")] == [4, 5, 3]
    assert found["rule", 1].of("when") == 10
    assert found["rule", 1].of("id") == 13
    assert found["", 0].of("schema") == 1
