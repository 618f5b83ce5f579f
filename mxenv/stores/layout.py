"""Images in a folder: the OCI image layout."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mxenv._files import write_atomically
from mxenv.errors import LayoutError, UsageError
from mxenv.frozen import frozen
from mxenv.stores import OCI_INDEX, Descriptor, _documents, _index, _layout_files, _referrers
from mxenv.stores._digests import checked, digest_of, is_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from mxenv.stores import Source

_VERSION = '{"imageLayoutVersion":"1.0.0"}\n'
_CHUNK = 1 << 20
_PARTS = frozenset({"oci-layout", "blobs", "index.json"})


def open_source(address: str) -> LayoutSource:
    """Open ``DIR``, ``DIR:tag`` or ``DIR@sha256:…`` for reading."""
    path, name = split(address)
    _layout_files.check_version(path)
    return LayoutSource(path=path, tag=name)


def open_sink(path: str | Path) -> LayoutSink:
    """Open a folder for writing; it is made when the first blob is written."""
    folder = Path(path)
    if folder.exists() and not folder.is_dir():
        raise LayoutError("is not a folder", context=str(folder))
    if (folder / "oci-layout").exists():
        _layout_files.check_version(folder)
    elif folder.is_dir() and any(path.name not in _PARTS for path in folder.iterdir()):
        raise LayoutError(
            "is a folder with something else in it",
            context=str(folder),
            hint="name a new or an empty folder, or an OCI layout",
        )
    _layout_files.sweep(folder / "blobs" / "sha256")
    return LayoutSink(path=folder)


def split(address: str) -> tuple[Path, str]:
    """Return the folder that an address names, and the tag or digest in it, if it names one."""
    if not address:
        raise UsageError("no folder is named", hint="write oci:DIR or oci:DIR:TAG")
    head, at, digest = address.rpartition("@")
    if at and is_digest(digest):
        return Path(head), digest
    head, colon, tag = address.rpartition(":")
    if colon and head and "/" not in tag and not Path(address).is_dir():
        return Path(head), tag
    return Path(address), ""


@frozen
class LayoutSource:
    """One image in a layout."""

    path: Path
    tag: str = ""
    """A tag, a digest, or nothing if the layout holds one image only."""

    @property
    def name(self) -> str:
        """The image as a user would name it."""
        return _index.name(self)

    @property
    def scheme(self) -> str:
        """What an address of a layout begins with."""
        return "oci"

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        """Return the manifest for ``platform``, its bytes verified."""
        return _index.manifest(self, platform)

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        """Open a blob as a stream; read to its end, it is what the descriptor says."""
        path = _layout_files.blob_path(self.path, descriptor.digest)
        _layout_files.check_file(path)
        try:
            # The stream closes it.
            file = path.open("rb")
        except FileNotFoundError:
            raise LayoutError("is not in the layout", context=str(path)) from None
        except OSError as error:
            raise LayoutError(f"cannot be read: {error.strerror}", context=str(path)) from error
        return checked(file, descriptor, _layout_files.complaint(path))

    def has(self, digest: str) -> bool:
        """Return whether a blob is there, reading none of it."""
        return _layout_files.blob_path(self.path, digest).is_file()

    def manifest_of(self, digest: str) -> bytes:
        """Return the manifest with this digest, as a referrer has one, its bytes verified."""
        path = _layout_files.blob_path(self.path, digest)
        content = _layout_files.read(path)
        if (found := digest_of(content)) != digest:
            raise LayoutError(f"hashes to {found}", context=str(path))
        return content

    def referrers(self, digest: str) -> tuple[Descriptor, ...]:
        """Return the manifests in ``index.json`` that speak of the image with this digest."""
        return _index.referrers(self, digest)

    def entries(self) -> list[_index.Entry]:
        """Return what ``index.json`` names, as it is written and as it is read."""
        return _index.read(_layout_files.read(self.path / "index.json"), self.complaint())

    def complaint(self, name: str = "") -> _documents.Complain:
        """Return what makes the error about a blob, the folder, or the index."""
        blob = _layout_files.blob_path(self.path, name) if is_digest(name) else self.path / name
        return _layout_files.complaint(blob if name else self.path / "index.json")


@frozen
class LayoutSink:
    """A layout that is written to; what `index.json` names is whole."""

    path: Path

    def has(self, digest: str) -> bool:
        """Return whether a blob is there, whole and as it was written."""
        return _layout_files.is_whole(_layout_files.blob_path(self.path, digest))

    def mount(self, descriptor: Descriptor, source: Source) -> bool:
        """Return whether the blob is there; a layout moves nothing from elsewhere by itself."""
        del source
        return self.has(descriptor.digest)

    def write(self, descriptor: Descriptor, open_blob: Callable[[], BinaryIO]) -> None:
        """Store a blob, verified before it gets its name."""
        target = _layout_files.blob_path(self.path, descriptor.digest)
        with _layout_files.writing(target) as file, open_blob() as stream:
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
        entry = Descriptor(
            media_type=media_type,
            digest=digest_of(manifest),
            size=len(manifest),
            annotations=((_index.REF_NAME, name),) if name else (),
        )
        self._put(manifest, entry)
        return entry.digest

    def attach(self, manifest: bytes, subject: Descriptor) -> str:
        """Put a manifest that speaks of ``subject``, under no name; return its digest."""
        entry = _referrers.entry(manifest, subject, _layout_files.complaint(self.path))
        self._put(manifest, entry)
        return entry.digest

    def attach_all(self, manifests: Sequence[bytes], subject: Descriptor) -> None:
        """Put several that speak of ``subject``."""
        for manifest in manifests:
            self.attach(manifest, subject)

    def _put(self, manifest: bytes, entry: Descriptor) -> None:
        with _layout_files.writing(_layout_files.blob_path(self.path, entry.digest)) as file:
            file.write(manifest)
        write_atomically(self.path / "oci-layout", _VERSION)
        with _layout_files.alone(self.path):
            self._list(entry)

    def _list(self, entry: Descriptor) -> None:
        path = self.path / "index.json"
        others: list[object] = []
        if path.exists():
            complain = _layout_files.complaint(path)
            index = _documents.parse(_layout_files.read(path), complain)
            for number, value in enumerate(_documents.entries(index, "manifests", complain)):
                there = _documents.descriptor(value, complain, f"manifests[{number}]")
                if not _replaces(entry, there):
                    others.append(value)
        document = {
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": sorted([*others, _referrers.written(entry)], key=json.dumps),
        }
        write_atomically(path, json.dumps(document, indent=2) + "\n")


def _replaces(new: Descriptor, old: Descriptor) -> bool:
    """Return whether an index that names ``new`` need not name ``old`` any more.

    What speaks of an image never takes the place of one, nor the reverse.
    """
    if old.digest == new.digest and not _index.tag_of(old):
        return True
    both_images = not new.artifact_type and not old.artifact_type
    return both_images and _index.tag_of(old) == _index.tag_of(new)
