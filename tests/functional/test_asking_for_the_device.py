"""A model whose own code asks on which device it runs: no way of a card is left out unsaid."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from _operators import node, table

from mxenv.api import operators
from mxenv.operator_table import Entry, How

MXENV = Path(sys.executable).with_name("mxenv")
WAYS = {
    "x.is_cuda": "special_airy_ai",
    "self.lin.weight.is_cuda": "erf",
    'x.device.type == "cuda"': "special_bessel_j0",
    '"cuda" == x.device.type': "special_bessel_j1",
    'x.device.type != "cpu"': "special_bessel_y0",
    'x.device.type in ("cuda", "xpu")': "special_bessel_y1",
    'x.device.type not in {"cpu", "mps"}': "special_entr",
    'x.device == torch.device("cuda")': "special_i0e",
    'torch.device("cuda", 0) == x.device': "special_i1",
    'str(x.device) == "cuda:0"': "special_i1e",
    '"cuda" in str(x.device)': "special_log_ndtr",
    'f"on {x.device}" == "on cuda:0"': "special_modified_bessel_i0",
    '{"cuda": True}.get(x.device.type, False)': "special_modified_bessel_i1",
    "not x.is_cpu": "special_modified_bessel_k0",
    "not x.is_meta": "special_modified_bessel_k1",
    "x.get_device() >= 0": "special_ndtri",
    "x.device.index is not None": "special_erfcx",
    'x.type().startswith("torch.cuda")': "special_scaled_modified_bessel_k0",
    "torch.cuda.is_available()": "special_scaled_modified_bessel_k1",
    "have()": "special_spherical_bessel_j0",
    "remembered()": "erfc",
    "torch.cuda.device_count() > 0": "erfinv",
    "have() and torch.cuda.get_device_capability() >= (9, 0)": "digamma",
    "have() and torch.cuda.get_device_properties(0).major == 7": "lgamma",
    "torch.cuda.is_bf16_supported()": "asinh",
    "torch.accelerator.is_available()": "acosh",
    "kind_of(torch.accelerator.current_accelerator())": "atanh",
    "torch.get_device_module(x.device) is torch.cuda": "sinh",
    "torch.backends.cuda.flash_sdp_enabled()": "cosh",
    "torch.backends.cuda.is_built()": "tan",
    "torch.backends.cudnn.is_available()": "asin",
    "torch.version.cuda is not None": "acos",
    "made(x).is_cuda": "atan",
}
"""Each way to ask, and the operator that is called on a card alone."""
CODE = """
import functools
import torch
from torch.cuda import is_available as have

@functools.lru_cache
def remembered():
    return torch.cuda.is_available()

def kind_of(device):
    return device is not None and device.type == "cuda"

def made(x):
    return torch.zeros(4, device="cuda" if torch.cuda.is_available() else x.device) + x

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.lin(x)
        {body}
        return x

