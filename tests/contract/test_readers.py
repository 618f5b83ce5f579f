"""What every way to read a model must do."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest
from _programs import GEMM, pt2
from _weights import safetensors

import mxenv
from mxenv import inventory_file
from mxenv.api import operators
from mxenv.errors import ModelError
from mxenv.models import Request

READERS = operators.readers()
SCHEMA = json.loads(
    (Path(mxenv.__file__).parent / "schemas" / "inventory.schema.json").read_text(encoding="utf-8")
)


FOLDERS = ("checkpoint", "source")
FILES = {"exported": ("m.pt2", pt2()), "onnx": ("m.onnx", GEMM)}
OF_TORCH = ("huggingface", "torch")
"""Those that run a model, under an interpreter that has torch."""
ALONE = [name for name in READERS if name not in OF_TORCH]


def model(name: str, folder: Path) -> Path:
    """Return what the reader ``name`` can read."""
    if name in FILES:
        file, content = FILES[name]
        (folder / file).write_bytes(content)
        return folder / file
    (folder / "config.json").write_text('{"torch_dtype": "bfloat16"}', encoding="utf-8")
    (folder / "m.safetensors").write_bytes(safetensors({"a.weight": ("BF16", (2, 2))}))
    (folder / "a.py").write_text("import torch\ntorch.cuda.synchronize()\n", encoding="utf-8")
    return folder


def test_every_reader_is_tested_here_or_runs_a_model() -> None:
    assert sorted(READERS) == sorted([*FOLDERS, *FILES, *OF_TORCH])


@pytest.mark.parametrize("name", ALONE)
def test_what_is_read_names_its_reader_and_what_it_does_not_know(name: str, tmp_path: Path) -> None:
    found = READERS[name].read(Request(target=str(model(name, tmp_path))))
    assert found.reader == name
    assert found.source.startswith("sha256:")
    assert found.gaps or found.uses
    text = inventory_file.to_json(found)
    jsonschema.validate(json.loads(text), SCHEMA)
    assert inventory_file.from_json(text, context="x") == found


@pytest.mark.parametrize("name", ALONE)
def test_the_same_model_gives_the_same_inventory_wherever_it_lies(
    name: str, tmp_path: Path
) -> None:
    found = []
    for place in ("a", "b"):
        (folder := tmp_path / place / "model").mkdir(parents=True)
        found.append(READERS[name].read(Request(target=str(model(name, folder)))))
    assert found[0].digest == found[1].digest


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("target", ["nowhere", "\0", "a:b", "loop", "pipe"])
def test_whatever_is_named_is_claimed_or_not_without_a_fault(
    name: str, target: str, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    assert not READERS[name].claims(str(tmp_path / target))


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("suffix", ["", ".safetensors", ".gguf", ".json", ".pt2", ".pt", ".onnx"])
def test_what_is_not_there_or_damaged_is_refused_in_one_line(
    name: str, suffix: str, tmp_path: Path
) -> None:
    damaged = tmp_path / f"m{suffix}"
    damaged.write_bytes(b"\xff\x00\xff")
    os.mkfifo(tmp_path / f"pipe{suffix}")
    (tmp_path / f"loop{suffix}").symlink_to(f"loop{suffix}")
    for target in (damaged, *(tmp_path / f"{kind}{suffix}" for kind in ("none", "pipe", "loop"))):
        with pytest.raises(ModelError) as caught:
            READERS[name].read(Request(target=str(target)))
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", OF_TORCH)
def test_one_that_runs_a_model_says_what_to_install_where(name: str, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    target = "package.module:make" if name == "torch" else str(tmp_path)
    assert "torch" in READERS[name].needs
    with pytest.raises(ModelError, match="torch is not installed there") as caught:
        READERS[name].read(Request(target=target, python=str(bare)))
    assert f"{bare} -m pip install torch" in caught.value.hint
