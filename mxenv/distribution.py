"""What a Python distribution is called, in requirements and in names of files."""

from __future__ import annotations

import re

SDIST = ".tar.gz"
"""How the name of a source distribution ends (PEP 625)."""

_SEPARATORS = re.compile(r"[-_.]+")


def normalised(name: str) -> str:
    """Return ``name`` as PEP 503 has it: in lower case, its separators one hyphen."""
    return _SEPARATORS.sub("-", name).lower()


def project_of(file: str) -> str:
    """Return the normalised name of the distribution that a file is of; empty if it is of none."""
    if file.endswith(".whl"):
        return normalised(file.partition("-")[0]) if "-" in file else ""
    stem, dash, version = file.removesuffix(SDIST).rpartition("-")
    return normalised(stem) if dash and version and file.endswith(SDIST) else ""


def same_version(one: str, other: str) -> bool:
    """Return whether two versions are one, however they are spelt; what is none is like itself."""
    if one == other:
        return True
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - imported late: seldom

    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False
