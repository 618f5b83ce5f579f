from __future__ import annotations

import pytest
from _programs import (
    GEMM,
    field,
    onnx,
    onnx_node,
    onnx_tensor,
    onnx_value,
    varint,
)

from mxenv import onnx_model, onnx_weights
from mxenv.inventory import Assumption, Phase, Stored, Use
from mxenv.onnx_graph import DEEPEST
from mxenv.onnx_model import FUNCTIONS, Model
from mxenv.onnx_tensor import Outside

W = field(5, onnx_tensor("w", 1, 4, 8, raw=bytes(128)))


def read(content: bytes) -> Model:
    return onnx_model.read(lambda offset, size: content[offset : offset + size], len(content))


def operators(content: bytes) -> dict[str, int]:
    return {use.operator: use.calls for use in read(content).uses}


def function(
    name: str, *nodes: bytes, domain: str = "acme", opsets: tuple[str, ...] = ("",)
) -> bytes:
    told = field(1, name) + b"".join(field(7, one[2:]) for one in nodes)
    told += b"".join(field(9, (field(1, one) if one else b"") + field(2, 18)) for one in opsets)
    return told + field(10, domain)


def test_operators_are_told_with_domain_types_and_module() -> None:
    found = read(GEMM)
    assert found.uses == (
        Use(
            operator="ai.onnx::Gemm",
            phase=Phase.GRAPH,
            dtypes=("f32", "f32"),
            module="model.fc",
        ),
        Use(operator="ai.onnx::Relu", phase=Phase.GRAPH),
    )
    assert found.inputs == (("x", "f32 batchx4"),)
    assert dict(found.tools) == {"ONNX IR": "8", "ai.onnx": "18", "pytorch": "2.9.0"}
    assert [(one.name, one.use, one.bytes) for one in found.held] == [("w", "f32", 128)]
    assert (found.gaps, found.assumptions) == ((), ())


def test_a_model_with_another_shape_or_node_has_another_digest() -> None:
    others = [
        onnx(onnx_node("Gemm", "x", "w") + W),
        onnx(onnx_node("Gemm", "x", "v") + W),
        onnx(onnx_node("Gemm", "x", "w") + field(5, onnx_tensor("w", 1, 4, 9))),
    ]
    assert len({read(one).digest for one in others}) == 3
    assert read(others[0]).digest == read(others[0]).digest


def test_inputs_that_a_file_brings_itself_are_none() -> None:
    old = onnx(onnx_node("Relu", "w") + W + field(11, onnx_value("w", 1, 4, 8)))
    assert read(old).inputs == ()


def test_a_line_of_code_is_taken_from_what_torch_writes() -> None:
    trace = field(1, "pkg.torch.onnx.stack_trace") + field(2, 'File "/a/b.py", line 3, in f')
    other = field(9, field(1, "x") + field(2, "y"))
    call = onnx_node("Relu", "x", more=other + field(9, trace))
    assert read(onnx(call)).uses[0].site == "b.py:3"


def test_both_ways_of_a_choice_and_the_body_of_a_loop_are_counted_and_it_is_said() -> None:
    inner = field(6, onnx_node("Sin", "x"))
    ways = field(5, field(1, "then_branch") + inner) + field(5, field(1, "else_branch") + inner)
    loop = field(5, field(1, "body") + inner)
    several = field(5, field(1, "g") + field(11, onnx_node("Cos", "x")))
    graph = onnx_node("If", "c", more=ways) + onnx_node("Loop", "n", more=loop)
    found = read(onnx(graph + onnx_node("Odd", more=several)))
    assert {use.operator: use.calls for use in found.uses} == {
        "ai.onnx::If": 1,
        "ai.onnx::Loop": 1,
        "ai.onnx::Odd": 1,
        "ai.onnx::Sin": 3,
        "ai.onnx::Cos": 1,
    }
    assert found.assumptions == (
        Assumption(
            kind="path",
            subject="ai.onnx::If",
            said="both ways are counted, and a run takes one of them",
        ),
        Assumption(
            kind="path",
            subject="ai.onnx::Loop",
            said="its body is counted once, and runs as often as the data says",
        ),
    )


def test_types_are_known_within_graphs_and_those_of_an_inner_one_stay_there() -> None:
    inner = onnx_node("Sin", "w") + field(13, onnx_value("v", 10)) + onnx_node("Cos", "v")
    graph = onnx_node("If", more=field(5, field(6, inner))) + onnx_node("Cos", "v") + W
    told = {(use.operator, use.dtypes) for use in read(onnx(graph)).uses}
    assert told == {
        ("ai.onnx::If", ()),
        ("ai.onnx::Sin", ("f32",)),
        ("ai.onnx::Cos", ("f16",)),
        ("ai.onnx::Cos", ()),
    }


