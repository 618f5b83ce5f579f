"""How a layer is packed with zstd for those who ask for it: the same tar file in other bytes."""

from __future__ import annotations

import gzip
import hashlib
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

from mxenv.engines._layer import Ready
from mxenv.errors import EngineError, UsageError

if TYPE_CHECKING:
    from mxenv.engines._blob import Blob
    from mxenv.engines._cache import Cache

LEVEL = 9
"""Half of what the highest saves beyond gzip, in a twentieth of its time."""

CHUNK = 1024 * 1024

MEDIA_TYPE = "application/vnd.oci.image.layer.v1.tar+zstd"


def library() -> Any:  # noqa: ANN401 - one of two modules with one interface
    """Return the module that knows zstd: Python's own from 3.14 on, or its backport."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UsageError(
        "layers cannot be compressed with zstd here",
        hint="pip install 'mxenv[zstd]', or leave --compression out",
    )


def stamp() -> str:
    """Return what the bytes depend on beside their content: other versions write others."""
    return f"zstd {library().zstd_version}, level {LEVEL}"


def packed(layer: Ready, cache: Cache) -> Ready:
    """Return the same layer with zstd, from the cache if it was packed so before."""
    key = hashlib.sha256(f"{layer.blob.diff_id} {stamp()}".encode()).hexdigest()

    def again() -> Blob:
        if not cache.is_whole(layer.blob):
            cache.drop(layer.key)
            layer.again()
        return _made(layer.blob, key, cache)

    found = cache.find(key)
    if found is not None and found.diff_id != layer.blob.diff_id:
        found = None
    return Ready(
        title=layer.title,
        key=key,
        blob=found or again(),
        cached=found is not None,
        again=again,
        media_type=MEDIA_TYPE,
    )


def _made(blob: Blob, key: str, cache: Cache) -> Blob:
    """Pack a layer of the cache anew, and read it back."""
    zstd = library()

    def write(file: BinaryIO) -> Blob:
        options = {
            zstd.CompressionParameter.compression_level: LEVEL,
            zstd.CompressionParameter.checksum_flag: 1,
        }
        with cache.open(blob) as stream, gzip.open(stream) as plain:
            compressor = zstd.ZstdCompressor(options=options)
            while data := plain.read(CHUNK):
                file.write(compressor.compress(data))
            file.write(compressor.flush())
        return blob

    def check(file: BinaryIO, blob: Blob) -> Blob:
        digest, diff, size = hashlib.sha256(), hashlib.sha256(), 0
        decompressor = zstd.ZstdDecompressor()
        while data := file.read(CHUNK):
            digest.update(data)
            size += len(data)
            while True:
                diff.update(decompressor.decompress(data, CHUNK))
                data = b""
                if decompressor.needs_input or decompressor.eof:
                    break
        if not decompressor.eof or f"sha256:{diff.hexdigest()}" != blob.diff_id:
            raise EngineError(
                "the layer is not what was packed",
                context=blob.diff_id,
                hint="run `mxenv build` again; if it stays so, the disk or zstd is at fault",
            )
        return replace(blob, digest=f"sha256:{digest.hexdigest()}", size=size)

    return cache.make(key, write, check=check)
