from __future__ import annotations

import gzip
import json

import pytest
from _attested import MANIFEST

from mxenv import attachment, provenance
from mxenv.attachment import (
    DOCUMENTS,
    KEY,
    KINDS,
    LARGEST,
    LOCK,
    SBOM,
    SIGNATURE,
    Subject,
    Vouched,
)
from mxenv.configuration import digest

SUBJECT = Subject(media_type=attachment.MANIFEST, digest=MANIFEST, size=7)

PACKED = gzip.compress(b"a", mtime=0)


def changed(**fields: object) -> bytes:
    document = json.loads(attachment.manifest(SBOM, b"bom", SUBJECT))
    return json.dumps(document | fields).encode()


def test_reads_what_it_wrote() -> None:
    content = attachment.manifest(SBOM, b"bom", SUBJECT)
    found = attachment.parse(content)
    assert (found.kind, found.digest, found.size) == (SBOM, digest(b"bom"), 3)
    assert found.subject == MANIFEST
    assert content == attachment.manifest(SBOM, b"bom", SUBJECT)


def test_names_the_key_where_there_is_one() -> None:
    unsigned = json.loads(attachment.manifest(SBOM, b"bom", SUBJECT))
    signed = json.loads(attachment.manifest(SIGNATURE, b"dsse", SUBJECT, key="sha256:aa"))
    assert "annotations" not in unsigned
    assert signed["annotations"] == {KEY: "sha256:aa"}
    assert signed["artifactType"] == "application/vnd.dsse.envelope.v1+json"


def test_what_only_mxenv_reads_is_packed_and_the_rest_is_as_it_is() -> None:
    text = b"name = 'alpha'\n" * 99
    for kind in KINDS.values():
        blob = attachment.blob(kind, text)
        assert attachment.content(kind, blob) == text
        assert (len(blob) < len(text) // 4) is kind.packed
        assert (blob == text) is not kind.packed
        assert kind.blob_type.endswith("+gzip") is kind.packed is kind.blob_file.endswith(".gz")
        said = attachment.parse(attachment.manifest(kind, blob, SUBJECT))
        assert (said.kind, said.digest) == (kind, digest(blob))
    assert {kind.name for kind in KINDS.values() if kind.packed} == {"lock", "snapshot"}


@pytest.mark.parametrize(
    "blob",
    # Equal in every process: cases are told apart by their bytes.
    [b"", b"text", PACKED[:-1], PACKED + b"b", PACKED * 2],
)
def test_what_is_not_packed_as_it_should_be_says_so(blob: bytes) -> None:
    with pytest.raises(ValueError, match="it is not"):
        attachment.content(LOCK, blob)


def test_what_would_become_too_large_is_not_unpacked() -> None:
    assert len(attachment.content(LOCK, gzip.compress(bytes(LARGEST)))) == LARGEST
    with pytest.raises(ValueError, match=f"more than {LARGEST} bytes"):
        attachment.content(LOCK, gzip.compress(bytes(LARGEST + 1)))


@pytest.mark.parametrize("layers", [None, [], [{}, {}], [{"mediaType": "text/plain"}], ["a"]])
def test_says_what_holds_no_document(layers: object) -> None:
    with pytest.raises(ValueError, match="does not hold one document"):
        attachment.parse(changed(layers=layers))


@pytest.mark.parametrize(
    ("size", "found"),
    [("many", "sha256:" + "a" * 64), (-1, "sha256:" + "a" * 64), (7, "sha256:../../etc")],
)
def test_says_what_names_no_document(size: object, found: str) -> None:
    layers = [{"mediaType": SBOM.media_type, "size": size, "digest": found}]
    with pytest.raises(ValueError, match="no digest"):
        attachment.parse(changed(layers=layers))


def test_without_a_subject_is_of_no_image() -> None:
    assert attachment.parse(changed(subject="none")).subject == ""


def test_vouches_for_every_document_by_digest() -> None:
    contents = {kind.name: kind.file.encode() for kind in DOCUMENTS}
    said = provenance.parse(attachment.vouched("demo", MANIFEST, contents))
    assert (said.subject, said.kind) == (MANIFEST, attachment.VOUCHED)
    assert attachment.documents(said) == {
        k.name: Vouched(digest=digest(k.file.encode()), size=len(k.file)) for k in DOCUMENTS
    }


@pytest.mark.parametrize("listed", [None, [7], [{"name": "sbom", "digest": {"sha256": "a" * 64}}]])
def test_vouches_for_nothing_where_nothing_is_said(listed: object) -> None:
    said = provenance.parse(
        provenance.statement("demo", MANIFEST, attachment.VOUCHED, {"documents": listed})
    )
    assert attachment.documents(said) == {}
