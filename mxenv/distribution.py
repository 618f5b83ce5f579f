"""When two names, and two versions, of a Python distribution are one."""

from __future__ import annotations

import re

_SEPARATORS = re.compile(r"[-_.]+")


def normalised(name: str) -> str:
    """Return ``name`` as PEP 503 has it: in lower case, its separators one hyphen."""
    return _SEPARATORS.sub("-", name).lower()


def same_version(one: str, other: str) -> bool:
    """Return whether two versions are one, however they are spelt; what is none is like itself."""
    if one == other:
        return True
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - imported late: seldom

    try:
        return Version(one) == Version(other)
    except InvalidVersion:
        return False
