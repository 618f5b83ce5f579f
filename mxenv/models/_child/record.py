"""Records which operators a model calls: a request as JSON on stdin, the answer on a pipe."""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

FOLDER = sys.path.pop(0)
"""Where this lies: nothing else of it is to be found by a model's code."""


def main() -> None:
    """Answer one request; see `mxenv.models._interpreter`."""
    asked = json.load(sys.stdin)
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        json.dump(_answer(asked), pipe)
        pipe.write("\n")


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    _offline()
    if "modules" in asked:
        os.environ["HF_MODULES_CACHE"] = asked["modules"]
    unknown: list[str] = []
    for module in ("torch", *asked.get("needs", ())):
        problem = _imported(module)
        if problem:
            return problem
        if module == "torch":
            _tolerate(unknown)
    sys.path.insert(0, FOLDER)
    from mxenv_recording import recording  # noqa: PLC0415 - it needs torch

    sys.path.remove(FOLDER)
    return recording.answer(asked, unknown)


def _imported(module: str) -> dict[str, str]:
    """Import a module; return what is wrong with it, or nothing."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        return {"missing": (error.name or module).partition(".")[0]}
    except Exception as error:  # noqa: BLE001 - a broken installation raises anything
        said = str(error).splitlines() or [type(error).__name__]
        return {"failed": f"{module} cannot be imported: {said[0]}", "where": sys.executable}
    return {}


def _tolerate(unknown: list[str]) -> None:
    """Let packages be imported whose operators were built for another torch, and note which.

    torchvision for CUDA beside a torch for the CPU is such a pair, and transformers imports it.
    """
    import torch  # noqa: PLC0415 - it was imported before, or this is not called

    registering = torch.library.register_fake

    def registered(name: Any, *args: Any, **kwargs: Any) -> Any:
        def unless_unknown(function: Any) -> Any:
            try:
                return registering(name, *args, **kwargs)(function)
            except RuntimeError as error:
                if "does not exist" not in str(error):
                    raise
                unknown.append(str(name))
                return function

        if args or "func" in kwargs:
            return registering(name, *args, **kwargs)
        return unless_unknown

    torch.library.register_fake = registered


def _offline() -> None:
    """Refuse to talk to anybody: what is not here is not looked at."""

    def watch(event: str, _arguments: object) -> None:
        if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname"}:
            raise PermissionError("nothing is fetched while a model is looked at")

    sys.addaudithook(watch)


if __name__ == "__main__":
    main()
