"""Whether a layer that was made holds what it was made for: all that is said of it is read back.

What wrote the layer has inflated and hashed nothing. Here it is read as an engine reads it, with
other code, and once: its digests, and those of its files, are of the bytes that lie on the disk.
"""

from __future__ import annotations

import hashlib
import re
from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING, BinaryIO

from mxenv.distribution import normalised, same_version
from mxenv.engines import _inflating
from mxenv.engines._blob import Blob, listed
from mxenv.engines._tar import Reader
from mxenv.errors import EngineError, InvalidFile, WheelError
from mxenv.layers import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from mxenv.engines._blob import Content, Draft
    from mxenv.engines._inflating import Decoder
    from mxenv.engines._tar import Found
    from mxenv.lock import Package

CHUNK = 1024 * 1024
"""Packed bytes that are read at a time."""

METADATA = re.compile(r"(.*)/[^/]+\.dist-info/METADATA")


def check(
    file: BinaryIO,
    draft: Draft,
    *,
    packages: Iterable[Package] | None,
    sites: frozenset[str],
    decoders: tuple[Callable[[], Decoder], type[Exception]] | None = None,
) -> Blob:
    """Read a layer back, compare it with what was meant, and say what it is.

    Every gzip member ends where it should, every entry is the one that was meant, in its order,
    with the hash that a RECORD promised; the distributions are those of ``packages``, if these
    are named. ``sites`` are the folders in which distributions count: some packages carry others.
    """
    reading = _Reading(draft, sites)
    digest, diff, size = hashlib.sha256(), hashlib.sha256(), 0
    tar = Reader(reading.found, keep=reading.is_metadata)
    make, error = decoders or _inflating.fastest()
    for packed, plain, owner in zip(draft.packed, draft.plain, draft.owners, strict=True):
        size += packed
        try:
            for piece in _plain(_inflating.member(make(), _read(file, packed, digest)), plain):
                diff.update(piece)
                tar.feed(piece)
        except (error, ValueError, EOFError) as flaw:
            raise reading.damaged(owner, str(flaw)) from flaw
    if file.read(1):
        raise reading.damage("something follows its end")
    try:
        tar.close()
    except ValueError as flaw:
        raise reading.damage(str(flaw)) from flaw
    reading.close(packages)
    return Blob(
        diff_id=f"sha256:{diff.hexdigest()}",
        digest=f"sha256:{digest.hexdigest()}",
        size=size,
        listed=listed(reading.entries),
        distributions=tuple(sorted(reading.distributions)),
    )


def _plain(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield ``pieces``, which must be ``size`` bytes; raise `ValueError` if they are not."""
    got = 0
    for piece in pieces:
        got += len(piece)
        if got > size:
            break
        yield piece
    if got != size:
        raise ValueError("its size is wrong")


def _read(file: BinaryIO, size: int, digest: hashlib._Hash) -> Iterator[bytes]:
    """Yield the next ``size`` bytes."""
    while size and (data := file.read(min(size, CHUNK))):
        digest.update(data)
        size -= len(data)
        yield data


class _Reading:
    """Holds what is found against what was meant."""

    def __init__(self, draft: Draft, sites: frozenset[str]) -> None:
        self._items = iter(draft.items)
        self._all = draft.items
        self._sites = sites
        self.distributions: list[tuple[str, str]] = []
        self.entries: list[Entry] = []

    def damage(self, message: str) -> EngineError:
        """Return that the layer is not what was meant."""
        return EngineError(
            f"the layer is not what it was made for: {message}",
            context="cache",
            hint="run `mxenv build` again; if it stays so, the disk or mxenv is at fault",
        )

    def damaged(self, owner: int, message: str) -> EngineError | InvalidFile:
        """Return the same of one gzip member; that of a wheel's member is the wheel's fault."""
        item = self._all[owner] if owner >= 0 else ""
        if isinstance(item, str):
            return self.damage(message)
        return WheelError(f"is damaged: {message}", context=item.place)

    def is_metadata(self, path: str) -> bool:
        """Return whether ``path`` describes a distribution that counts."""
        if not path.endswith("/METADATA"):
            return False
        about = METADATA.fullmatch(f"/{path}")
        return about is not None and about[1] in self._sites

    def found(self, found: Found) -> None:
        """Compare the next entry."""
        item = next(self._items, None)
        path = f"/{found.path}"
        if isinstance(item, str) or item is None:
            if (path, found.kind, found.mode) != (item, "directory", 0o755):
                raise self.damage(f"{path} is not as it was meant")
            return
        said = (path, found.kind, found.mode, found.size)
        if said != (item.path, "file", item.mode, item.size):
            raise self.damage(f"{path} is not as it was meant")
        if not _is_promised(found, item):
            raise InvalidFile("does not have the hash that was recorded", context=item.place)
        if found.start:
            self.distributions.append(_distribution(found.start.decode("utf-8", "replace")))
        self.entries.append(Entry(path=path, sha256=found.sha256, size=found.size, mode=found.mode))

    def close(self, packages: Iterable[Package] | None) -> None:
        """Refuse a layer that lacks something, or holds other distributions."""
        missing = next(self._items, None)
        if missing is not None:
            path = missing if isinstance(missing, str) else missing.path
            raise self.damage(f"{path} is not there")
        if packages is None:
            return
        found = sorted(self.distributions)
        locked = sorted((package.name, package.version) for package in packages)
        if len(locked) != len(found) or not all(
            name == other and same_version(version, other_version)
            for (name, version), (other, other_version) in zip(locked, found, strict=True)
        ):
            said = ", ".join(f"{name} {version}" for name, version in found) or "nothing"
            raise self.damage(f"it holds {said}")


def _is_promised(found: Found, content: Content) -> bool:
    """Return whether a file has the hash that a RECORD promised."""
    algorithm, _, promised = content.hash.partition("=")
    if algorithm == "sha256":
        return encoded(bytes.fromhex(found.sha256)) == promised
    # Seldom, so that the wheel may be read once more.
    digest, same = hashlib.new(algorithm), hashlib.sha256()
    for piece in content.pieces():
        digest.update(piece)
        same.update(piece)
    return encoded(digest.digest()) == promised and same.hexdigest() == found.sha256


def encoded(digest: bytes) -> str:
    """Return a digest as a RECORD has it, without its algorithm."""
    return urlsafe_b64encode(digest).decode().rstrip("=")


def _distribution(text: str) -> tuple[str, str]:
    """Return name and version of a distribution."""
    head = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    fields = {key.lower(): value.strip() for key, _, value in map(_field, head.splitlines())}
    return normalised(fields.get("name", "")), fields.get("version", "")


def _field(line: str) -> tuple[str, str, str]:
    return line.partition(":")
