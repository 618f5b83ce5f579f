"""What a safetensors file says of its tensors: its header, and no byte of them."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from mxenv._files import why
from mxenv.errors import ModelError
from mxenv.models._bytes import json_object
from mxenv.weights import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LENGTH = 8
"""Bytes, least significant first, that say how long the header is."""
LARGEST = 100_000_000
"""Bytes of a header, as the format's own library has it."""
DIMENSIONS = 64
MOST = 1 << 62
"""Bytes, or numbers in a row."""
BITS = {
    "BOOL": 8,
    "U8": 8,
    "I8": 8,
    "F8_E4M3": 8,
    "F8_E5M2": 8,
    "F8_E8M0": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "I64": 64,
    "U64": 64,
    "F64": 64,
}
"""Of a number of each type of which all writers make the same."""
WHOLE = "download it again"


def header(path: Path) -> Mapping[str, Tensor]:
    """Return the tensors of the file at ``path``; nothing past its header is read."""
    if path.exists() and not path.is_file():
        # A named pipe may never say anything.
        raise ModelError("is not a file", context=str(path))
    try:
        # Unbuffered, so that no byte of a tensor is read with the header.
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(LENGTH), "little")
            if size < LENGTH or length > min(size - LENGTH, LARGEST):
                said = f"a header of {length} bytes, in a file of {size}"
                raise ModelError(
                    f"is cut, or not safetensors: {said}", context=str(path), hint=WHOLE
                )
            content = file.read(length)
    except OSError as error:
        raise ModelError(f"cannot be read: {why(error)}", context=str(path)) from None
    try:
        return _tensors(json_object(content), size - LENGTH - length)
    except (ValueError, TypeError, KeyError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    raise ModelError(f"its header is not understood: {said}", context=str(path), hint=WHOLE)


def _tensors(document: Mapping[str, object], size: int) -> Mapping[str, Tensor]:
    """Return the tensors that a header lists; all have to lie within ``size`` bytes."""
    tensors = {}
    end = total = 0
    for name, entry in document.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict):
            raise TypeError(f"{name!r} is no object")
        first, last = _sizes(name, entry["data_offsets"])
        shape = _sizes(name, entry["shape"])
        dtype = str(entry["dtype"])
        if first > last:
            raise ValueError(f"{name!r} ends before it begins")
        if dtype in BITS and (last - first) * 8 != math.prod(shape) * BITS[dtype]:
            raise ValueError(f"{name!r} has {last - first} bytes, which its shape does not")
        tensors[name] = Tensor(dtype=dtype, shape=shape, bytes=last - first)
        end = max(end, last)
        total += last - first
    if end > size:
        raise ValueError(f"its tensors end {end - size} bytes after the file does")
    if total != end:
        raise ValueError("its tensors overlap, or leave holes between them")
    return tensors


def _sizes(name: str, value: object) -> tuple[int, ...]:
    """Return a list of numbers of a header, none of them less than nothing."""
    if not isinstance(value, list) or len(value) > DIMENSIONS:
        raise TypeError(f"{name!r} has no list of numbers where one should be")
    for number in value:
        if type(number) is not int or not 0 <= number <= MOST:
            raise ValueError(f"{name!r} has a size that cannot be")
    return tuple(value)
