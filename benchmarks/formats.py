"""How long the number formats of a large model take: 200 files of weights, their headers only.

::

    python benchmarks/formats.py [RUNS]

The files are made here: real headers of a model of 60 layers with 64 experts each, and no weights.
"""

from __future__ import annotations

import json
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

from _timing import MXENV, Contender, compare, machine, table, verdict

from mxenv.api import operators

SHARDS = 200
LAYERS, EXPERTS = 60, 64
WITHIN = 0.3
"""Seconds for the formats of a model, in process."""
CONFIG = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "torch_dtype": "bfloat16",
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}


def names() -> list[str]:
    """Return the matrices of every expert of every layer."""
    return [
        f"model.layers.{layer}.mlp.experts.{expert}.{part}_proj"
        for layer in range(LAYERS)
        for expert in range(EXPERTS)
        for part in ("gate", "up", "down")
    ]


def shard(path: Path, modules: list[str]) -> list[str]:
    """Write a file with a header and a hole as large as its tensors; return what is in it."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for module in modules:
        for name, dtype, shape, size in (
            (f"{module}.weight", "F8_E4M3", [2048, 7168], 2048 * 7168),
            (f"{module}.weight_scale_inv", "F32", [16, 56], 16 * 56 * 4),
        ):
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
            end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    return [name for name in header if name != "__metadata__"]


def model(folder: Path) -> int:
    """Write a model, and return how many tensors it has."""
    modules, index = names(), {}
    for number in range(SHARDS):
        file = f"model-{number + 1:05}-of-{SHARDS:05}.safetensors"
        index |= dict.fromkeys(shard(folder / file, modules[number::SHARDS]), file)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    return len(index)


def main(runs: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tensors = model(folder)
        costs = []
        for _ in range(runs):
            began = time.perf_counter()
            found = operators.inventory_of(name)
            costs.append(time.perf_counter() - began)
        show = Contender(title="mxenv ops MODEL", argv=(MXENV, "ops", name))
        (cost,) = compare((show,), runs=runs)
    seconds = statistics.median(costs)
    gigabytes = sum(stored.bytes for stored in found.formats) / 1e9
    print(f"{machine()}; median of {runs} runs\n")
    head = ["files", "tensors", "GB of weights", "in process, s", "mxenv ops MODEL, s", "MiB"]
    row = [str(SHARDS), str(tensors), f"{gigabytes:.0f}", f"{seconds:.3f}"]
    print(table([head, [*row, f"{cost.seconds:.3f}", f"{cost.peak_mib:.0f}"]]))
    print(f"\n{verdict(f'{seconds:.3f} s', met=seconds <= WITHIN)}; target at most {WITHIN} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 11)
