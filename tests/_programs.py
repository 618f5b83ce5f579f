"""Programs as torch.export and ONNX write them, made here by the words of their formats."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FLOAT, LONG, BF16 = 7, 5, 13
"""Types of torch's schema."""


def meta(dtype: int, *sizes: int | str, strides: Sequence[int] | None = None) -> dict[str, Any]:
    """Return what a graph says of a tensor; a size that is a text may be any."""
    told = [
        {"as_int": one} if isinstance(one, int) else {"as_expr": {"expr_str": one, "hint": None}}
        for one in sizes
    ]
    found: dict[str, Any] = {"dtype": dtype, "sizes": told, "requires_grad": False}
    if strides is not None:
        found["strides"] = [{"as_int": one} for one in strides]
    return found


def node(target: str, *arguments: tuple[str, Any], **metadata: str) -> dict[str, Any]:
    """Return a node whose arguments are given by position."""
    return {
        "target": target,
        "inputs": [
            {"name": f"a{number}", "arg": {kind: value}, "kind": 1}
            for number, (kind, value) in enumerate(arguments)
        ],
        "outputs": [],
        "metadata": metadata,
    }


def tensor(name: str) -> tuple[str, Any]:
    """Return an argument that is a tensor."""
    return "as_tensor", {"name": name}


def graph(nodes: Iterable[Any], **values: Any) -> dict[str, Any]:
    """Return a graph with the tensors ``values``."""
    return {
        "inputs": [],
        "outputs": [],
        "nodes": list(nodes),
        "tensor_values": values,
        "sym_int_values": {},
        "sym_bool_values": {},
    }


def program(nodes: Iterable[Any], signature: Any = None, **values: Any) -> dict[str, Any]:
    """Return the document of an exported program."""
    return {
        "graph_module": {
            "graph": graph(nodes, **values),
            "signature": signature or {"input_specs": [], "output_specs": []},
            "module_call_graph": [],
        },
        "opset_version": {"aten": 10},
        "range_constraints": {},
        "schema_version": {"major": 8, "minor": 14},
        "torch_version": "2.9.0",
    }


LINEAR = program(
    [
        node(
            "torch.ops.aten.linear.default",
            tensor("x"),
            tensor("p_w"),
            nn_module_stack="L__self__,,demo.Net;L__self___fc,fc,torch.nn.modules.linear.Linear",
            stack_trace='  File "/home/me/net.py", line 7, in forward\n    return self.fc(x)\n',
        ),
        node("torch.ops.aten.relu.default", tensor("y")),
    ],
    {
        "input_specs": [
            {"parameter": {"arg": {"name": "p_w"}, "parameter_name": "fc.weight"}},
            {"user_input": {"arg": {"as_tensor": {"name": "x"}}}},
        ],
        "output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "z"}}}}],
    },
    x=meta(FLOAT, 1, 4),
    p_w=meta(FLOAT, 8, 4),
    y=meta(FLOAT, 1, 8),
)
"""A program of two operators."""


def zipped(files: Mapping[str, bytes | str], *, deflated: bool = False) -> bytes:
    """Return a zip file."""
    buffer = io.BytesIO()
    how = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
    with zipfile.ZipFile(buffer, "w", how) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def pt2(document: Any = None, *, deflated: bool = False) -> bytes:
    """Return a file as torch.export.save writes it."""
    return zipped(
        {
            "package/archive_format": "pt2",
            "package/models/model.json": json.dumps(document or LINEAR),
            "package/archive_version": "0",
        },
        deflated=deflated,
    )


def varint(number: int) -> bytes:
    """Return a number as protocol buffers have it."""
    found = bytearray()
    number &= (1 << 64) - 1
    while number >= 0x80:
        found.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*found, number])


def field(number: int, value: bytes | str | float) -> bytes:
    """Return a field of a protocol buffer: a number, four bytes of a float, or bytes."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def onnx_node(op: str, *inputs: str, domain: str = "", name: str = "", more: bytes = b"") -> bytes:
    """Return a node of an ONNX graph, as its field."""
    told = b"".join(field(1, one) for one in inputs) + field(2, "out")
    if name:
        told += field(3, name)
    told += field(4, op) + more
    return field(1, told + field(7, domain) if domain else told)


def onnx_tensor(name: str, dtype: int, *sizes: int, raw: bytes | None = None) -> bytes:
    """Return a tensor, as the message that it is."""
    told = b"".join(field(1, one) for one in sizes) + field(2, dtype) + field(8, name)
    return told if raw is None else told + field(9, raw)


def onnx_value(name: str, dtype: int, *sizes: int | str) -> bytes:
    """Return what is said of a value, as the message that it is."""
    dims = b"".join(
        field(1, field(2, one) if isinstance(one, str) else field(1, one)) for one in sizes
    )
    return field(1, name) + field(2, field(1, field(1, dtype) + field(2, dims)))


def onnx(
    graph: bytes, *, functions: Iterable[bytes] = (), opsets: Mapping[str, int] | None = None
) -> bytes:
    """Return an ONNX file."""
    told = field(1, 8) + field(2, "pytorch") + field(3, "2.9.0") + field(7, graph)
    for domain, version in (opsets or {"": 18}).items():
        told += field(8, (field(1, domain) if domain else b"") + field(2, version))
    return told + b"".join(field(25, one) for one in functions)


GEMM = onnx(
    onnx_node("Gemm", "x", "w", name="/model/fc/Gemm")
    + onnx_node("Relu", "y")
    + field(2, "main_graph")
    + field(5, onnx_tensor("w", 1, 4, 8, raw=bytes(128)))
    + field(11, onnx_value("x", 1, "batch", 4))
    + field(12, onnx_value("out", 1, "batch", 8))
)
"""A model of two operators."""
