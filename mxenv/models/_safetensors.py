"""What a safetensors file says of its tensors: its header, and no byte of them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from mxenv._files import why
from mxenv.errors import ModelError
from mxenv.weights import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

LENGTH = 8
"""Bytes, least significant first, that say how long the header is."""
LARGEST = 100_000_000
"""Bytes of a header, as the format's own library has it."""
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
        return _tensors(json.loads(content.decode()), size - LENGTH - length)
    except RecursionError:
        said = "nested too deeply"
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        said = str(error)
    raise ModelError(f"its header is not understood: {said}", context=str(path), hint=WHOLE)


def _tensors(document: Mapping[str, object], size: int) -> Mapping[str, Tensor]:
    """Return the tensors that a header lists; all have to lie within ``size`` bytes."""
    tensors = {}
    end = 0
    for name, entry in document.items():
        if name == "__metadata__":
            continue
        if not isinstance(entry, dict):
            raise TypeError(f"{name!r} is no object")
        first, last = entry["data_offsets"]
        if not 0 <= first <= last:
            raise ValueError(f"{name!r} ends before it begins")
        shape = tuple(int(number) for number in entry["shape"])
        tensors[name] = Tensor(dtype=str(entry["dtype"]), shape=shape, bytes=last - first)
        end = max(end, last)
    if end > size:
        raise ValueError(f"its tensors end {end - size} bytes after the file does")
    return tensors
