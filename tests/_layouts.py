"""Images that tests make themselves: tar layers of any kind, in an OCI layout."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

OCI = "application/vnd.oci.image"
Entry = tuple[tarfile.TarInfo, bytes]


def file(name: str, data: bytes | str = b"", *, mode: int = 0o644) -> Entry:
    """A regular file."""
    content = data.encode() if isinstance(data, str) else data
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    return info, content


def special(name: str, kind: bytes, target: str = "") -> Entry:
    """A directory, link, hard link or device."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, 0o755
    return info, b""


def folder(name: str) -> Entry:
    return special(name, tarfile.DIRTYPE)


def link(name: str, target: str) -> Entry:
    return special(name, tarfile.SYMTYPE, target)


def hard(name: str, target: str) -> Entry:
    return special(name, tarfile.LNKTYPE, target)


def tar(entries: Iterable[Entry]) -> bytes:
    """A tar file with these entries, in this order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in entries:
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def sha256(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def put(layout: Path, data: bytes) -> str:
    """Write one blob; return its digest."""
    digest = sha256(data)
    path = layout / "blobs" / "sha256" / digest.removeprefix("sha256:")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest


def describe(media_type: str, data: bytes, **more: object) -> dict[str, object]:
    return {"mediaType": media_type, "digest": sha256(data), "size": len(data), **more}


def add_manifest(  # noqa: PLR0913 - everything that an image may have
    layout: Path,
    layers: Sequence[bytes],
    *,
    config: dict[str, object] | None = None,
    packed: bool = True,
    architecture: str = "amd64",
    base: Sequence[dict[str, object]] = (),
    base_diff_ids: Sequence[str] = (),
) -> dict[str, object]:
    """Write an image of these tar files, ``base`` below them; return its descriptor."""
    blobs = [gzip.compress(layer, 1, mtime=0) if packed else layer for layer in layers]
    kind = f"{OCI}.layer.v1.tar+gzip" if packed else f"{OCI}.layer.v1.tar"
    platform = {"os": "linux", "architecture": architecture}
    rootfs = {"type": "layers", "diff_ids": [*base_diff_ids, *map(sha256, layers)]}
    configuration = json.dumps({**platform, "config": config or {}, "rootfs": rootfs}).encode()
    for blob in (*blobs, configuration):
        put(layout, blob)
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": describe(f"{OCI}.config.v1+json", configuration),
            "layers": [*base, *(describe(kind, blob) for blob in blobs)],
        }
    ).encode()
    put(layout, manifest)
    return describe(f"{OCI}.manifest.v1+json", manifest, platform=platform)


def add_index(layout: Path, entries: Sequence[dict[str, object]]) -> None:
    """Write what the layout names."""
    layout.mkdir(parents=True, exist_ok=True)
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": list(entries)}
    (layout / "index.json").write_text(json.dumps(index))


def image(layout: Path, *layers: Iterable[Entry], **how: object) -> Path:
    """Make a layout with one image of these layers."""
    add_index(layout, [add_manifest(layout, [tar(layer) for layer in layers], **how)])
    return layout
