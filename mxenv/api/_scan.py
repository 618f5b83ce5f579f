"""Which files of a folder a gate looks at: by their names, never through a link that leads out."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.errors import InvalidFile, UsageError
from mxenv.recording import MAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIREMENTS = ("requirements*.txt", "requirements*.in", "*[-_.]requirements.txt")
LIMITS = ("constraints*.txt", "*[-_.]constraints.txt")
FOLDERS = ("requirements", "constraints")
"""Folders of which every ``.txt`` and ``.in`` file is meant."""
PYPROJECT = "pyproject.toml"
CONTAINERFILES = (
    *("Containerfile", "Containerfile.*", "*.Containerfile", "containerfile", "*.containerfile"),
    *("Dockerfile", "Dockerfile.*", "*.Dockerfile", "dockerfile", "*.dockerfile"),
)
NO_CONTAINERFILES = (".dockerignore", ".md", ".rst")
"""What belongs to a Containerfile, and is none."""
IGNORED = frozenset(
    (
        *(".bzr", ".git", ".hg", ".svn"),
        *(".eggs", ".mypy_cache", ".nox", ".pytest_cache", ".ruff_cache", ".tox", "__pycache__"),
        *(".venv", "node_modules", "site-packages", "venv"),
    )
)
"""Folders that hold what others wrote, or what tools left."""
MOST_ENTRIES = 200_000
"""Files and folders that are looked at; more is no project, and not all of it would be seen."""
MOST_FILES = 2_000
"""Files that are read."""
DEEPEST = 64


def kind_of(path: Path) -> str:
    """Return what a file is by its name: ``requirements``, ``pyproject``, ``Containerfile``."""
    name = path.name
    if name == PYPROJECT:
        return "pyproject"
    if any(fnmatchcase(name.lower(), pattern) for pattern in (*REQUIREMENTS, *LIMITS)):
        return "requirements"
    if path.parent.name in FOLDERS and name.endswith((".txt", ".in")):
        return "requirements"
    if any(fnmatchcase(name, pattern) for pattern in CONTAINERFILES):
        return "" if name.endswith(NO_CONTAINERFILES) else "Containerfile"
    return ""


def found(root: Path) -> tuple[Path, ...]:
    """Return every file below ``root`` that a gate reads, in the order of their names."""
    files = tuple(sorted(path for path in _below(root) if kind_of(path)))
    if len(files) > MOST_FILES:
        raise UsageError(
            f"more than {MOST_FILES} files to read", context=str(root), hint="name a folder below"
        )
    return files


def _below(root: Path) -> Iterator[Path]:
    left, seen = [(root, 0)], 0
    while left:
        folder, depth = left.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                seen += 1
                if seen > MOST_ENTRIES:
                    raise UsageError(
                        f"more than {MOST_ENTRIES} files and folders",
                        context=str(root),
                        hint="name the folder of a project",
                    )
                if not entry.is_dir(follow_symlinks=False):
                    yield folder / entry.name
                elif not _passed_by(Path(entry.path)):
                    if depth >= DEEPEST:
                        raise UsageError("folders in folders without end", context=entry.path)
                    left.append((folder / entry.name, depth + 1))


def _passed_by(folder: Path) -> bool:
    """Tell whether a folder is no part of a project: an environment, or a recorded node."""
    if folder.name in IGNORED:
        return True
    return any((folder / name).exists() for name in ("pyvenv.cfg", MAIN))


def inside(path: Path, tree: Path) -> bool:
    """Tell whether ``path`` lies below ``tree``, all links followed."""
    # Not `Path.resolve`, which raises another error for a loop of links in every Python.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(tree))


def check_inside(path: Path, tree: Path) -> None:
    """Refuse a path that leads out of what is judged."""
    if not inside(path, tree):
        raise InvalidFile(
            "a link that leads out of what is judged",
            context=str(path),
            hint="keep the file itself in the project",
        )


def shown(path: Path) -> str:
    """Return how reports name a file: relative to where mxenv runs, if it lies below."""
    here = Path.cwd()
    absolute = Path(os.path.normpath(here / path))
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else path)
