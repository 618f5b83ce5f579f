"""Operators of which a file does not say which overload is called, or which are not torch's."""

from __future__ import annotations

import pytest

from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_coverage import cover
from mxenv.operator_decision import Class, Decision
from mxenv.operator_place import Basis, Known, Platform
from mxenv.operator_table import Entry, How, Table

TABLE = Table(
    torch="2.8.0+metax3.5.3.9",
    key="CUDA",
    entries={
        "aten::mm.default": Entry(how=How.NATIVE),
        "aten::add.Tensor": Entry(how=How.NATIVE),
        "aten::add.Scalar": Entry(how=How.COMPOSITE, via=("aten::add.Tensor",)),
        "aten::addmm.default": Entry(how=How.MISSING),
        "aten::sub.Tensor": Entry(how=How.NATIVE),
        "aten::sub.Scalar": Entry(how=How.MISSING),
        "aten::no.default": Entry(how=How.MISSING),
        "aten::no.out": Entry(how=How.MISSING),
        "ai.onnx::Gemm.default": Entry(how=How.NATIVE),
    },
)
HERE = Platform(name="node", table=TABLE, basis=Basis.TARGET)
ROW = Known(operators=frozenset({"ai.onnx::Gemm"}), kind="works", row="r", said="seen so")


def decided(operator: str, reader: str, platform: Platform = HERE) -> Decision:
    use = Use(operator=operator, phase=Phase.GRAPH)
    (one,) = cover(Inventory(name="m", reader=reader, source="s", uses=(use,)), platform).operators
    return one.decision


@pytest.mark.parametrize(
    ("operator", "found", "said"),
    [
        ("aten::mm", Class.SUPPORTED, "a kernel for CUDA"),
        ("aten::add", Class.INDIRECT, "by way of aten::add.Tensor"),
        (
            "aten::sub",
            Class.UNKNOWN,
            "which of its 2 overloads is called is not known: 1 of them run",
        ),
        ("aten::no", Class.UNSUPPORTED, "no kernel for CUDA"),
        ("aten::cuda", Class.UNKNOWN, "torch 2.8.0+metax3.5.3.9 lists no operator of that name"),
    ],
)
def test_one_that_may_be_any_of_several_is_known_if_all_of_them_agree(
    operator: str, found: Class, said: str
) -> None:
    decision = decided(operator, "exported")
    assert (decision.found, decision.said) == (found, said)


def test_no_build_of_torch_says_anything_of_an_operator_of_onnx() -> None:
    decision = decided("ai.onnx::Gemm", "onnx")
    assert decision.found is Class.UNKNOWN
    assert decision.said == "an operator of ONNX, which another runtime than torch runs"


def test_a_row_of_a_matrix_may() -> None:
    platform = Platform(name="node", known=(ROW,))
    assert decided("ai.onnx::Gemm", "onnx", platform).found is Class.SUPPORTED
