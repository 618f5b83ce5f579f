"""Images in a folder: the OCI image layout."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mxenv._files import write_atomically
from mxenv.errors import LayoutError, UsageError
from mxenv.stores import OCI_INDEX, Descriptor, _documents
from mxenv.stores._digests import checked, digest_of, is_digest, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from mxenv.stores import Source

REF_NAME = "org.opencontainers.image.ref.name"
"""The annotation that holds a tag in the index of a layout."""

_VERSION = '{"imageLayoutVersion":"1.0.0"}\n'
_CHUNK = 1 << 20
_PARTS = frozenset({"oci-layout", "blobs", "index.json"})
_STALE = 3600.0
"""Seconds after which nobody goes on writing a file."""


def open_source(address: str) -> LayoutSource:
    """Open ``DIR``, ``DIR:tag`` or ``DIR@sha256:…`` for reading."""
    path, name = _split(address)
    _check_version(path)
    return LayoutSource(path=path, tag=name)


def open_sink(path: str | Path) -> LayoutSink:
    """Open a folder for writing; it is made when the first blob is written."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise LayoutError("is not a folder", context=str(folder))
    if (folder / "oci-layout").exists():
        _check_version(folder)
    elif folder.is_dir() and any(path.name not in _PARTS for path in folder.iterdir()):
        raise LayoutError(
            "is a folder with something else in it",
            context=str(folder),
            hint="name a new or an empty folder, or an OCI layout",
        )
    _sweep(folder / "blobs" / "sha256")
    return LayoutSink(path=folder)


def _sweep(folder: Path) -> None:
    """Remove what writers that were killed left behind; a living one writes all the time."""
    with suppress(OSError):
        for path in folder.glob(".*.tmp"):
            if path.stat().st_mtime < time.time() - _STALE:
                path.unlink()


def _split(address: str) -> tuple[Path, str]:
    if not address:
        raise UsageError("no folder is named", hint="write oci:DIR or oci:DIR:TAG")
    head, at, digest = address.rpartition("@")
    if at and is_digest(digest):
        return Path(head), digest
    head, colon, tag = address.rpartition(":")
    if colon and head and "/" not in tag and not Path(address).is_dir():
        return Path(head), tag
    return Path(address), ""


def _check_version(folder: Path) -> None:
    marker = folder / "oci-layout"
    if not marker.is_file():
        what = "has no file 'oci-layout'" if folder.is_dir() else "is not a folder"
        raise LayoutError(
            what, context=str(folder), hint="name an OCI image layout, as `mxenv build` writes it"
        )
    document = _documents.parse(_read(marker), _complaint(marker))
    version = document.get("imageLayoutVersion")
    if not isinstance(version, str) or not version.startswith("1."):
        raise LayoutError(f"imageLayoutVersion is {version!r}, not 1.x", context=str(marker))


def _complaint(path: Path) -> Callable[[str], LayoutError]:
    return lambda message: LayoutError(printable(message), context=str(path))


def _read(path: Path) -> bytes:
    _check_file(path)
    try:
        with path.open("rb") as file:
            content = file.read(_documents.LARGEST + 1)
    except OSError as error:
        raise LayoutError(f"cannot be read: {error.strerror}", context=str(path)) from error
    if len(content) > _documents.LARGEST:
        raise LayoutError("is larger than any such file need be", context=str(path))
    return content


def _check_file(path: Path) -> None:
    # To open a FIFO would wait for ever.
    if path.exists() and not path.is_file():
        raise LayoutError("is not a file", context=str(path))


