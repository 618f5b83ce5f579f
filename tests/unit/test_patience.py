from __future__ import annotations

from itertools import count
from math import inf

import pytest

from mxenv.patience import ENDLESS, STEP, Late, Patience


def test_what_is_checked_while_there_is_time_goes_on_and_then_ends() -> None:
    Patience(lambda: 0.1).check()
    with pytest.raises(Late):
        Patience(lambda: 0.0).check()


def test_many_entries_end_soon_after_time_is_over() -> None:
    seen: list[int] = []
    patience = Patience(lambda: 1.0 if len(seen) < 1000 else 0.0)
    with pytest.raises(Late):
        seen.extend(patience.each(count()))
    assert 1000 <= len(seen) <= 1000 + STEP
    assert list(Patience(lambda: 1.0).each("abc")) == ["a", "b", "c"]


def test_a_share_ends_once_its_part_is_over_and_the_rest_is_left() -> None:
    now = 0.0
    whole = Patience(lambda: 8.0 - now)
    half = whole.share(0.5)
    assert half.left() == 4.0
    now = 3.0
    assert (half.left(), whole.left()) == (1.0, 5.0)
    assert half.share(0.5).left() == 0.5
    now = 4.0
    assert (half.left(), whole.left()) == (0.0, 4.0)
    assert whole.share(1).left() == 4.0


def test_of_what_has_no_end_a_share_has_none() -> None:
    assert ENDLESS.left() == inf
    assert ENDLESS.share(0.01) is ENDLESS
