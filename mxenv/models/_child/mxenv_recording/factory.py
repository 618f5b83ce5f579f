"""What a callable of the user's gives: a model, and what it is called with."""

from __future__ import annotations

import hashlib
import importlib
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any

import torch

from mxenv_recording.places import PACKAGES
from mxenv_recording.refusal import Missing, Refusal, line

OTHERS = tuple(
    os.path.realpath(folder) + os.sep
    for folder in (sysconfig.get_paths()["stdlib"], Path(__file__).parent)
)
"""Where Python's own modules lie, and the recorder's."""
HINT = "let it return a model and what it is called with: a dictionary, a tuple or one tensor"


def make(target: str, folders: list[str]) -> tuple[Any, tuple[Any, ...], dict[str, Any], str, str]:
    """Return what ``module:callable`` gives: a model, its arguments, its keywords; source, name.

    The callable takes nothing, and returns the model and what it is called with: a dictionary of
    keywords, a tuple or list of arguments, or the one argument. Modules are looked for in
    ``folders`` first. What the model holds is moved to the device that is the default now.
    """
    made = _made(target, folders)
    pair = isinstance(made, (tuple, list)) and len(made) == 2  # noqa: PLR2004 - two are a pair
    if not (pair and isinstance(made[0], torch.nn.Module)):
        raise Refusal(f"it returns {_described(made)}", where=target, hint=HINT)
    model, given = made
    _move(model, torch.get_default_device())
    source = digest(folders)
    if isinstance(given, dict) and all(isinstance(name, str) for name in given):
        return model, (), given, source, target
    args = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    return model, args, {}, source, target


def digest(folders: list[str]) -> str:
    """Return ``sha256:…`` of the source of all modules that were loaded from ``folders``."""
    tops = [os.path.realpath(folder) + os.sep for folder in folders]
    found = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        path = os.path.realpath(path) if isinstance(path, str) else ""
        top = next((one for one in tops if path.startswith(one)), None)
        if top is not None and not path.startswith(OTHERS) and PACKAGES not in path:
            found[path[len(top) :]] = Path(path)
    total = hashlib.sha256()
    for name, file in sorted(found.items()):
        content = file.read_bytes() if file.is_file() else b""
        total.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
        total.update(content)
    return f"sha256:{total.hexdigest()}"


def _made(target: str, folders: list[str]) -> Any:
    found = _callable(target, folders)
    try:
        return found()
    except ModuleNotFoundError as error:
        raise Missing((error.name or "?").partition(".")[0]) from None
    except Exception as error:  # noqa: BLE001 - whatever the user's code raises
        raise Refusal(f"it fails: {line(error)}", where=target) from None


def _callable(target: str, folders: list[str]) -> Any:
    module, _, path = target.partition(":")
    sys.path[:0] = [folder for folder in folders if folder not in sys.path]
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        missing = error.name or "?"
        if f"{module}.".startswith(f"{missing}."):
            where = ", ".join(folders)
            hint = "run mxenv in the folder that holds it, or install it there"
            raise Refusal(f"there is no module {missing!r} in {where}", hint=hint) from None
        raise Missing(missing.partition(".")[0]) from None
    except Exception as error:  # noqa: BLE001 - whatever the user's code raises
        raise Refusal(f"cannot be imported: {line(error)}", where=module) from None
    for name in path.split("."):
        found = getattr(found, name, None)
    if not callable(found):
        raise Refusal(f"the module has no callable {path!r}", where=module)
    return found


def _described(made: Any) -> str:
    if isinstance(made, (tuple, list)):
        return f"{', '.join(type(one).__name__ for one in made) or 'nothing'}, and no such pair"
    return f"{type(made).__name__}, and no pair"


def _move(model: Any, device: torch.device) -> None:
    """Move what a model holds; two names of one tensor stay names of one."""
    moved: dict[int, Any] = {}

    def there(tensor: Any) -> Any:
        if tensor is None or tensor.device.type == device.type:
            return tensor
        if id(tensor) not in moved:
            one = tensor.detach().to(device)
            if isinstance(tensor, torch.nn.Parameter):
                one = torch.nn.Parameter(one, requires_grad=tensor.requires_grad)
            moved[id(tensor)] = one
        return moved[id(tensor)]

    for module in model.modules():
        for held in (module._parameters, module._buffers):
            for name, tensor in held.items():
                held[name] = there(tensor)
