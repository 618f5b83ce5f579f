from __future__ import annotations

from typing import Any

import pytest

from mxenv import trial_answer
from mxenv.operator_runs import Ended, Run, Trial

MM = Trial(operator="aten::mm.default", dtypes=("f32", "f32"), sample="[1]")
FIGURES = {
    "dtype": "f32",
    "form": "",
    "numbers": 4,
    "compared": 4,
    "max_ref": 1.0,
    "max_cpu": 1e-7,
    "max_dev": 1e-7,
    "rms_ref": 1.0,
    "rms_cpu": 1e-7,
    "rms_dev": 1e-7,
}
RAN = {"ended": "ran", "figures": [FIGURES], "against": "float64", "ms": 0.5, "varies": True}


def answered(**more: Any) -> Run:
    return trial_answer.run(MM, {**RAN, **more})


def changed(**more: Any) -> Run:
    return answered(figures=[{**FIGURES, **more}])


def test_numbers_that_are_right_verify_an_operator() -> None:
    run = answered()
    assert (run.trial, run.ended, run.said) == (MM, Ended.VERIFIED, "")
    assert (run.against, run.milliseconds, run.varies) == ("float64", 0.5, True)
    assert run.quotient is not None
    assert 0 < run.quotient < 1


def test_numbers_that_are_not_make_it_wrong() -> None:
    assert changed(max_dev=1.0).ended is Ended.WRONG
    nan = changed(odd=1, nan=1)
    assert (nan.ended, nan.quotient) == (Ended.WRONG, None)


def test_numbers_that_are_compared_with_nothing_show_that_it_ran() -> None:
    run = answered(against="nothing", ms=None)
    assert (run.ended, run.against, run.milliseconds) == (Ended.RAN, "", None)


def test_what_is_open_for_a_reason_is_unknown_with_it() -> None:
    run = changed(compared=0)
    assert (run.ended, run.said) == (Ended.UNKNOWN, "there is no number to compare")


def test_tf32_is_coarse_where_it_is_allowed() -> None:
    answer = {**RAN, "figures": [{**FIGURES, "rms_dev": 1e-3, "max_dev": 1e-3}]}
    assert trial_answer.run(MM, answer).ended is Ended.WRONG
    assert trial_answer.run(MM, answer, tf32=True).ended is Ended.COARSE


@pytest.mark.parametrize("ended", ["refused", "unknown"])
def test_a_process_says_itself_what_it_could_not_run(ended: str) -> None:
    run = trial_answer.run(MM, {"ended": ended, "said": "\x1b[31mno kernel"})
    assert (run.ended, run.said) == (Ended(ended), "no kernel")


@pytest.mark.parametrize(
    "more",
    [
        {"ended": "verified"},
        {"ended": None},
        {"figures": None},
        {"figures": ["f32"]},
        {"figures": [{**FIGURES, "max_dev": "far"}]},
        {"figures": [{**FIGURES, "max_dev": True}]},
        {"figures": [{**FIGURES, "max_dev": float("nan")}]},
        {"figures": [{"numbers": 4}]},
        {"against": "the neighbours"},
        {"ms": -1},
    ],
)
def test_what_is_not_understood_is_unknown(more: dict[str, Any]) -> None:
    run = answered(**more)
    assert (run.ended, run.said) == (Ended.UNKNOWN, trial_answer.GARBLED)
