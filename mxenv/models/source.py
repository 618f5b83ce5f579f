"""A tree of source code: the places that a port has to look at; nothing of it is run."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import build_text, cuda_text, python_text
from mxenv.errors import ModelError
from mxenv.inventory import Hit, Inventory
from mxenv.models import Reader, Request
from mxenv.models._bytes import uncollected
from mxenv.porting import MAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.cuda_text import Found

LARGEST = 4 << 20
"""Bytes of a file that is looked at: nobody writes more by hand."""
MOST = 200_000
"""Files that are looked at."""
LEFT_OUT = frozenset(
    {".git", ".hg", ".svn", ".tox", ".nox", ".venv", "venv", "node_modules", "__pycache__"}
)
"""Folders that hold no source of the tree itself."""
REQUIREMENTS = re.compile(
    r"(?:^|/)(?:requirements[\w.-]*\.(?:txt|in)|[\w.-]*constraints[\w.-]*\.txt|setup\.cfg"
    r"|(?:conda|environment|meta)[\w.-]*\.ya?ml)$"
    r"|(?:^|/)requirements/[^/]+\.(?:txt|in)$"
)
PROJECT = re.compile(r"(?:^|/)pyproject\.toml$")
BUILDS = re.compile(
    r"(?:^|/)(?:CMakeLists\.txt|[^/]*\.(?:cmake|mk|sh|bash)|Makefile"
    r"|(?:Docker|Container)file[^/]*|[^/]*\.(?:[Dd]ocker|[Cc]ontainer)file)$"
)
AREAS = (
    (
        "other platform",
        re.compile(
            r"(?:^|[/_.-])(?:rocm|amd|hip|ck|aiter|xpu|sycl|neuron|tpu|hpu|gaudi|ascend|npu|cann|musa|mlu"
            r"|cambricon|mthreads|kunlunxin|hygon|iluvatar|enflame|sunrise|tsingmicro|mps|metal|vulkan"
            r"|arm|cpu)(?=[/_.-]|$)",
            re.IGNORECASE,
        ),
    ),
    (
        "vendored",
        re.compile(
            r"(?:^|/)(?:third_party|thirdparty|3rdparty|external|extern|vendor|submodules|deps"
            r"|cutlass|composable_kernel)/"
        ),
    ),
    (
        "test",
        re.compile(
            r"(?:^|/)(?:tests?|testing|unit_tests?|benchmarks?|examples?|docs?|tutorials?|tools/ci)/"
            r"|(?:^|/)(?:test|bench|benchmark|conftest)[^/]*\.\w+$|_test\.\w+$"
        ),
    ),
)
"""Whose code a path is in, the first that fits; of all else it is the tree's own."""


@dataclass(slots=True, kw_only=True)
class _Tree:
    """What was seen of a tree so far."""

    hits: list[Hit] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    files: int = 0
    unread: int = 0
    """Files that were too large."""
    odd: list[str] = field(default_factory=list)
    """Files that are not what their names say."""


def claims(target: str) -> bool:
    """Return whether ``target`` is a folder with source code, and no model's."""
    path = Path(target)
    return path.is_dir() and not (path / "config.json").exists()


def read(request: Request) -> Inventory:
    """Return the places in the tree at the request's target."""
    root = Path(request.target)
    if not root.is_dir():
        raise ModelError("is no folder", context=request.target, hint="name the top of a tree")
    tree = _Tree()
    with uncollected():
        for path, name in _files(root, tree):
            _look(path, name, tree)
    if not tree.files:
        said = "holds no source code that is known here (Python, CUDA, C, C++)"
        raise ModelError(said, context=request.target, hint="name the top of a tree")
    return Inventory(
        name=root.resolve().name,
        reader="source",
        source=f"sha256:{tree.digest.hexdigest()}",
        hits=tuple(tree.hits),
        gaps=(
            "source code says what a port has to look at, and not which operators run",
            *_gaps(tree),
        ),
    )


def _gaps(tree: _Tree) -> Iterator[str]:
    yield from tree.gaps
    if tree.unread:
        yield f"{tree.unread} files of more than {LARGEST >> 20} MiB were not looked at"
    if tree.odd:
        yield f"{len(tree.odd)} files could not be understood, {tree.odd[0]} among them"


def _files(root: Path, tree: _Tree) -> Iterator[tuple[Path, str]]:
    """Yield the files of a tree and their names in it, sorted; no link is followed."""
    for folder, folders, names in os.walk(root, onerror=lambda error: _unread(error, tree)):
        folders[:] = sorted(name for name in folders if name not in LEFT_OUT)
        for name in sorted(names):
            path = Path(folder, name)
            inside = path.relative_to(root).as_posix()
            if _scanner(inside) is None or path.is_symlink() or not path.is_file():
                continue
            tree.files += 1
            if tree.files > MOST:
                tree.gaps.append(f"more than {MOST} files: the rest was not looked at")
                return
            yield path, inside


def _unread(error: OSError, tree: _Tree) -> None:
    tree.gaps.append(f"{error.filename} could not be read: {(error.strerror or '').lower()}")


def _scanner(name: str) -> Callable[[str], Iterator[Found]] | None:
    """Return what looks at a file of that name; nothing if nobody does."""
    suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a path takes ten times as long
    if suffix in python_text.SUFFIXES:
        return python_text.scan
    if suffix in cuda_text.SUFFIXES:
        return cuda_text.scan
    if BUILDS.search(name):
        return build_text.scan_build
    if REQUIREMENTS.search(name):
        return build_text.scan_requirements
    if PROJECT.search(name):
        return build_text.scan_project
    return None


def _look(path: Path, name: str, tree: _Tree) -> None:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        _unread(error, tree)
        return
    if len(content) > LARGEST:
        tree.unread += 1
        return
    tree.digest.update(f"{name}\0{len(content)}\0".encode(errors="surrogateescape"))
    tree.digest.update(content)
    scan = _scanner(name)
    shown = name.encode(errors="replace").decode()
    try:
        found = list(scan(_text(content))) if scan else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree.odd.append(shown)
        return
    area = area_of(name)
    tree.hits += [
        Hit(file=shown, line=line, kind=kind, name=said, area=area) for line, kind, said in found
    ]


def _text(content: bytes) -> str:
    """Return what a file says; the mark that some editors begin one with is no part of it."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", errors="replace")
    return content.decode("utf-8-sig", errors="replace")


def area_of(name: str) -> str:
    """Return whose code a path in a tree is: ``main``, or one of `AREAS`."""
    return next((area for area, form in AREAS if form.search(name)), MAIN)


READER = Reader(title="a tree of source code", claims=claims, read=read)
