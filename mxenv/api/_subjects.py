"""What the paths that a gate is given stand for."""

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv.api import _scan, project
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

IMAGES = "images/*/image.toml"
OFFLINE = frozenset({"local", "recording", "report", "root"})
"""Schemes of the addresses of nodes that are asked without a network."""
LOCKS = "lockfiles/pylock.*.toml"
FILES = "a Containerfile, pyproject.toml or requirements.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A lock and the image description that it should be made from; one may be missing."""

    lock: Path
    image: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Files that ask for something, and the folder of the project that they are part of."""

    tree: Path
    files: tuple[Path, ...]


def subjects(path: Path) -> Iterator[Pair | Sources | Path]:
    """Yield what ``path`` stands for: pairs of files, a node's snapshot or recording, sources."""
    if not os.path.lexists(path):
        if str(path).partition(":")[0] in OFFLINE and ":" in str(path):
            yield path
            return
        raise UsageError(
            "there is no such file or directory",
            context=str(path),
            hint="name a lock, an image.toml, a snapshot, a recording or a directory",
        )
    if (path / "recording.toml").exists() or path.name.endswith(".tar.gz"):
        yield path
    elif path.is_dir():
        yield from pairs(path)
        yield Sources(tree=path, files=_scan.found(path))
    elif _scan.kind_of(path):
        yield Sources(tree=_tree_of(path), files=(path,))
    elif path.suffix == ".json":
        yield path
    elif path.suffix == ".toml":
        _scan.check_inside(path, _tree_of(path))
        yield _of_lock(path) if path.name.startswith("pylock.") else _of_image(path)
    else:
        raise UsageError(
            f"{path} is nothing that a gate judges",
            hint="locks are called pylock.NAME.toml, snapshots NAME.json; "
            "docs/how-to/gate-in-ci.md lists the others",
        )


def _tree_of(path: Path) -> Path:
    """Return the project of a file that is named by itself: where mxenv runs, or its folder."""
    here = Path.cwd()
    inside = Path(os.path.normpath(here / path)).is_relative_to(here)
    return Path() if inside else path.parent


def pairs(folder: Path) -> Iterator[Pair]:
    """Yield every image and every lock of the project in ``folder``."""
    # Not `Path.glob`, which passes by a folder that it may not look into, and a link that leads
    # nowhere: what is not seen would be green.
    for path in _listed(folder, IMAGES.partition("/")[0]):
        if path.is_dir():
            _scan.check_inside(path, folder)
            for file in _listed(path):
                if file.name == "image.toml":
                    _scan.check_inside(file, folder)
                    yield _of_image(file)
    for path in _listed(folder, project.LOCKFILES):
        if fnmatch(path.name, LOCKS.rpartition("/")[2]):
            _scan.check_inside(path, folder)
            yield _of_lock(path)


def _listed(folder: Path, name: str = "") -> list[Path]:
    inner = folder / name
    if not inner.is_dir():
        return []
    _scan.check_inside(inner, folder)
    return sorted(inner.iterdir())


def _of_image(path: Path) -> Pair:
    return Pair(lock=project.lock_path(path), image=path)


def _of_lock(path: Path) -> Pair:
    name = path.name.removeprefix("pylock.").removesuffix(".toml")
    return Pair(lock=path, image=path.parent.parent / "images" / name / "image.toml")
