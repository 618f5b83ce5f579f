from __future__ import annotations

import pytest

from mxenv.device_choice import CHOICES, Choice, chosen, explained, one_of

FLASH = "aten::_scaled_dot_product_flash_attention.default"
FOR_CPU = "aten::_scaled_dot_product_flash_attention_for_cpu.default"
LISTED = "aten::_foreach_add_.Scalar"


def test_attention_is_done_by_one_of_several_kernels() -> None:
    assert FLASH in one_of(FLASH)
    assert one_of(FLASH) == one_of(FOR_CPU)


def test_an_operator_that_is_always_itself_stands_alone() -> None:
    assert one_of("aten::mm.default") == ()


def test_an_optimiser_that_takes_all_weights_at_once_may_take_each_by_itself() -> None:
    assert one_of(LISTED) == (LISTED, "aten::add_.Tensor")


def test_what_is_called_for_itself_says_nothing_of_a_choice() -> None:
    assert one_of("aten::add_.Tensor") == ()


def test_a_kernel_for_the_cpu_is_chosen_on_no_card() -> None:
    assert not chosen(FOR_CPU, FLASH, "CUDA")
    assert chosen(FOR_CPU, FLASH, "CPU")
    assert chosen(FLASH, FLASH, "CUDA")


def test_what_no_choice_names_is_chosen_everywhere() -> None:
    assert chosen("aten::mm.default", FLASH, "CUDA")
    assert chosen("aten::mm.default", "aten::mm.default", "CUDA")


def test_a_part_of_an_alternative_is_explained_by_its_choice() -> None:
    assert "dropout" in {choice.id for choice in explained("aten::bernoulli_.float")}
    assert list(explained("aten::mm.default")) == []


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.id)
def test_a_choice_has_a_source_and_more_than_one_way_with_overloads_named(choice: Choice) -> None:
    assert choice.source
    assert len(choice.alternatives) > 1
    for one in choice.alternatives:
        assert all(name.count("::") == 1 and "." in name for name in one.operators)


@pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: choice.id)
@pytest.mark.parametrize("key", ["CPU", "CUDA"])
def test_a_cpu_and_a_card_have_a_way_each(choice: Choice, key: str) -> None:
    assert any(not one.keys or key in one.keys for one in choice.alternatives)
