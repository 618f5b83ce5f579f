"""The line of a string is known, however it is written and whatever else looks like it."""

from __future__ import annotations

from mxenv.toml_strings import lines

TEXT = """\
# "a" = "comment"
top = "x" # "more"
[project] # '
'quoted key' = 'y'
list = [
  "one", 'two', # "three"
  [\"\"\"four
five\"\"\", '''six
'seven''''],
  1, true, { inner = "eight", "in.ner" = 2026-11-30 },
]
[["quoted".table]]
value = "nine \\" # no"
[[quoted.table]]
value = "ten"
"""


def test_every_string_has_its_line() -> None:
    assert lines(TEXT) == {
        ("top",): 2,
        ("project", "quoted key"): 4,
        ("project", "list", 0): 6,
        ("project", "list", 1): 6,
        ("project", "list", 2, 0): 7,
        ("project", "list", 2, 1): 8,
        ("project", "list", 5, "inner"): 10,
        ("quoted", "table", 0, "value"): 13,
    } | {("quoted", "table", 1, "value"): 15}
