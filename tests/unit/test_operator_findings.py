from __future__ import annotations

from dataclasses import replace
from typing import Any

from mxenv.inventory import Inventory, Kernel, Phase, Use
from mxenv.operator_coverage import Coverage, cover
from mxenv.operator_decision import Class
from mxenv.operator_findings import ASK, CODES, ELSEWHERE, REMEDIES, WORST_FIRST, findings, shares
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_table import Entry, Grade, How, Table
from mxenv.verdict import Evidence, Finding, Outcome

ENTRIES = {
    "aten::mm.default": Entry(how=How.NATIVE),
    "aten::neg.default": Entry(how=How.NATIVE, grade=Grade.VERIFIED),
    "aten::no.default": Entry(how=How.MISSING),
    "aten::slow.default": Entry(how=How.FALLBACK),
    "aten::odd.default": Entry(how=How.UNKNOWN),
}
TABLE = Table(torch="2.8.0+metax3.5.3.9", key="CUDA", entries=ENTRIES)
ASKED = Platform(name="node", table=TABLE, basis=Basis.TARGET)
MODEL = Inventory(name="m", reader="huggingface", source="s", tools=(("torch", "2.13.0"),))


def use(operator: str, **more: Any) -> Use:
    return Use(operator=operator, **{"phase": Phase.PREFILL, **more})


def coverage(*names: str, platform: Platform = ASKED, **more: Any) -> Coverage:
    uses = tuple(use(name) for name in names)
    return cover(replace(MODEL, **{"uses": uses, **more}), platform)


def told(*names: str, each: bool = False, **more: Any) -> dict[str, Finding]:
    found = list(findings(coverage(*names, **more), each=each))
    assert len({one.subject for one in found}) == len(found)
    return {one.subject: one for one in found}


def test_what_runs_is_told_together_with_how_well_that_is_known() -> None:
    (one,) = told("aten::mm.default", "aten::neg.default").values()
    assert (one.code, one.outcome, one.subject) == (
        "MX610",
        Outcome.COMPATIBLE,
        "supported operators",
    )
    assert one.found == (
        "2 of 2 operators, 2 of 2 calls: aten::mm.default, aten::neg.default; "
        "1 registered, 1 verified"
    )
    assert (one.expected, one.remedy) == ("", "")


def test_every_operator_is_told_by_itself_where_that_is_wanted() -> None:
    found = list(findings(coverage("aten::mm.default", "aten::neg.default"), each=True))
    assert [one.found for one in found] == [
        "aten::mm.default: a kernel for CUDA (registered); 1 of 2 calls, in prefill",
        "aten::neg.default: a kernel for CUDA (verified); 1 of 2 calls, in prefill",
    ]
    assert {one.subject for one in found} == {"supported operators"}


def test_what_fails_has_a_finding_of_its_own_with_what_to_do() -> None:
    names = ("aten::no.default", "aten::new.default", "aten::slow.default", "mine::op.default")
    found = told(*names)
    assert {name: (one.code, one.outcome) for name, one in found.items()} == {
        "aten::no.default": ("MX612", Outcome.INCOMPATIBLE),
        "aten::new.default": ("MX612", Outcome.INCOMPATIBLE),
        "aten::slow.default": ("MX613", Outcome.UNKNOWN),
        "mine::op.default": ("MX614", Outcome.UNKNOWN),
    }
    assert found["aten::no.default"].remedy == REMEDIES[Class.UNSUPPORTED]
    assert found["aten::new.default"].remedy == (
        "Read the model with the platform's torch (it was read with torch 2.13.0), or take a torch "
        "that has it."
    )
    assert found["mine::op.default"].remedy == REMEDIES[Class.CUSTOM]
    assert found["aten::no.default"].expected == "an operator that node is known to have"
    plain = told("aten::new.default", tools=())
    assert "read with" not in plain["aten::new.default"].remedy


