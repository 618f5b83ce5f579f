from __future__ import annotations

import copy
import json
from typing import Any, ClassVar

import pytest
from _programs import BF16, FLOAT, LINEAR, LONG, graph, meta, node, program, tensor

from mxenv import exported_program
from mxenv.exported_program import DEEPEST, Program, operator_of
from mxenv.inventory import Assumption, Kernel, Phase, Use
from mxenv.weights import Tensor


def read(*nodes: Any, **values: Any) -> Program:
    return exported_program.read(program(nodes, **values))


def test_operators_are_told_with_types_module_and_line() -> None:
    found = exported_program.read(LINEAR)
    linear, relu = found.uses
    assert linear == Use(
        operator="aten::linear.default",
        phase=Phase.GRAPH,
        dtypes=("f32", "f32"),
        module="fc",
        site="net.py:7",
        samples=('[{"s": [1, 4], "t": "f32"}, {"s": [8, 4], "t": "f32"}]',),
    )
    assert (relu.operator, relu.module, relu.site) == ("aten::relu.default", "", "")
    assert found.architecture == "Net"
    assert found.tensors == {"fc.weight": Tensor(dtype="F32", shape=(8, 4), bytes=128)}
    assert found.inputs == (("x", "f32 1x4"),)
    assert found.tools == (
        ("torch", "2.9.0"),
        ("aten opset", "10"),
        ("torch.export schema", "8.14"),
    )
    assert (found.training, found.gaps, found.assumptions) == (False, (), ())


def test_what_torch_adds_itself_lies_in_no_module() -> None:
    stack = "_empty_nn_module_stack_from_x,_empty_nn_module_stack_from_x,_empty"
    found = read(
        node("torch.ops.aten.neg.default", nn_module_stack=stack),
        node("torch.ops.aten.neg.default", nn_module_stack="L__self__,L['self'].fc,demo.Net"),
    )
    assert (found.architecture, found.uses[0].module) == ("Net", "")


def test_calls_with_the_same_types_are_one_use_with_a_few_samples() -> None:
    values = {f"x{number}": meta(FLOAT, number + 1) for number in range(8)}
    nodes = [node("torch.ops.aten.relu.default", tensor(name)) for name in values]
    (use,) = read(*nodes, *nodes, **values).uses
    assert (use.calls, len(use.samples)) == (16, 5)
    assert len(read(*nodes, node("torch.ops.aten.relu.default", tensor("x9")), **values).uses) == 2


@pytest.mark.parametrize(
    ("target", "operator"),
    [
        ("torch.ops.aten.add.Tensor", "aten::add.Tensor"),
        ("torch._ops.aten.add.Tensor", "aten::add.Tensor"),
        ("torch.ops.mylib.fused", "mylib::fused.default"),
        ("torch.ops.aten", ""),
        ("torch.ops.aten.add.Tensor.more", ""),
        ("torch.ops.a\nb.add.x", ""),
        ("_operator.add", ""),
    ],
)
def test_targets_are_operators_or_not(target: str, operator: str) -> None:
    assert operator_of(target) == operator


def test_what_is_done_with_sizes_is_no_operator() -> None:
    sizes = [node("torch.ops.aten.sym_size.int"), node("torch.ops.aten._assert_scalar.default")]
    found = read(node("_operator.add"), node("math.floor"), node("torch.sym_max"), *sizes)
    assert (found.uses, found.gaps) == ((), ())


def test_what_no_dispatcher_knows_is_a_gap() -> None:
    found = read(node("#acme:matmul"), node("#acme:matmul"), node("torch.ops.aten"))
    assert found.gaps == (
        "what is called '#acme:matmul' was not looked at: no operator",
        "what is called 'torch.ops.aten' was not looked at: no operator",
    )


