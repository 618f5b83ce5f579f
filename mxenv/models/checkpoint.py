"""Weights and their configuration: number formats by files alone; no operator is looked at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.errors import ModelError
from mxenv.inventory import Inventory
from mxenv.models import Reader, Request
from mxenv.models._checkpoint import CONFIG, Checkpoint, checkpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

WEIGHTS = (".safetensors", ".gguf")
GGUF = ".gguf"
PART = re.compile(r"-\d{5}-of-(?!0*1\b)\d{5}$")
"""How a file is called that is one of several."""

WALKING = "that needs torch and transformers, here or where --python says"
NO_CONFIGURATION = "files of weights do not say which are called"
"""Why no operator was seen."""


def claims(target: str) -> bool:
    """Return whether ``target`` is a configuration, a file of weights, or a folder with either."""
    path = Path(target)
    if not path.is_dir():
        return path.name == CONFIG or path.suffix in WEIGHTS
    return (path / CONFIG).exists() or any(_inside(path, suffix) for suffix in WEIGHTS)


def _inside(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.glob(f"*{suffix}"))


def read(request: Request) -> Inventory:
    """Return in which number formats the model at the request's target is held."""
    path = Path(request.target)
    if path.is_dir() and not (path / CONFIG).exists() and (files := _inside(path, GGUF)):
        if len(files) > 1:
            hint = f"name one of them: {', '.join(file.name for file in files[:3])}"
            raise ModelError(f"holds {len(files)} files of GGUF", context=str(path), hint=hint)
        path = files[0]
    found = checkpoint(path)
    return Inventory(
        name=found.name,
        reader="checkpoint",
        source=found.digest,
        architecture=found.architecture,
        dtype=found.dtype,
        formats=found.formats,
        gaps=(*found.gaps, *_gaps(found, path)),
    )


def _gaps(found: Checkpoint, path: Path) -> Iterator[str]:
    """Yield what nobody has looked at."""
    yield f"operators were not looked at: {WALKING if found.config else NO_CONFIGURATION}"
    if found.own_code:
        yield f"code that it brings was not looked at: {', '.join(found.own_code)}"
    if PART.search(path.stem):
        yield f"{path.name} is one of several files, and the others were not looked at"
    if not found.formats:
        yield "no weights were read: how much memory they need is not known"
    elif not any(stored.tensors for stored in found.formats):
        yield "no weights were read: only the configuration says what they are held in"
    if not found.formats and not found.dtype:
        yield "nothing says in which number format it is held"


READER = Reader(title="a model's configuration and weights", claims=claims, read=read)
