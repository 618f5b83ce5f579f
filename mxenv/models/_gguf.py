"""What a GGUF file says of its tensors: their names, types and shapes, and no byte of them.

The layout is that of ggml's documentation, versions 2 and 3; the numbers of the types are those
of its header ``ggml.h``.
"""

from __future__ import annotations

import os
import struct
from math import prod
from typing import TYPE_CHECKING, BinaryIO

from mxenv._files import why
from mxenv.declared_weights import UNKNOWN
from mxenv.errors import ModelError
from mxenv.frozen import frozen
from mxenv.inventory import Stored
from mxenv.weights import PLAIN

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST = 1 << 20
"""Tensors, and fields before them; a file of a real model has thousands."""
VALUES = 1 << 22
"""Texts in lists; the words of a large model are 500,000."""
LARGEST = 1 << 62
"""Numbers of one tensor."""
DEEPEST = 8
"""How many arrays may lie in one another."""
DIMENSIONS = 8
STRING, ARRAY = 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a value of each type that has a fixed size."""


@frozen
class Kind:
    """How one type of tensor holds numbers, in blocks."""

    name: str
    weights: str
    block: int = 1
    """Numbers in one block."""
    size: int = 1
    """Bytes of one block."""


KINDS = {
    0: Kind(name="F32", weights="fp32", size=4),
    1: Kind(name="F16", weights="fp16", size=2),
    2: Kind(name="Q4_0", weights="int4", block=32, size=18),
    3: Kind(name="Q4_1", weights="int4", block=32, size=20),
    6: Kind(name="Q5_0", weights="int5", block=32, size=22),
    7: Kind(name="Q5_1", weights="int5", block=32, size=24),
    8: Kind(name="Q8_0", weights="int8", block=32, size=34),
    10: Kind(name="Q2_K", weights="int2", block=256, size=84),
    11: Kind(name="Q3_K", weights="int3", block=256, size=110),
    12: Kind(name="Q4_K", weights="int4", block=256, size=144),
    13: Kind(name="Q5_K", weights="int5", block=256, size=176),
    14: Kind(name="Q6_K", weights="int6", block=256, size=210),
    24: Kind(name="I8", weights="int8"),
    28: Kind(name="F64", weights="fp64", size=8),
    30: Kind(name="BF16", weights="bf16", size=2),
    39: Kind(name="MXFP4", weights="fp4", block=32, size=17),
}
"""Those that a model's weights are usually in; of another one nothing is known."""
FLOATS = ("F32", "F16", "BF16", "F64")


@frozen
class Header:
    """What is known of a GGUF file without its tensors."""

    architecture: str
    formats: tuple[Stored, ...]


def header(path: Path) -> Header:
    """Return what the file at ``path`` says of itself; nothing past its header is read."""
    if path.exists() and not path.is_file():
        # A named pipe may never say anything.
        raise ModelError("is not a file", context=str(path))
    try:
        with path.open("rb") as file:
            return _Reading(file, os.fstat(file.fileno()).st_size).header()
    except OSError as error:
        raise ModelError(f"cannot be read: {why(error)}", context=str(path)) from None
    except (ValueError, struct.error) as error:
        said = "ends within its header" if isinstance(error, struct.error) else str(error)
        raise ModelError(f"is cut, or not GGUF: {said}", context=str(path)) from None


class _Reading:
    """A file that is read from its beginning, and never past its end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._size = size
        self._values = 0

    def header(self) -> Header:
        if self._file.read(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin with GGUF")
        version = self._number("<I")
        if version not in VERSIONS:
            raise ValueError(f"version {version} is not known")
        tensors, fields = self._few("tensors"), self._few("fields")
        architecture = ""
        for _ in range(fields):
            name = self._text()
            value = self._value(self._number("<I"))
            if name == "general.architecture" and isinstance(value, str):
                architecture = value
        count: dict[int, tuple[int, int]] = {}
        for _ in range(tensors):
            kind, numbers = self._tensor()
            number, total = count.get(kind, (0, 0))
            count[kind] = number + 1, total + numbers
        return Header(architecture=architecture, formats=_formats(count))

    def _tensor(self) -> tuple[int, int]:
        """Return the type of a tensor, and how many numbers it holds."""
        self._text()
        dimensions = self._number("<I")
        if dimensions > DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions")
        numbers = prod(self._number("<Q") for _ in range(dimensions))
        if numbers > LARGEST:
            raise ValueError(f"a tensor of {numbers} numbers")
        kind = self._number("<I")
        self._number("<Q")
        return kind, numbers

    def _few(self, what: str) -> int:
        number = self._number("<Q")
        if number > MOST:
            raise ValueError(f"{number} {what}")
        return number

    def _number(self, form: str) -> int:
        (number,) = struct.unpack(form, self._file.read(struct.calcsize(form)))
        return int(number)

    def _text(self) -> str:
        length = self._number("<Q")
        if length > self._size - self._file.tell():
            raise ValueError(f"a text of {length} bytes, in a file of {self._size}")
        return self._file.read(length).decode(errors="replace")

    def _value(self, kind: int, depth: int = 0) -> str | None:
        """Read a value; only a text is wanted of any."""
        if kind == STRING:
            return self._text()
        if kind == ARRAY:
            if depth > DEEPEST:
                raise ValueError("arrays nested too deeply")
            self._array(depth)
        else:
            self._skip(SIZES.get(kind, 0), kind)
        return None

    def _array(self, depth: int) -> None:
        kind, length = self._number("<I"), self._number("<Q")
        if kind in {STRING, ARRAY}:
            self._values += length
            if self._values > VALUES:
                raise ValueError(f"more than {VALUES} texts and lists")
            for _ in range(length):
                self._value(kind, depth + 1)
        else:
            self._skip(length * SIZES.get(kind, 0), kind)

    def _skip(self, size: int, kind: int) -> None:
        if kind not in SIZES:
            raise ValueError(f"a value of the type {kind}")
        if size > self._size - self._file.tell():
            raise ValueError(f"{size} bytes of values, in a file of {self._size}")
        self._file.seek(size, os.SEEK_CUR)


def _formats(count: Mapping[int, tuple[int, int]]) -> tuple[Stored, ...]:
    formats = []
    for number, (tensors, numbers) in sorted(count.items()):
        kind = KINDS.get(number, Kind(name=f"type {number}", weights=UNKNOWN, size=0))
        plain = kind.name in FLOATS
        formats.append(
            Stored(
                scheme=PLAIN if plain else "gguf",
                weights=kind.weights,
                activations=kind.weights if plain else "",
                tensors=tensors,
                bytes=numbers * kind.size // kind.block,
                note=kind.name,
            )
        )
    return tuple(formats)
