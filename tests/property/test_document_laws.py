"""Whatever a registry or a folder says of an image: it is understood, or it is one clear error."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mxenv.errors import LayoutError
from mxenv.stores import (
    DOCKER_INDEX,
    DOCKER_MANIFEST,
    OCI_CONFIG,
    OCI_INDEX,
    OCI_MANIFEST,
    Descriptor,
    _documents,
    _referrers,
)

MOST = 50
"""Reads; whoever needs more for one image has been led in a circle."""


def complain(message: str) -> LayoutError:
    return LayoutError(message, context="here")


def digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Shelf:
    """Documents by their digests, each of which can be read."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    reads: int = 0

    def put(self, value: object) -> dict[str, object]:
        content = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.blobs[digest(content)] = content
        kind = value.get("mediaType") if isinstance(value, dict) else None
        return {"mediaType": kind or "x", "digest": digest(content), "size": len(content)}

    def read(self, descriptor: Descriptor) -> bytes:
        self.reads += 1
        assert self.reads < MOST
        if descriptor.digest not in self.blobs:
            raise complain("is not there")
        return self.blobs[descriptor.digest]


def described(entry: dict[str, object]) -> Descriptor:
    return _documents.descriptor(entry, complain, "top")


def understood(shelf: Shelf, top: Descriptor, platform: str = "linux/amd64") -> bool:
    """Return whether it is an image; if not, it was one clear error."""
    try:
        manifest = _documents.resolve(top, shelf.read, platform, complain)
        _documents.describe(manifest, shelf.read, platform, complain)
    except LayoutError as error:
        assert str(error).startswith("here: ")  # noqa: PT017 - either is right
        assert len(str(error)) < 2000  # noqa: PT017 - the same
        return False
    return True


def image(shelf: Shelf, *, architecture: str = "amd64", kind: str = OCI_MANIFEST) -> dict:
    layer = shelf.put(b"layer")
    config = {
        "os": "linux",
        "architecture": architecture,
        "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
    }
    described_config = {**shelf.put(config), "mediaType": OCI_CONFIG}
    manifest = {"mediaType": kind, "config": described_config, "layers": [layer]}
    platform = {"os": "linux", "architecture": architecture}
    return {**shelf.put(manifest), "platform": platform}


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(
        [
            *(OCI_INDEX, OCI_MANIFEST, DOCKER_INDEX, DOCKER_MANIFEST, OCI_CONFIG, "linux", "amd64"),
            *(digest(b""), "sha512:" + "0" * 128, "sha256:" + "A" * 64, "sha256:../../etc/passwd"),
        ]
    ),
)
names = st.sampled_from(
    [
        *("mediaType", "digest", "size", "annotations", "platform", "os", "architecture", "config"),
        *("layers", "manifests", "rootfs", "diff_ids", "subject", "artifactType", "schemaVersion"),
    ]
)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=6),
    max_leaves=20,
)


class TestAnything:
    """No document at all is more than an error."""

    @given(content=st.binary(max_size=200) | anything.map(lambda v: json.dumps(v).encode()))
    def test_may_stand_where_an_image_should(self, content: bytes) -> None:
        shelf = Shelf()
        understood(shelf, described({**shelf.put(content), "mediaType": OCI_MANIFEST}))

    @settings(max_examples=300)
    @given(data=st.data(), value=anything)
    def test_may_stand_in_a_part_of_an_image(self, data: st.DataObject, value: object) -> None:
        shelf = Shelf()
        entry = image(shelf)
        index = {"mediaType": OCI_INDEX, "manifests": [entry]}
        documents = {"index": index, "manifest": json.loads(shelf.blobs[entry["digest"]])}
        config = documents["manifest"]["config"]["digest"]
        documents["config"] = json.loads(shelf.blobs[config])
        which = data.draw(st.sampled_from(sorted(documents)))
        spoil(data, documents[which], value)
        documents["manifest"]["config"] = (
            {**shelf.put(documents["config"]), "mediaType": OCI_CONFIG}
            if which == "config"
            else documents["manifest"]["config"]
        )
        if which != "index":
            index["manifests"] = [{**entry, **shelf.put(documents["manifest"])}]
        understood(shelf, described({**shelf.put(index), "mediaType": OCI_INDEX}))

    @given(value=anything)
    def test_may_stand_where_a_list_of_referrers_should(self, value: object) -> None:
        content = json.dumps(value).encode()
        try:
            listed = _referrers.listed(content, complain)
        except LayoutError as error:
            assert str(error).startswith("here: ")  # noqa: PT017 - either is right
        else:
            ours = Descriptor(media_type=OCI_MANIFEST, digest=digest(b"ours"), size=4)
            joined = _referrers.joined(content, [ours], complain)
            assert set(_referrers.listed(joined, complain)) == {*listed, ours}


