"""What ``docker save`` writes, as its versions write it, made of the layers of a test."""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from typing import TYPE_CHECKING

from _layouts import OCI, describe, file, link, sha256, tar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from _layouts import Entry


def configuration(layers: Sequence[bytes], **more: object) -> bytes:
    rootfs = {"type": "layers", "diff_ids": [sha256(layer) for layer in layers]}
    return json.dumps({"os": "linux", "architecture": "amd64", "rootfs": rootfs, **more}).encode()


def old(
    layers: Sequence[bytes],
    *,
    tags: Sequence[str] = ("team/image:1",),
    pack: Callable[[bytes], bytes] = bytes,
) -> list[Entry]:
    """The members that Docker wrote before version 25; a layer that comes twice is linked."""
    config = configuration(layers)
    name = f"{sha256(config).removeprefix('sha256:')}.json"
    members: list[Entry] = []
    names: list[str] = []
    written: dict[bytes, str] = {}
    for number, layer in enumerate(layers):
        folder = hashlib.sha256(b"%d" % number).hexdigest()
        names.append(f"{folder}/layer.tar")
        members += [file(f"{folder}/VERSION", "1.0"), file(f"{folder}/json", "{}")]
        if layer in written:
            members.append(link(names[-1], f"../{written[layer]}"))
        else:
            members.append(file(names[-1], pack(layer)))
            written[layer] = names[-1]
    entry = {"Config": name, "RepoTags": list(tags) or None, "Layers": names}
    return [*members, file(name, config), file("manifest.json", json.dumps([entry]))]


def new(layers: Sequence[bytes], *, name: str = "registry.example.com/team/image:1") -> list[Entry]:
    """The members that Docker writes since version 25: an OCI layout, and a ``manifest.json``."""
    config = configuration(layers)
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": describe(f"{OCI}.config.v1+json", config),
            "layers": [describe(f"{OCI}.layer.v1.tar", layer) for layer in layers],
        }
    ).encode()
    notes = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    entry = describe(f"{OCI}.manifest.v1+json", manifest, annotations=notes)
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [entry]}
    blobs = {sha256(one).replace(":", "/"): one for one in (*layers, config, manifest)}
    named = {"Config": f"blobs/{sha256(config).replace(':', '/')}", "RepoTags": [name]}
    named["Layers"] = [f"blobs/{sha256(layer).replace(':', '/')}" for layer in layers]
    return [
        *(file(f"blobs/{path}", content) for path, content in sorted(blobs.items())),
        file("index.json", json.dumps(index)),
        file("manifest.json", json.dumps([named])),
        file("oci-layout", '{"imageLayoutVersion": "1.0.0"}'),
    ]


def write(path: Path, members: Iterable[Entry]) -> Path:
    """Write the archive, packed if its name says so."""
    content = tar(members)
    path.write_bytes(gzip.compress(content, 1, mtime=0) if path.suffix == ".gz" else content)
    return path


def without(members: Iterable[Entry], name: str) -> list[Entry]:
    return [(info, data) for info, data in members if name not in info.name]


def directory(name: str) -> Entry:
    info = tarfile.TarInfo(name)
    info.type = tarfile.DIRTYPE
    return info, b""