class AtOnce(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fast = torch.cuda.is_available()

    def forward(self, x):
        return torch.erf(x) if self.fast else torch.cos(x)

def make():
    return Model(), torch.ones(2, 4)

def half():
    return Model().bfloat16(), torch.ones(2, 4, dtype=torch.bfloat16)

def at_once():
    return AtOnce(), torch.ones(2, 4)
"""


def write(folder: Path, *lines: str) -> None:
    body = "\n        ".join(lines)
    (folder / "own.py").write_text(CODE.replace("{body}", body), encoding="utf-8")


def ops(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MXENV, "ops", *words], cwd=folder, capture_output=True, text=True, check=False
    )


def recorded(folder: Path, python: str, name: str = "make") -> tuple[set[str], tuple[str, ...]]:
    """Return the operators and the gaps of a model's inventory."""
    done = ops(folder, f"own:{name}", "--python", python, "--out", "i.json")
    assert done.returncode == 0, done.stderr
    found = operators.read_inventory(folder / "i.json")
    if name == "make" and not found.gaps:
        assert any(
            one.kind == "device" and one.site.startswith("own.py:") for one in found.assumptions
        )
    return set(found.operators), found.gaps


def test_whichever_way_it_asks_both_ways_are_walked(tmp_path: Path, torch_python: str) -> None:
    lines = [
        f"x = torch.{name}(x) if {asked} else torch.cos(x)"
        if plain(name)
        else f"x = torch.special.{name.removeprefix('special_')}(x) if {asked} else torch.cos(x)"
        for asked, name in WAYS.items()
    ]
    write(tmp_path, *lines)
    called, gaps = recorded(tmp_path, torch_python)
    unseen = [asked for asked, name in WAYS.items() if f"aten::{name}.default" not in called]
    assert unseen == []
    assert "aten::cos.default" in called
    assert not gaps


def plain(name: str) -> bool:
    """Return whether an operator is one of torch itself, and not of its special functions."""
    return not name.startswith("special_")


@pytest.mark.parametrize(
    "lines",
    [
        ("if x.is_cuda:", "    torch.cuda.Stream()"),
        ("if x.is_cuda:", "    raise ImportError('flash_attn is needed')"),
        ("if x.is_cuda and torch.version.cuda.split('.')[0] == '11':", "    x = torch.erf(x)"),
        ("if x.is_cuda and x.cos().numpy().sum() > 0:", "    x = torch.erf(x)"),
    ],
)
def test_a_way_of_a_card_that_cannot_be_walked_is_a_gap_with_its_line(
    tmp_path: Path, torch_python: str, lines: tuple[str, ...]
) -> None:
    write(tmp_path, *lines)
    _, gaps = recorded(tmp_path, torch_python)
    assert any("card" in gap and "own.py:23" in gap for gap in gaps), gaps


def test_what_is_asked_while_a_model_is_made_is_a_gap(tmp_path: Path, torch_python: str) -> None:
    write(tmp_path, "pass")
    called, (gap,) = recorded(tmp_path, torch_python, "at_once")
    assert "aten::erf.default" not in called
    assert gap.endswith("first at own.py:29")


def test_two_tensors_at_one_place_are_no_question(tmp_path: Path, torch_python: str) -> None:
    write(
        tmp_path,
        "x = x.to(self.lin.weight.device)",
        "assert x.device == self.lin.weight.device and isinstance(x.device, torch.device)",
        "with torch.autocast(x.device.type, enabled=False):",
        "    x = x + torch.zeros(4, device=x.device) + x.new_zeros(4, device=x.device)",
        "if x.device.type == 'mps':",
        "    x = torch.erf(x)",
    )
    done = ops(tmp_path, "own:make", "--python", torch_python, "--out", "i.json")
    assert done.returncode == 0, done.stderr
    found = operators.read_inventory(tmp_path / "i.json")
    assert not found.gaps
    assert not [one for one in found.assumptions if one.kind == "device"]


def test_a_model_is_not_fit_for_a_platform_that_lacks_what_it_calls_on_a_card(
    tmp_path: Path, torch_python: str
) -> None:
    write(tmp_path, "x = torch.erf(x) if x.is_cuda else torch.cos(x)")
    names = ("addmm", "t", "cos")
    entries = {f"aten::{name}.default": Entry(how=How.NATIVE) for name in names}
    lacking = {**entries, "aten::erf.default": Entry(how=How.MISSING)}
    there = {**entries, "aten::erf.default": Entry(how=How.NATIVE)}
    here = node(tmp_path / "lacking.json", table(lacking))
    recorded(tmp_path, torch_python, "half")
    assert ops(tmp_path, "i.json", "--platform", here).returncode == 1
    whole = node(tmp_path / "there.json", table(there))
    assert ops(tmp_path, "i.json", "--platform", whole).returncode == 0
    write(tmp_path, "if x.is_cuda:", "    raise ImportError('a kernel is needed')")
    recorded(tmp_path, torch_python, "half")
    assert ops(tmp_path, "i.json", "--platform", whole).returncode == 3
