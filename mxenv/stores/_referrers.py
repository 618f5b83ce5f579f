"""How manifests that speak of an image are listed: the documents, wherever they lie."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mxenv.stores import MANIFESTS, OCI_INDEX, OCI_MANIFEST, Descriptor, _documents
from mxenv.stores._digests import digest_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.stores._documents import Complain


def fallback_tag(digest: str) -> str:
    """Return the tag that lists what speaks of an image, where a registry keeps no such list.

    So the OCI distribution specification has it ("referrers tag schema").
    """
    return digest.replace(":", "-", 1)


def entry(manifest: bytes, subject: Descriptor, complain: Complain) -> Descriptor:
    """Return what a list says of ``manifest``, which must speak of ``subject``."""
    document = _documents.parse(manifest, complain)
    if (named := subject_of(document, complain)) != subject.digest:
        raise complain(f"speaks of {named or 'nothing'}, not of {subject.digest}")
    own = document.get("mediaType")
    kind = _artifact_type(document)
    if not kind:
        raise complain("does not say what it holds: artifactType is missing")
    return Descriptor(
        media_type=own if isinstance(own, str) else OCI_MANIFEST,
        digest=digest_of(manifest),
        size=len(manifest),
        annotations=_documents.notes(document),
        artifact_type=kind,
    )


def subject_of(document: Mapping[str, object], complain: Complain) -> str:
    """Return the digest of what a manifest speaks of, or nothing."""
    subject = document.get("subject")
    return _documents.descriptor(subject, complain, "subject").digest if subject else ""


def _artifact_type(document: Mapping[str, object]) -> str:
    """Return what a manifest holds; one that does not say so means its configuration's type."""
    config = document.get("config")
    of_config = config.get("mediaType") if isinstance(config, dict) else ""
    kind = document.get("artifactType") or of_config
    return kind if isinstance(kind, str) else ""


def listed(content: bytes, complain: Complain) -> tuple[Descriptor, ...]:
    """Return what a list of referrers names; what is no such list is never taken for one."""
    document = _documents.parse(content, complain)
    if document.get("mediaType", OCI_INDEX) != OCI_INDEX:
        raise complain(f"is no list of referrers ({str(document.get('mediaType'))[:80]})")
    values = _documents.entries(document, "manifests", complain)
    found = [_documents.descriptor(v, complain, f"manifests[{n}]") for n, v in enumerate(values)]
    return tuple(dict.fromkeys(one for one in found if one.media_type in MANIFESTS))


def joined(content: bytes | None, more: Iterable[Descriptor], complain: Complain) -> bytes:
    """Return the list ``content`` (`None`: there is none yet) with ``more`` in it.

    What others wrote there stays as they wrote it.
    """
    document: dict[str, object] = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}
    if content is not None:
        listed(content, complain)
        document |= _documents.parse(content, complain)
    values = _documents.entries(document, "manifests", complain)
    there = {value["digest"] for value in values if isinstance(value, dict)}
    document["manifests"] = [*values, *(written(one) for one in more if one.digest not in there)]
    return json.dumps(document, indent=2).encode()


def written(one: Descriptor) -> dict[str, object]:
    """Return a descriptor as an index has it."""
    value: dict[str, object] = {
        "mediaType": one.media_type,
        "digest": one.digest,
        "size": one.size,
    }
    if one.artifact_type:
        value["artifactType"] = one.artifact_type
    if one.annotations:
        value["annotations"] = dict(one.annotations)
    return value
