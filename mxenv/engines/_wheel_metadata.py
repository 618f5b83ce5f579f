"""What a wheel says of itself: its names, the folder of its metadata, headers, hashes."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from typing import TYPE_CHECKING

from mxenv.distribution import normalised, same_version
from mxenv.errors import WheelError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.engines._zip import Archive
    from mxenv.lock import Package

RECORD_LIMIT = 64 * 1024 * 1024
"""A RECORD of 200,000 files has some 30 MB."""
IMPORTED = re.compile(r"\.(?:py|pth|so)$|\.dist-info/")
"""What Python looks for by name, where two spellings of one name would be two modules of it."""


def refusal(archive: Archive, member: str, message: str) -> WheelError:
    """Return what to raise for a wheel that is not as it must be."""
    return WheelError(message, context=f"{archive.name}: {member}")


def folder(archive: Archive, package: Package) -> str:
    """Return the one metadata folder; it must be that of the package that was locked."""
    tops = {name.partition("/")[0] for name in archive.members if "/" in name}
    folders = sorted(top for top in tops if top.endswith(".dist-info"))
    if len(folders) != 1:
        found = ", ".join(folders) or "none"
        raise refusal(archive, "*.dist-info", f"must be there once; found: {found}")
    metadata = headers(archive, f"{folders[0]}/METADATA")
    name = normalised(metadata.get("name", ""))
    if name != package.name or not same_version(metadata.get("version", ""), package.version):
        raise refusal(
            archive,
            f"{folders[0]}/METADATA",
            f"is {name} {metadata.get('version', '')}, "
            f"but {package.name} {package.version} was locked",
        )
    _named(archive, folders[0], package)
    return folders[0]


def _named(archive: Archive, folder: str, package: Package) -> None:
    """Refuse a metadata folder that is called after another distribution, or data of one."""
    name, _, version = folder.removesuffix(".dist-info").rpartition("-")
    if normalised(name) != package.name or not same_version(version, package.version):
        raise refusal(
            archive,
            folder,
            f"is not named after {package.name} {package.version}, which was locked",
        )
    data = folder.removesuffix(".dist-info") + ".data"
    for top in {name.partition("/")[0] for name in archive.members if "/" in name}:
        if top.endswith(".data") and top != data:
            raise refusal(archive, top, f"is a folder of data, and not {data}")


def headers(archive: Archive, name: str) -> Mapping[str, str]:
    """Return the headers of ``METADATA`` or ``WHEEL``, their names in lower case."""
    text = archive.read(name, RECORD_LIMIT).decode("utf-8", "replace")
    head = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    lines = (line.partition(":") for line in head.splitlines() if line[:1].strip())
    return {key.strip().lower(): value.strip() for key, _, value in reversed(list(lines))}


def hashes(archive: Archive, info: str) -> Mapping[str, tuple[str, str]]:
    """Return what RECORD says of each file: hash and size."""
    name = f"{info}/RECORD"
    try:
        text = archive.read(name, RECORD_LIMIT).decode()
        rows = [row for row in csv.reader(io.StringIO(text)) if row]
        found = {path: (hash_.rstrip("="), size) for path, hash_, size in rows}
    except (ValueError, csv.Error) as error:
        raise refusal(archive, name, "is no table of path, hash and size") from error
    said: dict[str, tuple[str, ...]] = {}
    for row in rows:
        if said.setdefault(row[0], tuple(row)) != tuple(row):
            raise refusal(archive, name, f"says two things of {row[0]!r}")
    return found


def distinct(archive: Archive) -> None:
    """Refuse two members whose names are one to people, or to Python on some disk.

    Names that differ in case alone are two on Linux, and headers of C have such names.
    """
    seen: dict[str, str] = {}
    for name in archive.members:
        plain = unicodedata.normalize("NFKC", name)
        keys = (plain, plain.casefold()) if IMPORTED.search(name) else (plain,)
        for key in dict.fromkeys(keys):
            other = seen.setdefault(key, name)
            if other != name:
                raise refusal(archive, name, f"is there twice, as {other} as well")
