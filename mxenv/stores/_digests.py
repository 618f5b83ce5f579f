"""What a digest looks like, how a stream is held against one, how foreign words are shown."""

from __future__ import annotations

import hashlib
import io
import re
from typing import TYPE_CHECKING, BinaryIO

from mxenv.redaction import UNPRINTABLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.errors import MxenvError
    from mxenv.stores import Descriptor

DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
"""The only algorithm that registries have agreed on."""
_UNPRINTABLE = re.compile(f"{UNPRINTABLE.pattern}+")
_LONGEST = 300


def printable(text: str) -> str:
    """Return ``text`` as one short line that moves no terminal."""
    return _UNPRINTABLE.sub(" ", text).strip()[:_LONGEST]


def is_digest(text: object) -> bool:
    """Return whether ``text`` is ``sha256:`` and 64 hexadecimal digits."""
    return isinstance(text, str) and DIGEST.fullmatch(text) is not None


def digest_of(content: bytes) -> str:
    """Return the digest of ``content``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


class _Checked(io.RawIOBase):
    """A stream that must turn out to be what a descriptor says.

    It derives from `io.RawIOBase` so that `gzip` and `tarfile` take it for a file.
    """

    def __init__(
        self, stream: BinaryIO, descriptor: Descriptor, complain: Callable[[str], MxenvError]
    ) -> None:
        self._stream = stream
        self._expected = descriptor
        self._complain = complain
        self._hash = hashlib.sha256()
        self._size = 0

    def readable(self) -> bool:
        """Return true: reading is all that can be done."""
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Read on; at the end, or past the size that was announced, compare."""
        data = self._stream.read(len(buffer))
        if not data:
            self._compare()
            return 0
        self._hash.update(data)
        self._size += len(data)
        if self._size > self._expected.size:
            raise self._complain(f"is larger than the {self._expected.size} bytes announced")
        buffer[: len(data)] = data
        return len(data)

    def _compare(self) -> None:
        if self._size != self._expected.size:
            raise self._complain(f"has {self._size} bytes, not {self._expected.size}")
        found = "sha256:" + self._hash.hexdigest()
        if found != self._expected.digest:
            raise self._complain(f"hashes to {found}")

    def close(self) -> None:
        """Close what lies beneath as well."""
        self._stream.close()
        super().close()


def checked(
    stream: BinaryIO, descriptor: Descriptor, complain: Callable[[str], MxenvError]
) -> BinaryIO:
    """Return ``stream``, verified once it is read to its end; ``complain`` makes the error."""
    return io.BufferedReader(_Checked(stream, descriptor, complain), 1 << 18)
