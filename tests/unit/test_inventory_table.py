from __future__ import annotations

from dataclasses import replace
from typing import Any

from mxenv.inventory import Assumption, Hit, Inventory, Kernel, Phase, Stored, Use
from mxenv.inventory_table import MOST, sections


def told(**more: Any) -> dict[str, tuple[tuple[str, ...], ...]]:
    inventory = Inventory(name="demo", reader="checkpoint", source="sha256:0", **more)
    return {section.kind: section.rows for section in sections(inventory)}


def test_of_an_empty_inventory_only_where_it_came_from_is_shown() -> None:
    assert told() == {"model": (("read as", "checkpoint"), ("source", "sha256:0"))}


def test_number_formats_are_shown_with_their_sizes_the_largest_first() -> None:
    rows = told(
        dtype="bf16",
        architecture="LlamaForCausalLM",
        formats=(
            Stored(scheme="plain", weights="bf16", activations="bf16", tensors=1, bytes=1024),
            Stored(scheme="gptq", weights="int4", tensors=9, bytes=1 << 30, note="group 128"),
            Stored(scheme="plain", weights="fp32"),
        ),
    )
    assert rows["format"] == (
        ("int4", "gptq", "", "9", "1.0 GiB", "group 128"),
        ("bf16", "plain", "bf16", "1", "1.0 KiB", ""),
        ("fp32", "plain", "", "", "", ""),
    )
    assert rows["model"][:3] == (
        ("architecture", "LlamaForCausalLM"),
        ("computes in", "bf16"),
        ("weights", "1.0 GiB"),
    )


def test_places_are_counted_by_what_has_to_be_done_the_dearest_first() -> None:
    kinds = ("inline-ptx", "inline-ptx", "cuda-kernel", "warp-size")
    hits = [Hit(file="a.cu", line=n, kind=kind) for n, kind in enumerate(kinds, 1)]
    other = Hit(file="b.cu", line=7, kind="inline-ptx")
    rows = told(hits=(*hits, other))
    assert rows["effort"] == (
        ("rewrite", "3", "a.cu (2), b.cu (1)"),
        ("edit", "1", "a.cu (1)"),
        ("none", "1", "a.cu (1)"),
    )
    assert [row[:3] for row in rows["kind"]] == [
        ("inline PTX", "3", "rewrite"),
        ("assumed size of a warp", "1", "edit"),
        ("CUDA kernel", "1", "none"),
    ]
    assert "place" not in rows


def test_each_place_is_named_with_its_line_where_that_is_wanted() -> None:
    hits = (
        Hit(file="b.cu", line=7, kind="cuda-kernel", name="add"),
        Hit(file="a.cu", line=2, kind="inline-ptx"),
    )
    inventory = Inventory(name="demo", reader="source", source="sha256:0", hits=hits)
    (rows,) = (one.rows for one in sections(inventory, whole=True) if one.kind == "place")
    assert rows == (
        ("a.cu:2", "inline PTX", "", "rewrite"),
        ("b.cu:7", "CUDA kernel", "add", "none"),
    )


def test_what_does_not_count_as_a_place_is_shown_beside_them() -> None:
    rows = told(
        hits=(
            Hit(file="t.py", line=1, kind="torch-cuda", area="test"),
            Hit(file="a.py", line=1, kind="quantum"),
        )
    )
    assert rows["area"] == (("test", "1"), ("quantum: not known here", "1"))
    assert "effort" not in rows


def test_operators_are_shown_by_how_often_they_are_called() -> None:
    mm = Use(operator="aten::mm.default", phase=Phase.PREFILL, calls=3, dtypes=("bf16", "bf16"))
    uses = (
        replace(mm, module="model.layers.0", site="a.py:7"),
        replace(mm, phase=Phase.DECODE, calls=2, dtypes=("f32",)),
        Use(operator="aten::add.Tensor", phase=Phase.DECODE, calls=1),
    )
    kernel = Kernel(kind="triton", name="_fwd", phase=Phase.DECODE, module="attn", site="k.py:3")
    rows = told(uses=uses, kernels=(kernel,))
    assert rows["operator"] == (
        ("aten::mm.default", "5", "decode, prefill", "bf16 f32", "model.layers.0", "a.py:7"),
        ("aten::add.Tensor", "1", "decode", "", "", ""),
    )
    assert rows["kernel"] == (("_fwd", "triton", "1", "decode", "attn", "k.py:3"),)
    assert ("operators", "2, called 6 times") in rows["model"]
    assert ("kernels", "1") in rows["model"]


def test_what_a_model_is_given_and_what_looked_at_it_is_shown() -> None:
    rows = told(
        inputs=(("x", "f32 2x3"),), tools=(("torch", "2.8"),), packages=(("a", "1"), ("b", ""))
    )
    assert rows["input"] == (("x", "f32 2x3"),)
    assert rows["tool"] == (("torch", "2.8"), ("a", "1"), ("b", "not there"))
    rows = told(inputs=tuple((f"x{n:03}", "f32") for n in range(MOST + 2)))
    assert rows["input"][-1] == ("and 2 more", "")


def test_many_operators_are_cut_and_what_is_left_is_counted() -> None:
    uses = [
        Use(operator=f"aten::op{n}.default", phase=Phase.FORWARD, calls=2) for n in range(MOST + 3)
    ]
    assert told(uses=tuple(uses))["operator"][-1] == ("and 3 more", "6", "", "", "", "")
    inventory = Inventory(name="demo", reader="onnx", source="s", uses=tuple(uses))
    (rows,) = (one.rows for one in sections(inventory, whole=True) if one.kind == "operator")
    assert len(rows) == MOST + 3


def test_what_is_assumed_and_what_is_not_known_is_shown() -> None:
    rows = told(assumptions=(Assumption(kind="value", subject="x", said="1"),), gaps=("why",))
    assert rows["assumption"] == (("value", "x", "1"),)
    assert rows["gap"] == (("why",),)


def test_of_many_things_that_are_not_known_the_rest_is_counted() -> None:
    rows = told(gaps=tuple(f"{n:03}" for n in range(MOST + 2)))
    assert rows["gap"][-1] == ("and 2 more",)
    assert len(rows["gap"]) == MOST + 1
