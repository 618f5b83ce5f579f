from __future__ import annotations

from dataclasses import replace

from mxenv.inventory import Assumption, Hit, Inventory, Kernel, Phase, Stored, Use
from mxenv.inventory_difference import compare, section, settled

ONE = Inventory(
    name="demo",
    reader="checkpoint",
    source="sha256:0",
    dtype="bf16",
    inputs=(("ids", "i64 1x64"),),
    packages=(("mamba_ssm", ""), ("torch", "2")),
    uses=(
        Use(operator="aten::mm.default", phase=Phase.DECODE, dtypes=("bf16",), calls=3),
        Use(operator="aten::mm.default", phase=Phase.DECODE),
    ),
    kernels=(Kernel(kind="triton", name="_fwd", phase=Phase.DECODE),),
    formats=(
        Stored(scheme="plain", weights="bf16", activations="bf16", tensors=2, bytes=1024),
        Stored(scheme="gptq", weights="int4"),
    ),
    hits=(
        Hit(file="a.cu", line=3, kind="inline-ptx"),
        Hit(file="a.cu", line=4, kind="quantum"),
    ),
    assumptions=(Assumption(kind="value", subject="x"),),
    gaps=("why",),
)
NOTHING = Inventory(name="other", reader="source", source="sha256:1")


def test_equal_inventories_do_not_differ_whatever_they_are_called() -> None:
    assert compare(ONE, ONE) == ()
    assert compare(ONE, replace(ONE, name="other", source="sha256:1")) == ()


def test_everything_that_only_one_of_them_asks_for_is_named() -> None:
    found = compare(ONE, NOTHING)
    assert {(one.part, one.name): one.before for one in found} == {
        ("model", "dtype"): "bf16",
        ("inputs", "ids"): "i64 1x64",
        ("packages", "mamba_ssm"): "not there",
        ("packages", "torch"): "2",
        ("operators", "aten::mm.default (bf16) in decode"): "3",
        ("operators", "aten::mm.default in decode"): "1",
        ("kernels", "triton _fwd"): "1",
        ("places", "inline PTX in a.cu"): "1",
        ("places", "quantum in a.cu"): "1",
        ("formats", "bf16 plain bf16"): "2 tensors, 1.0 KiB",
        ("formats", "int4 gptq"): "said",
        ("assumptions", "value x"): "made",
        ("gaps", "why"): "open",
    }
    assert {one.after for one in found} == {None}


def test_what_both_ask_for_in_another_way_is_told_with_both_sides() -> None:
    (one,) = compare(ONE, replace(ONE, dtype="fp16"))
    assert (one.part, one.name, one.before, one.after) == ("model", "dtype", "bf16", "fp16")
    (two,) = section((one, *compare(NOTHING, replace(NOTHING, gaps=("g",)))), "a", "b").rows[1:]
    assert two == ("gaps", "g", "nothing", "open")


def test_that_nothing_differs_is_settled_where_nothing_is_open() -> None:
    assert settled(ONE, ONE)
    assert not settled(ONE, replace(ONE, source="sha256:1"))
    assert settled(NOTHING, replace(NOTHING, source="sha256:2"))
