"""Images in a file that ``docker save`` or its like wrote: both kinds that there are."""

from __future__ import annotations

import hashlib
import io
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from mxenv.errors import UsageError
from mxenv.frozen import frozen
from mxenv.stores import (
    OCI_CONFIG,
    OCI_MANIFEST,
    Descriptor,
    _documents,
    _index,
    _referrers,
    _saved,
)
from mxenv.stores._digests import checked, digest_of, is_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from mxenv.stores._documents import Complain
    from mxenv.stores._saved import Saved

SCHEME = "docker-archive"
LAYER = "application/vnd.oci.image.layer.v1.tar"
_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""How packed layers begin, and what they are called then."""
_LONGEST = max(map(len, _PACKED))
_CHUNK = 1 << 20
_BLOB = re.compile(r"blobs/sha256/([0-9a-f]{64})")
_CONFIG = re.compile(r"([0-9a-f]{64})(?:\.json)?")
"""What a configuration is called: by its digest."""

Place = tuple[int, int]
"""Where a file begins in the archive, and its size."""


def open_source(address: str) -> ArchiveSource:
    """Open ``FILE``, ``FILE:repository:tag`` or ``FILE@sha256:…``, looking at names only."""
    path, tag = split(address)
    archive = _saved.look(path)
    if archive.find("oci-layout") is not None and archive.find("index.json") is not None:
        entries, blobs = _of_layout(archive)
    elif archive.find("manifest.json") is not None:
        entries, blobs = _of_docker(archive)
    else:
        raise archive.wrong("has neither a manifest.json nor an index.json in it")
    return ArchiveSource(archive=archive, tag=tag, blobs=blobs, named=entries)


def split(address: str) -> tuple[Path, str]:
    """Return the file that an address names, and the tag or digest in it, if it names one."""
    if not address:
        raise UsageError("no file is named", hint="write docker-archive:FILE")
    head, at, digest = address.rpartition("@")
    if at and is_digest(digest):
        return split(head)[0], digest
    # References have colons, and so may files: what is there decides.
    colons = [place for place, sign in enumerate(address) if sign == ":" and place]
    for place in (len(address), *reversed(colons)):
        if Path(address[:place]).exists():
            return Path(address[:place]), address[place + 1 :]
    return Path(address), ""


@frozen
class ArchiveSource:
    """One image in an archive."""

    archive: Saved
    tag: str
    blobs: dict[str, Place | bytes]
    """By digest, where a blob lies, or what it is."""
    named: Sequence[_index.Entry]

    @property
    def path(self) -> Path:
        """The archive."""
        return self.archive.path

    @property
    def name(self) -> str:
        """The image as a user would name it."""
        return _index.name(self)

    @property
    def scheme(self) -> str:
        """What an address of an archive begins with."""
        return SCHEME

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        """Return the manifest for ``platform``, its bytes verified."""
        return _index.manifest(self, platform)

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        """Open a blob as a stream; read to its end, it is what the descriptor says."""
        complain = self.complaint(descriptor.digest)
        place = self.blobs.get(descriptor.digest)
        match place:
            case None:
                raise complain("is not in the archive")
            case bytes():
                stream: BinaryIO = io.BytesIO(place)
            case _:
                stream = self.archive.open(place)
        return checked(stream, descriptor, complain)

    def has(self, digest: str) -> bool:
        """Return whether a blob is there, reading none of it."""
        return digest in self.blobs

    def manifest_of(self, digest: str) -> bytes:
        """Return the manifest with this digest, its bytes verified."""
        place = self.blobs.get(digest, b"")
        size = len(place) if isinstance(place, bytes) else place[1]
        if size > _documents.LARGEST:
            raise self.complaint(digest)("is larger than any manifest need be")
        with self.blob(Descriptor(media_type="", digest=digest, size=size)) as stream:
            return stream.read()

    def referrers(self, digest: str) -> tuple[Descriptor, ...]:
        """Return the manifests in the archive's index that speak of the image with this digest."""
        return _index.referrers(self, digest)

    def entries(self) -> Sequence[_index.Entry]:
        """Return what the archive names."""
        return self.named

    def complaint(self, name: str = "") -> Complain:
        """Return what makes the error about a blob, or about the archive."""
        return self.archive.part(name if is_digest(name) else "")


Contents = tuple[list[_index.Entry], "dict[str, Place | bytes]"]


