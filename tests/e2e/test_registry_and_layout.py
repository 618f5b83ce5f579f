"""Images go into a real registry and come out of it, layer by layer, with and without a login."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from typing import TYPE_CHECKING

import _registry
import pytest
from _layouts import OCI, describe, file, image, sha256, tar

from mxenv.errors import RegistryError
from mxenv.question import File, Found
from mxenv.stores import OCI_MANIFEST, Descriptor, layout, registry
from mxenv.stores._client import Client
from mxenv.stores.description import describe as describe_image
from mxenv.transports import Terms
from mxenv.transports import image as transport

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from _registry import Registry

    from mxenv.stores import Sink, Source

LAYER = tar([file("etc/os-release", "ID=debian"), file("big", b"\0" * 3_000_000)])


def copy(source: Source, sink: Sink, name: str) -> str:
    """Copy a whole image; return the digest of its manifest."""
    _, manifest = source.manifest("linux/amd64")
    described = describe_image(source, "linux/amd64")
    for descriptor in (*described.layers, described.config):
        if not sink.mount(descriptor, source) and not sink.has(descriptor.digest):
            sink.write(descriptor, lambda d=descriptor: source.blob(d).__enter__())
    return sink.tag(manifest, OCI_MANIFEST, name)


@pytest.fixture
def local(tmp_path: Path) -> Path:
    return image(tmp_path / "layout", [file("etc/os-release", "ID=debian"), file("b", "2" * 9999)])


def test_an_image_goes_through_a_registry_and_comes_back_the_same(
    registry: Registry, local: Path, tmp_path: Path
) -> None:
    there = f"{registry.address}/round/trip:1"
    source = layout.open_source(str(local))
    digest = copy(source, open_sink(there), "1")
    assert registry.manifest("round/trip:1")[0] == digest
    back = layout.open_sink(tmp_path / "back")
    assert copy(open_source(there), back, "one") == digest
    assert (
        layout.open_source(f"{tmp_path / 'back'}:one").manifest("linux/amd64")[0].digest == digest
    )


def open_source(reference: str, **environ: str) -> registry.RegistrySource:
    client = Client(host=reference.partition("/")[0], environ=environ)
    return registry.open_source(reference, client=client)


def open_sink(reference: str, **environ: str) -> registry.RegistrySink:
    client = Client(host=reference.partition("/")[0], environ=environ)
    return registry.open_sink(reference, client=client)


def test_a_layer_is_mounted_from_another_repository_and_never_moved(
    registry: Registry, local: Path
) -> None:
    copy(layout.open_source(str(local)), open_sink(f"{registry.address}/mount/from:1"), "1")
    mark = registry.mark()
    source = open_source(f"{registry.address}/mount/from:1")
    layer = describe_image(source, "linux/amd64").layers[0]
    sink = open_sink(f"{registry.address}/mount/to:1")
    assert not sink.has(layer.digest)
    assert sink.mount(layer, source)
    assert sink.has(layer.digest)
    asked = registry.requests(mark)
    assert not [r for r in asked if r.method == "GET" and layer.digest in r.path]
    assert not [r for r in asked if r.method in {"PUT", "PATCH"}]


def test_a_layer_that_is_not_there_is_not_mounted(registry: Registry) -> None:
    absent = Descriptor(media_type="x", digest=sha256(b"absent"), size=6)
    source = open_source(f"{registry.address}/mount/none:1")
    assert not open_sink(f"{registry.address}/mount/to:1").mount(absent, source)


def test_an_index_is_resolved_by_platform(registry: Registry) -> None:
    reference = f"{registry.address}/many:1"
    entries = []
    for architecture in ("amd64", "arm64"):
        platform = {"os": "linux", "architecture": architecture}
        rootfs = {"type": "layers", "diff_ids": []}
        config = json.dumps({**platform, "rootfs": rootfs}).encode()
        registry.push_blob("many", config)
        manifest = {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": describe(f"{OCI}.config.v1+json", config),
            "layers": [],
        }
        digest = registry.push_manifest("many", "", manifest)
        size = len(json.dumps(manifest))
        entries.append(
            {"mediaType": OCI_MANIFEST, "digest": digest, "size": size, "platform": platform}
        )
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": entries}
    registry.push_manifest("many", "1", index)
    source = open_source(reference)
    assert source.manifest("linux/amd64")[0].digest == entries[0]["digest"]
    assert source.manifest("linux/arm64")[0].digest == entries[1]["digest"]
    with pytest.raises(RegistryError, match="has nothing for linux/riscv64, only linux/amd64, "):
        source.manifest("linux/riscv64")


def test_an_image_in_a_registry_is_asked_without_being_run(registry: Registry, local: Path) -> None:
    reference = f"{registry.address}/asked:1"
    copy(layout.open_source(str(local)), open_sink(reference), "1")
    question = File("/etc/os-release")
    with transport.TRANSPORT.open(reference, Terms()) as host:
        assert host.gather([question])[question] == Found("ID=debian")


def test_a_large_layer_is_sent_in_pieces_and_with_its_length(registry: Registry) -> None:
    sink = open_sink(f"{registry.address}/large:1")
    blob = Descriptor(media_type="x", digest=sha256(LAYER), size=len(LAYER))
    sink.write(blob, lambda: io.BytesIO(LAYER))
    digest = hashlib.sha256()
    with open_source(f"{registry.address}/large:1").blob(blob) as stream:
        while piece := stream.read(100_000):
            digest.update(piece)
    assert f"sha256:{digest.hexdigest()}" == blob.digest


def test_a_manifest_without_its_blobs_is_refused_with_the_word_of_the_registry(
    registry: Registry,
) -> None:
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "config": describe("x", b"absent"),
            "layers": [],
        }
    ).encode()
    with pytest.raises(RegistryError, match=r"400 Bad Request, MANIFEST_BLOB_UNKNOWN"):
        open_sink(f"{registry.address}/bad:1").tag(manifest, OCI_MANIFEST, "1")


LOGIN = "me:$2y$05$2.iYQfqn01Yi5AzOrRGZq.GAOTRwZ6fuP6vI3nzAeIMQcaJVQiHlO"
"""What ``htpasswd -Bbn me secret`` prints."""


@pytest.fixture(scope="module")
def guarded(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry that wants a login; there is one wherever there is one without."""
    assert registry
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "htpasswd").write_text(f"{LOGIN}\n")
    auth = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
    with _registry.serve(folder, auth=auth) as running:
        yield running


