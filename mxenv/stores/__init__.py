"""Places where images lie: registries, OCI layouts. Read and written by digest, always verified."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_CONFIG = "application/vnd.oci.image.config.v1+json"
DOCKER_INDEX = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"

INDEXES = frozenset({OCI_INDEX, DOCKER_INDEX})
MANIFESTS = frozenset({OCI_MANIFEST, DOCKER_MANIFEST})


@frozen
class Descriptor:
    """What a registry calls a thing: its type, its digest and its size."""

    media_type: str
    digest: str
    """``sha256:`` and 64 hexadecimal digits."""
    size: int
    annotations: tuple[tuple[str, str], ...] = ()
    artifact_type: str = ""
    """What kind of thing a manifest holds that is no image."""


@frozen
class ImageDescription:
    """An image as its manifest and its configuration tell it; no layer was read."""

    manifest: Descriptor
    config: Descriptor
    configuration: Mapping[str, object]
    layers: tuple[Descriptor, ...]
    """From the base upwards."""
    diff_ids: tuple[str, ...]
    """The digests of the uncompressed layers, as many as `layers`."""


class Source(Protocol):
    """An image that can be read."""

    @property
    def name(self) -> str:
        """The image as a user would name it."""

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        """Return the manifest for ``platform`` (``linux/amd64``), its bytes verified."""

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        """Open a blob as a stream; read to its end, it is what the descriptor says or it raises."""

    def has(self, digest: str) -> bool:
        """Return whether a blob is there, reading none of it."""

    def manifest_of(self, digest: str) -> bytes:
        """Return the manifest with this digest, as a referrer has one, its bytes verified."""

    def referrers(self, digest: str) -> tuple[Descriptor, ...]:
        """Return the manifests that speak of the image with this digest, in a stable order."""


class Sink(Protocol):
    """A repository, or a layout, that can be written."""

    def has(self, digest: str) -> bool:
        """Return whether a blob is there."""

    def mount(self, descriptor: Descriptor, source: Source) -> bool:
        """Return whether the blob is there now, moved from ``source`` without any transfer."""

    def write(self, descriptor: Descriptor, open_blob: Callable[[], BinaryIO]) -> None:
        """Store a blob; ``open_blob`` may be called more than once, for another attempt."""

    def tag(self, manifest: bytes, media_type: str, name: str) -> str:
        """Put a manifest under ``name`` and return its digest; every blob must be there."""

    def attach(self, manifest: bytes, subject: Descriptor) -> str:
        """Put a manifest that speaks of ``subject``, as its own field says; return its digest."""

    def attach_all(self, manifests: Sequence[bytes], subject: Descriptor) -> None:
        """Put several that speak of ``subject``; a list of them that is kept is written once."""
