"""How an inventory writes number formats, and what torch calls them."""

from __future__ import annotations

from typing import Any

import torch

CALLED = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8_e4m3": "float8_e4m3fn",
    "f8_e5m2": "float8_e5m2",
    "f8_e4m3fnuz": "float8_e4m3fnuz",
    "f8_e5m2fnuz": "float8_e5m2fnuz",
    "f8_e8m0": "float8_e8m0fnu",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "c128": "complex128",
    "c64": "complex64",
    "c32": "complex32",
}
DTYPES = {name: getattr(torch, called) for name, called in CALLED.items() if hasattr(torch, called)}
"""By how they are written; a build of torch need not have all of them."""
WRITTEN = {dtype: name for name, dtype in DTYPES.items()}


def short(dtype: Any) -> str:
    """Return how a number format is written: ``bf16``."""
    return WRITTEN.get(dtype) or str(dtype).replace("torch.", "")