def _of_layout(archive: Saved) -> Contents:
    """Return what an archive holds that is an OCI layout."""
    content = archive.read("index.json", _documents.LARGEST)
    blobs: dict[str, Place | bytes] = {}
    for name in archive.names():
        found = _BLOB.fullmatch(name)
        place = archive.find(name)
        if found and place is not None:
            blobs[f"sha256:{found[1]}"] = place
    return _index.read(content, archive.part("'index.json'")), blobs


def _of_docker(archive: Saved) -> Contents:
    """Return what an archive holds that names its images in a ``manifest.json``."""
    content = archive.read("manifest.json", _documents.LARGEST)
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise archive.wrong(f"'manifest.json' is not JSON ({error})") from error
    if not isinstance(document, list):
        raise archive.wrong("'manifest.json' is not a list")
    images = _Images(archive=archive)
    entries: list[_index.Entry] = []
    for number, image in enumerate(document):
        found = images.entries(image, f"'manifest.json'[{number}]")
        entries += [(_referrers.written(entry), entry) for entry in found]
    return entries, images.blobs


@dataclass(slots=True, kw_only=True)
class _Images:
    """What a ``manifest.json`` names; the manifests are made of that, always the same."""

    archive: Saved
    blobs: dict[str, Place | bytes] = field(default_factory=dict)
    packed: dict[Place, Descriptor | None] = field(default_factory=dict)
    """What the layers are called that are packed: many images may share one."""

    def entries(self, image: object, place: str) -> Iterator[Descriptor]:
        """Yield an entry for each name that an image has; for one without a name as well."""
        if not isinstance(image, dict):
            raise self.archive.wrong(f"{place} is not an object")
        manifest = self._manifest(image.get("Config"), image.get("Layers") or [], place)
        tags = image.get("RepoTags")
        names = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        for name in names or [""]:
            yield Descriptor(
                media_type=OCI_MANIFEST,
                digest=digest_of(manifest),
                size=len(manifest),
                annotations=((_index.REF_NAME, name),) if name else (),
            )

    def _manifest(self, config: object, names: object, place: str) -> bytes:
        """Return the manifest of one image, noting where its parts lie."""
        if not isinstance(config, str) or not isinstance(names, list):
            raise self.archive.wrong(f"{place} does not name a configuration and layers")
        configuration = self._configuration(config)
        wrong = self.archive.part(repr(config))
        plain = _documents.diff_ids(_documents.parse(configuration, wrong), wrong)
        if len(plain) != len(names):
            raise self.archive.wrong(
                f"{place} names {len(names)} layers, its configuration {len(plain)}"
            )
        layers = [
            self._layer(name, diff_id, f"{place}.Layers")
            for name, diff_id in zip(names, plain, strict=True)
        ]
        described = Descriptor(
            media_type=OCI_CONFIG, digest=digest_of(configuration), size=len(configuration)
        )
        document = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": _referrers.written(described),
            "layers": [_referrers.written(layer) for layer in layers],
        }
        made = json.dumps(document).encode()
        self.blobs[digest_of(made)] = made
        return made

    def _configuration(self, name: str) -> bytes:
        content = self.archive.read(name, _documents.LARGEST)
        digest = digest_of(content)
        named = _CONFIG.fullmatch(name.rpartition("/")[2])
        if named and f"sha256:{named[1]}" != digest:
            raise self.archive.wrong(f"{name!r} hashes to {digest}")
        self.blobs[digest] = content
        return content

    def _layer(self, name: object, diff_id: str, place: str) -> Descriptor:
        """Return what a layer is called: as its configuration does, unless it is packed."""
        found = self.archive.find(name) if isinstance(name, str) else None
        if found is None:
            raise self.archive.wrong(f"{place} names {name!r}, which is not in the archive")
        if found not in self.packed:
            self.packed[found] = self._look(found)
        layer = self.packed[found] or Descriptor(media_type=LAYER, digest=diff_id, size=found[1])
        self.blobs[layer.digest] = found
        return layer

    def _look(self, found: Place) -> Descriptor | None:
        with self.archive.open(found) as stream:
            start = stream.read(_LONGEST)
            how = next((name for sign, name in _PACKED.items() if start.startswith(sign)), "")
            if not how:
                return None
            digest = hashlib.sha256(start)
            while data := stream.read(_CHUNK):
                digest.update(data)
        name = f"sha256:{digest.hexdigest()}"
        return Descriptor(media_type=f"{LAYER}+{how}", digest=name, size=found[1])
