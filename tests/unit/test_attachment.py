from __future__ import annotations

import json

import pytest
from _attested import MANIFEST

from mxenv import attachment, provenance
from mxenv.attachment import DOCUMENTS, KEY, SBOM, SIGNATURE, Subject, Vouched
from mxenv.configuration import digest

SUBJECT = Subject(media_type=attachment.MANIFEST, digest=MANIFEST, size=7)


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
