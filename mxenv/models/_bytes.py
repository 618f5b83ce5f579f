"""How a large file is read here and there, and what is not a file is not waited for."""

from __future__ import annotations

import gc
import json
import os
import struct
import zipfile
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from mxenv._files import why
from mxenv.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

DIRECTORY = 16 << 20
"""Bytes of the directory of a zip file; one of 100,000 files has 10 MB."""
LARGEST = 64 << 20
"""Bytes of a document in one, as it is unpacked."""
CHUNK = 1 << 20
PARTS = 8_000_000
"""Objects, lists and texts of a document: each takes some sixty bytes of memory."""
WHOLE = "download it again, or write it again"


@contextmanager
def uncollected() -> Iterator[None]:
    """Look for no garbage meanwhile: in trees of many objects that are all in use, there is none.

    To look for it took a fifth of the time of reading headers, and half of that of syntax trees.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def opened(path: Path) -> Iterator[tuple[BinaryIO, int]]:
    """Give the file at ``path``, and its size; whatever the system says is a `ModelError`."""
    if path.exists() and not path.is_file():
        # A named pipe may never say anything.
        raise ModelError("is not a file", context=str(path))
    try:
        with path.open("rb") as file:
            yield file, os.fstat(file.fileno()).st_size
    except OSError as error:
        raise ModelError(f"cannot be read: {why(error)}", context=str(path)) from None


@contextmanager
def archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Give the zip file at ``path``; what is none, or is damaged, is a `ModelError`."""
    with opened(path) as (file, _):
        try:
            with zipfile.ZipFile(_Sparing(file)) as inside:
                yield inside
        except (
            zipfile.BadZipFile,
            zlib.error,
            struct.error,
            EOFError,
            NotImplementedError,
            OverflowError,
            ValueError,
        ) as error:
            said = str(error) or type(error).__name__
            raise ModelError(
                f"is cut, or no zip file: {said}", context=str(path), hint=WHOLE
            ) from None


class _Sparing:
    """A file of which no more is read at once than the directory of a zip file may have."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.seek = file.seek
        self.tell = file.tell
        self.seekable = file.seekable
        self.close = lambda: None

    def read(self, size: int = -1) -> bytes:
        content = self._file.read(min(size, DIRECTORY + 1) if size >= 0 else DIRECTORY + 1)
        if len(content) > DIRECTORY:
            raise ValueError(f"a directory of more than {DIRECTORY >> 20} MiB")
        return content


def member(inside: zipfile.ZipFile, name: str) -> bytes:
    """Return the file ``name`` of a zip file, if it is not larger than it may be."""
    info = inside.getinfo(name)
    if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED} or info.flag_bits & 1:
        raise ValueError(f"{shown(name)} is packed in a way that is not read")
    content = bytearray()
    with inside.open(info) as file:
        while piece := file.read(CHUNK):
            content += piece
            if len(content) > LARGEST:
                raise ValueError(f"{shown(name)} unpacks to more than {LARGEST >> 20} MiB")
    return bytes(content)


def document(inside: zipfile.ZipFile, name: str) -> tuple[Mapping[str, object], bytes]:
    """Return the JSON object ``name`` of a zip file, and its bytes."""
    content = member(inside, name)
    try:
        return json_object(content), content
    except ValueError as error:
        raise ValueError(f"{shown(name)} is {error}") from None


def json_object(content: bytes) -> dict[str, object]:
    """Return the JSON object that ``content`` is; `ValueError` says why it is none.

    One of more parts than memory should be given for is none.
    """
    # Each part has at least one byte, so that a short one is not counted.
    if len(content) > PARTS and sum(map(content.count, (b"[", b"{", b'"'))) > PARTS:
        raise ValueError(f"not read: it has more than {PARTS} parts")
    try:
        document = json.loads(content.decode())
    except RecursionError:
        raise ValueError("not JSON: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")  # noqa: TRY004 - of a file
    return document


def shown(name: str) -> str:
    """Return the name of a file as it can be printed."""
    return repr(name[:200])
