from __future__ import annotations

import json

import pytest
from _attested import MANIFEST

from mxenv import attachment, provenance
from mxenv.attachment import DOCUMENTS, KEY, SBOM, SIGNATURE, Subject
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


def test_takes_what_is_missing_for_nothing() -> None:
    layers = [{"mediaType": SBOM.media_type, "size": "many"}]
    found = attachment.parse(changed(layers=layers, subject="none"))
    assert (found.digest, found.size, found.subject) == ("", 0, "")


def test_vouches_for_every_document_by_digest() -> None:
    contents = {kind.name: kind.file.encode() for kind in DOCUMENTS}
    said = provenance.parse(attachment.vouched("demo", MANIFEST, contents))
    assert (said.subject, said.kind) == (MANIFEST, attachment.VOUCHED)
    assert attachment.documents(said) == {k.name: digest(k.file.encode()) for k in DOCUMENTS}


def test_vouches_for_nothing_where_nothing_is_said() -> None:
    said = provenance.parse(provenance.statement("demo", MANIFEST, attachment.VOUCHED, {}))
    assert attachment.documents(said) == {}
