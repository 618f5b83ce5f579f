"""How a statement is signed: a DSSE envelope, and the bytes that a signature in one is over."""

from __future__ import annotations

import base64
import binascii

from mxenv import foreign_json
from mxenv.configuration import canonical
from mxenv.frozen import frozen

MEDIA_TYPE = "application/vnd.dsse.envelope.v1+json"
STATEMENT = "application/vnd.in-toto+json"
"""The type of payload that mxenv signs."""
MOST = 64
"""Signatures that are looked at in one envelope."""


@frozen
class Signature:
    """One signature, and whose it says it is."""

    key: str
    """``sha256:`` and the digest of the public key (DER): a hint, no proof."""
    value: bytes


@frozen
class Envelope:
    """A payload with its signatures."""

    payload: bytes
    signatures: tuple[Signature, ...]


def signed_bytes(payload: bytes, kind: str = STATEMENT) -> bytes:
    """Return what a signature is over: the pre-authentication encoding of DSSE v1."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def render(envelope: Envelope) -> bytes:
    """Return the envelope as JSON in one line: equal envelopes give equal bytes."""
    document = {
        "payload": base64.b64encode(envelope.payload).decode(),
        "payloadType": STATEMENT,
        "signatures": [
            {"keyid": one.key, "sig": base64.b64encode(one.value).decode()}
            for one in envelope.signatures
        ],
    }
    return canonical(document)


def parse(content: bytes) -> Envelope:
    """Return the envelope that ``content`` is; `ValueError` says why it is none."""
    document = foreign_json.read(content)
    if document.get("payloadType") != STATEMENT:
        raise ValueError(f"its payloadType is not {STATEMENT}")
    signatures = foreign_json.items(document.get("signatures"))
    if not 0 < len(signatures) <= MOST:
        raise ValueError(f"it has {len(signatures)} signatures, not 1 to {MOST}")
    return Envelope(
        payload=_bytes(document.get("payload"), "payload"),
        signatures=tuple(_signature(entry, number) for number, entry in enumerate(signatures)),
    )


def _signature(entry: object, number: int) -> Signature:
    found = foreign_json.table(entry)
    return Signature(
        key=foreign_json.text(found.get("keyid")),
        value=_bytes(found.get("sig"), f"signatures[{number}].sig"),
    )


def _bytes(value: object, place: str) -> bytes:
    try:
        return base64.b64decode(foreign_json.text(value), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"its {place} is not base64") from None
