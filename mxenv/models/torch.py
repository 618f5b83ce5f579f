"""A callable of the user's that gives a model and its inputs, walked through without weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.errors import ModelError
from mxenv.models import Reader, Request
from mxenv.models._interpreter import run_child
from mxenv.models._recorded import inventory

if TYPE_CHECKING:
    from mxenv.inventory import Inventory

NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
TARGET = re.compile(f"{NAME}:{NAME}")


def claims(target: str) -> bool:
    """Return whether ``target`` is written as ``module:callable``, and no file is called so."""
    return TARGET.fullmatch(target) is not None and not Path(target).exists()


def read(request: Request) -> Inventory:
    """Return which operators are called by the model that the request's target gives.

    Modules are looked for in the working directory first, as Python does; to name a callable is to
    let it be run.
    """
    if not claims(request.target):
        hint = "name a function that returns a model and its inputs, as package.module:function"
        raise ModelError("is not written as module:callable", context=request.target, hint=hint)
    asked = {
        "callable": request.target,
        "path": [str(Path.cwd())],
        "train": request.train,
        "trust": request.trust_remote_code,
        **request.device,
    }
    answer = run_child("record.py", asked, python=request.python, seconds=request.seconds)
    return inventory(
        answer,
        name=request.target,
        reader="torch",
        source=str(answer["source"]),
        device=request.record_on,
    )


READER = Reader(
    title="a callable that gives a model and its inputs, as module:callable",
    claims=claims,
    read=read,
    needs=("torch",),
    runs=True,
)
