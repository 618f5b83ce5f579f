"""One gzip member, inflated piece by piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mxenv._inflating import PIECE, Decoder, fastest, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["PIECE", "Decoder", "fastest", "member", "plain"]


def member(decoder: Decoder, packed: Iterator[bytes]) -> Iterator[bytes]:
    """Yield what one gzip member holds; raise `ValueError` unless it ends where ``packed`` does."""
    for data in packed:
        rest = data
        while True:
            piece = decoder.decompress(rest, PIECE)
            if piece:
                yield piece
            rest = decoder.unconsumed_tail
            if decoder.eof or (not rest and len(piece) < PIECE):
                break
        if decoder.unused_data:
            break
    if not decoder.eof or decoder.unused_data or next(packed, b""):
        msg = "its packed bytes end elsewhere"
        raise ValueError(msg)
