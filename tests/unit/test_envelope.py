from __future__ import annotations

import base64
import json

import pytest

from mxenv import envelope
from mxenv.envelope import Envelope, Signature

ONE = Envelope(payload=b"{}", signatures=(Signature(key="sha256:aa", value=b"\x01" * 64),))


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(envelope.render(ONE)) | fields).encode()


def test_reads_what_it_wrote_in_one_line() -> None:
    content = envelope.render(ONE)
    assert b"\n" not in content
    assert envelope.parse(content) == ONE


def test_signs_the_bytes_that_the_specification_gives_as_its_example() -> None:
    assert (
        envelope.signed_bytes(b"hello world", "http://example.com/HelloWorld")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"payloadType": "text/plain"}, "payloadType"),
        ({"signatures": []}, "0 signatures"),
        ({"signatures": "none"}, "0 signatures"),
        ({"signatures": [{"sig": ""}] * 65}, "65 signatures"),
        ({"payload": "***"}, "payload is not base64"),
        ({"payload": "\N{BULLET}"}, "payload is not base64"),
        ({"signatures": [{"sig": "a"}]}, r"signatures\[0\].sig is not base64"),
    ],
)
def test_says_what_is_no_envelope(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        envelope.parse(changed(**fields))


def test_takes_a_signature_without_the_name_of_its_key() -> None:
    signature = base64.b64encode(b"s").decode()
    parsed = envelope.parse(changed(signatures=[{"sig": signature}, 7]))
    assert parsed.signatures == (Signature(key="", value=b"s"), Signature(key="", value=b""))