class TestHigherOrder:
    INNER = ("as_graph", {"name": "g", "graph": graph([node("torch.ops.aten.sin.default")])})

    def operators(self, *nodes: Any) -> list[tuple[str, int]]:
        return [(use.operator, use.calls) for use in read(*nodes).uses]

    def test_both_ways_of_a_choice_are_counted_and_it_is_said(self) -> None:
        found = read(node("torch.ops.higher_order.cond", self.INNER, self.INNER))
        assert [(use.operator, use.calls) for use in found.uses] == [("aten::sin.default", 2)]
        assert found.assumptions == (
            Assumption(
                kind="path",
                subject="higher_order::cond",
                said="both ways are counted, and a run takes one of them",
            ),
        )

    def test_the_body_of_a_loop_is_counted_once_and_it_is_said(self) -> None:
        found = read(node("torch.ops.higher_order.while_loop", self.INNER))
        assert [use.calls for use in found.uses] == [1]
        assert "as often as the data says" in found.assumptions[0].said

    def test_what_only_wraps_is_looked_through(self) -> None:
        name = "torch.ops.higher_order.wrap_with_set_grad_enabled"
        assert self.operators(node(name, self.INNER)) == [("aten::sin.default", 1)]

    @pytest.mark.parametrize("told", ["torch.ops.my.op.default", "my.op.default"])
    def test_an_operator_that_is_an_argument_is_called(self, told: str) -> None:
        name = "torch.ops.higher_order.auto_functionalized"
        assert self.operators(node(name, ("as_operator", told))) == [("my::op.default", 1)]
        assert self.operators(node(name, ("as_operator", 7))) == []

    def test_a_triton_kernel_is_a_kernel(self) -> None:
        name = "torch.ops.higher_order.triton_kernel_wrapper_functional"
        found = read(node(name, ("as_string", "add_kernel")), node(name))
        assert found.kernels == (
            Kernel(kind="triton", name="add_kernel", phase=Phase.GRAPH),
            Kernel(kind="triton", name="triton_kernel_wrapper_functional", phase=Phase.GRAPH),
        )

    def test_one_that_nobody_here_knows_is_a_gap(self) -> None:
        found = read(node("torch.ops.higher_order.flex_attention", self.INNER))
        assert found.gaps == ("what higher_order::flex_attention calls is not in the graph",)
        assert [use.operator for use in found.uses] == ["aten::sin.default"]

    def test_graphs_within_graphs_have_an_end(self) -> None:
        inner = graph([])
        for _ in range(DEEPEST + 1):
            inner = graph([node("torch.ops.higher_order.wrap", ("as_graph", {"graph": inner}))])
        document = program([])
        document["graph_module"]["graph"] = inner
        with pytest.raises(ValueError, match="graphs nested too deeply"):
            exported_program.read(document)


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "graph_module: not an object"),
        ({"graph_module": 7}, "graph_module: not an object"),
        ({"graph_module": {}}, "graph_module.graph: not an object"),
        ({"graph_module": {"graph": {}}}, "graph_module.graph.nodes: not a list"),
        (
            {"graph_module": {"graph": {"nodes": [{"target": "a"}, {}]}}},
            r"graph_module.graph.nodes\[1\].target: not a text",
        ),
        (
            {"graph_module": {"graph": {"nodes": [None]}}},
            r"graph_module.graph.nodes\[0\].target: not a text",
        ),
    ],
)
def test_what_is_no_program_is_refused_with_its_place(document: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        exported_program.read(document)


class TestSignature:
    def test_a_program_with_gradients_is_of_training(self) -> None:
        document = copy.deepcopy(LINEAR)
        document["graph_module"]["signature"]["output_specs"].append({"loss_output": {}})
        assert exported_program.read(document).training

    def test_weights_of_all_kinds_are_told_and_what_has_no_type_is_not(self) -> None:
        document = program(
            [],
            {
                "input_specs": [
                    {"buffer": {"arg": {"name": "b"}, "buffer_name": "mask", "persistent": True}},
                    {"tensor_constant": {"arg": {"name": "c"}, "tensor_constant_name": "one"}},
                    {"parameter": {"arg": {"name": "odd"}, "parameter_name": "odd"}},
                    {"parameter": {"arg": {"name": "any"}, "parameter_name": "any"}},
                    {"parameter": {"arg": {"name": "c"}}},
                    {"user_input": {"arg": {"as_int": 3}}},
                    {"user_input": {"arg": {"as_tensor": {"name": "odd"}}}},
                    {"user_input": {"arg": {"as_tensor": {"name": "any"}}}},
                    "rubbish",
                ]
            },
            b=meta(BF16, 2, 3),
            c=meta(LONG),
            odd=meta(99, 2),
            any=meta(FLOAT, "s0", 4, "s0 + 1", "Symbol('s77', positive=True, integer=True)"),
        )
        found = exported_program.read(document)
        assert found.tensors == {
            "mask": Tensor(dtype="BF16", shape=(2, 3), bytes=12),
            "one": Tensor(dtype="I64", bytes=8),
            "any": Tensor(dtype="F32", shape=(0,), bytes=0),
        }
        assert found.inputs == (("odd", "unknown 2"), ("any", "f32 s0x4x?xs77"))

    def test_what_wrote_an_old_program_is_not_told(self) -> None:
        document = {**LINEAR, "torch_version": "<=2.4", "opset_version": None, "schema_version": 1}
        assert exported_program.read(document).tools == ()
        document["schema_version"] = {"major": 5}
        assert exported_program.read(document).tools == (("torch.export schema", "5.?"),)


class TestSamples:
    VALUES: ClassVar = {
        "x": meta(FLOAT, 2, 3, strides=(3, 1)),
        "t": meta(FLOAT, 2, 3, strides=(1, 2)),
        "one": meta(FLOAT, 1, 3, strides=(9, 1)),
        "scalar": meta(FLOAT, strides=()),
        "none": meta(FLOAT, 0, 3, strides=(7, 7)),
        "odd": meta(99, 2),
        "free": meta(FLOAT, "s0"),
    }

    def sample(self, *arguments: tuple[str, Any], kind: int | None = 1) -> Any:
        call = node("torch.ops.aten.op.default", *arguments)
        for entry in call["inputs"]:
            entry["kind"] = kind
        document = program([call], **self.VALUES)
        document["graph_module"]["graph"]["sym_int_values"] = {
            "s": {"as_expr": {"expr_str": "s0", "hint": {"as_int": 6}}},
            "free": {"as_expr": {"expr_str": "s1", "hint": None}},
        }
        (use,) = exported_program.read(document).uses
        return json.loads(use.samples[0]) if use.samples else None

    @pytest.mark.parametrize(
        ("kind", "value", "told"),
        [
            ("as_none", True, None),
            ("as_tensor", {"name": "x"}, {"t": "f32", "s": [2, 3]}),
            ("as_tensor", {"name": "t"}, {"t": "f32", "s": [2, 3], "st": [1, 2]}),
            ("as_tensor", {"name": "one"}, {"t": "f32", "s": [1, 3]}),
            ("as_tensor", {"name": "scalar"}, {"t": "f32", "s": []}),
            ("as_tensor", {"name": "none"}, {"t": "f32", "s": [0, 3]}),
            ("as_tensors", [{"name": "scalar"}], [{"t": "f32", "s": []}]),
            ("as_optional_tensors", [{"as_none": True}], [None]),
            (
                "as_optional_tensors",
                [{"as_tensor": {"name": "scalar"}}],
                [{"t": "f32", "s": []}],
            ),
            ("as_optional_tensor", {"as_none": True}, None),
            ("as_int", 3, 3),
            ("as_bool", False, False),
            ("as_string", "mean", "mean"),
            ("as_float", 0.5, 0.5),
            ("as_float", "Infinity", {"f": "inf"}),
            ("as_float", "-inf", {"f": "-inf"}),
            ("as_float", float("nan"), {"f": "nan"}),
            ("as_ints", [1, 2], [1, 2]),
            ("as_floats", [1, 0.5], [1.0, 0.5]),
            ("as_sym_int", {"as_int": 3}, 3),
            ("as_sym_int", {"as_name": "s"}, 6),
            ("as_sym_ints", [{"as_int": 3}, {"as_name": "s"}], [3, 6]),
            ("as_sym_float", {"as_float": 0.5}, 0.5),
            ("as_scalar_type", 13, {"dtype": "bf16"}),
            ("as_device", {"type": "cpu", "index": None}, {"device": "cpu"}),
            ("as_layout", 7, {"layout": "strided"}),
            ("as_memory_format", 2, {"memory_format": "channels_last"}),
        ],
    )
    def test_every_kind_of_argument_is_told(self, kind: str, value: Any, told: Any) -> None:
        assert self.sample((kind, value)) == [told]
        assert self.sample((kind, value), kind=2) == [{"k": {"a0": told}}]

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("as_tensor", {"name": "odd"}),
            ("as_tensor", {"name": "nowhere"}),
            ("as_tensor", {"name": "free"}),
            ("as_sym_int", {"as_name": "free"}),
            ("as_scalar_type", 99),
            ("as_layout", 99),
            ("as_ints", ["x", {}]),
            ("as_tensors", [7]),
            ("as_float", "much"),
            ("as_float", True),
            ("as_custom_obj", {"name": "q"}),
        ],
    )
    def test_a_call_that_cannot_be_told_has_no_sample(self, kind: str, value: Any) -> None:
        assert self.sample((kind, value)) is None

    def test_an_old_program_has_no_samples_since_it_names_no_kinds(self) -> None:
        assert self.sample(("as_int", 3), kind=None) is None


@pytest.mark.parametrize(
    ("kind", "value", "dtypes"),
    [
        ("as_tensors", [{"name": "x"}, {"name": "y"}], ("f32", "bf16")),
        ("as_optional_tensors", [{"as_tensor": {"name": "y"}}, {"as_none": True}], ("bf16",)),
        ("as_optional_tensor", {"as_tensor": {"name": "y"}}, ("bf16",)),
        ("as_nested_tensors", [[{"name": "x"}], [{"name": "y"}]], ("f32", "bf16")),
        ("as_int", 3, ()),
        ("as_tensors", [{"name": "x"}, {"name": "nowhere"}], ()),
    ],
)
def test_types_are_those_of_all_tensors_or_none(
    kind: str, value: Any, dtypes: tuple[str, ...]
) -> None:
    call = node("torch.ops.aten.op.default", (kind, value))
    (use,) = read(call, x=meta(FLOAT, 1), y=meta(BF16, 1)).uses
    assert use.dtypes == dtypes
