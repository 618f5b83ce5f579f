"""Which decoder reads gzip members: the fastest that is installed; what comes out is the same."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable

GZIP = 16 + zlib.MAX_WBITS
"""Asks for gzip members, with their checksums compared (zlib's manual, ``inflateInit2``)."""

PIECE = 1024 * 1024
"""Bytes that a decoder gives out at most, so that memory does not grow with what is read."""


class Decoder(Protocol):
    """Inflates one gzip member; zlib's interface, which others have as well."""

    @property
    def eof(self) -> bool:
        """Whether the member has ended, its checksum and size being right."""

    @property
    def unconsumed_tail(self) -> bytes:
        """What was not looked at yet, since enough came out."""

    @property
    def unused_data(self) -> bytes:
        """What follows the end of the member."""

    def decompress(self, data: bytes, max_length: int = ..., /) -> bytes:
        """Return what ``data`` inflates to, ``max_length`` bytes of it at most."""


def fastest() -> tuple[Callable[[], Decoder], type[Exception]]:
    """Return what makes a decoder, and the error that it raises for damaged bytes."""
    try:
        from isal import (  # noqa: PLC0415 - imported late: only for layers, and not everywhere
            isal_zlib,
        )
    except ImportError:
        return plain()
    # Its type stub takes the error for a value.
    return lambda: isal_zlib.decompressobj(GZIP), cast("type[Exception]", isal_zlib.error)


def plain() -> tuple[Callable[[], Decoder], type[Exception]]:
    """Return the decoder of Python itself."""
    return lambda: zlib.decompressobj(GZIP), zlib.error
