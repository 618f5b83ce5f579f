"""Where the parts of an image go: what is not there yet is written, and counted."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from mxenv import configuration
from mxenv.stores import Descriptor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mxenv.engines._cache import Cache
    from mxenv.engines._layer import Ready
    from mxenv.stores import Sink, Source


@dataclass(frozen=True, slots=True)
class Nowhere:
    """A sink for a build that only wants to know the digests."""

    def has(self, digest: str) -> bool:  # noqa: ARG002 - a sink is asked so
        """Return true: nothing need be written."""
        return True

    def mount(self, descriptor: Descriptor, source: Source) -> bool:  # noqa: ARG002 - the same
        """Return true: nothing need be moved."""
        return True

    def write(self, descriptor: Descriptor, open_blob: Callable[[], BinaryIO]) -> None:
        """Write nothing."""

    def tag(self, manifest: bytes, media_type: str, name: str) -> str:  # noqa: ARG002 - the same
        """Return the digest."""
        return configuration.digest(manifest)

    def attach(self, manifest: bytes, subject: Descriptor) -> str:  # noqa: ARG002 - the same
        """Return the digest."""
        return configuration.digest(manifest)

    def attach_all(self, manifests: Sequence[bytes], subject: Descriptor) -> None:
        """Attach nothing."""


@dataclass(slots=True, kw_only=True)
class Output:
    """Writes what is not there yet, and counts the bytes."""

    sink: Sink
    cache: Cache
    there: frozenset[str] = frozenset()
    """What need not be asked for: blobs of an image that is where this one goes."""
    written: int = 0
    streamed: int = 0

    def _has(self, digest: str) -> bool:
        return digest in self.there or self.sink.has(digest)

    def base(self, base: Sequence[Descriptor], source: Source | None) -> None:
        """Have the base's layers mounted, or stream each once."""
        for descriptor in dict.fromkeys(base):
            if source is None or self._has(descriptor.digest):
                continue
            if not self.sink.mount(descriptor, source):
                self._stream(descriptor, source)

    def _stream(self, descriptor: Descriptor, source: Source) -> None:
        # The sink leaves the stream that it is given, and a stream that is left closes itself.
        self.sink.write(descriptor, lambda: source.blob(descriptor).__enter__())
        self.written += descriptor.size
        self.streamed += descriptor.size

    def layers(self, ready: Sequence[Ready], *, workers: int = 1) -> None:
        """Write our layers, so many at once."""
        # One that two wheels have made is written once.
        distinct = tuple({layer.blob.digest: layer for layer in ready}.values())
        if workers == 1:
            self.written += sum(map(self._layer, distinct))
            return
        with ThreadPoolExecutor(workers) as pool:
            futures = [pool.submit(self._layer, layer) for layer in distinct]
            try:
                self.written += sum(future.result() for future in futures)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _layer(self, layer: Ready) -> int:
        """Write a layer, one that was damaged in the cache made anew; return how many bytes."""
        blob = layer.blob
        if self._has(blob.digest):
            return 0
        if layer.cached and not self.cache.is_whole(blob):
            self.cache.drop(layer.key)
            layer.again()
        descriptor = Descriptor(media_type=layer.media_type, digest=blob.digest, size=blob.size)
        self.sink.write(descriptor, lambda: self.cache.open(blob))
        return blob.size

    def bytes(self, content: bytes, media_type: str) -> None:
        """Write a small blob."""
        descriptor = Descriptor(
            media_type=media_type, digest=configuration.digest(content), size=len(content)
        )
        if not self._has(descriptor.digest):
            self.sink.write(descriptor, lambda: io.BytesIO(content))
            self.written += len(content)
