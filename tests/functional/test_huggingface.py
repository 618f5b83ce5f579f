"""A model walked through by its configuration alone, under an interpreter that has torch."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path

import jsonschema
import pytest

import mxenv
from mxenv import inventory_file
from mxenv.errors import ModelError
from mxenv.inventory import Inventory, Phase
from mxenv.models import Request, huggingface

SCHEMA = json.loads(
    (Path(mxenv.__file__).parent / "schemas" / "inventory.schema.json").read_text(encoding="utf-8")
)
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "torch_dtype": "bfloat16",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
}
FLASH = "aten::_scaled_dot_product_flash_attention.default"
OWN = {
    "architectures": ["OwnModel"],
    "model_type": "own",
    "auto_map": {"AutoConfig": "code.OwnConfig", "AutoModel": "code.OwnModel"},
    "kind": "plain",
}
CODE = """
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

    print("whatever a model prints")
    library = torch.library.Library("own", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    library.define("halves(Tensor x) -> Tensor[]")
    library.impl("halves", lambda x: [x, x], "CPU")

    def double():
        import triton
        import triton.language as tl

        @triton.autotune(configs=[triton.Config({"B": 64}), triton.Config({"B": 128})], key=["n"])
        @triton.jit
        def double(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

        return double

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = torch.empty_like(x)
            double()[(1,)](x, y, x.numel())
            return y

        @staticmethod
        def backward(ctx, g):
            y = torch.empty_like(g)
            double()[(1,)](g, y, g.numel())
            return y

    class OwnConfig(PretrainedConfig):
        model_type = "own"

    class OwnModel(PreTrainedModel):
        config_class = OwnConfig

        def __init__(self, config):
            super().__init__(config)
            self.layer = torch.nn.Linear(8, 8)
            self.post_init()

        def forward(self, input_ids):
            x = self.layer(torch.nn.functional.one_hot(input_ids.clamp(max=7), 8).float())
            if self.config.kind == "twice":
                x = torch.ops.own.twice(x)
            if self.config.kind == "halves":
                x = torch.ops.own.halves(x)[1] + x.numpy().sum()
            if self.config.kind == "triton":
                x = Twice.apply(x)
            if self.config.kind == "fetch":
                import urllib.request
                urllib.request.urlopen("http://127.0.0.1:9/")
            return torch.tanh(x) if x.sum() > 0 else torch.relu(x)
"""


def folder(path: Path, config: dict[str, object]) -> str:
    """Write a model without weights."""
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config))
    if "auto_map" in config:
        (path / "code.py").write_text(textwrap.dedent(CODE))
    return str(path)


def read(path: Path, config: dict[str, object], python: str, **how: object) -> Inventory:
    target = folder(path, config)
    return huggingface.read(Request(target=target, python=python, **how))


@pytest.fixture(scope="module")
def llama(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    return read(tmp_path_factory.mktemp("m") / "llama", LLAMA, torch_python)


@pytest.fixture(scope="module")
def trained(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Inventory:
    return read(tmp_path_factory.mktemp("t") / "llama", LLAMA, torch_python, train=True)


class TestInference:
    def test_a_decoder_reads_everything_and_then_writes_one_token(self, llama: Inventory) -> None:
        assert {use.phase for use in llama.uses} == {Phase.PREFILL, Phase.DECODE}
        assert dict(llama.inputs)["input_ids"] == "i64 2x64"
        assert dict(llama.inputs)["decode.input_ids"] == "i64 2x1"

    def test_every_matrix_of_every_layer_is_multiplied_once(self, llama: Inventory) -> None:
        products = [use for use in llama.uses if use.operator == "aten::mm.default"]
        assert {use.phase: use.calls for use in products} == {
            Phase.PREFILL: 7 * 2 + 1,
            Phase.DECODE: 7 * 2 + 1,
        }
        assert {use.dtypes for use in products} == {("bf16", "bf16")}

    def test_the_first_call_is_told_by_module_and_line(self, llama: Inventory) -> None:
        use = next(use for use in llama.uses if use.operator == "aten::silu.default")
        assert use.module == "model.layers.0.mlp.act_fn"
        assert use.site.startswith("transformers/")
        assert use.site.rpartition(":")[2].isdecimal()

    def test_attention_is_one_of_the_kernels_that_a_card_may_take(self, llama: Inventory) -> None:
        use = next(use for use in llama.uses if use.operator == FLASH)
        assert "aten::_scaled_dot_product_cudnn_attention.default" in use.one_of
        assert [one.subject for one in llama.assumptions if one.kind == "attention"]

    def test_a_branch_that_was_guessed_is_walked_both_ways(self, llama: Inventory) -> None:
        kernels = {use.operator for use in llama.uses if FLASH in use.one_of}
        assert len(kernels) == 2, "with a mask that masks nothing there is none"
        assert [one for one in llama.assumptions if one.kind == "value"]

    def test_arguments_are_kept_with_their_shapes(self, llama: Inventory) -> None:
        use = next(
            use
            for use in llama.uses
            if use.operator == "aten::mm.default" and use.phase is Phase.PREFILL
        )
        first, second = json.loads(use.samples[0])
        assert first == {"t": "bf16", "s": [128, 64]}
        assert second["st"] == [1, 64]
        assert all(len(use.samples) <= 5 for use in llama.uses)

    def test_who_read_it_is_told_and_which_packages_it_would_use(self, llama: Inventory) -> None:
        assert {name for name, _ in llama.tools} == {"torch", "transformers"}
        assert "flash-attn" in dict(llama.packages)
        assert (llama.architecture, llama.dtype, llama.mode) == (
            *("LlamaForCausalLM", "bf16"),
            "inference",
        )

    def test_it_is_a_file_like_any_other(self, llama: Inventory) -> None:
        text = inventory_file.to_json(llama)
        jsonschema.validate(json.loads(text), SCHEMA)
        assert inventory_file.from_json(text, context="x") == llama

    def test_the_same_model_elsewhere_gives_the_same(
        self, llama: Inventory, torch_python: str, tmp_path: Path
    ) -> None:
        assert read(tmp_path / "llama", LLAMA, torch_python).digest == llama.digest


class TestTraining:
    def test_there_is_a_step_forward_one_back_and_the_optimiser_s(self, trained: Inventory) -> None:
        assert trained.mode == "training"
        assert {use.phase for use in trained.uses} == {
            Phase.FORWARD,
            Phase.BACKWARD,
            Phase.OPTIMISER,
        }

    def test_the_optimiser_takes_all_weights_at_once_or_each(self, trained: Inventory) -> None:
        lists = [use for use in trained.uses if use.operator.startswith("aten::_foreach_")]
        assert lists
        assert all(use.phase is Phase.OPTIMISER and len(use.one_of) > 1 for use in lists)
        assert all(len(use.dtypes) <= 4 for use in lists)

    def test_what_runs_backwards_is_told_by_the_module_that_ran_forwards(
        self, trained: Inventory
    ) -> None:
        use = next(use for use in trained.uses if use.operator == "aten::silu_backward.default")
        assert use.module.endswith("mlp.act_fn")

    def test_products_are_seen_in_every_format_with_autocast_and_without(
        self, trained: Inventory
    ) -> None:
        casts = [use for use in trained.uses if use.operator == "aten::_to_copy.default"]
        assert ("f32",) in {use.dtypes for use in casts}
        updates = [use for use in trained.uses if use.operator == "aten::_foreach_lerp_.Scalar"]
        assert {"bf16", "f32"} <= {name for use in updates for name in use.dtypes}
        assert [one for one in trained.assumptions if one.kind == "autocast"]


class TestOwnCode:
    def test_it_is_run_only_if_somebody_says_so(self, torch_python: str, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match="its own code") as caught:
            read(tmp_path / "own", OWN, torch_python)
        assert "--trust-remote-code" in caught.value.hint

    def test_an_operator_without_shapes_is_guessed_and_that_is_said(
        self, torch_python: str, tmp_path: Path
    ) -> None:
        config = {**OWN, "kind": "twice"}
        found = read(tmp_path / "own", config, torch_python, trust_remote_code=True)
        assert {"own::twice.default", "aten::tanh.default", "aten::relu.default"} <= {
            *found.operators
        }
        assert [one.subject for one in found.assumptions if one.kind == "shape"]
        use = next(use for use in found.uses if use.operator == "own::twice.default")
        assert use.site.rpartition("/")[2].startswith("code.py:")

    def test_where_no_values_lead_nowhere_a_small_instance_runs_on_real_ones(
        self, torch_python: str, tmp_path: Path
    ) -> None:
        config = {**OWN, "kind": "halves"}
        found = read(tmp_path / "own", config, torch_python, trust_remote_code=True)
        assert "own::halves.default" in found.operators
        assert [one.said for one in found.assumptions if one.kind == "size"]

    def test_kernels_that_no_dispatcher_sees_are_caught_forwards_and_backwards(
        self, torch_python: str, tmp_path: Path
    ) -> None:
        config = {**OWN, "kind": "triton"}
        how = {"trust_remote_code": True, "train": True}
        found = read(tmp_path / "own", config, torch_python, **how)
        assert {(one.kind, one.phase) for one in found.kernels} == {
            ("triton", Phase.FORWARD),
            ("triton", Phase.BACKWARD),
        }
        assert all(one.name.startswith("double (code.py:") for one in found.kernels)
        assert all(one.site.startswith("code.py:") for one in found.kernels)
        assert dict(found.packages)["triton"]

    def test_nothing_is_fetched(self, torch_python: str, tmp_path: Path) -> None:
        config = {**OWN, "kind": "fetch"}
        with pytest.raises(ModelError, match="nothing is fetched"):
            read(tmp_path / "own", config, torch_python, trust_remote_code=True)


REFUSED = (
    ({"model_type": "never-heard-of", "architectures": ["X"]}, "knows no model_type"),
    ({"architectures": ["LlamaForCausalLM"]}, "names no model_type"),
    ({**LLAMA, "num_attention_heads": 0}, "no model can be made"),
    ({**LLAMA, "hidden_size": "wide"}, "no model can be made"),
    ({**LLAMA, "num_attention_heads": 3}, "attention heads (3)"),
)


@pytest.mark.parametrize(("config", "said"), REFUSED, ids=lambda one: str(one)[:20])
def test_what_makes_no_model_is_refused_in_one_line(
    config: dict[str, object], said: str, torch_python: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError) as caught:
        read(tmp_path / "odd", config, torch_python)
    assert said in caught.value.message
    assert str(caught.value.context) == str(tmp_path / "odd" / "config.json")
    assert "\n" not in str(caught.value)
    assert caught.value.hint


def test_a_model_that_takes_for_ever_is_given_up(torch_python: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="in 1 seconds"):
        read(tmp_path / "deep", {**LLAMA, "num_hidden_layers": 10**6}, torch_python, seconds=1)


def test_operators_of_packed_weights_are_not_claimed(torch_python: str, tmp_path: Path) -> None:
    packed = {**LLAMA, "quantization_config": {"quant_method": "gptq", "bits": 4}}
    found = read(tmp_path / "packed", packed, torch_python)
    assert any("packed weights" in gap and "gptq" in gap for gap in found.gaps)


def bare(folder_: Path) -> str:
    """Return an interpreter that has no package at all."""
    program = folder_ / "bare-python"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    program.chmod(0o755)
    return str(program)


def test_an_interpreter_without_torch_is_told_what_to_install(tmp_path: Path) -> None:
    python = bare(tmp_path)
    with pytest.raises(ModelError, match="torch is not installed there") as caught:
        read(tmp_path / "llama", LLAMA, python)
    assert f"{python} -m pip install torch" in caught.value.hint


def ops(*words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("mxenv")
    return subprocess.run(
        [program, "ops", *words], capture_output=True, text=True, check=False, timeout=120
    )


def test_the_command_line_walks_through_a_model(torch_python: str, tmp_path: Path) -> None:
    out = tmp_path / "llama.json"
    done = ops(folder(tmp_path / "llama", LLAMA), "--python", torch_python, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert json.loads(out.read_text())["reader"] == "huggingface"


def test_the_command_line_says_what_is_missing(tmp_path: Path) -> None:
    done = ops(folder(tmp_path / "llama", LLAMA), "--python", bare(tmp_path))
    assert done.returncode == 5
    assert "torch is not installed there" in done.stderr
