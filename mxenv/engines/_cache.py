"""Layers that were made before: found by what they were made from, believed only if whole.

What is checked, and when: a record against the digest in its first line, each time; the size and
the age of the bytes against those in the record, each time; the bytes against their digest where
their age is another one, and always before they are sent anywhere. A disk that changes bytes and
not their age is therefore noticed when a layer is written, and by ``mxenv cache verify``.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

from mxenv.engines import _cache_use
from mxenv.engines._blob import Blob
from mxenv.errors import EngineError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    import io
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path
    from typing import BinaryIO

Written = TypeVar("Written")
"""What a maker says of what it wrote."""

PASSED = "passed"
"""The folder of a cache that says which checks passed, each by the digest of what it looked at."""
REMEMBERED = 1000
"""How many of them are kept."""

STALE = 24 * 60 * 60
"""Seconds after which a temporary file has been left behind by somebody who was killed."""


@frozen
class Cache:
    """A folder of layers; any number of builds may share it.

    ``blobs/DIGEST`` holds a layer's bytes, ``layers/KEY`` what is in it, after a line with its own
    digest. Both are written beside and renamed, the blob first. The age of the record says when the
    layer was last used.
    """

    root: Path

    def using(self) -> AbstractContextManager[None]:
        """Keep all that is found or made inside from being removed for want of room."""
        return _cache_use.using(self.root)

    def find(self, key: str) -> Blob | None:
        """Return what was made from ``key``; a damaged record, or one without its blob, is none."""
        path = self.root / "layers" / key
        try:
            # Nobody takes it away between the mark that it is used, and its being read.
            with _cache_use.shared(self.root):
                with suppress(OSError):
                    os.utime(path)
                content = path.read_bytes()
        except OSError:
            return None
        known = _read(content)
        if known is None:
            return None
        blob, stamp = known
        try:
            there = self._path(blob).stat()
        except OSError:
            return None
        if there.st_size != blob.size:
            return None
        if there.st_mtime_ns != stamp:
            if not self.is_whole(blob):
                self.drop(key)
                return None
            with suppress(OSError):
                self._record(key, blob)
        return blob

    def make(
        self,
        key: str,
        write: Callable[[BinaryIO], Written],
        *,
        check: Callable[[BinaryIO, Written], Blob],
    ) -> Blob:
        """Make a layer, read it back, and keep it; made twice at once, it is the same."""
        try:
            with self._temporary("blobs") as temporary:
                with temporary.open("xb", buffering=1 << 18) as file:
                    written = write(file)
                with temporary.open("rb") as file_again:
                    blob = check(file_again, written)
                temporary.replace(self._path(blob))
            self._record(key, blob)
        except OSError as error:
            raise EngineError(
                f"the cache cannot be written: {error.strerror or error}",
                context=str(self.root),
                hint="free some space (`mxenv cache prune`), or set MXENV_CACHE_DIR to a folder "
                "that you may write to",
            ) from error
        return blob

    def passed(self, inputs: object, check: Callable[[], None]) -> None:
        """Run a check that is a function of ``inputs``, unless it passed before with the same."""
        key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
        path = self.root / PASSED / key
        with suppress(OSError):
            if path.read_bytes() == key.encode():
                return
        check()
        # Where nothing can be kept it is run each time.
        with suppress(OSError), self._temporary(PASSED) as temporary:
            temporary.write_bytes(key.encode())
            temporary.replace(path)
            kept = sorted(path.parent.iterdir(), key=lambda one: one.stat().st_mtime_ns)
            for old in kept[:-REMEMBERED]:
                old.unlink()

    def open(self, blob: Blob) -> io.BufferedReader:
        """Open a layer's bytes."""
        return self._path(blob).open("rb")

    def is_whole(self, blob: Blob) -> bool:
        """Return whether the bytes are still those that were written."""
        try:
            with self.open(blob) as file:
                return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" == blob.digest
        except OSError:
            return False

    def drop(self, key: str) -> None:
        """Forget a layer, so that it is made anew."""
        with suppress(OSError):
            (self.root / "layers" / key).unlink()

    def tidy(self, *, now: float | None = None) -> None:
        """Remove what killed builds have left behind."""
        before = (time.time() if now is None else now) - STALE
        for temporary in self.root.glob("*/.*.tmp"):
            with suppress(OSError):
                if temporary.stat().st_mtime < before:
                    temporary.unlink()

    def _path(self, blob: Blob) -> Path:
        return self.root / "blobs" / blob.digest.removeprefix("sha256:")

    def _record(self, key: str, blob: Blob) -> None:
        """Write what is kept of a layer beside its bytes."""
        body = _document(blob, self._path(blob).stat().st_mtime_ns)
        with self._temporary("layers") as temporary:
            digest = hashlib.sha256(body).hexdigest().encode()
            temporary.write_bytes(digest + b"\n" + body)
            temporary.replace(self.root / "layers" / key)

    @contextmanager
    def _temporary(self, folder: str) -> Iterator[Path]:
        """Yield a path in a folder of the cache, at which nothing stays unless it is renamed."""
        place = self.root / folder
        place.mkdir(parents=True, exist_ok=True)
        temporary = place / f".{secrets.token_hex(8)}.tmp"
        try:
            yield temporary
        finally:
            with suppress(OSError):
                temporary.unlink()


def _document(blob: Blob, stamp: int) -> bytes:
    """Return what is kept of a layer; ``stamp`` is the age of its bytes, in nanoseconds.

    The files stand in a line of their own.
    """
    head = {
        "diff_id": blob.diff_id,
        "digest": blob.digest,
        "size": blob.size,
        "stamp": stamp,
        "distributions": blob.distributions,
    }
    return json.dumps(head).encode() + b"\n" + blob.listed


def _read(content: bytes) -> tuple[Blob, int] | None:
    """Return the layer that a record is of, and the age of its bytes; `None` if it is damaged."""
    line, _, body = content.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != line:
        return None
    # A record with the right digest may still be one of another version of mxenv.
    with suppress(ValueError, TypeError, KeyError):
        head, _, files = body.partition(b"\n")
        document = json.loads(head)
        stamp = document.pop("stamp")
        held = tuple((name, version) for name, version in document.pop("distributions"))
        return Blob(listed=files, distributions=held, **document), stamp
    return None
