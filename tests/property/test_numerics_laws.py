"""Laws of the judge of numbers, whatever the numbers are."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mxenv.numerics import EPSILON, Against, Figures, Worth, judge

ORDER = (Worth.WRONG, Worth.COARSE, Worth.OPEN, Worth.RIGHT)
sizes = st.floats(1e-20, 1e20)
figures = st.builds(
    Figures,
    dtype=st.sampled_from(["f64", "f32", "f16", "bf16"]),
    numbers=st.just(100),
    compared=st.integers(1, 100),
    max_ref=sizes,
    max_cpu=sizes,
    max_dev=sizes,
    rms_ref=sizes,
    rms_cpu=sizes,
    rms_dev=sizes,
)
against = st.sampled_from(Against)


@given(figures, st.floats(1.0, 1e6), against)
def test_a_result_that_is_further_off_is_worth_no_more(
    one: Figures, more: float, a: Against
) -> None:
    worse = replace(one, max_dev=one.max_dev * more, rms_dev=one.rms_dev * more)
    assert worse.quotient >= one.quotient
    assert ORDER.index(judge([worse], a).worth) <= ORDER.index(judge([one], a).worth)


@given(figures)
def test_a_device_that_is_no_further_off_than_the_cpu_is_right(one: Figures) -> None:
    same = replace(one, max_dev=one.max_cpu, rms_dev=one.rms_cpu)
    assert judge([same], Against.FLOAT64).worth is Worth.RIGHT


@given(figures, st.lists(figures, max_size=3))
def test_one_more_result_makes_nothing_better(one: Figures, others: list[Figures]) -> None:
    alone = judge([one], Against.FLOAT64)
    together = judge([one, *others], Against.FLOAT64)
    assert together.quotient >= alone.quotient


@given(figures)
def test_one_step_in_every_number_is_never_a_fault(one: Figures) -> None:
    step = EPSILON[one.dtype]
    off = replace(one, max_dev=step * one.max_ref, rms_dev=step * one.rms_ref)
    assert judge([off], Against.FLOAT64).worth is Worth.RIGHT


@given(figures, against)
def test_permission_for_tf32_makes_nothing_worse(one: Figures, a: Against) -> None:
    without, allowed = judge([one], a), judge([one], a, tf32=True)
    assert ORDER.index(allowed.worth) >= ORDER.index(without.worth)
