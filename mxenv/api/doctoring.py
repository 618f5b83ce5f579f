"""Whether mxenv itself works here: what it needs, what it would use, and what is missing."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import _container_engine
from mxenv.api import caching, checking
from mxenv.codes import CODES
from mxenv.errors import EngineError, MxenvError
from mxenv.grounds import grounded
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INDEX_VARIABLES = (
    *("UV_DEFAULT_INDEX", "UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL"),
    *("UV_FIND_LINKS", "UV_CONFIG_FILE", "UV_OFFLINE"),
)
"""What tells uv where packages come from; the values may hold credentials and are not shown."""
SECONDS = 10.0


def examine(
    environ: Mapping[str, str], matrices: Sequence[Path] = (), keys: Sequence[Path] = ()
) -> Verdict:
    """Look at everything that mxenv stands on; nothing is asked over a network."""
    findings = (
        _python(),
        _cache(environ),
        _uv(),
        _index(environ),
        _engine(environ),
        _matrix(matrices, keys),
    )
    return Verdict(subject="mxenv", findings=tuple(grounded(findings)))


def _python() -> Finding:
    return _fine("MX501", "Python", f"{sys.version.split()[0]} in {sys.prefix}")


def _cache(environ: Mapping[str, str]) -> Finding:
    try:
        root = caching.cache_root(environ)
    except EngineError as error:
        return _missing("MX502", "cache", error.message, CODES["MX502"].remedy)
    return _cache_folder(root)


def _cache_folder(root: Path) -> Finding:
    """Say whether layers can be kept; a file is written, and removed again."""
    trial = root / f".doctor.{secrets.token_hex(4)}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        trial.write_bytes(b"")
        trial.unlink()
    except OSError as error:
        return _missing(
            "MX502",
            "cache",
            f"{root} cannot be written: {error.strerror or error}",
            "Set MXENV_CACHE_DIR to a folder that you may write to.",
        )
    return _fine("MX502", "cache", f"{root} can be written")


def _uv() -> Finding:
    try:
        import uv  # noqa: PLC0415 - imported late: only for this

        program = os.fsdecode(uv.find_uv_bin())
        completed = subprocess.run(  # noqa: S603 - the program that our own dependency brought
            [program, "--version"], capture_output=True, text=True, check=True, timeout=SECONDS
        )
    except ImportError:
        return _missing("MX503", "uv", "is not here: nothing can be locked", "Install mxenv again.")
    except (OSError, subprocess.SubprocessError) as error:
        return _missing("MX503", "uv", f"does not run: {error}", "Install mxenv again.")
    return _fine("MX503", "uv", f"{completed.stdout.strip()} in {program}")


def _index(environ: Mapping[str, str]) -> Finding:
    named = [name for name in INDEX_VARIABLES if environ.get(name)]
    found = f"set by {', '.join(named)}" if named else "uv's own configuration, or its default"
    return _fine("MX504", "index", found)


def _engine(environ: Mapping[str, str]) -> Finding:
    address = _container_engine.place(environ)
    found = f"{address} is there"
    if not address.startswith("unix://"):
        found = f"{address}, which was not asked"
    path = Path(address.removeprefix("unix://"))
    if address.startswith("unix://") and not os.access(path, os.R_OK | os.W_OK):
        # Not `Path.exists`, which raises where a folder on the way is closed to the user.
        why = "one that you may not use" if _may_be_there(path) else "none"
        found = f"{why} at {address}; the engine oci needs none"
    return _fine("MX505", "container engine", found)


def _may_be_there(path: Path) -> bool:
    """Return whether something lies at ``path``, or nobody may look."""
    try:
        path.lstat()
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _matrix(extra: Sequence[Path], keys: Sequence[Path]) -> Finding:
    try:
        matrix = checking.load_matrix(extra, keys=keys)
    except MxenvError as error:
        return _missing("MX506", "matrix", str(error), error.hint or "Install mxenv again.")
    files = ", ".join(f"{name} {revision}" for name, revision in matrix.files)
    return _fine("MX506", "matrix", f"{len(matrix.rows)} rows: {files}")


def _fine(code: str, subject: str, found: str) -> Finding:
    expected = CODES[code].meaning
    return Finding(
        code=code, outcome=Outcome.COMPATIBLE, subject=subject, found=found, expected=expected
    )


def _missing(code: str, subject: str, found: str, remedy: str) -> Finding:
    return Finding(
        code=code,
        outcome=Outcome.INCOMPATIBLE,
        subject=subject,
        found=found,
        expected=CODES[code].meaning,
        remedy=remedy,
    )
