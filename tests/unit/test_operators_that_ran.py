"""What becomes of an operator that was run on the platform."""

from __future__ import annotations

import pytest

from mxenv.matrix import FAILS
from mxenv.operator_decision import Class, decide
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_runs import Device, Ended, Run, Runs, Trial
from mxenv.operator_table import Entry, Grade, How, Table

MM, LINEAR, SLOW, NO = (f"aten::{name}.default" for name in ("mm", "linear", "slow", "no"))
TABLE = Table(
    torch="2.8.0",
    key="CUDA",
    entries={
        MM: Entry(how=How.NATIVE),
        LINEAR: Entry(how=How.COMPOSITE, via=(MM,)),
        SLOW: Entry(how=How.FALLBACK),
        NO: Entry(how=How.MISSING),
        "aten::best.default": Entry(how=How.NATIVE, grade=Grade.VERIFIED),
    },
)


def platform(operator: str, ended: Ended, *rows: Known, table: Table | None = TABLE) -> Platform:
    trial = Trial(operator=operator, dtypes=("f32",))
    runs = Runs(
        inventory="sha256:0",
        model="m",
        device=Device(name="cuda", torch="2.8.0"),
        runs=(Run(trial=trial, ended=ended, said="as was seen"),),
    )
    basis = Basis.TARGET if table else Basis.NOTHING
    return Platform(name="n", table=table, basis=basis, known=rows, runs=runs)


@pytest.mark.parametrize("ended", [Ended.CRASHED, Ended.HUNG, Ended.WRONG, Ended.REFUSED])
def test_what_failed_there_is_unsupported_whatever_is_registered(ended: Ended) -> None:
    decision = decide(MM, ("f32",), platform(MM, ended))
    assert decision.found is Class.UNSUPPORTED
    assert decision.said == f"{ended} when it was run: as was seen"


def test_it_is_so_in_that_format_only() -> None:
    decision = decide(MM, ("bf16",), platform(MM, Ended.WRONG))
    assert (decision.found, decision.grade) == (Class.SUPPORTED, Grade.REGISTERED)


def test_what_is_as_coarse_as_tf32_is_unknown() -> None:
    assert decide(MM, ("f32",), platform(MM, Ended.COARSE)).found is Class.UNKNOWN


def test_what_nobody_knows_of_changes_nothing() -> None:
    decision = decide(MM, ("f32",), platform(MM, Ended.UNKNOWN))
    assert (decision.found, decision.grade) == (Class.SUPPORTED, Grade.REGISTERED)


@pytest.mark.parametrize(
    ("operator", "found"),
    [(MM, Class.SUPPORTED), (LINEAR, Class.INDIRECT), (SLOW, Class.FALLBACK)],
)
@pytest.mark.parametrize(
    ("ended", "grade"), [(Ended.RAN, Grade.RAN), (Ended.VERIFIED, Grade.VERIFIED)]
)
def test_a_good_end_raises_the_grade_and_leaves_the_class(
    operator: str, found: Class, ended: Ended, grade: Grade
) -> None:
    decision = decide(operator, ("f32",), platform(operator, ended))
    assert (decision.found, decision.grade) == (found, grade)


def test_a_run_makes_no_grade_worse() -> None:
    best = "aten::best.default"
    assert decide(best, ("f32",), platform(best, Ended.RAN)).grade is Grade.VERIFIED


@pytest.mark.parametrize("operator", [NO, "aten::unheard.default", "mine::own.default"])
def test_what_ran_is_there_whatever_a_table_says(operator: str) -> None:
    decision = decide(operator, ("f32",), platform(operator, Ended.VERIFIED))
    assert (decision.found, decision.grade) == (Class.SUPPORTED, Grade.VERIFIED)


def test_without_a_table_a_run_is_what_is_known() -> None:
    known = platform(MM, Ended.VERIFIED, table=None)
    assert decide(MM, ("f32",), known).found is Class.SUPPORTED
    assert decide(LINEAR, ("f32",), known).found is Class.UNKNOWN


def row(kind: str, *, sure: bool = True) -> Known:
    return Known(operators=frozenset({MM}), kind=kind, row="r", said="seen", sure=sure)


@pytest.mark.parametrize("kind", sorted(FAILS))
def test_a_row_that_says_it_fails_comes_before_a_run(kind: str) -> None:
    decision = decide(MM, ("f32",), platform(MM, Ended.VERIFIED, row(kind)))
    assert (decision.found, decision.row) == (Class.UNSUPPORTED, "r")


def test_a_doubt_ends_where_it_was_verified_and_not_where_it_only_ran() -> None:
    doubt = row("wrong", sure=False)
    assert decide(MM, ("f32",), platform(MM, Ended.VERIFIED, doubt)).found is Class.SUPPORTED
    assert decide(MM, ("f32",), platform(MM, Ended.RAN, doubt)).found is Class.UNKNOWN
