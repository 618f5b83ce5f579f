from __future__ import annotations

import pytest

from mxenv.shares import Share, Shares, percent, section

CLASSES = (
    Share(name="unknown", operators=1, calls=1),
    Share(name="supported", operators=2, calls=3),
)


def test_every_class_has_its_part_and_none_is_left_out() -> None:
    made = section(Shares(classes=CLASSES), "t")
    assert made.rows == (("unknown", "1", "1", "25.0 %"), ("supported", "2", "3", "75.0 %"))
    assert (made.kind, made.title) == ("coverage", "t")


@pytest.mark.parametrize(
    ("gaps", "said"), [(1, "1 thing of the model"), (2, "2 things of the model")]
)
def test_what_nobody_looked_at_stands_beside_the_shares(gaps: int, said: str) -> None:
    assert section(Shares(classes=CLASSES, gaps=gaps), "t").rows[-1] == (
        *("not looked at", said, "", "no part of these"),
    )


def test_of_no_calls_there_is_no_share() -> None:
    none = Shares(classes=(Share(name="custom", operators=1, calls=0),))
    assert section(none, "t").rows == (("custom", "1", "0", ""),)


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 9, "0.0 %"),
        (1, 100_000, "< 0.1 %"),
        (1, 3, "33.3 %"),
        (99_999, 100_000, "> 99.9 %"),
        (9, 9, "100.0 %"),
    ],
)
def test_no_small_part_is_none_and_no_large_one_is_all(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said
