"""What goes with an image without being part of it: which documents, and how each is attached."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from mxenv import envelope, foreign_json, provenance
from mxenv.configuration import canonical, digest
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.provenance import Said

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
TITLE = "org.opencontainers.image.title"
KEY = "io.mxenv.key"
"""The annotation that says which key signed: a hint, so that the right one is looked at first."""
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
EMPTY = b"{}"
"""The configuration of what has none (OCI image specification 1.1)."""
VOUCHED = "https://mxenv.invalid/attached/v1"
"""The predicate of what is signed for the image itself, with all that goes with it."""
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
LARGEST = 1 << 24
"""Bytes of one document; the SBOM of a thousand wheels has a thirtieth of it."""
_GZIP = 31
"""What `zlib` calls one gzip member with a window of any size."""


@frozen
class Kind:
    """One kind of document that is attached."""

    name: str
    media_type: str
    file: str
    """What it is called where it is a file."""
    packed: bool = False
    """Whether it goes over the line as gzip: those that only mxenv reads do."""

    @property
    def blob_type(self) -> str:
        """Return the media type of the bytes that are attached."""
        return f"{self.media_type}+gzip" if self.packed else self.media_type

    @property
    def blob_file(self) -> str:
        """Return what those bytes are called where they are a file."""
        return f"{self.file}.gz" if self.packed else self.file


LOCK = Kind(
    name="lock",
    media_type="application/vnd.mxenv.lock.v1+toml",
    file="pylock.toml",
    packed=True,
)
SNAPSHOT = Kind(
    name="snapshot",
    media_type="application/vnd.mxenv.snapshot.v1+json",
    file="snapshot.json",
    packed=True,
)
VERDICT = Kind(
    name="verdict", media_type="application/vnd.mxenv.verdict.v1+json", file="verdict.json"
)
SBOM = Kind(name="sbom", media_type="application/vnd.cyclonedx+json", file="sbom.cdx.json")
PROVENANCE = Kind(name="provenance", media_type=envelope.STATEMENT, file="provenance.json")
SIGNATURE = Kind(name="signature", media_type=envelope.MEDIA_TYPE, file="signature.dsse.json")

DOCUMENTS = (LOCK, SNAPSHOT, VERDICT, SBOM, PROVENANCE)
"""What every image has."""
KINDS = {kind.media_type: kind for kind in (*DOCUMENTS, SIGNATURE)}
_BLOBS = {kind.blob_type: kind for kind in KINDS.values()}


@frozen
class Subject:
    """The image that something is attached to: its manifest."""

    media_type: str
    digest: str
    size: int


def blob(kind: Kind, content: bytes) -> bytes:
    """Return the bytes that are attached for a document: equal ones give equal bytes."""
    if not kind.packed:
        return content
    from mxenv.deflation import gzipped  # noqa: PLC0415 - imported late: seldom anything is attached

    return gzipped(content)


def content(kind: Kind, blob: bytes) -> bytes:
    """Return the document that was attached as ``blob``; `ValueError` says why it is none."""
    if not kind.packed:
        return blob
    decoder = zlib.decompressobj(wbits=_GZIP)
    try:
        found = decoder.decompress(blob, LARGEST)
    except zlib.error as error:
        raise ValueError(f"it is not gzip ({error})") from None
    if not decoder.eof or decoder.unused_data:
        raise ValueError(f"it is not one gzip member, or more than {LARGEST} bytes")
    return found


def manifest(kind: Kind, blob: bytes, subject: Subject, *, key: str = "") -> bytes:
    """Return the manifest that attaches ``blob``: equal ones give equal bytes."""
    document: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": kind.media_type,
        "config": {"mediaType": EMPTY_TYPE, "digest": digest(EMPTY), "size": len(EMPTY)},
        "layers": [
            {
                "mediaType": kind.blob_type,
                "digest": digest(blob),
                "size": len(blob),
                "annotations": {TITLE: kind.blob_file},
            }
        ],
        "subject": {
            "mediaType": subject.media_type,
            "digest": subject.digest,
            "size": subject.size,
        },
    }
    if key:
        document["annotations"] = {KEY: key}
    return canonical(document)


@frozen
class Attached:
    """What the manifest of an attachment says: which document, and of which image."""

    kind: Kind
    digest: str
    size: int
    subject: str
    """``sha256:…`` of the image's manifest."""


def parse(content: bytes) -> Attached:
    """Return what is attached by a manifest; `ValueError` says why nothing of mxenv's is."""
    document = foreign_json.read(content)
    layers = foreign_json.items(document.get("layers"))
    layer = foreign_json.table(layers[0] if len(layers) == 1 else None)
    kind = _BLOBS.get(foreign_json.text(layer.get("mediaType")))
    if kind is None:
        raise ValueError("it does not hold one document of a kind that mxenv knows")
    size, found = layer.get("size"), foreign_json.text(layer.get("digest"))
    if not isinstance(size, int) or not 0 <= size <= LARGEST or not DIGEST.fullmatch(found):
        raise ValueError(f"its document has no digest, or more than {LARGEST} bytes")
    return Attached(
        kind=kind,
        digest=found,
        size=size,
        subject=foreign_json.text(foreign_json.table(document.get("subject")).get("digest")),
    )


@frozen
class Vouched:
    """A document that somebody signed for."""

    digest: str
    size: int
    """With it the document can be had by digest, however long the list is that names it."""


def vouched(name: str, subject: str, blobs: Mapping[str, bytes]) -> bytes:
    """Return the statement that a key signs: this image, and these documents go with it."""
    listed = [
        {
            "name": kind.name,
            "mediaType": kind.blob_type,
            "digest": {"sha256": digest(blobs[kind.name]).removeprefix("sha256:")},
            "annotations": {"size": str(len(blobs[kind.name]))},
        }
        for kind in DOCUMENTS
    ]
    return provenance.statement(name, subject, VOUCHED, {"documents": listed})


def documents(said: Said) -> dict[str, Vouched]:
    """Return the documents that a statement vouches for, by name."""
    found: dict[str, Vouched] = {}
    for entry in map(foreign_json.table, foreign_json.items(said.predicate.get("documents"))):
        sums = foreign_json.table(entry.get("digest"))
        size = foreign_json.text(foreign_json.table(entry.get("annotations")).get("size"))
        one = f"sha256:{foreign_json.text(sums.get('sha256'))}"
        if DIGEST.fullmatch(one) and re.fullmatch(r"[0-9]{1,8}", size):
            name = foreign_json.text(entry.get("name"))
            found[name] = Vouched(digest=one, size=min(int(size), LARGEST))
    return found
