from __future__ import annotations

from dataclasses import replace
from typing import Any

from _stacks import matrix

from mxenv.format_fit import Cards
from mxenv.inventory import Assumption, Change, Hit, Inventory, Kernel, Phase, Use
from mxenv.operator_coverage import cover
from mxenv.operator_place import Platform
from mxenv.suitability import DOING, findings, listed
from mxenv.verdict import Finding, Outcome, Place

MATRIX = matrix("")
CARDS = Cards(name="C500", models=("C500",))
EMPTY = Inventory(name="demo", reader="source", source="sha256:0")


def hit(file: str, line: int, kind: str, name: str = "", area: str = "main") -> Hit:
    return Hit(file=file, line=line, kind=kind, name=name, area=area)


HITS = (
    hit("a.cu", 3, "inline-ptx"),
    hit("a.cu", 9, "inline-ptx"),
    hit("b.cu", 1, "cuda-kernel", "add"),
    hit("b.cu", 1, "cuda-kernel", "mul"),
)


def found(
    cards: Cards = CARDS, *, each: bool = False, root: str = "", **more: Any
) -> list[Finding]:
    coverage = cover(replace(EMPTY, **more), Platform(name=cards.name))
    return list(findings(coverage, cards, MATRIX, each=each, root=root))


def test_an_empty_inventory_is_held_against_nothing() -> None:
    assert found() == []


def test_places_that_are_alike_are_told_as_one() -> None:
    kernels, ptx = sorted(found(hits=HITS), key=lambda one: one.subject)
    assert (kernels.code, kernels.subject, kernels.outcome) == (
        "MX620",
        "CUDA kernel",
        Outcome.COMPATIBLE,
    )
    assert kernels.expected == ""
    assert (ptx.subject, ptx.outcome) == ("inline PTX", Outcome.UNKNOWN)
    assert ptx.found == "2 places: a.cu:3, a.cu:9"
    assert ptx.expected == "known to be ported (rewrite)"
    assert ptx.place is None
    assert ptx.remedy == DOING[Change.REWRITE]
    assert [piece.who for piece in ptx.because] == [
        "mxenv: PTX is NVIDIA's own assembly; there is none of it here"
    ]


def test_each_place_is_a_finding_at_its_line_where_that_is_wanted() -> None:
    told = found(hits=HITS, each=True, root="src/x")
    assert [(one.subject, one.place, one.found) for one in told] == [
        ("inline PTX", Place(file="src/x/a.cu", line=3), "src/x/a.cu:3"),
        ("inline PTX", Place(file="src/x/a.cu", line=9), "src/x/a.cu:9"),
        ("CUDA kernel", Place(file="src/x/b.cu", line=1), "src/x/b.cu:1 add"),
        ("CUDA kernel", Place(file="src/x/b.cu", line=1), "src/x/b.cu:1 mul"),
    ]


def test_nothing_has_to_be_ported_to_a_card_that_runs_cuda_as_it_is() -> None:
    assert found(replace(CARDS, ported=False), hits=HITS) == []


def test_hits_in_other_code_are_told_and_do_not_count() -> None:
    (one,) = found(hits=(hit("t.py", 1, "torch-cuda", area="test"),) * 2)
    assert (one.code, one.advice) == ("MX621", True)
    assert one.found == "1 hit not counted as places: 1 test"


def test_a_kind_that_a_newer_program_found_is_unknown() -> None:
    (one,) = found(hits=(hit("a.py", 1, "quantum"), hit("a.py", 2, "quantum")))
    assert (one.code, one.outcome, one.subject) == ("MX622", Outcome.UNKNOWN, "quantum")
    assert one.found == "2 places of a kind that is not known here"


USES = tuple(
    Use(operator=f"aten::{name}.default", phase=Phase.FORWARD, calls=2)
    for name in ("add", "mm", "mul", "relu")
)


def test_operators_are_unknown_as_long_as_no_platform_says_what_it_has() -> None:
    (one,) = found(uses=USES)
    assert (one.code, one.outcome, one.subject) == ("MX615", Outcome.UNKNOWN, "unknown operators")
    assert one.found == (
        "no table of operators is known of the platform; 4 of 4 operators, 8 of 8 calls: "
        "aten::add.default, aten::mm.default, aten::mul.default and 1 more"
    )


def test_kernels_that_no_dispatcher_knows_are_unknown() -> None:
    kernel = Kernel(kind="triton", name="_fwd", phase=Phase.PREFILL, calls=3)
    (one,) = found(kernels=(kernel, replace(kernel, phase=Phase.DECODE, calls=1)))
    assert (one.code, one.subject, one.found) == ("MX611", "triton kernels", "_fwd, 4 calls")
    assert one.outcome is Outcome.UNKNOWN


ASSUMED = (
    Assumption(kind="value", subject="aten::item.default", said="it is 1"),
    Assumption(kind="value", subject="aten::item.default", site="a:1", said="it is 1"),
    Assumption(kind="value", subject="aten::equal.default", said="it is 1"),
    Assumption(kind="shape", subject="x"),
)


def test_what_is_not_known_is_unknown_and_what_was_assumed_is_told() -> None:
    told = {
        one.subject: one
        for one in found(
            gaps=("operators were not looked at: why", "no weights"), assumptions=ASSUMED
        )
    }
    assert told["operators were not looked at"].found == "demo: why"
    assert told["no weights"].found == "in demo"
    assert told["no weights"].outcome is Outcome.UNKNOWN
    assert told["value"].found == "it is 1: aten::equal.default, aten::item.default"
    assert told["shape"].found == "x"
    assert not told["shape"].counts


def test_each_assumption_is_told_by_itself_where_that_is_wanted() -> None:
    assert [(one.subject, one.found) for one in found(each=True, assumptions=ASSUMED)] == [
        ("shape", "x"),
        ("value", "it is 1: aten::equal.default"),
        ("value", "it is 1: aten::item.default"),
    ]


def test_a_long_list_ends_with_how_many_more_there_are() -> None:
    assert listed(["a", "b", "c"]) == "a, b, c"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"