def spoil(data: st.DataObject, document: dict, value: object) -> None:
    """Put ``value`` somewhere into ``document``."""
    place: object = document
    while True:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))  # type: ignore[arg-type]
        key = data.draw(st.sampled_from(keys))
        inner = place[key]  # type: ignore[index]
        if not (isinstance(inner, dict | list) and inner) or data.draw(st.booleans()):
            place[key] = value  # type: ignore[index]
            return
        place = inner


class TestAnIndex:
    """It leads to the image that was asked for, wherever that lies."""

    @given(
        order=st.permutations(["amd64", "arm64", "riscv64", "s390x"]),
        wanted=st.sampled_from(["amd64", "arm64", "riscv64"]),
        depth=st.integers(0, 1),
        kinds=st.sampled_from([(OCI_INDEX, OCI_MANIFEST), (DOCKER_INDEX, DOCKER_MANIFEST)]),
    )
    def test_names_each_platform_once_at_any_place(
        self, order: list[str], wanted: str, depth: int, kinds: tuple[str, str]
    ) -> None:
        shelf = Shelf()
        entries = {a: image(shelf, architecture=a, kind=kinds[1]) for a in order}
        speaking = {
            **image(shelf, architecture="mips"),
            "platform": {"os": "unknown", "architecture": "unknown"},
            "annotations": {_documents.ATTESTATION: "attestation-manifest"},
        }
        top = {"mediaType": kinds[0], "manifests": [speaking, *entries.values()]}
        for _ in range(depth):
            top = {"mediaType": OCI_INDEX, "manifests": [{**shelf.put(top), "mediaType": kinds[0]}]}
        start = described({**shelf.put(top), "mediaType": top["mediaType"]})
        found, _ = _documents.resolve(start, shelf.read, f"linux/{wanted}", complain)
        assert found.digest == entries[wanted]["digest"]
        assert understood(shelf, start, f"linux/{wanted}")

    def test_that_leads_in_a_circle_ends(self) -> None:
        # No digest can name itself; whoever reads without comparing could be led so all the same.
        entry = {"mediaType": OCI_INDEX, "digest": digest(b"me"), "size": 1}
        shelf = Shelf({digest(b"me"): json.dumps({"manifests": [entry], **MEDIA}).encode()})
        with pytest.raises(LayoutError, match="is an index of indexes"):
            _documents.resolve(described(entry), shelf.read, "linux/amd64", complain)

    @pytest.mark.parametrize(
        "wrong",
        [f"sha512:{'0' * 128}", f"sha384:{'0' * 96}", f"SHA256:{'0' * 64}", "md5:0", "", None, 3],
    )
    def test_of_another_algorithm_is_refused_by_name(self, wrong: object) -> None:
        shelf = Shelf()
        entry = {**image(shelf), "digest": wrong}
        top = described({**shelf.put({"manifests": [entry], **MEDIA}), **MEDIA})
        with pytest.raises(
            LayoutError, match=r"manifests\[0\]\.digest is not sha256: and 64 hexadecimal digits"
        ):
            _documents.resolve(top, shelf.read, "linux/amd64", complain)

    def test_that_is_nested_without_end_is_not_followed(self) -> None:
        for content in (b"[" * 500_000, b'{"a":' * 500_000, b"9" * 500_000):
            shelf = Shelf()
            assert not understood(shelf, described({**shelf.put(content), **MEDIA}))


MEDIA = {"mediaType": OCI_INDEX}
