"""What is attached to an image, as far as it can be read: anybody may attach anything."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv import attachment
from mxenv.attachment import KEY, KINDS, LARGEST, SIGNATURE
from mxenv.errors import EngineError, InvalidFile, LayoutError
from mxenv.stores import Descriptor

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from mxenv.attachment import Attached, Kind
    from mxenv.stores import Source

LOOKED_AT = 32
"""Of one kind; more are counted, and not read: a list may have thousands."""
SIGNATURES = 256
"""The same of signatures, which are small."""
LARGEST_MANIFEST = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """One document that is attached."""

    digest: str
    """Of the bytes that are attached."""
    manifest: str
    """The digest of the manifest that attaches it."""
    content: bytes


@dataclass(slots=True, kw_only=True)
class Attachments:
    """Everything of mxenv's kinds that is attached to one image."""

    documents: dict[str, list[Document]] = field(default_factory=lambda: defaultdict(list))
    """By the name of the kind."""
    odd: list[str] = field(default_factory=list)
    """What is none of what it says it is: which, and why."""
    passed_over: int = 0
    """How many were not read, since there are so many."""
    others: int = 0
    """How many are of kinds that mxenv knows nothing of."""

    @property
    def any(self) -> bool:
        """Return whether anything of mxenv's is there."""
        return bool(self.documents or self.odd or self.passed_over)


def read(source: Source, digest: str, keys: Collection[str] = ()) -> Attachments:
    """Read what is attached to the image whose manifest has ``digest``.

    Signatures that name one of ``keys`` come first: of many, these are looked at in any case.
    """
    found = Attachments()
    for kind, listed in _listed(source, digest, keys, found):
        most = SIGNATURES if kind is SIGNATURE else LOOKED_AT
        found.passed_over += max(0, len(listed) - most)
        for descriptor in listed[:most]:
            try:
                document = _document(source, digest, descriptor, kind)
            except (EngineError, InvalidFile, ValueError) as error:
                found.odd.append(f"{descriptor.digest}: {error}")
            else:
                found.documents[kind.name].append(document)
    return found


def _listed(
    source: Source, digest: str, keys: Collection[str], found: Attachments
) -> Iterator[tuple[Kind, list[Descriptor]]]:
    """Yield what says that it is of a kind of mxenv's, by kind, the likeliest first."""
    by_kind: dict[str, list[Descriptor]] = defaultdict(list)
    for one in source.referrers(digest):
        if one.artifact_type in KINDS:
            by_kind[one.artifact_type].append(one)
        else:
            found.others += 1
    for media_type, listed in by_kind.items():
        listed.sort(key=lambda one: dict(one.annotations).get(KEY) not in keys)
        yield KINDS[media_type], listed


def _document(source: Source, image: str, descriptor: Descriptor, kind: Kind) -> Document:
    if descriptor.size > LARGEST_MANIFEST:
        raise ValueError(f"its manifest has {descriptor.size} bytes, more than {LARGEST_MANIFEST}")
    attached: Attached = attachment.parse(source.manifest_of(descriptor.digest))
    if attached.subject != image:
        raise ValueError(f"it is of another image, {attached.subject or 'which it does not name'}")
    if attached.kind is not kind:
        raise ValueError(f"it is said to be {kind.name}, and is {attached.kind.name}")
    return Document(
        digest=attached.digest,
        manifest=descriptor.digest,
        content=content(source, attached.digest, attached.size, kind),
    )


def content(source: Source, digest: str, size: int, kind: Kind) -> bytes:
    """Return one document, by the digest of the bytes that are attached."""
    descriptor = Descriptor(media_type=kind.blob_type, digest=digest, size=min(size, LARGEST))
    with source.blob(descriptor) as stream:
        blob = stream.read()
    try:
        return attachment.content(kind, blob)
    except ValueError as error:
        raise LayoutError(str(error), context=digest) from None
