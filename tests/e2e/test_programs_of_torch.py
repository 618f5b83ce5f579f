"""Files that torch and ONNX themselves wrote, held against what the two say of them."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from mxenv.models import Request, exported
from mxenv.models import onnx as onnx_reader
from mxenv.torchscript import OF_VALUES

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.inventory import Inventory

WRITE = '''
import collections, json, re, sys, warnings
import onnx, torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

warnings.simplefilter("ignore")
folder = sys.argv[1]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 4)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x, flag):
        y = self.norm(self.conv(x)).relu().mean((2, 3)).to(torch.bfloat16).float()
        z, _ = self.attention(y[:, None], y[:, None], y[:, None])
        y = torch.cond(flag.sum() > 0, lambda t: t.sin(), lambda t: t.cos(), (z[:, 0],))
        return torch.full_like(self.fc(y), float("inf")), x.transpose(2, 3)


def called(graph_module):
    """Return what a graph calls, by torch's own objects, with the graphs within it."""
    found = collections.Counter()
    for node in graph_module.graph.nodes:
        if isinstance(node.target, torch._ops.OpOverload):
            found[f"{node.target._schema.name}.{node.target._overloadname}"] += 1
    for inner in graph_module.children():
        if isinstance(inner, torch.fx.GraphModule):
            found += called(inner)
    return found


told = {}
arguments = (torch.randn(2, 3, 8, 8), torch.ones(2, dtype=torch.int64))
free = {"x": {0: torch.export.Dim.DYNAMIC}, "flag": None}
program = torch.export.export(Net().eval(), arguments, dynamic_shapes=free)
for name, one in (("net", program), ("core", program.run_decompositions())):
    torch.export.save(one, f"{folder}/{name}.pt2")
    bytes_ = sum(t.nbytes for t in one.state_dict.values() if t.is_floating_point())
    told[name] = {"calls": called(one.graph_module), "bytes": bytes_}


