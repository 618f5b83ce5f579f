"""Folders of wheels with an order, as uv takes them: the first that has a name is the one.

By itself uv takes the highest version of all folders and indexes, so that anybody who can publish
under the name of a vendor's wheel would come before it.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from mxenv.distribution import project_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path


def merged(folders: Iterable[Path]) -> Mapping[str, tuple[Path, ...]]:
    """Return the files of each distribution, all of the first folder that has any."""
    found: dict[str, tuple[Path, ...]] = {}
    for folder in folders:
        here: dict[str, list[Path]] = {}
        for path in sorted(folder.iterdir()):
            if (name := project_of(path.name)) and path.is_file():
                here.setdefault(name, []).append(path)
        found = {name: tuple(paths) for name, paths in here.items()} | found
    return found


def as_index(files: Mapping[str, tuple[Path, ...]], folder: Path) -> str:
    """Write an index (PEP 503) of ``files`` into ``folder``; return its URL."""
    for name, paths in files.items():
        page = folder / name / "index.html"
        page.parent.mkdir(parents=True)
        links = (f'<a href="{path.as_uri()}">{html.escape(path.name)}</a>\n' for path in paths)
        page.write_text("<!DOCTYPE html>\n" + "".join(links))
    folder.mkdir(exist_ok=True)
    return folder.as_uri()


def as_folder(files: Mapping[str, tuple[Path, ...]], folder: Path) -> str:
    """Fill ``folder`` with links to ``files``; return its path."""
    folder.mkdir()
    for paths in files.values():
        for path in paths:
            (folder / path.name).symlink_to(path)
    return str(folder)
