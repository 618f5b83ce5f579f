from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from mxenv.numerics import Against, Figures, Judgement, Worth, judge

FINE = Figures(
    dtype="f32",
    numbers=1000,
    compared=1000,
    max_ref=10.0,
    max_cpu=1e-6,
    max_dev=2e-6,
    rms_ref=3.0,
    rms_cpu=2e-7,
    rms_dev=4e-7,
)
COUNTS = Figures(dtype="i64", numbers=10, compared=10)


def judged(*figures: Figures, against: Against = Against.FLOAT64, **more: Any) -> Judgement:
    return judge(figures, against, **more)


def test_what_is_twice_as_far_from_right_as_the_cpu_is_another_order_of_the_same_sums() -> None:
    judgement = judged(FINE)
    assert judgement.worth is Worth.RIGHT
    assert 0 < judgement.quotient < 1


def test_the_rule_is_the_one_that_is_written_down() -> None:
    step = 2.0**-23
    most = 2e-6 / (4 * 1e-6 + 2 * step * 10.0 + 2.0**-126)
    mean = 4e-7 / (4 * 2e-7 + step * 3.0 + 2.0**-126)
    assert FINE.quotient == max(most, mean)


def test_one_number_that_is_off_is_found_however_right_all_others_are() -> None:
    judgement = judged(replace(FINE, max_dev=0.1))
    assert judgement.worth is Worth.WRONG
    assert "times as far from right as is allowed" in judgement.said


def test_numbers_that_are_all_a_little_off_are_found_though_none_is_much() -> None:
    assert judged(replace(FINE, rms_dev=1e-4)).worth is Worth.WRONG


def test_a_cpu_that_is_exact_by_chance_leaves_two_steps_of_the_largest_number() -> None:
    exact = replace(FINE, max_cpu=0.0, rms_cpu=0.0, rms_dev=0.0)
    assert judged(replace(exact, max_dev=2.0 * 2**-23 * 10.0)).worth is Worth.RIGHT
    assert judged(replace(exact, max_dev=2.1 * 2**-23 * 10.0)).worth is Worth.WRONG


def test_what_is_smaller_than_any_normal_number_may_be_taken_for_zero() -> None:
    tiny = Figures(dtype="f32", numbers=1, compared=1, max_dev=2.0**-127, rms_dev=2.0**-127)
    assert judged(tiny).worth is Worth.RIGHT


def test_where_only_zero_is_right_and_nothing_is_allowed_all_else_is_wrong() -> None:
    zero = Figures(dtype="f8_e4m3", numbers=1, compared=1)
    assert judged(zero).quotient == 0.0
    assert judged(replace(zero, max_dev=1.0)).quotient == inf


@pytest.mark.parametrize(
    ("odd", "nan", "said"),
    [(3, 3, "3 of 1000 are no numbers"), (3, 1, "3 of 1000 are not finite, or ought not to be")],
)
def test_what_is_not_finite_and_ought_to_be_is_wrong(odd: int, nan: int, said: str) -> None:
    judgement = judged(replace(FINE, odd=odd, nan=nan))
    assert (judgement.worth, judgement.said) == (Worth.WRONG, said)


def test_integers_are_equal_or_wrong() -> None:
    assert judged(COUNTS).worth is Worth.RIGHT
    off = judged(replace(COUNTS, unequal=2))
    assert (off.worth, off.said) == (Worth.WRONG, "2 of 10 are others")
    assert replace(COUNTS, unequal=2).quotient == inf


def test_a_result_of_another_form_is_wrong_whatever_is_in_it() -> None:
    judgement = judged(replace(FINE, form="[2] in place of [3]"), against=Against.NOTHING)
    assert (judgement.worth, judgement.said) == (Worth.WRONG, "gives [2] in place of [3]")


def test_what_is_compared_with_nothing_is_open_and_tells_what_is_no_number() -> None:
    assert judged(FINE, against=Against.NOTHING) == Judgement(worth=Worth.OPEN)
    nan = judged(replace(FINE, nan=4), against=Against.NOTHING)
    assert (nan.worth, nan.said) == (Worth.OPEN, "4 are no numbers")


def test_nothing_compared_is_nothing_known() -> None:
    assert judged() == Judgement(worth=Worth.OPEN)
    assert judged(Figures(dtype="f32")) == Judgement(worth=Worth.OPEN)
    assert judged(replace(FINE, compared=0)).said == "there is no number to compare"


def test_the_cpu_in_the_same_format_says_nothing_of_whose_rounding_is_right() -> None:
    near = judged(FINE, against=Against.ITSELF)
    assert (near.worth, near.said) == (Worth.OPEN, "")
    far = judged(replace(FINE, max_dev=1.0), against=Against.ITSELF)
    assert far.worth is Worth.OPEN
    assert "it is open whose are right" in far.said
    assert judged(COUNTS, against=Against.ITSELF).worth is Worth.RIGHT


def test_where_rounding_stands_for_the_cpu_a_little_more_is_open_and_much_more_wrong() -> None:
    little = replace(FINE, max_dev=2 * FINE.max_dev / FINE.quotient)
    assert judged(little, against=Against.ROUNDING).worth is Worth.OPEN
    assert judged(little).worth is Worth.WRONG
    much = replace(FINE, max_dev=1.0)
    assert judged(much, against=Against.ROUNDING).worth is Worth.WRONG


@pytest.mark.parametrize(
    ("dtype", "off", "worth"),
    [
        ("f32", 3e-3, Worth.COARSE),
        ("c64", 3e-3, Worth.COARSE),
        ("f16", 30.0, Worth.WRONG),
        ("f32", 0.3, Worth.WRONG),
    ],
)
def test_a_device_that_may_use_tf32_is_coarse_only_as_far_as_that_goes(
    dtype: str, off: float, worth: Worth
) -> None:
    coarse = replace(FINE, dtype=dtype, rms_dev=off)
    assert judged(coarse, tf32=True).worth is worth
    assert judged(coarse).worth is Worth.WRONG