def test_where_it_is_called_first_is_told() -> None:
    uses = (
        use("aten::no.default", phase=Phase.DECODE, site="a.py:9", module="layers.7"),
        use("aten::no.default", site="a.py:3", module="layers.0", calls=4),
    )
    (one,) = told(uses=uses).values()
    assert one.found == (
        "no kernel for CUDA; 5 of 5 calls, in prefill, decode, first at a.py:3 in layers.0"
    )
    (one,) = told(uses=(use("aten::no.default", module="layers.0"),)).values()
    assert one.found.endswith("first in layers.0")


def test_no_phase_is_told_of_what_knows_none() -> None:
    (one,) = told(uses=(use("aten::no.default", phase=Phase.FORWARD),)).values()
    assert one.found == "no kernel for CUDA; 1 of 1 calls"


def test_operators_of_another_runtime_are_unknown_for_one_reason_and_no_torch_is_asked() -> None:
    (one,) = told("ai.onnx::Conv", "ai.onnx::Relu", reader="onnx").values()
    assert (one.code, one.outcome) == ("MX615", Outcome.UNKNOWN)
    assert one.found == (
        "an operator of ONNX, which another runtime than torch runs; 2 of 2 operators, "
        "2 of 2 calls: ai.onnx::Conv, ai.onnx::Relu"
    )
    assert one.remedy == ELSEWHERE


def test_what_is_unknown_for_one_reason_is_told_together_where_nobody_was_asked() -> None:
    names = ("aten::a.b", "aten::c.d", "aten::e.f", "aten::g.h")
    (one,) = told(*names, platform=Platform(name="C500")).values()
    assert (one.code, one.subject, one.remedy) == ("MX615", "unknown operators", ASK)
    assert one.found == (
        "no table of operators is known of the platform; 4 of 4 operators, 4 of 4 calls: "
        "aten::a.b, aten::c.d, aten::e.f and 1 more"
    )
    (one,) = told("aten::odd.default").values()
    assert (one.subject, one.remedy) == ("aten::odd.default", REMEDIES[Class.UNKNOWN])


def test_a_row_that_decides_is_named_with_its_evidence() -> None:
    said = (Evidence(link="l", who="w", grade="observed"),)
    row = Known(
        operators=frozenset({"aten::mm"}),
        kind="traps",
        row="m.toml:operator:x",
        said="it traps",
        because=said,
    )
    (one,) = told("aten::mm.default", platform=replace(ASKED, known=(row,))).values()
    assert (one.row, one.because, one.subject) == ("m.toml:operator:x", said, "aten::mm.default")
    assert one.remedy == REMEDIES[Class.UNSUPPORTED]
    bare = Platform(name="C500", known=(row,))
    assert (
        told("aten::mm.default", platform=bare)["aten::mm.default"].remedy
        == (REMEDIES[Class.UNSUPPORTED])
    )
    doubt = replace(row, kind="unknown", remedy="look")
    (one,) = told("aten::mm.default", platform=replace(bare, known=(doubt,))).values()
    assert (one.subject, one.code, one.remedy) == ("aten::mm.default", "MX615", "look")


def test_every_class_has_a_code_and_a_place() -> None:
    assert set(CODES) == set(Class) == set(WORST_FIRST)


def test_shares_name_every_class_and_kernels_among_them() -> None:
    kernel = Kernel(kind="triton", name="_fwd", phase=Phase.DECODE, calls=3)
    made = shares(coverage("aten::mm.default", kernels=(kernel,), gaps=("one",)))
    assert made is not None
    assert [(one.name, one.operators, one.calls) for one in made.classes] == [
        ("unsupported", 0, 0),
        ("unknown", 0, 0),
        ("custom", 1, 3),
        ("fallback", 0, 0),
        ("indirect", 0, 0),
        ("supported", 1, 1),
    ]
    assert (made.gaps, made.calls) == (1, 4)
    assert shares(coverage()) is None
    assert shares(coverage(kernels=(kernel,))) is not None
