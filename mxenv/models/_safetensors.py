"""What a safetensors file says of its tensors: its header, and no byte of them."""

from __future__ import annotations

import math
import os
import stat
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
    try:
        content, after = _read(path)
    except OSError as error:
        raise ModelError(f"cannot be read: {why(error)}", context=str(path)) from None
    try:
        return _tensors(json_object(content), after)
    except (ValueError, TypeError, KeyError) as error:
        said = f"{error} is missing" if isinstance(error, KeyError) else str(error)
    raise ModelError(f"its header is not understood: {said}", context=str(path), hint=WHOLE)


def _read(path: Path) -> tuple[bytes, int]:
    """Return the header of the file at ``path``, and how many bytes follow it."""
    # Unbuffered, so that no byte of a tensor is read with the header; a named pipe may never say
    # anything, and is not waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise ModelError("is not a file", context=str(path))
        size = about.st_size
        length = int.from_bytes(os.read(descriptor, LENGTH), "little")
        if size < LENGTH or length > min(size - LENGTH, LARGEST):
            said = f"a header of {length} bytes, in a file of {size}"
            raise ModelError(f"is cut, or not safetensors: {said}", context=str(path), hint=WHOLE)
        return os.read(descriptor, length), size - LENGTH - length
    finally:
        os.close(descriptor)


def _tensors(document: Mapping[str, object], size: int) -> Mapping[str, Tensor]:
    """Return the tensors that a header lists; they have to fill at most ``size`` bytes, in a row.

    A model of hundreds of thousands of tensors has a few forms of them: each is looked at once.
    """
    tensors: dict[str, Tensor] = {}
    forms: dict[str, Tensor] = {}
    begins, ends = [], []
    for name, entry in document.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict):
            raise TypeError(f"{name!r} is no object")
        first, last = entry["data_offsets"]
        if type(first) is not int or type(last) is not int:
            raise TypeError(f"{name!r} has no list of numbers where one should be")
        if first > last:
            raise ValueError(f"{name!r} ends before it begins")
        dtype, shape = entry["dtype"], entry["shape"]
        form = f"{dtype!r} {last - first} {shape!r}"
        if form not in forms:
            forms[form] = _tensor(name, dtype, shape, last - first)
        tensors[name] = forms[form]
        begins.append(first)
        ends.append(last)
    _together(begins, ends, size)
    return tensors


def _tensor(name: str, dtype: object, shape: object, size: int) -> Tensor:
    """Return a tensor of that type and shape, if that fits into ``size`` bytes."""
    if not isinstance(dtype, str):
        raise TypeError(f"{name!r} has a type that is no name")
    if not isinstance(shape, list) or len(shape) > DIMENSIONS:
        raise TypeError(f"{name!r} has no list of numbers where one should be")
    if any(type(number) is not int or not 0 <= number <= MOST for number in shape):
        raise ValueError(f"{name!r} has a size that cannot be")
    if dtype in BITS and size * 8 != math.prod(shape) * BITS[dtype]:
        raise ValueError(f"{name!r} has {size} bytes, which its shape does not")
    return Tensor(dtype=dtype, shape=tuple(shape), bytes=size)


def _together(begins: list[int], ends: list[int], size: int) -> None:
    """Refuse tensors that do not lie one after another from the first of ``size`` bytes."""
    begins.sort()
    ends.sort()
    if ends and ends[-1] > size:
        raise ValueError(f"its tensors end {ends[-1] - size} bytes after the file does")
    # As many begin as end at each place between: so that each byte is one tensor's.
    if begins != [0, *ends][: len(begins)]:
        raise ValueError("its tensors overlap, or leave holes between them")
