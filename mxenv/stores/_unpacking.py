"""The bytes of a layer's tar file, whatever it is compressed with, unpacked by another thread."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, BinaryIO, cast

from mxenv._inflating import PIECE, fastest
from mxenv.errors import LayoutError

if TYPE_CHECKING:
    import io
    from collections.abc import Iterable, Iterator
    from types import ModuleType

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PACKED = 1 << 17
"""Bytes that are inflated at once."""
_STEP = 1 << 12
"""Bytes that are inflated at first: what follows the end of a small member is copied."""
_LEAST = 1 << 16
AHEAD = 4
"""Pieces that wait for whoever takes them."""


def packed(blob: BinaryIO) -> bytes:
    """Return by what ``blob`` is compressed, as it begins; names of media types are often wrong."""
    start = cast("io.BufferedReader", blob).peek(len(_ZSTD))[: len(_ZSTD)]
    return _GZIP if start.startswith(_GZIP) else start if start == _ZSTD else b""


def unpacked(blob: BinaryIO, how: bytes, digest: str) -> Iterator[bytes]:
    """Yield what ``blob`` holds, to its end; raise `ValueError` where it is damaged."""
    if how == _GZIP:
        return _joined(_inflated(blob))
    if how == _ZSTD:
        return _expanded(blob, _zstd(digest))
    return iter(lambda: blob.read(PIECE), b"")


def _inflated(blob: BinaryIO) -> Iterator[bytes]:
    """Yield what the members of a gzip file hold; zeros between and behind them are padding."""
    make, damaged = fastest()
    decoder, begun, step = make(), False, _STEP
    block, at = b"", 0
    try:
        while True:
            if at == len(block):
                block, at = blob.read(_PACKED), 0
            if not block:
                break
            head = block[at : at + step]
            at += len(head)
            head = head if begun else head.lstrip(b"\0")
            if not head:
                continue
            begun = True
            while piece := decoder.decompress(head, PIECE):
                yield piece
                head = decoder.unconsumed_tail
            step = min(2 * step, _PACKED)
            if decoder.eof:
                at -= len(decoder.unused_data)
                decoder, begun, step = make(), False, _STEP
    except damaged as error:
        raise ValueError(str(error)) from error
    if begun:
        raise ValueError("it ends before what is compressed does")


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield ``pieces``, small ones together: some compress each file of a layer by itself."""
    waiting: list[bytes] = []
    size = 0
    for piece in pieces:
        waiting.append(piece)
        size += len(piece)
        if size >= _LEAST:
            yield b"".join(waiting)
            waiting.clear()
            size = 0
    if waiting:
        yield b"".join(waiting)


def _expanded(blob: BinaryIO, zstd: ModuleType) -> Iterator[bytes]:
    try:
        with zstd.ZstdFile(blob) as file:
            yield from iter(lambda: file.read(PIECE), b"")
    except zstd.ZstdError as error:
        raise ValueError(str(error)) from error


def _zstd(digest: str) -> ModuleType:
    """Return what reads zstd: Python 3.14 has it, for those before there is a package."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise LayoutError(
        "is compressed with zstd, which this Python cannot read",
        context=f"layer {digest}",
        hint="install mxenv[zstd], or push the image with gzip",
    )


@contextmanager
def ahead(pieces: Iterable[bytes]) -> Iterator[Iterator[bytes]]:
    """Give ``pieces``, of which a thread takes a few before they are asked for.

    Inflating and hashing let other threads run meanwhile. In the end the thread is over.
    """
    ready: SimpleQueue[bytes | BaseException] = SimpleQueue()
    room = Semaphore(AHEAD)
    over: list[bool] = []

    def take() -> None:
        try:
            for piece in pieces:
                ready.put(piece)
                room.acquire()
                if over:
                    return
            ready.put(b"")
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            ready.put(error)

    def given() -> Iterator[bytes]:
        while piece := ready.get():
            if isinstance(piece, BaseException):
                raise piece
            yield piece
            room.release()

    thread = Thread(target=take, daemon=True)
    thread.start()
    try:
        yield given()
    finally:
        over.append(True)
        room.release()
        thread.join()