class TestFunctions:
    def test_one_that_a_file_brings_counts_as_what_it_calls(self) -> None:
        graph = onnx_node("Twice", "x", domain="acme") + onnx_node("Twice", "x", domain="acme")
        twice = function("Twice", onnx_node("Once", domain="acme"), onnx_node("Sin", "x"))
        once = function("Once", onnx_node("Cos", "x"), onnx_node("Cos", "x"))
        unused = function("Unused", onnx_node("Tan", "x"))
        found = onnx(graph, functions=(twice, once, unused), opsets={"": 18, "acme": 1})
        assert operators(found) == {"ai.onnx::Sin": 2, "ai.onnx::Cos": 4}

    def test_overloads_tell_functions_apart(self) -> None:
        graph = onnx_node("F", domain="acme", more=field(8, "a"))
        one = function("F", onnx_node("Sin", "x")) + field(13, "a")
        two = function("F", onnx_node("Cos", "x")) + field(13, "b")
        assert operators(onnx(graph, functions=(one, two))) == {"ai.onnx::Sin": 1}

    def test_one_that_calls_itself_is_refused(self) -> None:
        loop = function("F", onnx_node("F", domain="acme"))
        with pytest.raises(ValueError, match="one of its functions calls itself"):
            read(onnx(onnx_node("F", domain="acme"), functions=[loop]))

    def test_calls_that_double_with_each_of_many_are_refused(self) -> None:
        chain = [
            function(f"F{n}", *[onnx_node(f"F{n + 1}", domain="acme")] * 2) for n in range(100)
        ]
        chain.append(function("F100", onnx_node("Sin", "x")))
        with pytest.raises(ValueError, match="calls more operators than anybody can run"):
            read(onnx(onnx_node("F0", domain="acme"), functions=chain))

    def test_more_of_them_than_anybody_writes_are_refused(self) -> None:
        with pytest.raises(ValueError, match=f"more than {FUNCTIONS} functions"):
            read(onnx(onnx_node("Sin", "x")) + field(25, b"") * (FUNCTIONS + 1))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "it has no graph"),
        (field(1, 8), "it has no graph"),
        (field(7, b"") + field(8, b""), "it has no version of ONNX"),
        (field(1, 8) + field(7, b""), "it has no version"),
        (onnx(b""), "it calls no operator"),
        (onnx(field(1, b"")), "a node of the operator 'ai.onnx::' at byte"),
        (onnx(onnx_node("a b")), "a node of the operator 'ai.onnx::a b' at byte"),
        (onnx(onnx_node("A", domain="x:y")), "a node of the operator 'x:y::A' at byte"),
        (onnx(onnx_node("A", domain="acme")), "operators of 'acme', of which it has no version"),
        (onnx(b"\x0a\x05ab"), "5 bytes at byte"),
        (onnx(onnx_node("A") + field(5, b"")), "a tensor without a name at byte"),
        (
            onnx(onnx_node("A") + field(5, onnx_tensor("w", 1, 1 << 62, 1 << 62))),
            "the tensor 'w' has a size of",
        ),
        (onnx(onnx_node("A") + field(5, onnx_tensor("w", 1, -1))), "has a size of -1"),
        (
            onnx(onnx_node("A") + field(5, onnx_tensor("w", 1, *[1] * 65))),
            "a tensor of more than 64 dimensions",
        ),
        (
            onnx(onnx_node("A") + field(5, onnx_tensor("w", 1, 2, raw=b"1234"))),
            "the tensor 'w' has 4 bytes, and its shape 8",
        ),
    ],
)
def test_what_is_no_model_is_refused_in_one_line(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read(content)


def test_graphs_within_graphs_have_an_end() -> None:
    inner = onnx_node("Sin", "x")
    for _ in range(DEEPEST + 1):
        inner = onnx_node("If", more=field(5, field(6, inner)))
    with pytest.raises(ValueError, match="graphs nested too deeply"):
        read(onnx(inner))


def test_parts_that_nobody_here_knows_are_passed_over() -> None:
    version = field(8, field(1, "") + field(2, 18) + field(3, 7) + field(2, b"x"))
    content = field(1, 8) + field(7, onnx_node("Sin", "x")) + version
    assert operators(content) == {"ai.onnx::Sin": 1}


def test_how_it_is_trained_is_a_gap() -> None:
    assert read(GEMM + field(20, b"")).gaps == ("how it is trained was not looked at",)


def test_a_file_that_does_not_say_who_made_it_is_read_as_well() -> None:
    content = field(1, 8) + field(7, onnx_node("Sin", "x")) + field(8, field(2, 9)) + field(99, 1)
    assert dict(read(content).tools) == {"ONNX IR": "8", "ai.onnx": "9"}


class TestTensors:
    def held(self, tensor: bytes) -> object:
        (found,) = read(onnx(onnx_node("A") + field(5, tensor))).held
        return found.bytes, found.outside

    def test_sizes_may_be_packed(self) -> None:
        packed = field(1, varint(4) + varint(8)) + field(2, 1) + field(8, "w") + field(4, b"")
        assert self.held(packed) == (128, None)

    def test_half_bytes_are_whole_ones_together(self) -> None:
        assert self.held(onnx_tensor("w", 22, 3, raw=b"12")) == (2, None)

    @pytest.mark.parametrize(
        ("pairs", "outside"),
        [
            ({"location": "w.bin", "offset": "100", "length": "128"}, ("w.bin", 228)),
            ({"location": "w.bin"}, ("w.bin", 128)),
            ({"location": "w.bin", "offset": "-1", "length": "\u0663"}, ("w.bin", 128)),
            ({"location": "w.bin", "length": "9" * 20}, ("w.bin", 128)),
            ({}, ("", 128)),
        ],
    )
    def test_elements_may_lie_in_another_file(
        self, pairs: dict[str, str], outside: tuple[str, int]
    ) -> None:
        told = b"".join(
            field(13, field(1, n) + field(2, v) + field(3, 0)) for n, v in pairs.items()
        )
        tensor = onnx_tensor("w", 1, 4, 8) + told + field(14, 1)
        location, end = outside
        assert self.held(tensor) == (128, Outside(location=location, end=end))

    def test_those_of_sparse_ones_count(self) -> None:
        sparse = field(15, field(1, onnx_tensor("w", 1, 2)) + field(2, b"") + field(3, 9))
        assert [one.bytes for one in read(onnx(onnx_node("A") + sparse)).held] == [8]

    def test_values_that_are_no_tensors_have_no_type(self) -> None:
        sequence = field(1, "s") + field(2, field(4, b"")) + field(3, "doc") + field(2, 1)
        odd = field(1, "o") + field(
            2, field(1, field(1, 99) + field(3, 1) + field(2, field(2, b"")))
        )
        free = field(1, "f") + field(
            2,
            field(
                1,
                field(1, 1)
                + field(2, field(1, b"") + field(1, field(2, "") + field(3, "x")) + field(2, b"")),
            ),
        )
        negative = onnx_value("n", 1, -1)
        values = b"".join(field(11, one) for one in (sequence, odd, free, negative))
        assert dict(read(onnx(onnx_node("A", "s") + values)).inputs) == {
            "s": "unknown",
            "o": "unknown",
            "f": "f32 ?x?",
            "n": "f32 -1",
        }


class TestWeights:
    def stored(self, graph: bytes) -> tuple[Stored, ...]:
        found = read(onnx(graph, opsets={"": 18, "com.microsoft": 1}))
        return onnx_weights.stored(found.held, found.packed)

    def test_plain_ones_are_what_their_types_say_and_indices_are_none(self) -> None:
        tensors = [onnx_tensor("a", 10, 2), onnx_tensor("b", 10, 2), onnx_tensor("i", 7, 2)]
        tensors += [onnx_tensor("k", 3, 2), onnx_tensor("odd", 99, 2)]
        assert self.stored(onnx_node("A", "k") + b"".join(field(5, one) for one in tensors)) == (
            Stored(scheme="onnx", weights="unknown", tensors=1, note="type 99"),
            Stored(scheme="plain", weights="fp16", activations="fp16", tensors=2, bytes=8),
        )

    @pytest.mark.parametrize(
        ("op", "domain", "dtype", "bits", "weights", "activations"),
        [
            ("DequantizeLinear", "", 3, 0, "int8", ""),
            ("DequantizeLinear", "", 22, 0, "int4", ""),
            ("DequantizeLinear", "", 17, 0, "fp8", ""),
            ("MatMulNBits", "com.microsoft", 2, 4, "int4", ""),
            ("MatMulInteger", "", 2, 0, "int8", "int8"),
        ],
    )
    def test_packed_ones_are_known_by_what_takes_them(  # noqa: PLR0913, PLR0917 - of a table
        self, op: str, domain: str, dtype: int, bits: int, weights: str, activations: str
    ) -> None:
        more = field(5, field(1, "axis") + field(3, 7)) + field(5, field(4, b"x"))
        more += field(5, field(1, "bits") + field(3, bits)) if bits else b""
        graph = onnx_node(op, "x", "w", domain=domain, more=more)
        (found,) = self.stored(graph + field(5, onnx_tensor("w", dtype, 8)))
        assert (found.scheme, found.weights, found.activations) == ("onnx", weights, activations)
        assert found.note == f"{domain or 'ai.onnx'}::{op}"

    def test_scales_beside_them_are_plain(self) -> None:
        tensors = field(5, onnx_tensor("w", 3, 8)) + field(5, onnx_tensor("s", 1, 1))
        found = self.stored(onnx_node("DequantizeLinear", "w", "s") + tensors)
        assert [(one.scheme, one.weights) for one in found] == [("onnx", "int8"), ("plain", "fp32")]
        assert onnx_weights.computes(found) == "fp32"

    def test_what_it_computes_in_is_told_if_all_agree(self) -> None:
        tensors = field(5, onnx_tensor("w", 10, 8)) + field(5, onnx_tensor("s", 1, 1))
        assert onnx_weights.computes(self.stored(onnx_node("A") + tensors)) == ""
        assert onnx_weights.computes(()) == ""