def _blob_path(folder: Path, digest: str) -> Path:
    algorithm, _, value = digest.partition(":")
    return folder / "blobs" / algorithm / value


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSource:
    """One image in a layout."""

    path: Path
    tag: str = ""
    """A tag, a digest, or nothing if the layout holds one image only."""

    @property
    def name(self) -> str:
        """The image as a user would name it."""
        joint = "@" if is_digest(self.tag) else ":"
        return f"{self.path}{joint}{self.tag}" if self.tag else str(self.path)

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        """Return the manifest for ``platform``, its bytes verified."""
        top = self._top(platform)
        return _documents.resolve(top, self._small, platform, _complaint(self.path))

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        """Open a blob as a stream; read to its end, it is what the descriptor says."""
        path = _blob_path(self.path, descriptor.digest)
        _check_file(path)
        try:
            # The stream closes it.
            file = path.open("rb")
        except FileNotFoundError:
            raise LayoutError("is not in the layout", context=str(path)) from None
        except OSError as error:
            raise LayoutError(f"cannot be read: {error.strerror}", context=str(path)) from error
        return checked(file, descriptor, _complaint(path))

    def has(self, digest: str) -> bool:
        """Return whether a blob is there, reading none of it."""
        return _blob_path(self.path, digest).is_file()

    def _small(self, descriptor: Descriptor) -> bytes:
        if descriptor.size > _documents.LARGEST:
            path = _blob_path(self.path, descriptor.digest)
            raise LayoutError("is larger than any manifest need be", context=str(path))
        with self.blob(descriptor) as stream:
            return stream.read()

    def _top(self, platform: str) -> Descriptor:
        """Return the entry of ``index.json`` that is meant."""
        path = self.path / "index.json"
        complain = _complaint(path)
        index = _documents.parse(_read(path), complain)
        values = _documents.entries(index, "manifests", complain)
        found = [
            _documents.descriptor(v, complain, f"manifests[{n}]") for n, v in enumerate(values)
        ]
        if self.tag:
            return self._named(found, index, platform)
        if len(found) == 1:
            return found[0]
        if not found:
            raise complain("names no image")
        tags = printable(
            ", ".join(sorted(filter(None, map(_tag, found)))) or "none of them by a tag"
        )
        raise UsageError(
            f"{path}: names {len(found)} images: {tags}", hint=f"write oci:{self.path}:TAG"
        )

    def _named(
        self, found: list[Descriptor], index: dict[str, object], platform: str
    ) -> Descriptor:
        path = self.path / "index.json"
        fitting = [d for d in found if self.tag in {_tag(d), d.digest}]
        if not fitting:
            tags = printable(", ".join(sorted({_tag(d) for d in found} - {""})) or "none")
            raise LayoutError(
                f"names no image {self.tag!r}", context=str(path), hint=f"tags there: {tags}"
            )
        if len({d.digest for d in fitting}) == 1:
            return fitting[0]
        # The same tag once for every platform is what some tools write.
        values = _documents.entries(index, "manifests", _complaint(path))
        named = [v for v, d in zip(values, found, strict=True) if d in fitting]
        return _documents.choose({"manifests": named}, platform, _complaint(path))


def _tag(descriptor: Descriptor) -> str:
    return dict(descriptor.annotations).get(REF_NAME, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutSink:
    """A layout that is written to; what `index.json` names is whole."""

    path: Path

    def has(self, digest: str) -> bool:
        """Return whether a blob is there; none is renamed into place before it is whole."""
        return _blob_path(self.path, digest).is_file()

    def mount(self, descriptor: Descriptor, source: Source) -> bool:
        """Return whether the blob is there; a layout moves nothing from elsewhere by itself."""
        del source
        return self.has(descriptor.digest)

    def write(self, descriptor: Descriptor, open_blob: Callable[[], BinaryIO]) -> None:
        """Store a blob, verified before it gets its name."""
        target = _blob_path(self.path, descriptor.digest)
        with _writing(target) as file, open_blob() as stream:
            found = hashlib.sha256()
            size = 0
            while data := stream.read(_CHUNK):
                found.update(data)
                size += len(data)
                file.write(data)
            if (digest := "sha256:" + found.hexdigest()) != descriptor.digest:
                raise LayoutError(f"was to be written with {digest} in it", context=str(target))
            if size != descriptor.size:
                raise LayoutError(f"has {size} bytes, not {descriptor.size}", context=str(target))

    def tag(self, manifest: bytes, media_type: str, name: str) -> str:
        """Put a manifest under ``name``, in place of what had that name; return its digest."""
        digest = digest_of(manifest)
        with _writing(_blob_path(self.path, digest)) as file:
            file.write(manifest)
        entry: dict[str, object] = {
            "mediaType": media_type,
            "digest": digest,
            "size": len(manifest),
        }
        if name:
            entry["annotations"] = {REF_NAME: name}
        write_atomically(self.path / "oci-layout", _VERSION)
        with _alone(self.path):
            self._index(entry, name)
        return digest

    def _index(self, entry: dict[str, object], name: str) -> None:
        path = self.path / "index.json"
        others: list[object] = []
        if path.exists():
            complain = _complaint(path)
            index = _documents.parse(_read(path), complain)
            for number, value in enumerate(_documents.entries(index, "manifests", complain)):
                there = _documents.descriptor(value, complain, f"manifests[{number}]")
                again = there.digest == entry["digest"] and not _tag(there)
                if _tag(there) != name and not again:
                    others.append(value)
        document = {
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": sorted([*others, entry], key=json.dumps),
        }
        write_atomically(path, json.dumps(document, indent=2) + "\n")


@contextmanager
def _writing(target: Path) -> Iterator[BinaryIO]:
    """Write beside ``target``, then rename; whatever goes wrong, nothing is left behind."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                yield file
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise LayoutError(
            f"cannot be written: {error.strerror or error}", context=str(target)
        ) from error


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the folder, so that two writers of its index lose neither's entry."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
