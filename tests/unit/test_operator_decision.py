from __future__ import annotations

from typing import Any

import pytest

from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_coverage import cover
from mxenv.operator_decision import Class, Decision, decide
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_table import Entry, Grade, How, Table
from mxenv.verdict import Evidence

SAID = (Evidence(link="l", who="w", grade="observed"),)
ENTRIES = {
    "aten::mm.default": Entry(how=How.NATIVE),
    "aten::mm.out": Entry(how=How.NATIVE, by="flag_gems"),
    "aten::linear.default": Entry(how=How.COMPOSITE, via=("aten::mm.default",)),
    "aten::gems.default": Entry(how=How.COMPOSITE, via=("aten::mm.out",)),
    "aten::odd.default": Entry(how=How.UNKNOWN),
    "aten::slow.default": Entry(how=How.FALLBACK),
    "aten::no.default": Entry(how=How.MISSING),
    "aten::ran.default": Entry(how=How.NATIVE, grade=Grade.VERIFIED),
}
TABLE = Table(torch="2.8.0+metax3.5.3.9", key="CUDA", entries=ENTRIES)


def row(kind: str, *operators: str, **more: Any) -> Known:
    fields = {"said": "seen so", "remedy": "do", "because": SAID, "row": f"m.toml:operator:{kind}"}
    return Known(operators=frozenset(operators), kind=kind, **{**fields, **more})


def asked(*rows: Known) -> Platform:
    return Platform(name="node", table=TABLE, basis=Basis.TARGET, known=rows)


def unasked(*rows: Known) -> Platform:
    return Platform(name="C500", known=rows)


def test_a_row_brings_its_evidence_and_its_remedy() -> None:
    decision = decide("aten::mm.default", (), asked(row("traps", "aten::mm")))
    assert decision == Decision(
        found=Class.UNSUPPORTED,
        said="traps: seen so",
        row="m.toml:operator:traps",
        remedy="do",
        because=SAID,
    )


def test_a_row_about_the_kernels_of_one_maker_leaves_those_of_another_alone() -> None:
    rows = (row("traps", "aten::mm", by="flag_gems"),)
    assert decide("aten::mm.default", (), asked(*rows)).found is Class.SUPPORTED
    assert decide("aten::mm.out", (), asked(*rows)).found is Class.UNSUPPORTED
    own = row("wrong", "aten::mm")
    assert decide("aten::mm.out", (), asked(own)).found is Class.SUPPORTED
    assert decide("aten::never.heard", (), asked(own)).found is Class.UNSUPPORTED


def test_whose_kernels_run_is_not_known_without_a_table() -> None:
    decision = decide("aten::mm.default", (), unasked(row("traps", "aten::mm", by="flag_gems")))
    assert decision.found is Class.UNKNOWN
    assert decision.said == (
        "may be traps: seen so; whether kernels of flag_gems are used is not known"
    )
    decision = decide("aten::mm.default", (), unasked(row("unknown", "aten::mm", by="flag_gems")))
    assert decision.said == "seen so; whether kernels of flag_gems are used is not known"
    assert decide("aten::mm.default", (), unasked(row("traps", "aten::mm"))).found is (
        Class.UNSUPPORTED
    )


def test_what_others_do_is_no_better_than_what_rows_say_of_them() -> None:
    traps = row("traps", "aten::mm.out", by="flag_gems")
    decision = decide("aten::gems.default", (), asked(traps))
    assert decision.found is Class.UNSUPPORTED
    assert decision.said == "by way of aten::mm.out: traps: seen so"
    assert decision.row == "m.toml:operator:traps"
    assert decide("aten::linear.default", (), asked(traps)).found is Class.INDIRECT


@pytest.mark.parametrize("kind", ["wrong", "missing", "unknown"])
def test_a_row_that_may_be_about_the_place_leaves_it_open(kind: str) -> None:
    decision = decide("aten::mm.default", (), asked(row(kind, "aten::mm", sure=False)))
    assert decision.found is Class.UNKNOWN
    assert decision.said.endswith("seen so; whether that is so here is not known")
    plain = decide("aten::no.default", (), asked(row(kind, "aten::no", sure=False)))
    assert plain.found is Class.UNSUPPORTED


def test_somebody_who_looked_and_cannot_tell_leaves_it_open() -> None:
    decision = decide("aten::mm.default", (), asked(row("unknown", "aten::mm")))
    assert (decision.found, decision.said) == (Class.UNKNOWN, "seen so")


def test_what_was_seen_working_settles_what_is_open_and_not_what_may_fail() -> None:
    works = row("works", "aten::mm", "aten::odd", "aten::slow", "mine::op", "aten::ran")
    seen = decide("aten::mm.default", (), asked(works))
    assert (seen.found, seen.grade) == (Class.SUPPORTED, Grade.RAN)
    assert seen.said == "a kernel for CUDA; seen so"
    assert decide("aten::ran.default", (), asked(works)).grade is Grade.VERIFIED
    for operator in ("aten::odd.default", "mine::op.default"):
        decision = decide(operator, (), asked(works))
        assert (decision.found, decision.grade) == (Class.SUPPORTED, Grade.RAN)
    assert decide("aten::slow.default", (), asked(works)).found is Class.FALLBACK
    both = asked(row("unknown", "aten::mm"), works)
    assert decide("aten::mm.default", (), both).found is Class.SUPPORTED
    both = asked(row("wrong", "aten::mm", sure=False), works)
    assert decide("aten::mm.default", (), both).found is Class.UNKNOWN
    unsure = row("works", "aten::mm", sure=False)
    assert decide("aten::mm.default", (), unasked(unsure)).found is Class.UNKNOWN


@pytest.mark.parametrize(
    ("dtypes", "found"),
    [
        (("bf16", "bf16"), Class.SUPPORTED),
        (("bf16", "i64"), Class.SUPPORTED),
        (("bf16", "f64"), Class.UNKNOWN),
        ((), Class.UNKNOWN),
    ],
)
def test_what_was_seen_working_with_some_formats_says_nothing_of_others(
    dtypes: tuple[str, ...], found: Class
) -> None:
    works = row("works", "aten::odd", dtypes=frozenset({"bf16", "i64"}))
    assert decide("aten::odd.default", dtypes, asked(works)).found is found


def test_what_is_slow_is_right_and_said() -> None:
    slow = row("slow", "aten::mm", "aten::slow")
    decision = decide("aten::mm.default", (), asked(slow))
    assert (decision.found, decision.said) == (Class.SUPPORTED, "a kernel for CUDA; slow: seen so")
    assert decide("aten::slow.default", (), asked(slow)).row == ""


def test_why_nothing_is_known_is_said() -> None:
    platform = Platform(name="n", table=TABLE, basis=Basis.OTHER, why="because")
    assert decide("aten::mm.default", (), platform).said == "because"
    assert platform.asked is None


def test_a_model_is_covered_by_what_is_decided_of_each_format() -> None:
    platform = asked(row("wrong", "aten::mm", dtypes=frozenset({"f64"})))
    uses = tuple(
        Use(operator="aten::mm.default", phase=Phase.FORWARD, dtypes=(dtype,))
        for dtype in ("f64", "bf16")
    )
    model = Inventory(name="m", reader="torch", source="s", uses=uses)
    (one,) = cover(model, platform).operators
    assert one.decision.found is Class.UNSUPPORTED
