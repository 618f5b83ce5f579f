"""A model's configuration, walked through without its weights: which operators it calls."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.errors import ModelError
from mxenv.models import Reader, Request
from mxenv.models._checkpoint import CONFIG, Checkpoint, checkpoint
from mxenv.models._interpreter import run_child
from mxenv.models._recorded import inventory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.inventory import Inventory

NEEDS = ("torch", "transformers")


def claims(target: str) -> bool:
    """Return whether ``target`` is a configuration, or a folder with one."""
    path = Path(target)
    return path.name == CONFIG or (path.is_dir() and (path / CONFIG).exists())


def read(request: Request) -> Inventory:
    """Return which operators the model at the request's target calls, as a recorder saw them."""
    path = Path(request.target)
    if not claims(request.target):
        hint = f"name a folder with a {CONFIG}"
        raise ModelError("is no configuration of a model", context=request.target, hint=hint)
    found = checkpoint(path)
    folder = path.parent if path.name == CONFIG else path
    asked = {
        "config": dict(found.config),
        "folder": str(folder.resolve()),
        "needs": ["transformers"],
        "train": request.train,
        "trust": request.trust_remote_code,
        **request.device,
    }
    try:
        with tempfile.TemporaryDirectory(prefix="mxenv-") as kept:
            # transformers copies code that a model brings along, before it is run.
            asked["modules"] = kept
            answer = run_child("record.py", asked, python=request.python, seconds=request.seconds)
    except ModelError as error:
        # A refusal names a place in the model; what lies in no file of it names the interpreter.
        if error.context == CONFIG:
            raise ModelError(error.message, context=f"{folder / CONFIG}", hint=error.hint) from None
        raise
    return inventory(
        answer,
        name=found.name,
        reader="huggingface",
        source=found.digest,
        formats=found.formats,
        gaps=(*found.gaps, *_gaps(found, request)),
        device=request.record_on,
    )


def _gaps(found: Checkpoint, request: Request) -> Iterator[str]:
    """Yield what nobody has looked at."""
    packed = sorted({one.scheme for one in found.formats} - {"plain"})
    if packed:
        yield f"operators of packed weights were not looked at: {', '.join(packed)}"
    if found.own_code and not request.trust_remote_code:
        yield f"code that it brings was not looked at: {', '.join(found.own_code)}"


READER = Reader(
    title="a model's configuration, walked through without weights",
    claims=claims,
    read=read,
    needs=NEEDS,
    runs=True,
)
