"""What packages and images are called beside everybody else's: package URLs (purl)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from mxenv.image import ARCHIVE, IN_FILES, LAYOUT

if TYPE_CHECKING:
    from mxenv.lock import Base, Package

_SAFE = ".-_~"


def of_wheel(package: Package) -> str:
    """Return the package URL of a wheel: with its file name, since a version may have several."""
    return f"{of_python(package.name, package.version)}?file_name={_quoted(package.wheel.name)}"


def of_python(name: str, version: str) -> str:
    """Return the package URL of a Python distribution."""
    return f"pkg:pypi/{name}@{_quoted(version)}"


def of_base(base: Base) -> str:
    """Return the package URL of a base image: by digest, its repository as a qualifier."""
    place = base.reference.partition("@")[0]
    local = place.startswith(IN_FILES)
    place = place.removeprefix(LAYOUT).removeprefix(ARCHIVE)
    head, _, last = place.rstrip("/").rpartition("/")
    name = last.partition(":")[0].lower() or "base"
    repository = "" if local else f"?repository_url={_quoted(f'{head}/{name}')}"
    return f"pkg:oci/{_quoted(name)}@{_quoted(base.digest)}{repository}"


def _quoted(text: str) -> str:
    # A purl keeps no colon but those between its own parts (purl specification, encoding).
    return quote(text, safe=_SAFE)
