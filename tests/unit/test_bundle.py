"""A whole matrix in one file comes out as it went in, and one that was altered does not pass."""

from __future__ import annotations

import json

import pytest

from mxenv import bundle
from mxenv.bundle import Bundle, Layer
from mxenv.errors import MatrixError

DIGEST = "sha256:" + "0" * 64
WHOLE = Bundle(
    digest=DIGEST,
    layers=(
        Layer(name="metax.toml", kind="shipped", text="# ü\nrevision = '1'\n"),
        Layer(name="site.toml", kind="site", text="x = 1\n"),
    ),
)


def test_what_is_written_is_read_back() -> None:
    text = bundle.render(WHOLE)
    assert bundle.parse(text, context="x") == WHOLE
    assert bundle.render(bundle.parse(text, context="x")) == text


def test_a_bundle_is_told_from_rows_by_its_first_sign() -> None:
    assert bundle.is_bundle(b' \n{"schema"')
    assert not bundle.is_bundle(b"schema = 1")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "mxenv.bundle/9"}, "x: schema: not 'mxenv.bundle/1'"),
        ({"more": 1}, "x: more: unknown field"),
        ({"digest": "sha256:1"}, "x: digest: not a digest"),
        ({"layers": []}, "x: layers: missing"),
        ({"layers": [{"name": "../a", "kind": "site", "text": "x"}]}, "is no name of a file"),
        ({"layers": [{"name": "a", "kind": "other", "text": "x"}]}, "is none of shipped, site"),
        ({"layers": [{"name": "a", "kind": "site", "text": "x"}] * 2}, "two files are called 'a'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(change: dict[str, object], said: str) -> None:
    document = json.loads(bundle.render(WHOLE)) | change
    with pytest.raises(MatrixError) as caught:
        bundle.parse(json.dumps(document), context="x")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [("{", "not JSON"), ("[]", "not a bundle"), ("[" * 100_000, "nested too deeply")],
)
def test_what_is_no_bundle_is_refused(text: str, said: str) -> None:
    with pytest.raises(MatrixError, match=said):
        bundle.parse(text, context="x")
