"""Whatever anybody attaches to an image is an answer, and only the right thing is the right one."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from _attested import LOCK_DIGEST, MANIFEST, OTHER, WHOLE
from hypothesis import given
from hypothesis import strategies as st

from mxenv import attachment, envelope, foreign_json, provenance, sbom
from mxenv.attachment import DOCUMENTS, KINDS, Subject
from mxenv.envelope import Envelope, Signature

if TYPE_CHECKING:
    from collections.abc import Callable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=12,
)
BYTES = st.binary(max_size=64) | JSON.map(lambda value: json.dumps(value).encode())
BOM = sbom.render(WHOLE, lock_digest=LOCK_DIGEST, version="1")
PROVENANCE = provenance.render(WHOLE, manifest=MANIFEST, lock_digest=LOCK_DIGEST, version="1")
ATTACHED = attachment.manifest(
    DOCUMENTS[0], b"x", Subject(media_type=attachment.MANIFEST, digest=MANIFEST, size=1)
)
SIGNED = envelope.render(Envelope(payload=PROVENANCE, signatures=(Signature(key="k", value=b"s"),)))


def of_bom(content: bytes) -> list[str]:
    return list(sbom.flaws(content, WHOLE, lock_digest=LOCK_DIGEST))


def of_provenance(content: bytes) -> list[str]:
    return list(provenance.flaws(content, WHOLE, manifest=MANIFEST, lock_digest=LOCK_DIGEST))


def replaced(document: object, path: list[int], value: object) -> object:
    """Return the document with another value at a place that the numbers lead to."""
    if not path or not isinstance(document, dict | list) or not document:
        return value
    step, *rest = path
    if isinstance(document, dict):
        key = sorted(document)[step % len(document)]
        return document | {key: replaced(document[key], rest, value)}
    at = step % len(document)
    return [*document[:at], replaced(document[at], rest, value), *document[at + 1 :]]


@given(BYTES)
def test_bytes_of_any_kind_are_flawed_documents(content: bytes) -> None:
    assert of_bom(content)
    assert of_provenance(content)
    for parse in (attachment.parse, envelope.parse, provenance.parse, foreign_json.read):
        with suppress(ValueError):
            parse(content)


@pytest.mark.parametrize(
    ("document", "flaws"), [(BOM, of_bom), (PROVENANCE, of_provenance)], ids=["sbom", "provenance"]
)
@given(path=st.lists(st.integers(0, 50), max_size=6), value=JSON)
def test_a_document_with_anything_in_one_place_is_an_answer(
    document: bytes, flaws: Callable[[bytes], list[str]], path: list[int], value: object
) -> None:
    altered = replaced(json.loads(document), path, value)
    for flaw in flaws(json.dumps(altered).encode()):
        assert flaw


@given(path=st.lists(st.integers(0, 50), max_size=6), value=JSON)
def test_a_manifest_or_an_envelope_with_anything_in_one_place_is_read_or_refused(
    path: list[int], value: object
) -> None:
    for document, parse in ((ATTACHED, attachment.parse), (SIGNED, envelope.parse)):
        altered = json.dumps(replaced(json.loads(document), path, value)).encode()
        with suppress(ValueError):
            found = parse(altered)
            assert isinstance(found, attachment.Attached | Envelope)
            if isinstance(found, attachment.Attached):
                assert found.kind in KINDS.values()
                assert attachment.DIGEST.fullmatch(found.digest)
                assert 0 <= found.size <= attachment.LARGEST


@given(st.integers(0, len(WHOLE.packages) - 1), st.sampled_from(["a", "f", "0"]))
def test_a_document_with_another_hash_of_one_wheel_is_flawed(number: int, sign: str) -> None:
    wheel = WHOLE.packages[number].wheel
    other = sign * 64
    for document, flaws in ((BOM, of_bom), (PROVENANCE, of_provenance)):
        altered = document.replace(wheel.sha256.encode(), other.encode())
        assert bool(flaws(altered)) is (other != wheel.sha256)


def test_a_document_of_another_image_is_flawed() -> None:
    named = ((BOM, of_bom, LOCK_DIGEST), (PROVENANCE, of_provenance, MANIFEST))
    for document, flaws, subject in named:
        digest, other = (one.removeprefix("sha256:").encode() for one in (subject, OTHER))
        assert not flaws(document)
        assert flaws(document.replace(digest, other))


@given(st.binary(max_size=40), st.binary(max_size=40), st.text("ab /+", max_size=5))
def test_no_two_payloads_are_signed_as_the_same_bytes(one: bytes, other: bytes, kind: str) -> None:
    same = envelope.signed_bytes(one, kind) == envelope.signed_bytes(other, kind)
    assert same is (one == other)
    assert envelope.signed_bytes(one, kind) != envelope.signed_bytes(one, f"{kind} ")


@given(st.binary(max_size=60), st.lists(st.tuples(st.text(), st.binary()), min_size=1, max_size=4))
def test_an_envelope_is_read_as_it_was_written(
    payload: bytes, signatures: list[tuple[str, bytes]]
) -> None:
    signed = tuple(Signature(key=key, value=value) for key, value in signatures)
    written = Envelope(payload=payload, signatures=signed)
    assert envelope.parse(envelope.render(written)) == written
