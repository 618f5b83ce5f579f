"""What holds for every file of a program, however it was damaged."""

from __future__ import annotations

import json
import tempfile
import tracemalloc
from pathlib import Path

import pytest
from _programs import GEMM, LINEAR, field, onnx, onnx_node, onnx_tensor, pt2, zipped
from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv import exported_program, inventory_file, onnx_model
from mxenv.errors import ModelError
from mxenv.models import Request, exported
from mxenv.models import onnx as onnx_reader
from mxenv.wire import Wire

SCRIPT = zipped({"net/code/__torch__.py": "def f(x):\n  return torch.add(x, x)\n"})
FILES = {
    "a.pt2": (exported.READER, pt2()),
    "b.pt2": (exported.READER, pt2(deflated=True)),
    "old.pt2": (
        exported.READER,
        zipped({"serialized_exported_program.json": json.dumps(LINEAR), "version": "5.3"}),
    ),
    "c.pt": (exported.READER, SCRIPT),
    "d.onnx": (onnx_reader.READER, GEMM),
}


def outcome(name: str, content: bytes) -> str:
    """Return the inventory of a file, or the one line that says why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        path.write_bytes(content)
        try:
            return inventory_file.to_json(FILES[name][0].read(Request(target=str(path))))
        except ModelError as error:
            said = str(error)
    assert "\n" not in said
    return f"refused: {said}"


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_anywhere_is_refused(name: str) -> None:
    content = FILES[name][1]
    assert not outcome(name, content).startswith("refused")
    whole = [1, len(GEMM) - 4] if name == "d.onnx" else []
    for end in range(len(content)):
        if end not in whole:
            assert outcome(name, content[:end]).startswith("refused"), end


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_damage_is_read_or_refused_and_nothing_else(name: str, data: st.DataObject) -> None:
    content = bytearray(FILES[name][1])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        instead = data.draw(st.binary(max_size=10))
        content[place : place + data.draw(st.integers(0, 10))] = instead
        if not content:
            break
    outcome(name, bytes(content))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "graph",
                    "nodes",
                    "target",
                    "inputs",
                    "arg",
                    "as_tensor",
                    "as_graph",
                    "name",
                    "kind",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(nodes=values, signature=values, metadata=values, argument=values)
@settings(max_examples=300)
def test_any_document_is_a_program_or_is_refused(
    nodes: object, signature: object, metadata: object, argument: object
) -> None:
    node = {
        "target": "torch.ops.aten.add.Tensor",
        "metadata": metadata,
        "inputs": [{"name": "x", "kind": 1, "arg": argument}],
    }
    for several in (nodes, [node], [nodes]):
        graph = {"nodes": several, "tensor_values": argument, "sym_int_values": signature}
        document = {"graph_module": {"graph": graph, "signature": signature}}
        try:
            found = exported_program.read(document)
        except ValueError:
            continue
        for use in found.uses:
            assert all(isinstance(json.loads(sample), list) for sample in use.samples)


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_bytes_are_a_model_or_are_refused(content: bytes) -> None:
    try:
        found = onnx_model.read(lambda at, size: content[at : at + size], len(content))
    except ValueError:
        return
    assert found.uses


@given(st.lists(st.tuples(st.integers(1, 1 << 28), st.integers(0, (1 << 64) - 1)), max_size=20))
def test_what_is_written_as_fields_is_found_again(pairs: list[tuple[int, int]]) -> None:
    content = b"".join(field(*pair) for pair in pairs)
    wire = Wire(lambda at, size: content[at : at + size], len(content), most=100)
    assert [one[:3] for one in wire.fields(0, len(content))] == [(n, 0, v) for n, v in pairs]


def test_lengths_that_are_lies_take_no_memory() -> None:
    liars = (
        b"\x3a" + b"\xff" * 9 + b"\x01",
        onnx(onnx_node("A") + b"\x2a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        onnx(onnx_node("A") + field(5, onnx_tensor("w", 1, (1 << 63) - 1))),
    )
    tracemalloc.start()
    try:
        for liar in liars:
            assert outcome("d.onnx", liar).startswith("refused")
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
