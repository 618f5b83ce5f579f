"""Files of weights, written by the words of their formats."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4}


def safetensors(tensors: Mapping[str, tuple[str, Sequence[int]]]) -> bytes:
    """Return a file whose tensors are all zero."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (dtype, shape) in tensors.items():
        size = SIZES.get(dtype, 1)
        for number in shape:
            size *= number
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def text(value: str) -> bytes:
    """Return a text as GGUF has it."""
    return struct.pack("<Q", len(value.encode())) + value.encode()


def gguf(
    tensors: Mapping[str, tuple[int, Sequence[int]]], fields: Sequence[bytes] = (), version: int = 3
) -> bytes:
    """Return the header of a file, and of ``tensors`` the types and shapes."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(fields))
    entries = [
        text(name)
        + struct.pack("<I", len(shape))
        + b"".join(struct.pack("<Q", number) for number in shape)
        + struct.pack("<IQ", kind, 0)
        for name, (kind, shape) in tensors.items()
    ]
    return head + b"".join(fields) + b"".join(entries)


def field(name: str, kind: int, value: bytes) -> bytes:
    """Return a field of GGUF's beginning."""
    return text(name) + struct.pack("<I", kind) + value
