from __future__ import annotations

import pytest

from mxenv.conflict_marks import first_mark, marked, our_side

OURS, THEIRS = "a\nb\nc\n", "a\nB\nc\nd\n"
BOTH = """\
a
<<<<<<< ours
b
=======
B
>>>>>>> theirs
c
<<<<<<< ours
=======
d
>>>>>>> theirs
"""
OF_GIT = """\
<<<<<<< HEAD
b
||||||| 1234567
x
=======
B
>>>>>>> branch
"""


def test_what_both_have_stands_there_once_and_what_differs_between_marks() -> None:
    assert marked(OURS, THEIRS) == BOTH
    assert marked(OURS, OURS) == OURS


@pytest.mark.parametrize(
    ("text", "line"),
    [(OURS, 0), ("", 0), (BOTH, 2), (OF_GIT, 1), ("=======\n", 0), ("<<<<<<<< x\n", 0)],
)
def test_the_first_mark_is_named_by_its_line(text: str, line: int) -> None:
    assert first_mark(text) == line


def test_marks_of_lines_that_end_in_two_signs_are_marks() -> None:
    assert first_mark(BOTH.replace("\n", "\r\n")) == 2


def test_our_side_is_what_we_had() -> None:
    assert our_side(BOTH) == OURS
    assert our_side(OF_GIT) == "b\n"
