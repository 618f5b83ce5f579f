from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mxenv import inventory_file
from mxenv.errors import InventoryError
from mxenv.inventory import Assumption, Hit, Inventory, Kernel, Phase, Stored, Use

ADD = Use(operator="aten::add.Tensor", phase=Phase.DECODE, dtypes=("bf16", "bf16"), calls=3)
WHOLE = Inventory(
    name="demo",
    reader="huggingface",
    source=f"sha256:{'0' * 64}",
    architecture="DemoForCausalLM",
    mode="training",
    dtype="bf16",
    inputs=(("input_ids", "i64 1x64"),),
    tools=(("torch", "2.8.0"),),
    packages=(("mamba_ssm", ""),),
    uses=(
        replace(ADD, module="model.norm", site="a.py:3", samples=("[1]",)),
        Use(
            operator="aten::mm.default", phase=Phase.PREFILL, one_of=("aten::mm.default", "x::y.z")
        ),
    ),
    kernels=(Kernel(kind="triton", name="_fwd", phase=Phase.FORWARD, site="k.py:9"),),
    formats=(Stored(scheme="gptq", weights="int4", tensors=7, bytes=9, note="group 128"),),
    hits=(Hit(file="a.cu", line=3, kind="cuda-kernel", name="k", area="test"),),
    assumptions=(Assumption(kind="value", subject="aten::item.default", said="1"),),
    gaps=("a custom operator has no shapes",),
)


def read(**fields: Any) -> Inventory:
    document = {**json.loads(inventory_file.to_json(WHOLE)), **fields}
    return inventory_file.from_json(json.dumps(document), context="f")


def test_an_inventory_is_read_back_as_it_was() -> None:
    text = inventory_file.to_json(WHOLE)
    assert inventory_file.from_json(text, context="f") == WHOLE
    assert inventory_file.to_json(inventory_file.from_json(text, context="f")) == text


def test_an_empty_one_is_read_back_as_well() -> None:
    nothing = Inventory(name="n", reader="onnx", source="s")
    assert inventory_file.from_json(inventory_file.to_json(nothing), context="f") == nothing
    assert (nothing.operators, nothing.calls) == ((), 0)


def test_order_changes_nothing() -> None:
    other = replace(WHOLE, uses=WHOLE.uses[::-1], gaps=WHOLE.gaps * 2)
    assert (other, other.digest) == (WHOLE, WHOLE.digest)


def test_what_differs_has_another_digest() -> None:
    assert replace(WHOLE, uses=WHOLE.uses[:1]).digest != WHOLE.digest


def test_one_thing_told_twice_is_counted_as_one() -> None:
    one = replace(ADD, samples=("[1]", "[2]"))
    other = replace(ADD, calls=4, module="later", samples=("[2]", *"abcdef"))
    (use,) = replace(WHOLE, uses=(one, other)).uses
    assert (use.calls, use.module) == (7, "")
    assert use.samples == ("[1]", "[2]", "a", "b", "c")


def test_operators_are_named_once_and_calls_are_counted() -> None:
    assert WHOLE.operators == ("aten::add.Tensor", "aten::mm.default")
    assert WHOLE.calls == 4


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"schema": "mxenv.inventory/2"}, "schema: 'mxenv.inventory/2' is not understood"),
        ({"extra": 1}, "extra: unknown field"),
        ({"name": None}, "name: not a string"),
        ({"mode": "sleep"}, "mode: 'sleep' is not one of inference, training"),
        ({"tools": []}, "tools: not an object"),
        ({"tools": {"torch": 2}}, "tools.torch: not a string"),
        ({"gaps": "no"}, "gaps: not a list"),
        ({"uses": [{"operator": "add", "phase": "decode"}]}, "uses[0].operator: not namespace::"),
        ({"uses": [{"operator": "a::b.c", "phase": "x"}]}, "uses[0].phase: 'x' is not one of"),
        ({"uses": [{"operator": "a::b.c"}]}, "uses[0].phase: missing"),
        ({"kernels": [{"kind": "k", "name": "n"}]}, "kernels[0].phase: missing"),
        (
            {"formats": [{"scheme": "x", "weights": "y", "tensors": -1}]},
            "formats[0].tensors: not a",
        ),
        ({"hits": [{"file": "x", "line": "3", "kind": "k"}]}, "hits[0].line: not a whole number"),
        ({"assumptions": [{"kind": "x"}]}, "assumptions[0].subject: missing"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(InventoryError) as caught:
        read(**wrong)
    assert str(caught.value).startswith(f"f: {said}")


def test_what_has_to_be_there_is_missed() -> None:
    with pytest.raises(InventoryError, match="f: reader: missing"):
        inventory_file.from_json('{"schema": "mxenv.inventory/1", "name": "n"}', context="f")


def test_what_is_usual_may_be_left_out() -> None:
    text = '{"schema": "mxenv.inventory/1", "name": "n", "reader": "r", "source": "s"}'
    assert inventory_file.from_json(text, context="f").mode == "inference"


def test_half_characters_are_not_kept_and_whole_ones_are() -> None:
    odd = replace(
        WHOLE,
        name="sch\u00f6n \ud800",
        uses=(replace(ADD, module="a\ud800", samples=("[\udfff]",)),),
        inputs=(("\ud800", "x"),),
        gaps=("\ud800",),
    )
    assert (odd.name, odd.inputs, odd.gaps) == ("sch\u00f6n ?", (("?", "x"),), ("?",))
    assert odd.uses == (replace(ADD, module="a?", samples=("[?]",)),)
    text = inventory_file.to_json(odd)
    assert inventory_file.from_json(text, context="f") == odd
    assert odd.digest.startswith("sha256:")
