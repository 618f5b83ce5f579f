from __future__ import annotations

from typing import Any

import pytest

from mxenv.declared_weights import Declared, declared
from mxenv.inventory import Stored
from mxenv.weights import SCHEMES, Tensor, found, reconciled


def tensors(**dtypes: str) -> dict[str, Tensor]:
    return {
        name.replace("__", "."): Tensor(dtype=dtype, bytes=10) for name, dtype in dtypes.items()
    }


def one(scheme: str, weights: str, activations: str, number: int) -> Stored:
    return Stored(
        scheme=scheme,
        weights=weights,
        activations=activations,
        tensors=number,
        bytes=10 * number,
    )


class TestDeclared:
    @pytest.mark.parametrize(
        ("said", "scheme", "weights", "activations", "note"),
        [
            (
                {"quant_method": "gptq", "bits": 4, "group_size": 128},
                "gptq",
                "int4",
                "bf16",
                "group 128",
            ),
            ({"quant_method": "gptq", "bits": 8}, "gptq", "int8", "bf16", ""),
            (
                {"quant_method": "awq", "w_bit": 4, "q_group_size": 64},
                "awq",
                "int4",
                "bf16",
                "group 64",
            ),
            ({"quant_method": "auto-round", "bits": 3}, "auto-round", "int3", "bf16", ""),
            ({"quant_method": "gptq", "bits": True}, "gptq", "unknown", "bf16", ""),
            (
                {"quant_method": "fp8", "activation_scheme": "dynamic"},
                *("fp8", "fp8", "fp8", "activations dynamic"),
            ),
            (
                {"quant_method": "fp8", "weight_block_size": [128, 128]},
                "fp8-block",
                "fp8",
                "fp8",
                "",
            ),
            (
                {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
                *("bitsandbytes-nf4", "nf4", "bf16", ""),
            ),
            ({"load_in_4bit": True}, "bitsandbytes-fp4", "fp4", "bf16", ""),
            (
                {"load_in_4bit": True, "bnb_4bit_quant_type": "x"},
                *("bitsandbytes-x", "unknown", "bf16", ""),
            ),
            (
                {"load_in_4bit": True, "bnb_4bit_quant_type": ["nf4"]},
                *("bitsandbytes-['nf4']", "unknown", "bf16", ""),
            ),
            ({"quant_method": "gptq", "bits": [4]}, "gptq", "unknown", "bf16", ""),
            ({"quant_method": "gptq", "bits": 4.0}, "gptq", "unknown", "bf16", ""),
            (
                {
                    "quant_method": "compressed-tensors",
                    "config_groups": {"g": {"weights": {"type": "float", "num_bits": [8]}}},
                },
                *("compressed-tensors", "unknown", "bf16", ""),
            ),
            ({"load_in_8bit": True}, "bitsandbytes-int8", "int8", "int8", ""),
            ({"quant_method": "mxfp4"}, "mxfp4", "fp4", "bf16", ""),
            ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt", "fp8", "fp8", "FP8"),
            (
                {"quant_method": "modelopt", "quantization": {"quant_algo": "NVFP4"}},
                *("modelopt", "fp4", "fp4", "NVFP4"),
            ),
            ({"quant_method": "modelopt"}, "modelopt", "unknown", "bf16", ""),
            ({"quant_method": "eetq"}, "eetq", "int8", "bf16", ""),
            ({"quant_method": "hqq", "quant_config": {"nbits": 4}}, "hqq", "int4", "bf16", ""),
            ({"quant_method": "aqlm"}, "aqlm", "unknown", "bf16", ""),
            ({"quant_method": "tomorrow"}, "tomorrow", "unknown", "bf16", ""),
            ({"x": 1}, "unknown", "unknown", "bf16", ""),
        ],
    )
    def test_every_way_to_pack_is_known(
        self, said: dict[str, Any], scheme: str, weights: str, activations: str, note: str
    ) -> None:
        (stored,) = declared({"torch_dtype": "bfloat16", "quantization_config": said}).formats
        assert (stored.scheme, stored.weights) == (scheme, weights)
        assert (stored.activations, stored.note) == (activations, note)

    def test_what_is_not_known_is_said(self) -> None:
        said = declared({"quantization_config": {"quant_method": "tomorrow"}}).said
        assert said == ("tomorrow: not known here",)
        assert declared({"quantization_config": {"x": 1}}).said == (
            "a way to pack weights without a name: not known here",
        )
        assert not declared({"quantization_config": {"quant_method": "mxfp4"}}).said

    def test_groups_of_modules_are_told_apart(self) -> None:
        groups = {
            "a": {
                "weights": {"type": "float", "num_bits": 8},
                "input_activations": {"type": "float", "num_bits": 8, "dynamic": True},
            },
            "b": {"weights": {"num_bits": 4}},
            "c": {"weights": {"type": "odd", "num_bits": 4}},
            "d": None,
        }
        said = declared(
            {
                "dtype": "float16",
                "compression_config": {
                    "quant_method": "compressed-tensors",
                    "config_groups": groups,
                },
            }
        )
        told = [(one.weights, one.activations, one.note) for one in said.formats]
        assert told == [
            ("fp8", "fp8", "activations dynamic"),
            ("int4", "fp16", ""),
            ("unknown", "fp16", ""),
        ]

    def test_without_a_group_nothing_is_known(self) -> None:
        said = declared({"quantization_config": {"quant_method": "compressed-tensors"}})
        assert [one.weights for one in said.formats] == ["unknown"]

    @pytest.mark.parametrize(
        ("config", "dtype"),
        [
            ({"torch_dtype": "torch.float16"}, "fp16"),
            ({"dtype": "bfloat16"}, "bf16"),
            ({"dtype": None, "torch_dtype": "float32"}, "fp32"),
            ({"text_config": {"dtype": "bfloat16"}}, "bf16"),
            ({"dtype": "complex64"}, "unknown"),
            ({"dtype": 7}, ""),
            ({}, ""),
        ],
    )
    def test_what_a_model_computes_in_is_read(self, config: dict[str, Any], dtype: str) -> None:
        assert declared(config) == Declared(dtype=dtype)

    def test_the_part_that_reads_text_may_say_it(self) -> None:
        inner = {"quantization_config": {"quant_method": "mxfp4"}, "dtype": "bfloat16"}
        (stored,) = declared({"text_config": inner, "quantization_config": "no"}).formats
        assert (stored.weights, stored.activations) == ("fp4", "bf16")


class TestFound:
    def test_plain_tensors_are_counted_by_their_type(self) -> None:
        there = tensors(a__weight="BF16", a__bias="BF16", b__weight="F32", ids="I64", odd="F6_E2M3")
        assert found(there) == (one("plain", "bf16", "bf16", 2), one("plain", "fp32", "fp32", 1))

    @pytest.mark.parametrize(
        ("names", "scheme", "weights", "activations", "number"),
        [
            ("qweight qzeros scales g_idx", "gptq", "int4", "bf16", 4),
            ("qweight qzeros scales", "awq", "int4", "bf16", 3),
            (
                "weight weight.absmax weight.quant_state.bitsandbytes__nf4",
                *("bitsandbytes-nf4", "nf4", "bf16", 2),
            ),
            ("weight.quant_state.bitsandbytes__fp4", "bitsandbytes-fp4", "fp4", "bf16", 1),
            ("weight SCB", "bitsandbytes-int8", "int8", "int8", 2),
            (
                "weight_packed weight_scale weight_global_scale",
                *("compressed-tensors-nvfp4", "fp4", "bf16", 3),
            ),
            (
                "weight_packed weight_scale weight_shape",
                *("compressed-tensors-packed", "int4", "bf16", 3),
            ),
            ("weight_packed weight_scale", "compressed-tensors-mxfp4", "fp4", "bf16", 2),
            ("weight weight_scale_inv", "fp8-block", "fp8", "fp8", 2),
            ("weight weight_scale weight_scale_2", "modelopt-nvfp4", "fp4", "bf16", 3),
            ("W_q", "hqq", "unknown", "bf16", 1),
            ("codes codebooks", "aqlm", "unknown", "bf16", 2),
            ("weight._data weight._scale", "quanto", "int8", "bf16", 2),
            ("weight weight_scales", "eetq", "int8", "bf16", 2),
        ],
    )
    def test_a_packed_module_is_known_by_its_tensors(
        self, names: str, scheme: str, weights: str, activations: str, number: int
    ) -> None:
        there = {f"layers.0.q.{name}": Tensor(dtype="U8", bytes=10) for name in names.split()}
        told = one(scheme, weights, activations, number)
        assert found(there, "bf16") == (told,)

    @pytest.mark.parametrize(
        ("dtype", "told"),
        [
            ("F8_E4M3", one("fp8-scaled", "fp8", "fp8", 2)),
            ("I8", one("int8-scaled", "int8", "int8", 2)),
            ("U8", one("plain", "unknown", "unknown", 2)),
            ("BF16", one("plain", "bf16", "bf16", 2)),
        ],
    )
    def test_a_scaled_weight_is_what_its_type_says(self, dtype: str, told: Stored) -> None:
        assert found(tensors(a__weight=dtype, a__weight_scale="F32")) == (told,)

    def test_blocks_and_scales_of_experts_belong_together(self) -> None:
        there = tensors(m__up_blocks="U8", m__up_scales="U8", m__up_bias="BF16", scales="U8")
        assert found(there, "bf16") == (
            one("mxfp4", "fp4", "bf16", 2),
            one("plain", "bf16", "bf16", 1),
        )

    def test_the_bias_of_a_packed_module_is_plain(self) -> None:
        there = tensors(a__qweight="I32", a__qzeros="I32", a__scales="F16", a__bias="F16")
        assert found(there, "fp16") == (
            one("awq", "int4", "fp16", 3),
            one("plain", "fp16", "fp16", 1),
        )

    def test_no_scheme_hides_behind_an_earlier_one(self) -> None:
        for number, scheme in enumerate(SCHEMES):
            assert not any(early.markers <= scheme.markers for early in SCHEMES[:number])


class TestReconciled:
    def test_tensors_count_and_a_configuration_knows_what_they_do_not_show(self) -> None:
        said = Declared(formats=(Stored(scheme="gptq", weights="int8", note="group 128"),))
        there = (one("gptq", "int4", "bf16", 4), one("plain", "bf16", "bf16", 2))
        formats, problems = reconciled(said, there)
        assert formats[0].weights == "int8"
        assert (formats[0].activations, formats[0].tensors, formats[0].note) == (
            "bf16",
            4,
            "group 128",
        )
        assert formats[1] == there[1]
        assert problems == []

    def test_what_a_configuration_does_not_know_tensors_may(self) -> None:
        said = declared({"quantization_config": {"quant_method": "tomorrow"}})
        formats, problems = reconciled(said, (one("fp8-block", "fp8", "fp8", 2),))
        assert formats[0].weights == "fp8"
        assert problems == ["tomorrow: not known here"]

    def test_without_tensors_the_configuration_counts(self) -> None:
        said = declared({"quantization_config": {"quant_method": "tomorrow"}})
        assert reconciled(said, ()) == (said.formats, ["tomorrow: not known here"])

    def test_several_groups_are_left_as_they_were_found(self) -> None:
        said = Declared(
            formats=(Stored(scheme="a", weights="fp8"), Stored(scheme="a", weights="int4"))
        )
        there = (one("fp8-scaled", "fp8", "fp8", 2),)
        assert reconciled(said, there) == (there, [])

    def test_packed_tensors_of_which_nothing_is_said_are_a_problem(self) -> None:
        _, problems = reconciled(Declared(), (one("awq", "int4", "fp16", 3),))
        assert problems == ["tensors are packed (awq), and the configuration says nothing of it"]

    def test_packing_that_no_tensor_shows_is_a_problem(self) -> None:
        said = declared({"quantization_config": {"quant_method": "awq", "bits": 4}})
        plain = (one("plain", "bf16", "bf16", 3),)
        assert reconciled(said, plain) == (
            plain,
            ["the configuration says awq, and no tensor is packed so"],
        )

    def test_plain_tensors_of_the_format_that_is_said_are_none(self) -> None:
        said = declared({"quantization_config": {"quant_method": "fp8"}})
        plain = (one("plain", "fp8", "fp8", 3),)
        assert reconciled(said, plain) == (plain, [])


def test_modules_that_are_alike_are_counted_together() -> None:
    modules = tensors(a__weight="BF16", a__bias="BF16", b__weight="BF16", b__bias="F32")
    assert [(one.weights, one.tensors, one.bytes) for one in found(modules)] == [
        ("bf16", 3, 30),
        ("fp32", 1, 10),
    ]
