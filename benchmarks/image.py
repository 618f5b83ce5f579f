"""``mxenv probe --on oci:DIR`` of a large image, against reading every layer of it once.

The image is made in a temporary folder (which needs as many GB free): files of bytes that can
be packed and that cannot, in layers with gzip and without, and a Python environment that is to be
found::

    python benchmarks/image.py [RUNS] [GB]
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from _timing import MXENV, Contender, compare, machine, table, verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

TARGET = 1.15
"""Times the reading; parsing archives and two digests of every compressed layer are in it."""
TARGET_MIB = 150
OCI = "application/vnd.oci.image"
BLOCK = 4 << 20
FILE = 128 << 20
"""Bytes in one of the large files; libraries of vendors have about as many."""


class Endless(io.RawIOBase):
    """As many bytes as are asked for, by their kind."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        noise = os.urandom(2 * BLOCK)
        # Half of each byte is noise: it is packed to half its size, as libraries are, or nearly.
        blocks = {"noise": noise, "halves": bytes(b & 15 for b in noise), "zeros": bytes(2 * BLOCK)}
        self._block = blocks[kind]
        self._at = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return ``size`` bytes; what comes again is too far away for a packer to see it."""
        data = self._block[self._at : self._at + size]
        self._at = (self._at + size) % BLOCK
        return data


class Counted:
    """A file that is written, with its digest."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write on."""
        self.digest.update(data)
        self.size += len(data)
        return self._file.write(data)

    def flush(self) -> None:
        """Do nothing: the file is closed in time."""


def layer(layout: Path, number: int, size: int, kind: str, *, packed: bool) -> dict[str, str]:
    """Write a layer of ``size`` bytes; return its descriptor, and its digest when unpacked."""
    temporary = layout / f"layer-{number}"
    with temporary.open("wb") as file:
        blob = Counted(file)
        stream = (
            gzip.GzipFile(fileobj=blob, mode="wb", compresslevel=1, mtime=0) if packed else None
        )  # type: ignore[arg-type]
        plain = Counted(stream or blob)  # type: ignore[arg-type]
        with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as archive:  # type: ignore[call-overload]
            for path, content in small(number):
                member = tarfile.TarInfo(path)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
            for part in range(max(1, size // FILE)):
                member = tarfile.TarInfo(f"opt/maca/lib/lib{number}-{part}.so")
                member.size = min(size, FILE)
                archive.addfile(member, Endless(kind))  # type: ignore[arg-type]
        if stream:
            stream.close()
    digest = blob.digest.hexdigest()
    temporary.rename(layout / "blobs/sha256" / digest)
    return {
        "mediaType": f"{OCI}.layer.v1.tar{'+gzip' if packed else ''}",
        "digest": f"sha256:{digest}",
        "size": blob.size,  # type: ignore[dict-item]
        "diff": f"sha256:{plain.digest.hexdigest()}",
    }


def small(number: int) -> Iterator[tuple[str, bytes]]:
    """Yield the files of a layer that are looked for."""
    yield "etc/os-release", b"ID=ubuntu\nVERSION_ID=22.04\n"
    yield "opt/maca/Version.txt", b"Version:3.5.3.20\n"
    site = "opt/conda/lib/python3.10/site-packages"
    yield "opt/conda/conda-meta/python-3.10.12-0.json", b"{}"
    for one in range(100):
        name = f"package{number}x{one}"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.{one}\n"
        yield f"{site}/{name}-1.{one}.dist-info/METADATA", metadata.encode()


def put(layout: Path, document: object) -> dict[str, object]:
    """Write a JSON blob; return its descriptor but for the media type."""
    data = json.dumps(document).encode()
    digest = hashlib.sha256(data).hexdigest()
    (layout / "blobs/sha256" / digest).write_bytes(data)
    return {"digest": f"sha256:{digest}", "size": len(data)}


def image(layout: Path, gigabytes: float) -> list[dict[str, str]]:
    """Write the image; return its layers."""
    (layout / "blobs/sha256").mkdir(parents=True)
    size = int(gigabytes * 1e9 / 4)
    kinds = [("noise", True), ("halves", True), ("noise", False), ("zeros", False)]
    layers = [layer(layout, n, size, kind, packed=p) for n, (kind, p) in enumerate(kinds)]
    diffs = [one.pop("diff") for one in layers]
    rootfs = {"type": "layers", "diff_ids": diffs}
    config = put(layout, {"os": "linux", "architecture": "amd64", "config": {}, "rootfs": rootfs})
    manifest = put(
        layout,
        {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": {"mediaType": f"{OCI}.config.v1+json", **config},
            "layers": layers,
        },
    )
    entry = {
        "mediaType": f"{OCI}.manifest.v1+json",
        "platform": {"os": "linux", "architecture": "amd64"},
        **manifest,
    }
    (layout / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (layout / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return layers


def reading(layout: Path, layers: list[dict[str, str]]) -> str:
    """Return a script that reads every layer: its digest, and what is in it if it is packed."""
    lines = ["set -e"]
    for one in layers:
        path = layout / "blobs/sha256" / one["digest"].removeprefix("sha256:")
        lines.append(f"sha256sum < {path}")
        if one["mediaType"].endswith("gzip"):
            lines.append(f"gzip -dc {path} | sha256sum")
    return "\n".join(lines)


def main(runs: int, gigabytes: float) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        layout = Path(folder) / "layout"
        layers = image(layout, gigabytes)
        read = Contender(title="reading it once", argv=("sh", "-c", reading(layout, layers)))
        probe = Contender(
            title="mxenv probe --on oci:DIR", argv=(MXENV, "probe", "--on", f"oci:{layout}")
        )
        theirs, ours = costs = compare((read, probe), runs=runs)
    print(
        f"{machine()}; {gigabytes:g} GB in {len(layers)} layers; median of {runs} runs, in turn\n"
    )
    rows = [
        [f"`{one.title}`", f"{cost.seconds:.2f}", f"{cost.peak_mib:.0f}"]
        for one, cost in zip((read, probe), costs, strict=True)
    ]
    print(table([["", "s", "MiB"], *rows]))
    ratio = ours.seconds / theirs.seconds
    print(f"\ntimes the reading: {verdict(f'{ratio:.2f}', met=ratio <= TARGET)};", end="")
    print(f" target at most {TARGET}")
    memory = verdict(f"{ours.peak_mib:.0f} MiB", met=ours.peak_mib <= TARGET_MIB)
    print(f"memory: {memory}; target at most {TARGET_MIB} MiB")


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    main(int(given.get(1, "3")), float(given.get(2, "5")))
