"""Which image is meant where one index names many: in a layout, in an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from mxenv.errors import LayoutError, UsageError
from mxenv.stores import MANIFESTS, OCI_INDEX, OCI_MANIFEST, Descriptor, _documents, _referrers
from mxenv.stores._digests import is_digest, printable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

    from mxenv.stores._documents import Complain

REF_NAME = "org.opencontainers.image.ref.name"
"""The annotation that holds a tag."""
FULL_NAME = "io.containerd.image.name"
"""The annotation in which containerd, and Docker after it, has the whole reference."""

Entry = tuple[object, Descriptor]
"""What an index names, as it is written and as it is read."""


class Place(Protocol):
    """Where an index lies, and what it names."""

    @property
    def path(self) -> Path:
        """The folder or the file."""

    @property
    def tag(self) -> str:
        """The tag or the digest that is asked for, if any is."""

    @property
    def scheme(self) -> str:
        """What an address of such a place begins with."""

    def entries(self) -> Sequence[Entry]:
        """Return what the index names."""

    def complaint(self, name: str = "") -> Complain:
        """Return what makes the error about a part of it, or about its index."""

    def has(self, digest: str) -> bool:
        """Return whether a blob is there."""

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        """Open a blob."""

    def manifest_of(self, digest: str) -> bytes:
        """Return a manifest, verified."""


def read(content: bytes, complain: Complain) -> list[Entry]:
    """Return what an index names."""
    values = _documents.entries(_documents.parse(content, complain), "manifests", complain)
    return [
        (value, _documents.descriptor(value, complain, f"manifests[{number}]"))
        for number, value in enumerate(values)
    ]


def name(place: Place) -> str:
    """Return the image as a user would name it."""
    joint = "@" if is_digest(place.tag) else ":"
    return f"{place.path}{joint}{place.tag}" if place.tag else str(place.path)


def manifest(place: Place, platform: str) -> tuple[Descriptor, bytes]:
    """Return the manifest for ``platform``, its bytes verified."""

    def small(descriptor: Descriptor) -> bytes:
        if descriptor.size > _documents.LARGEST:
            raise place.complaint(descriptor.digest)("is larger than any manifest need be")
        with place.blob(descriptor) as stream:
            return stream.read()

    complain = place.complaint(str(place.path))
    return _documents.resolve(_top(place, platform), small, platform, complain)


def referrers(place: Place, digest: str) -> tuple[Descriptor, ...]:
    """Return the manifests in the index that speak of the image with this digest."""
    return tuple(
        entry
        for _, entry in sorted(place.entries(), key=lambda pair: pair[1].digest)
        if entry.media_type in MANIFESTS and _speaks_of(place, entry, digest)
    )


def tag_of(descriptor: Descriptor) -> str:
    """Return the tag that an entry has, or nothing."""
    return dict(descriptor.annotations).get(REF_NAME, "")


def _names(descriptor: Descriptor) -> set[str]:
    full = dict(descriptor.annotations).get(FULL_NAME, "")
    return {descriptor.digest, tag_of(descriptor), full} - {""}


def _speaks_of(place: Place, entry: Descriptor, digest: str) -> bool:
    if not place.has(entry.digest):
        return False
    complain = place.complaint(entry.digest)
    document = _documents.parse(place.manifest_of(entry.digest), complain)
    return _referrers.subject_of(document, complain) == digest


def _top(place: Place, platform: str) -> Descriptor:
    """Return the entry that is meant."""
    entries = place.entries()
    if place.tag:
        return _named(place, entries, platform)
    # What speaks of an image is none, and needs no tag to be told from it.
    found = [entry for _, entry in entries if not entry.artifact_type]
    if len({entry.digest for entry in found}) == 1:
        return found[0]
    if not found:
        raise place.complaint()("names no image")
    tags = printable(", ".join(sorted(filter(None, map(tag_of, found)))) or "none of them by a tag")
    raise UsageError(
        f"{place.path}: names {len(found)} images: {tags}",
        hint=f"write {place.scheme}:{place.path}:TAG",
    )


def _named(place: Place, entries: Sequence[Entry], platform: str) -> Descriptor:
    fitting = [(value, entry) for value, entry in entries if place.tag in _names(entry)]
    if not fitting and is_digest(place.tag) and place.has(place.tag):
        return _below(place)
    if not fitting:
        tags = printable(", ".join(sorted({tag_of(d) for _, d in entries} - {""})) or "none")
        raise LayoutError(
            f"names no image {place.tag!r}", context=str(place.path), hint=f"tags there: {tags}"
        )
    if len({entry.digest for _, entry in fitting}) == 1:
        return fitting[0][1]
    # The same tag once for every platform is what some tools write.
    named = {"manifests": [value for value, _ in fitting]}
    return _documents.choose(named, platform, place.complaint())


def _below(place: Place) -> Descriptor:
    """Return the manifest that is named by its digest, and in an index only."""
    content = place.manifest_of(place.tag)
    complain = place.complaint(place.tag)
    # What does not say what it is, as OCI allows it, is told by what it has.
    likely = OCI_INDEX if "manifests" in _documents.parse(content, complain) else OCI_MANIFEST
    kind = _documents.media_type(content, likely, complain)
    return Descriptor(media_type=kind, digest=place.tag, size=len(content))
