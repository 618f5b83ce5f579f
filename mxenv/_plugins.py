"""Plug-ins: which files lie in an edge's folder, and the record that each holds."""

from __future__ import annotations

import importlib
import os
from functools import cache
from typing import Any


@cache
def names(edge: str) -> tuple[str, ...]:
    """Return the names of the plug-ins of ``edge`` (``transports``), importing none of them.

    A file's name cannot have a dash: ``docker_archive.py`` holds ``docker-archive``.
    """
    package = importlib.import_module(f"mxenv.{edge}")
    # Neither `pkgutil` nor `pathlib`: either takes longer to load than this takes.
    found = (os.listdir(folder) for folder in package.__path__)  # noqa: PTH208 - see above
    files = (file.partition(".") for folder in found for file in folder)
    stems = {stem for stem, _, kind in files if kind == "py" and stem[0] != "_"}
    return tuple(sorted(stem.replace("_", "-") for stem in stems))


def load(edge: str, name: str) -> Any:  # noqa: ANN401 - the edge's own package gives the type
    """Return the record of plug-in ``name``: the constant named like the edge, in the singular."""
    module = importlib.import_module(f"mxenv.{edge}.{name.replace('-', '_')}")
    return getattr(module, edge.removesuffix("s").upper())