class TestARegistryThatWantsALogin:
    """It gets the password of the Docker configuration, and gives nothing without."""

    def environ(self, tmp_path: Path, address: str, pair: bytes) -> Mapping[str, str]:
        entry = {"auth": base64.b64encode(pair).decode()}
        (tmp_path / "config.json").write_text(json.dumps({"auths": {address: entry}}))
        return {"DOCKER_CONFIG": str(tmp_path)}

    def test_an_image_goes_in_and_out(self, guarded: Registry, local: Path, tmp_path: Path) -> None:
        environ = self.environ(tmp_path, guarded.address, b"me:secret")
        reference = f"{guarded.address}/mine:1"
        digest = copy(layout.open_source(str(local)), open_sink(reference, **environ), "1")
        assert open_source(reference, **environ).manifest("linux/amd64")[0].digest == digest

    def test_nobody_and_a_wrong_password_are_refused(
        self, guarded: Registry, tmp_path: Path
    ) -> None:
        reference = f"{guarded.address}/mine:1"
        for environ in ({}, self.environ(tmp_path, guarded.address, b"me:wrong")):
            with pytest.raises(RegistryError, match="401 Unauthorized, UNAUTHORIZED") as raised:
                open_source(reference, **environ).manifest("linux/amd64")
            assert "docker login" in raised.value.hint