class Script(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        numbers = [1]
        for i in range(3):
            numbers.append(i)
        if bool(x.sum() > 0):
            return torch.relu(self.fc(x)) + float(len(numbers))
        return x


script = torch.jit.script(Script())
script.save(f"{folder}/script.pt")
torch.save(Script().state_dict(), f"{folder}/weights.pt")
told["script"] = sorted(set(re.findall(r"aten::\\w+", str(script.inlined_graph))))


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(3, 8, 3), nn.Linear(8, 4)

    def forward(self, x):
        return self.fc(self.conv(x).relu().mean((2, 3)))


torch.onnx.export(Plain().eval(), (arguments[0],), f"{folder}/plain.onnx", dynamo=False)
value = helper.make_tensor_value_info
inner = [
    helper.make_graph([helper.make_node(op, ["x"], ["y"])], op, [], [value("y", 1, [2])])
    for op in ("Sin", "Cos")
]
nodes = [
    helper.make_node("If", ["c"], ["i"], then_branch=inner[0], else_branch=inner[1]),
    helper.make_node("Twice", ["x"], ["t"], domain="acme"),
    helper.make_node("MatMulNBits", ["x", "q", "s"], ["m"], domain="com.microsoft", bits=4),
]
twice = helper.make_function(
    "acme", "Twice", ["a"], ["c"],
    [helper.make_node("Exp", ["a"], ["b"]), helper.make_node("Exp", ["b"], ["c"])],
    [helper.make_opsetid("", 18)],
)
tensors = [
    helper.make_tensor("q", TensorProto.UINT8, [64], bytes(64), raw=True),
    helper.make_tensor("s", TensorProto.FLOAT16, [3], [1.0, 2.0, 3.0]),
    helper.make_tensor("n", TensorProto.INT64, [2], [1, 2]),
]
graph = helper.make_graph(
    nodes, "main", [value("x", 1, ["batch", 2]), value("c", 9, [])], [value("t", 1, None)], tensors
)
opsets = [helper.make_opsetid(n, v) for n, v in (("", 18), ("acme", 1), ("com.microsoft", 1))]
model = helper.make_model(graph, functions=[twice], opset_imports=opsets)
onnx.save(model, f"{folder}/made.onnx")
large = onnx.load(f"{folder}/plain.onnx")
onnx.save(large, f"{folder}/outside.onnx", save_as_external_data=True, location="w.bin",
          size_threshold=0)
for name in ("plain", "outside"):
    loaded = onnx.load(f"{folder}/{name}.onnx")
    ops = [f"{n.domain or 'ai.onnx'}::{n.op_type}" for n in loaded.graph.node]
    told[name] = {
        "calls": collections.Counter(ops),
        "bytes": sum(numpy_helper.to_array(t).nbytes for t in loaded.graph.initializer),
        "opset": str(loaded.opset_import[0].version),
    }
print(json.dumps(told))
'''
OF_SIZES = {"aten::sym_size.int", "aten::_assert_tensor_metadata", "aten::_assert_scalar"}


@pytest.fixture(scope="module")
def written(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("programs")
    # TorchScript looks for its source.
    (folder / "write.py").write_text(WRITE, encoding="utf-8")
    done = subprocess.run(
        [torch_python, "-W", "ignore", str(folder / "write.py"), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout.splitlines()[-1])


def calls(inventory: Inventory) -> Counter[str]:
    found: Counter[str] = Counter()
    for use in inventory.uses:
        found[use.operator.removesuffix(".default")] += use.calls
    return found


@pytest.mark.parametrize("name", ["net", "core"])
def test_an_exported_program_calls_what_torch_says(written: tuple[Path, Any], name: str) -> None:
    folder, told = written
    found = exported.read(Request(target=str(folder / f"{name}.pt2")))
    expected = Counter(
        {key.removesuffix(".default"): number for key, number in told[name]["calls"].items()}
    )
    for size in OF_SIZES:
        expected.pop(size, None)
    assert calls(found) == expected
    assert found.architecture == "Net"
    assert sum(stored.bytes for stored in found.formats) == told[name]["bytes"]
    assert dict(found.inputs)["flag"] == "i64 2"
    assert all(use.dtypes and use.samples and use.site for use in found.uses)
    assert {one.subject for one in found.assumptions} == {"graph", "higher_order::cond"}
    assert found.gaps == ()


def test_torchscript_calls_what_its_graph_does(written: tuple[Path, Any]) -> None:
    folder, told = written
    found = exported.read(Request(target=str(folder / "script.pt")))
    expected = {name for name in told["script"] if name.partition("::")[2] not in OF_VALUES}
    assert len(expected) > 4
    assert {use.operator for use in found.uses} == expected


@pytest.mark.parametrize("name", ["plain", "outside"])
def test_an_onnx_file_calls_what_onnx_says(written: tuple[Path, Any], name: str) -> None:
    folder, told = written
    found = onnx_reader.read(Request(target=str(folder / f"{name}.onnx")))
    assert calls(found) == Counter(told[name]["calls"])
    assert sum(stored.bytes for stored in found.formats) == told[name]["bytes"]
    assert dict(found.tools)["ai.onnx"] == told[name]["opset"]
    assert found.gaps == ()


def test_weights_that_are_missing_or_cut_are_said(written: tuple[Path, Any]) -> None:
    folder, _ = written
    weights = folder / "w.bin"
    whole = weights.read_bytes()
    target = Request(target=str(folder / "outside.onnx"))
    weights.write_bytes(whole[:-1])
    assert onnx_reader.read(target).gaps == (
        "its weights lie in w.bin, which ends 1 bytes before they do",
    )
    weights.rename(folder / "elsewhere")
    assert onnx_reader.read(target).gaps == ("its weights lie in w.bin, which is not there",)
    (folder / "elsewhere").rename(weights)
    weights.write_bytes(whole)


def test_functions_branches_and_packed_weights_are_read_as_onnx_writes_them(
    written: tuple[Path, Any],
) -> None:
    folder, _ = written
    found = onnx_reader.read(Request(target=str(folder / "made.onnx")))
    assert calls(found) == {
        "ai.onnx::If": 1,
        "ai.onnx::Sin": 1,
        "ai.onnx::Cos": 1,
        "ai.onnx::Exp": 2,
        "com.microsoft::MatMulNBits": 1,
    }
    assert [(one.weights, one.bytes, one.note) for one in found.formats] == [
        ("int4", 64, "com.microsoft::MatMulNBits"),
        ("fp16", 6, ""),
    ]
    assert found.inputs == (("c", "bool"), ("x", "f32 batchx2"))
