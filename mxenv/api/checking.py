"""Check what was learned about a node against the matrix."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import TYPE_CHECKING

from mxenv import _files, judgement, matrix_reader
from mxenv.api import nodes
from mxenv.errors import MatrixError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date
    from pathlib import Path

    from mxenv.facts import Snapshot
    from mxenv.matrix import Matrix
    from mxenv.verdict import Verdict

LARGEST = 16 << 20
"""Bytes in a matrix; the shipped one has a hundredth of it."""


def load_matrix(extra: Sequence[Path] = ()) -> Matrix:
    """Return the shipped matrix, with the files of ``extra`` laid over it in their order."""
    folder = resources.files("mxenv") / "matrices"
    shipped = sorted((f for f in folder.iterdir() if f.name.endswith(".toml")), key=_name)
    documents = [(file.name, _document(file.read_bytes(), file.name)) for file in shipped]
    documents += ((str(path), _document(_read(path), str(path))) for path in extra)
    return matrix_reader.parse(documents, nodes.keys())


def _name(file: resources.abc.Traversable) -> str:
    return file.name


def _read(path: Path) -> bytes:
    try:
        return _files.read(path, limit=LARGEST)
    except (OSError, ValueError) as error:
        raise MatrixError(f"cannot be read: {_files.why(error)}", context=str(path)) from None


def _document(content: bytes, context: str) -> dict[str, object]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise MatrixError("not UTF-8", context=context) from None
    except ValueError as error:
        # Not only the parser's own errors: a number of 5000 digits, too.
        raise MatrixError(f"not TOML: {error}", context=context) from None
    except RecursionError:
        raise MatrixError("not TOML: nested too deeply", context=context) from None


def check(snapshot: Snapshot, matrix: Matrix, *, env: str | None = None, today: date) -> Verdict:
    """Return what ``matrix`` says of ``snapshot``, in the environment ``env`` if it is named."""
    return judgement.judge(snapshot, matrix, env=env, today=today)
