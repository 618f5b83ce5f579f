"""What a model's folder says of itself by its files alone: its configuration and its weights."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from mxenv import _files
from mxenv.declared_weights import declared
from mxenv.errors import ModelError
from mxenv.frozen import frozen
from mxenv.models import _gguf, _safetensors
from mxenv.models._bytes import json_object, uncollected
from mxenv.weights import found, reconciled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mxenv.inventory import Stored
    from mxenv.weights import Tensor

CONFIG = "config.json"
INDEX = "model.safetensors.index.json"
MODELOPT = "hf_quant_config.json"
"""Where ModelOpt says how weights are packed, if the configuration does not."""
LARGEST = 64 << 20
"""Bytes of a configuration or an index; an index of 90,000 tensors has 10 MB."""
MOST = 10_000
"""Files of weights."""


@frozen
class Checkpoint:
    """A model as its files describe it; nothing was run, and no tensor read."""

    name: str
    digest: str
    """``sha256:…`` of the configuration, or of the header of a file of weights without one."""
    config: Mapping[str, object]
    architecture: str
    dtype: str
    """What it computes in; empty if nothing says."""
    formats: tuple[Stored, ...]
    own_code: tuple[str, ...] = ()
    """Modules that the model brings along; whoever loads it runs them."""
    gaps: tuple[str, ...] = ()
    """What does not agree, or is not there."""


def checkpoint(path: Path) -> Checkpoint:
    """Return what lies at ``path``: a folder, a ``config.json``, or a file of weights alone."""
    if path.suffix == ".gguf":
        return _of_gguf(path)
    with uncollected():
        return _of_safetensors(path)


def _of_safetensors(path: Path) -> Checkpoint:
    """Return what a folder, a ``config.json`` or a file of safetensors says."""
    if path.suffix == ".safetensors":
        tensors = _safetensors.header(path)
        digest = _digest(repr(sorted(tensors.items())).encode())
        return _of_tensors(path.stem, digest, {}, tensors, [])
    folder = path.parent if path.name == CONFIG else path
    config, content = _document(folder / CONFIG)
    if "quantization_config" not in config and (folder / MODELOPT).exists():
        said, _ = _document(folder / MODELOPT)
        config = {**config, "quantization_config": {"quant_method": "modelopt", **said}}
    gaps: list[str] = []
    tensors = {} if path.name == CONFIG else _tensors(folder, gaps)
    return _of_tensors(folder.resolve().name, _digest(content), config, tensors, gaps)


def _of_gguf(path: Path) -> Checkpoint:
    header = _gguf.header(path)
    return Checkpoint(
        name=path.stem,
        digest=_digest(repr(header).encode()),
        config={},
        architecture=header.architecture,
        dtype="",
        formats=header.formats,
    )


def _of_tensors(
    name: str,
    digest: str,
    config: Mapping[str, object],
    tensors: Mapping[str, Tensor],
    gaps: Iterable[str],
) -> Checkpoint:
    said = declared(config)
    formats, problems = reconciled(said, found(tensors, said.dtype))
    architectures = config.get("architectures")
    first = architectures[0] if isinstance(architectures, list) and architectures else ""
    own = config.get("auto_map")
    return Checkpoint(
        name=name,
        digest=digest,
        config=config,
        architecture=first if isinstance(first, str) else "",
        dtype=said.dtype,
        formats=formats,
        own_code=tuple(sorted(map(str, own.values()))) if isinstance(own, dict) else (),
        gaps=(*gaps, *problems),
    )


def _tensors(folder: Path, gaps: list[str]) -> Mapping[str, Tensor]:
    """Return the tensors of every file in ``folder``; what an index names has to be there."""
    there = sorted(path.name for path in folder.glob("*.safetensors"))[: MOST + 1]
    if len(there) > MOST:
        raise ModelError(f"more than {MOST} files of weights", context=str(folder))
    named = _named(folder / INDEX) if (folder / INDEX).exists() else {}
    shards = sorted(set(named.values())) or there
    tensors: dict[str, Tensor] = {}
    missing = []
    for shard in shards:
        if shard in there:
            tensors |= _safetensors.header(folder / shard)
        else:
            missing.append(shard)
    if not tensors and (pickled := sorted(path.name for path in folder.glob("*.bin"))[:MOST]):
        more = f" and {len(pickled) - 1} more" if len(pickled) > 1 else ""
        gaps.append(f"{pickled[0]}{more} was not read: it is pickled, and to load it runs code")
    if missing and there:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        gaps.append(f"{missing[0]}{more}, which {INDEX} names, is not there")
    elif absent := sorted(named.keys() - tensors.keys()) if tensors else []:
        gaps.append(
            f"{len(absent)} tensors that {INDEX} names are in no file, {absent[0]} among them"
        )
    return tensors


def _named(path: Path) -> Mapping[str, str]:
    index, _ = _document(path)
    named = index.get("weight_map")
    if not isinstance(named, dict) or set(map(type, named.values())) - {str}:
        raise ModelError("not a table of file names", context=f"{path}: weight_map")
    for file in sorted(set(named.values())):
        if "/" in file or file in {"", ".", ".."}:
            raise ModelError(f"{file!r} is no file of this folder", context=f"{path}: weight_map")
    return named


def _document(path: Path) -> tuple[dict[str, object], bytes]:
    """Return the JSON object in the file at ``path``, and its bytes."""
    try:
        content = _files.read(path, limit=LARGEST)
    except FileNotFoundError:
        hint = f"name a folder with a {CONFIG}, or a file of weights"
        raise ModelError("is not there", context=str(path), hint=hint) from None
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot be read: {_files.why(error)}", context=str(path)) from None
    try:
        return json_object(content), content
    except ValueError as error:
        raise ModelError(str(error), context=str(path)) from None


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
