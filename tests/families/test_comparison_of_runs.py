"""The comparison of an inventory with a real run sees every difference but a device's choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from _comparison import differences, merged

from mxenv import device_choice
from mxenv.inventory import Assumption, Inventory, Phase, Use

FLASH = "aten::_scaled_dot_product_flash_attention.default"
EFFICIENT = "aten::_scaled_dot_product_efficient_attention.default"
FOR_CPU = "aten::_scaled_dot_product_flash_attention_for_cpu.default"
LAID = "aten::clone.default"


def inventory(
    *assumed: Assumption, alternatives: bool = True, **calls: dict[str, int]
) -> Inventory:
    uses = tuple(
        Use(
            operator=name,
            phase=Phase.FORWARD,
            dtypes=tuple(dtypes.split()),
            calls=count,
            one_of=device_choice.one_of(name) if alternatives else (),
        )
        for name, formats in calls.items()
        for dtypes, count in formats.items()
    )
    return Inventory(name="m", reader="test", source="sha256:0", uses=uses, assumptions=assumed)


def told(found: Inventory, **calls: dict[str, int]) -> list[str]:
    return differences(found, {"forward": calls})


def test_the_same_calls_are_no_difference() -> None:
    calls = {"aten::mm.default": {"f32 f32": 2}, "aten::t.default": {"f32": 1}}
    assert told(inventory(**calls), **calls) == []


def test_an_operator_that_is_missing_added_or_called_otherwise_is_a_difference() -> None:
    found = inventory(**{"aten::mm.default": {"f32 f32": 2}})
    assert told(found)
    assert told(found, **{"aten::mm.default": {"f32 f32": 3}})
    assert told(found, **{"aten::mm.default": {"bf16 bf16": 2}})
    assert told(found, **{"aten::mm.default": {"f32 f32": 2}, "aten::t.default": {"f32": 1}})


def test_calls_of_another_phase_are_a_difference() -> None:
    calls = {"aten::mm.default": {"f32 f32": 2}}
    assert differences(inventory(**calls), {"forward": calls, "backward": calls})


def test_one_kernel_of_attention_stands_for_another() -> None:
    found = inventory(**{FLASH: {"f32 f32 f32": 2}})
    assert told(found, **{FOR_CPU: {"f32 f32 f32": 2}}) == []


def test_a_kernel_that_is_not_among_the_alternatives_is_a_difference() -> None:
    found = inventory(alternatives=False, **{FLASH: {"f32 f32 f32": 2}})
    assert told(found, **{FOR_CPU: {"f32 f32 f32": 2}})


def test_a_kernel_explains_only_what_comes_with_it() -> None:
    found = inventory(**{EFFICIENT: {"f32 f32 f32": 2}})
    assert told(found, **{FOR_CPU: {"f32 f32 f32": 2}, LAID: {"f32": 2}}) == []
    assert told(found, **{FOR_CPU: {"f32 f32 f32": 2}, "aten::bmm.default": {"f32 f32": 4}})


def test_attention_without_a_kernel_is_explained_only_where_kernels_are_fewer() -> None:
    parts = {"aten::bmm.default": {"f32 f32": 2}, "aten::_safe_softmax.default": {"f32": 1}}
    assert told(inventory(**{EFFICIENT: {"f32 f32 f32": 1}}), **parts) == []
    assert told(inventory(**{"aten::mm.default": {"f32 f32": 1}}), **parts)


def test_a_tensor_is_moved_to_a_card_only_where_the_inventory_says_so() -> None:
    moved = {"aten::_to_copy.default": {"i64": 1}}
    said = Assumption(kind="device", subject="aten::_to_copy.default")
    assert told(inventory(said, **moved)) == []
    assert told(inventory(**moved))


def test_a_number_is_put_into_a_part_in_two_ways() -> None:
    card = {"aten::scalar_tensor.default": {"": 1}, "aten::copy_.default": {"f32 f32": 1}}
    assert told(inventory(**card), **{"aten::fill_.Tensor": {"f32 f32": 1}}) == []
    assert told(inventory(**card))


def test_of_several_runs_the_most_calls_count() -> None:
    one = {"forward": {"aten::mm.default": {"f32 f32": 2}}}
    two = {"forward": {"aten::mm.default": {"f32 f32": 1, "bf16 bf16": 3}}}
    assert merged((one, two)) == {"forward": {"aten::mm.default": {"f32 f32": 2, "bf16 bf16": 3}}}


class TestACombinationThatNoMaskGives:
    """One operator is excused, where transformers' masks were asked, and nowhere else."""

    NOT = "aten::bitwise_not.default"
    SAID = Assumption(
        kind="value",
        subject="aten::_local_scalar_dense.default",
        site="transformers/masking_utils.py:292",
    )

    def found(self, *assumed: Assumption, **differing: Any) -> Inventory:
        use = Use(
            operator=self.NOT,
            phase=Phase.FORWARD,
            dtypes=("bool",),
            calls=1,
            site="transformers/masking_utils.py:298",
        )
        uses = (replace(use, **differing),)
        return Inventory(name="m", reader="test", source="sha256:0", uses=uses, assumptions=assumed)

    def test_one_call_where_the_mask_was_guessed_is_no_difference(self) -> None:
        assert told(self.found(self.SAID)) == []

    @pytest.mark.parametrize(
        "differing",
        [{"site": "transformers/models/x.py:298"}, {"calls": 2}, {"dtypes": ("i64",)}],
    )
    def test_any_other_call_is_a_difference(self, differing: dict[str, Any]) -> None:
        assert told(self.found(self.SAID, **differing))

    def test_without_a_guess_at_the_mask_it_is_a_difference(self) -> None:
        assert told(self.found())
        assert told(self.found(replace(self.SAID, site="transformers/models/x.py:1")))

    def test_what_really_ran_is_compared_as_all_else(self) -> None:
        assert told(self.found(self.SAID), **{self.NOT: {"bool": 1}}) == []
        assert told(self.found(self.SAID), **{self.NOT: {"bool": 2}})
