"""What goes to a registry when little has changed: little."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from _locked import DEBIAN, wheel, write_lock
from _proxy import counting

from mxenv.api import building
from mxenv.attachment import DOCUMENTS
from mxenv.image import AddedFile
from mxenv.lock import Base, Lock
from mxenv.stores import registry as registries

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _proxy import Counted
    from _registry import Registry

    from mxenv.api.building import BuildResult
    from mxenv.lock import Package

WHEELS = 35
LIMIT = 64_000
"""Bytes beside the layer of the wheel that changed."""
KIB = 70
"""Of a wheel: enough for a layer of its own."""


def noise(seed: str) -> str:
    """Text that no compressor makes much of."""
    return "".join(sha256(f"{seed}{n}".encode()).hexdigest() for n in range(KIB * 1024 // 64))


def made(house: Path, number: int, seed: str = "") -> Package:
    name = f"distribution{number:02}"
    return wheel(house, name, "1.17.3", {f"{name}.py": f"TEXT = '{noise(seed + name)}'\n"})


class Project:
    """A lock of many wheels on a base in the registry that the image is pushed to."""

    def __init__(self, root: Path, registry: Registry, door: Counted, repository: str) -> None:
        self.root, self.door, self.repository = root, door, repository
        tar = root / "base.tar"
        with tarfile.open(tar, "w") as archive:
            member, data = tarfile.TarInfo("etc/os-release"), b"ID=debian\n"
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        registry.push("base/small", "1", [tar], {"Env": ["PATH=/usr/bin:/bin"]})
        digest = str(registry.manifest("base/small:1")[1]["manifests"][0]["digest"])
        (root / "large.bin").write_bytes(noise("added").encode())
        added = AddedFile(source="large.bin", target="/srv/large.bin")
        added_digest = sha256((root / "large.bin").read_bytes()).hexdigest()
        self.lock = Lock(
            name="changes",
            inputs="sha256:" + "0" * 64,
            accelerator="none",
            base=Base(reference=f"{door.address}/base/small:1", digest=digest),
            target=DEBIAN,
            packages=tuple(made(self.house, number) for number in range(WHEELS)),
            files=((added, added_digest),),
        )

    @property
    def house(self) -> Path:
        return self.root / "lockfiles" / "wheelhouse"

    @property
    def reference(self) -> str:
        return f"{self.door.address}/{self.repository}:1"

    def build(self) -> BuildResult:
        path = write_lock(self.root, self.lock)
        self.door.forget()
        return building.build(path, push=self.reference, cache=self.root / "cache", files=self.root)

    def change(self, number: int = 7) -> None:
        packages = list(self.lock.packages)
        packages[number] = made(self.house, number, seed="another ")
        self.lock = replace(self.lock, packages=tuple(packages))


@pytest.fixture
def project(tmp_path: Path, registry: Registry) -> Iterator[Project]:
    with counting(registry.address) as door:
        name = sha256(str(tmp_path).encode()).hexdigest()[:12]
        yield Project(tmp_path, registry, door, f"changes/{name}")


def whole(reference: str) -> bool:
    """Whether all is there that an image and what is attached to it name."""
    source = registries.open_source(reference)
    image, content = source.manifest("linux/amd64")
    attached = [source.manifest_of(one.digest) for one in source.referrers(image.digest)]
    assert len(attached) == len(DOCUMENTS)
    documents = [json.loads(one) for one in (content, *attached)]
    named = [part for one in documents for part in (one["config"], *one["layers"])]
    return all(source.has(part["digest"]) for part in named)


@contextmanager
def answering(content: bytes) -> Iterator[str]:
    """A registry that has one thing to say, whatever it is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def layers(made: BuildResult) -> dict[str, int]:
    """The layers of wheels, and their sizes."""
    found = (layer.made for layer in made.layers)
    return {one.digest: one.size for one in found if "==" in one.title}


def test_one_changed_wheel_is_sent_and_little_beside_it(project: Project) -> None:
    first = project.build()
    assert project.door.up > WHEELS * KIB * 1024
    project.change()
    second = project.build()
    new = [size for layer, size in layers(second).items() if layer not in layers(first)]
    assert len(new) == 1
    assert new[0] < project.door.up <= new[0] + LIMIT
    assert whole(project.reference)


def test_where_nothing_changed_next_to_nothing_is_sent(project: Project) -> None:
    first = project.build()
    assert project.build().manifest == first.manifest
    assert project.door.up < 10_000


def test_an_image_that_is_packed_otherwise_shares_what_does_not_name_it(
    project: Project,
) -> None:
    pytest.importorskip("backports.zstd")
    first = project.build()
    path = write_lock(project.root, project.lock)
    second = building.build(
        path,
        push=project.reference,
        cache=project.root / "cache",
        files=project.root,
        compression="zstd",
    )
    assert first.manifest != second.manifest
    source = registries.open_source(project.reference)
    of = [
        {
            one.artifact_type: source.manifest_of(one.digest).decode().partition('"subject"')[0]
            for one in source.referrers(manifest)
        }
        for manifest in (first.manifest, second.manifest)
    ]
    same = {kind.rpartition(".")[2] for kind in of[0] if of[0][kind] == of[1][kind]}
    assert same == {"v1+toml", "v1+json", "cyclonedx+json"}
    assert of[0].keys() == of[1].keys()


def test_what_a_registry_has_lost_is_sent_again(project: Project, registry: Registry) -> None:
    project.build()
    root = registry.log.parent
    lost = [path for path in root.rglob("_layers/sha256/*") if project.repository in str(path)]
    assert len(lost) > WHEELS
    for path in lost:
        shutil.rmtree(path)
    project.change()
    project.build()
    assert whole(project.reference)


def test_what_is_no_image_under_the_tag_tells_of_no_blob(registry: Registry) -> None:
    sink = registries.open_sink(f"{registry.address}/base/told:1")
    assert sink.named("1") == frozenset()
    for document in ({"manifests": []}, {"layers": 7}, {"layers": [{"digest": "sha256:x"}]}):
        with answering(json.dumps(document).encode()) as address:
            assert registries.open_sink(f"{address}/a:1").named("1") == frozenset()
    good = {"mediaType": "x", "digest": f"sha256:{'a' * 64}", "size": 1}
    with answering(json.dumps({"layers": [good]}).encode()) as address:
        assert registries.open_sink(f"{address}/a:1").named("1") == {good["digest"]}
