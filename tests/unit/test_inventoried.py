from __future__ import annotations

from dataclasses import replace

import pytest
from _stacks import KEYS

from mxenv import table
from mxenv.constraint import Constraint
from mxenv.errors import LockError
from mxenv.inventoried import Inventoried, cards, of, read, written
from mxenv.inventory import Hit, Inventory, Kernel, Phase, Stored, Use

FP8 = Stored(scheme="fp8-block", weights="fp8", activations="fp8", tensors=2, bytes=9, note="n")
WHOLE = Inventory(
    name="demo",
    reader="checkpoint",
    source="sha256:0",
    dtype="bf16",
    formats=(FP8, Stored(scheme="plain", weights="bf16")),
    uses=(
        Use(operator="aten::mm.default", phase=Phase.PREFILL, dtypes=("bf16", "bf16"), site="a:1"),
        Use(operator="aten::mm.default", phase=Phase.DECODE, dtypes=("bf16", "bf16"), calls=2),
        Use(operator="aten::flash.default", phase=Phase.DECODE, one_of=("aten::a.b", "aten::c.d")),
    ),
    kernels=(Kernel(kind="triton", name="_fwd", phase=Phase.DECODE),),
    hits=(
        Hit(file="a.cu", line=1, kind="inline-ptx"),
        Hit(file="a.cu", line=2, kind="cuda-launch"),
        Hit(file="a.cu", line=3, kind="quantum"),
    ),
    gaps=("one", "two"),
)
DIGEST = f"sha256:{'0' * 64}"


def test_what_is_kept_is_enough_to_hold_a_model_against_a_card() -> None:
    kept = of("models/a.json", WHOLE)
    assert kept == Inventoried(
        file="models/a.json",
        digest=WHOLE.digest,
        name="demo",
        reader="checkpoint",
        dtype="bf16",
        formats=WHOLE.formats,
        uses=(
            Use(
                operator="aten::flash.default",
                phase=Phase.FORWARD,
                one_of=("aten::a.b", "aten::c.d"),
            ),
            Use(
                operator="aten::mm.default",
                phase=Phase.FORWARD,
                dtypes=("bf16", "bf16"),
                calls=3,
            ),
        ),
        kernels=(Kernel(kind="triton", name="_fwd", phase=Phase.FORWARD),),
        places=1,
        gaps=2,
    )
    back = kept.inventory
    assert (back.name, back.dtype, back.formats) == ("demo", "bf16", WHOLE.formats)
    assert back.reader == "checkpoint"
    assert (back.uses, back.kernels) == (kept.uses, kept.kernels)
    assert back.source == WHOLE.digest
    assert (
        kept.said == f"{WHOLE.digest[:19]}: weights in fp8, bf16, 2 operators, 2 things not known"
    )
    assert "weights in nothing" in Inventoried(file="a", digest=DIGEST).said


def test_an_operator_is_a_line_so_that_a_change_is_one() -> None:
    table = written(of("a.json", WHOLE))
    assert table["operators"] == [
        "aten::flash.default x 1 one of aten::a.b, aten::c.d",
        "aten::mm.default (bf16, bf16) x 3",
    ]
    assert table["kernels"] == ["triton _fwd x 1"]


@pytest.mark.parametrize("kept", [of("a.json", WHOLE), Inventoried(file="a", digest=DIGEST)])
def test_what_was_written_is_read_back(kept: Inventoried) -> None:
    values = {"inventories": [dict(written(kept))]}
    root = table.Table(values=values, context="x", error=LockError)
    assert read(root.tables("inventories")) == (kept,)
    assert all(written(kept).values())


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"file": "a"}], r"inventories\[0\].digest: missing"),
        ([{"digest": DIGEST}], r"inventories\[0\].file: missing"),
        ([{"file": "a", "digest": "sha256:1"}], "'sha256:1' is no digest"),
        ([{"file": "a", "digest": DIGEST, "more": 1}], "more: unknown"),
        ([{"file": "a", "digest": DIGEST, "gaps": -1}], "gaps: "),
        ([{"file": "a", "digest": DIGEST}] * 2, r"inventories\[1\].file: 'a' stands twice"),
        (
            [{"file": "a", "digest": DIGEST, "operators": ["aten::mm.default"]}],
            r"operators\[0\]: is not understood",
        ),
        (
            [{"file": "a", "digest": DIGEST, "operators": 3}],
            "operators: a number where an array of strings belongs",
        ),
        (
            [{"file": "a", "digest": DIGEST, "kernels": ["_fwd"]}],
            r"kernels\[0\]: is not understood",
        ),
        (
            [{"file": "a", "digest": DIGEST, "formats": [{"scheme": "plain"}]}],
            r"formats\[0\].weights: missing",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place(entries: list[object], said: str) -> None:
    root = table.Table(values={"inventories": entries}, context="x", error=LockError)
    with pytest.raises(LockError, match=said):
        read(root.tables("inventories"))


KNOWN = ("C500", "C550", "N260")


@pytest.mark.parametrize(
    ("host", "found"),
    [
        ((), ()),
        (("metax.kmd >= 3.8", "metax.device.model present"), ()),
        (("metax.device.model == C500",), ("C500",)),
        (("metax.device.model in (C500, C550)", "metax.kmd >= 3.8"), ("C500", "C550")),
        (("metax.device.model in (C500, C550)", "metax.device.model != C500"), ("C550",)),
        (("metax.device.model != C500",), ("C550", "N260")),
        (("metax.device.model == C999",), ("C999",)),
    ],
)
def test_the_cards_that_a_host_may_have_are_those_that_its_constraints_leave(
    host: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert cards([Constraint.parse(text, keys=KEYS) for text in host], KNOWN) == found


def test_another_inventory_is_kept_otherwise() -> None:
    assert of("a", WHOLE) != of("a", replace(WHOLE, gaps=()))
