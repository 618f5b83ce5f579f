"""An ONNX file: its operators with their domains and versions; no element of a tensor is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mxenv import onnx_model, onnx_weights
from mxenv.errors import ModelError
from mxenv.inventory import Inventory
from mxenv.models import Reader, Request
from mxenv.models._bytes import WHOLE, opened

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.onnx_tensor import Outside

SUFFIX = ".onnx"


def claims(target: str) -> bool:
    """Return whether ``target`` is called as ONNX files are."""
    path = Path(target)
    return path.suffix == SUFFIX and path.is_file()


def read(request: Request) -> Inventory:
    """Return which operators the model in the request's target calls."""
    path = Path(request.target)
    with opened(path) as (file, size):
        try:
            model = onnx_model.read(lambda offset, length: _at(file, offset, length), size)
        except ValueError as error:
            said = f"is cut, or no ONNX file: {error}"
            raise ModelError(said, context=str(path), hint=WHOLE) from None
    formats = onnx_weights.stored(model.held, model.packed)
    outside = [tensor.outside for tensor in model.held if tensor.outside is not None]
    return Inventory(
        name=path.stem,
        reader="onnx",
        source=model.digest,
        dtype=onnx_weights.computes(formats),
        inputs=model.inputs,
        tools=model.tools,
        uses=model.uses,
        formats=formats,
        assumptions=model.assumptions,
        gaps=(*model.gaps, *_missing(path.parent, outside)),
    )


def _at(file: BinaryIO, offset: int, length: int) -> bytes:
    file.seek(offset)
    return file.read(length)


def _missing(folder: Path, outside: Iterable[Outside]) -> Iterator[str]:
    """Yield which files with elements of tensors are not there, or are cut."""
    needed: dict[str, int] = {}
    for one in outside:
        needed[one.location] = max(needed.get(one.location, 0), one.end)
    for name, end in sorted(needed.items()):
        parts = Path(name).parts
        if not name or Path(name).is_absolute() or ".." in parts or "\0" in name:
            yield f"its weights lie in {name!r}, which is no file beside it"
            continue
        try:
            size = (folder / name).stat().st_size
        except OSError:
            yield f"its weights lie in {name}, which is not there"
            continue
        if size < end:
            yield f"its weights lie in {name}, which ends {end - size} bytes before they do"


READER = Reader(title="an ONNX model", claims=claims, read=read)
