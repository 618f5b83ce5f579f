"""Whether a layer that was made holds what it was made for, read back as an engine does it."""

from __future__ import annotations

import gzip
import hashlib
import re
import tarfile
import zlib
from typing import IO, TYPE_CHECKING, BinaryIO

from mxenv.distribution import normalised, same_version
from mxenv.errors import EngineError
from mxenv.layers import Entry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mxenv.engines._blob import Blob
    from mxenv.lock import Package

CHUNK = 1024 * 1024

BUFFER = 64 * 1024
"""What `tarfile` reads at once, and copies for every header: more is slower."""

METADATA = re.compile(r"(.*)/[^/]+\.dist-info/METADATA")


def check(
    file: BinaryIO, blob: Blob, *, packages: Iterable[Package], sites: frozenset[str]
) -> None:
    """Compare a layer with what was written, and its distributions with the packages.

    ``sites`` are the folders in which distributions count: some packages carry others inside.
    Nothing of what wrote it is used: a wrong frame, a wrong wheel or a file too many is found
    before anybody pulls it.
    """
    wanted = {entry.path: entry for entry in blob.entries}
    found: list[tuple[str, str]] = []
    try:
        for entry, text in _files(file, sites):
            if wanted.pop(entry.path, None) != entry:
                raise _damage(blob, f"{entry.path} is not as it was written")
            if text:
                found.append(_distribution(text))
    except (tarfile.TarError, zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise _damage(blob, str(error)) from error
    if wanted:
        raise _damage(blob, f"{min(wanted)} is not there")
    locked = sorted((package.name, package.version) for package in packages)
    if len(locked) != len(found) or not all(
        name == other and same_version(version, other_version)
        for (name, version), (other, other_version) in zip(locked, sorted(found), strict=True)
    ):
        said = ", ".join(f"{name} {version}" for name, version in sorted(found)) or "nothing"
        raise _damage(blob, f"it holds {said}")


def _damage(blob: Blob, message: str) -> EngineError:
    return EngineError(
        f"the layer is not what it was made for: {message}",
        context=blob.digest,
        hint="run `mxenv build` again; if it stays so, the disk or mxenv is at fault",
    )


def _files(file: BinaryIO, sites: frozenset[str]) -> Iterator[tuple[Entry, str]]:
    """Yield each file as it is in the layer, and the text of one that describes a distribution."""
    with (
        gzip.open(file) as plain,
        tarfile.open(fileobj=plain, mode="r|", bufsize=BUFFER) as archive,
    ):
        for member in archive:
            # The archive would keep every header it has seen.
            archive.members.clear()  # type: ignore[attr-defined]
            content = archive.extractfile(member) if member.isreg() else None
            if content is not None:
                path = f"/{member.name}"
                about = METADATA.fullmatch(path)
                sha256, text = _read(content, keep=bool(about and about[1] in sites))
                entry = Entry(path=path, sha256=sha256, size=member.size, mode=member.mode)
                yield entry, text


def _read(content: IO[bytes], *, keep: bool) -> tuple[str, str]:
    """Return the digest of a file, and its beginning if it is to be kept."""
    sha256 = hashlib.sha256()
    first = b""
    while data := content.read(CHUNK):
        sha256.update(data)
        first = first or data
    return sha256.hexdigest(), first.decode("utf-8", "replace") if keep else ""


def _distribution(text: str) -> tuple[str, str]:
    """Return name and version of a distribution."""
    head = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    fields = {key.lower(): value.strip() for key, _, value in map(_field, head.splitlines())}
    return normalised(fields.get("name", "")), fields.get("version", "")


def _field(line: str) -> tuple[str, str, str]:
    return line.partition(":")
