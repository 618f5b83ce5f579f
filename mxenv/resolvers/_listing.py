"""What uv writes down of a wheel, in its own pylock files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


def location(wheel: Mapping[str, Any], directory: Path) -> str:
    """Return the URL of ``wheel``, or its absolute path if it lies on this machine."""
    if "path" in wheel:
        return str(directory / wheel["path"])
    url = str(wheel["url"])
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else url


def file_name(wheel: Mapping[str, Any]) -> str:
    """Return the name of the file, which the specification lets a URL stand for."""
    if "name" in wheel:
        return str(wheel["name"])
    place = wheel["path"] if "path" in wheel else unquote(urlsplit(wheel["url"]).path)
    return str(place).rpartition("/")[-1]


def size(wheel: Mapping[str, Any]) -> int:
    """Return the bytes of ``wheel``; 0 if nobody knows."""
    if "size" in wheel:
        return int(wheel["size"])
    place = Path(location(wheel, Path.cwd()))
    return place.stat().st_size if place.is_absolute() and place.is_file() else 0


def preferences(versions: Iterable[tuple[str, str]]) -> str:
    """Return a pylock file that holds ``versions`` and nothing else."""
    packages = "".join(
        f'\n[[packages]]\nname = "{name}"\nversion = "{version}"\n' for name, version in versions
    )
    return f'lock-version = "1.0"\ncreated-by = "mxenv"\n{packages}'
