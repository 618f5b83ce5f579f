"""What a small instance calls on a device that was named, and what is said where that fails."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from mxenv.api import operators
from mxenv.errors import ModelError, UsageError
from mxenv.models import Request, _recorded

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.inventory import Inventory

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 500,
    "torch_dtype": "bfloat16",
}
FOR_CPU = "aten::_scaled_dot_product_flash_attention_for_cpu.default"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    return tmp_path


def read(target: object, python: str | None, device: str, **how: bool) -> Inventory:
    request = Request(target=str(target), python=python, record_on=device, **how)
    return operators.inventory_of(str(target), request=request)


def test_the_device_chooses_and_its_own_casts_are_seen(model: Path, torch_python: str) -> None:
    found = read(model, torch_python, "cpu", train=True)
    assert {use.phase for use in found.uses} == {"forward", "backward", "optimiser"}
    assert FOR_CPU in {use.operator for use in found.uses}
    # Beside the step in 16 bits there is one with weights in 32 bits, and autocast.
    casts = [use for use in found.uses if use.operator == "aten::_to_copy.default"]
    assert {"f32", "bf16"} <= {one for use in casts for one in use.dtypes}
    assert not [one for one in found.assumptions if one.kind in {"autocast", "attention"}]
    # What the CPU has chosen, a card need not choose.
    assert all(use.one_of for use in found.uses if use.operator == FOR_CPU)


def test_a_large_model_is_made_small_and_that_is_said(model: Path, torch_python: str) -> None:
    large = LLAMA | {"hidden_size": 2048, "num_hidden_layers": 48, "intermediate_size": 8192}
    (model / "config.json").write_text(json.dumps(large))
    found = read(model, torch_python, "cpu")
    (said,) = [one.said for one in found.assumptions if one.kind == "size"]
    assert said.startswith("a small instance ran on real tensors of cpu")
    assert sum(u.calls for u in found.uses if u.operator == FOR_CPU and u.phase == "prefill") == 2


@pytest.mark.parametrize("device", ["cuda", "cuda:7", "meta", "xla", "nonsense"])
def test_a_device_that_is_not_there_gives_no_inventory(
    model: Path, torch_python: str, device: str
) -> None:
    with pytest.raises(ModelError, match=f"torch computes nothing on {device}") as refused:
        read(model, torch_python, device)
    assert "--python" in (refused.value.hint or "")


def test_what_does_not_run_there_gives_no_inventory(
    tmp_path: Path, torch_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        raise MemoryError("no room for it")

def make():
    return Model(), (torch.ones(2),)
"""
    (tmp_path / "own.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="does not run on cpu: MemoryError: no room for it"):
        read("own:make", torch_python, "cpu")


def test_a_callable_runs_on_the_device_with_its_own_inputs(
    tmp_path: Path, torch_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        if bool((x > 3).any()):
            return torch.sort(x).values
        return x.cumsum(0)

def make():
    return Model(), (torch.tensor([1.0, 5.0]),)
"""
    (tmp_path / "own.py").write_text(code)
    monkeypatch.chdir(tmp_path)
    found = read("own:make", torch_python, "cpu")
    names = {use.operator for use in found.uses}
    assert "aten::sort.default" in names
    assert "aten::cumsum.default" not in names  # its values decide, and it has them


@pytest.mark.parametrize("name", ["model.gguf", "model.onnx", "model.pt2", "inventory.json"])
def test_what_cannot_be_run_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(UsageError, match="nothing of it can be run"):
        read(tmp_path / name, None, "cpu")


@pytest.mark.parametrize("device", ["Cuda", "cuda:", "a b", "--x", "cuda:1:2"])
def test_what_is_no_name_of_a_device_is_refused(model: Path, device: str) -> None:
    with pytest.raises(UsageError, match="is no device"):
        read(model, None, device)


@pytest.mark.parametrize(
    ("device", "several"), [("", True), ("cpu", True), ("cuda", False), ("cuda:1", False)]
)
def test_what_a_card_has_chosen_has_no_alternatives(device: str, *, several: bool) -> None:
    use = {"operator": FOR_CPU, "phase": "forward", "dtypes": ["bf16"], "calls": 1}
    found = _recorded.inventory(
        {"uses": [use]}, name="m", reader="r", source="sha256:0", device=device
    )
    assert bool(found.uses[0].one_of) is several
