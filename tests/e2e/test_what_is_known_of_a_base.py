"""A base in a real registry: its layers pass by once, when it is first locked, and never again."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from datetime import date
from typing import TYPE_CHECKING

import _layouts
import _locked
import _registry
import pytest

from mxenv.api import building, checking, locking
from mxenv.errors import Incompatible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from _registry import Registry

    from mxenv.api.locking import LockResult

pytestmark = [pytest.mark.xdist_group("e2e"), pytest.mark.usefixtures("bases")]
TODAY = date(2026, 11, 30)
LEAST = 100_000
"""Bytes of a base that a build may read."""
LDD = "#! /bin/bash\n    echo 'ldd (Ubuntu GLIBC 2.35-0ubuntu3) 2.35'\n"
OCI, DOCKER = "application/vnd.oci.image", "application/vnd.docker"
IMAGE = """\
schema = "mxenv.image/1"
name = "known"
base = "{base}"
platform = "linux/{machine}"
accelerator = "none"
[python]
requires = ["plain"]
environment = "/opt/env"
"""


def layers(python: str) -> tuple[bytes, ...]:
    """A large layer that is of no interest, and one with an environment."""
    site = f"opt/env/lib/python{python}/site-packages"
    large = [_layouts.file("srv/large", os.urandom(3_000_000))]
    environment = [
        _layouts.file("usr/lib/os-release", 'ID=ubuntu\nVERSION_ID="22.04"\n'),
        _layouts.link("etc/os-release", "../usr/lib/os-release"),
        _layouts.file("usr/bin/ldd", LDD, mode=0o755),
        _layouts.file(f"opt/env/bin/python{python}", mode=0o755),
        _layouts.link("opt/env/bin/python3", f"python{python}"),
        _layouts.file(f"{site}/torch/__init__.py", "the vendor's\n"),
        *_locked.dist_info(site, "torch", "2.8.0+metax3.5.3.9"),
    ]
    return _layouts.tar(large), _layouts.tar(environment)


def push(registry: Registry, name: str, machine: str, tars: Sequence[bytes], kind: str) -> dict:
    """Push an image; return how an index names it."""
    packed = [gzip.compress(tar, 1, mtime=0) for tar in tars]
    diff_ids = [f"sha256:{hashlib.sha256(tar).hexdigest()}" for tar in tars]
    config = json.dumps(
        {
            "architecture": machine,
            "os": "linux",
            "config": {"Cmd": ["sh"]},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        }
    ).encode()
    docker = kind == DOCKER
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{DOCKER}.distribution.manifest.v2+json"
        if docker
        else f"{OCI}.manifest.v1+json",
        "config": {
            "mediaType": f"{DOCKER}.container.image.v1+json" if docker else f"{OCI}.config.v1+json",
            "digest": registry.push_blob(name, config),
            "size": len(config),
        },
        "layers": [
            {
                "mediaType": f"{DOCKER}.image.rootfs.diff.tar.gzip"
                if docker
                else f"{OCI}.layer.v1.tar+gzip",
                "digest": registry.push_blob(name, blob),
                "size": len(blob),
            }
            for blob in packed
        ],
    }
    return {
        "mediaType": manifest["mediaType"],
        "digest": registry.push_manifest(name, "", manifest),
        "size": len(json.dumps(manifest).encode()),
        "platform": {"os": "linux", "architecture": machine},
    }


def push_index(registry: Registry, name: str, entries: Sequence[dict], kind: str) -> str:
    """Push an index under the tag ``1``; return its digest."""
    media_type = (
        f"{DOCKER}.distribution.manifest.list.v2+json" if kind == DOCKER else f"{OCI}.index.v1+json"
    )
    index = {"schemaVersion": 2, "mediaType": media_type, "manifests": list(entries)}
    return registry.push_manifest(name, "1", index)


@pytest.fixture(scope="module")
def bases(registry: Registry) -> dict[str, str]:
    """The digests of a base for two machines, and of the index that leads to them."""
    tars = {"amd64": layers("3.10"), "arm64": layers("3.12")}
    entries = {m: push(registry, "vendor/base", m, t, OCI) for m, t in tars.items()}
    index = push_index(registry, "vendor/base", list(entries.values()), OCI)
    return {"index": index, **{m: str(entry["digest"]) for m, entry in entries.items()}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    _locked.wheel(tmp_path / "lockfiles" / "wheelhouse", "plain", "1.0", {"plain.py": "P = 1\n"})
    return tmp_path


def lock(project: Path, base: str, machine: str = "amd64") -> LockResult:
    image = project / "images" / "known" / "image.toml"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(IMAGE.format(base=base, machine=machine))
    house = str(project / "lockfiles" / "wheelhouse")
    return locking.lock(
        image,
        matrix=checking.load_matrix(),
        today=TODAY,
        options=locking.Options(find_links=(house,), no_index=True),
    )


def blobs_read(registry: Registry, since: int) -> list[str]:
    return [
        request.path.rpartition("/")[2]
        for request in registry.requests(since)
        if request.method == "GET" and "/blobs/sha256:" in request.path
    ]


def test_by_a_tag_of_an_index_it_is_asked_what_the_tag_means_and_no_more(
    registry: Registry, bases: dict[str, str], project: Path
) -> None:
    base = f"{registry.address}/vendor/base:1"
    first = lock(project, base)
    assert first.lock.base.digest == bases["amd64"]
    assert (first.lock.target.python, first.lock.provided[0].name) == ("3.10", "torch")
    mark = registry.mark()
    again = lock(project, base)
    assert (again.lock, again.changed) == (first.lock, False)
    asked = registry.requests(mark)
    assert asked
    assert all("/manifests/" in request.path or request.path == "/v2/" for request in asked)


@pytest.mark.parametrize("pinned", ["amd64", "index"])
def test_by_a_digest_nothing_is_asked_any_more(
    registry: Registry, bases: dict[str, str], project: Path, pinned: str
) -> None:
    base = f"{registry.address}/vendor/base@{bases[pinned]}"
    first = lock(project, base)
    assert first.lock.base.digest == bases["amd64"]
    mark = registry.mark()
    assert lock(project, base).lock == first.lock
    assert registry.requests(mark) == ()


def test_for_another_machine_than_this_one(
    registry: Registry, bases: dict[str, str], project: Path
) -> None:
    made = lock(project, f"{registry.address}/vendor/base:1", "arm64").lock
    assert made.base.digest == bases["arm64"]
    assert (made.target.platform, made.target.python) == ("linux/arm64", "3.12")
    path = project / "lockfiles" / "pylock.known.toml"
    mark = registry.mark()
    assert building.build(path, out=project / "out", cache=project / "cache").read == 0
    assert registry.requests(mark) == ()


def test_of_docker_s_own_kind(registry: Registry, project: Path) -> None:
    entry = push(registry, "vendor/docker", "amd64", layers("3.10"), DOCKER)
    push_index(registry, "vendor/docker", [entry], DOCKER)
    made = lock(project, f"{registry.address}/vendor/docker:1").lock
    assert made.base.digest == entry["digest"]
    reference = f"{registry.address}/vendor/built:1"
    path = project / "lockfiles" / "pylock.known.toml"
    assert building.build(path, push=reference, cache=project / "cache").read <= LEAST


def test_a_build_reads_no_layer_of_the_base(registry: Registry, project: Path) -> None:
    made = lock(project, f"{registry.address}/vendor/base:1")
    mark = registry.mark()
    done = building.build(
        made.path, push=f"{registry.address}/team/known:1", cache=project / "cache"
    )
    assert done.read <= LEAST
    assert blobs_read(registry, mark) == []
    manifest = registry.manifest("team/known:1")[1]
    assert len(manifest["layers"]) == 4


def test_without_the_record_it_reads_manifest_and_configuration_only(
    registry: Registry, project: Path
) -> None:
    made = lock(project, f"{registry.address}/vendor/base:1")
    text = made.path.read_text().splitlines()
    made.path.write_text("\n".join(one for one in text if not one.startswith("listing =")) + "\n")
    mark = registry.mark()
    done = building.build(made.path, out=project / "out", cache=project / "cache")
    assert 0 < done.read <= LEAST
    assert len(blobs_read(registry, mark)) == 1
    assert any("which files the base holds is not known" in note for note in done.notes)


def test_to_another_registry_each_layer_passes_by_once(
    registry: Registry, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    made = lock(project, f"{registry.address}/vendor/base:1")
    with _registry.serve(tmp_path_factory.mktemp("other")) as other:
        mark = registry.mark()
        building.build(made.path, push=f"{other.address}/team/known:1", cache=project / "cache")
        read = blobs_read(registry, mark)
        assert len(read) == len(set(read)) == 2
        mark = registry.mark()
        building.build(made.path, push=f"{other.address}/team/known:2", cache=project / "cache")
        assert blobs_read(registry, mark) == []


def test_a_wheel_with_a_file_of_the_base_is_refused_before_anything_is_pushed(
    registry: Registry, project: Path
) -> None:
    house = project / "lockfiles" / "wheelhouse"
    _locked.wheel(house, "plain", "1.0", {"torch/__init__.py": "mine\n"})
    made = lock(project, f"{registry.address}/vendor/base:1")
    mark = registry.mark()
    with pytest.raises(Incompatible, match=r"plain==1\.0 brings it, and torch 2\.8\.0\+metax"):
        building.build(made.path, push=f"{registry.address}/team/evil:1", cache=project / "cache")
    assert not [r for r in registry.requests(mark) if r.method in {"PUT", "POST", "PATCH"}]
