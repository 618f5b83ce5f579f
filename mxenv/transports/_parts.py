"""What is taken of one open file: its text, some words of it, its digest."""

from __future__ import annotations

import hashlib
import io
from typing import TYPE_CHECKING, BinaryIO, assert_never

from mxenv import excerpt, installed
from mxenv.facts import Unreadable
from mxenv.question import Found, Part

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.question import Answer

CHUNK = 1 << 20
PIECE = 1 << 16
FIRST = 1024
"""Bytes of metadata in which name and version nearly always stand."""
FIELDS = (b"Package: ", b"Status: ", b"Version: ")


def taken(file: BinaryIO, part: Part, limit: int) -> Answer[str]:  # noqa: PLR0911 - one for each kind
    """Return what ``part`` is of the rest of ``file``, and no more of it than ``limit`` bytes."""
    match part:
        case Part.HEAD:
            return Found(_text(file.read(limit)))
        case Part.DIGEST:
            return Found(_sha256(file))
        case Part.RECORD:
            return _record(file, limit)
        case Part.WHOLE | Part.PACKAGES | Part.BOOT | Part.RUNTIMES | Part.ORIGIN:
            content = file.read(limit + 1)
            if len(content) > limit:
                return Unreadable(f"larger than {limit} bytes")
            return Found(_excerpt(part, content))
        case Part.METADATA:
            return Found(_metadata(file, limit))
        case Part.PROGRAM:
            return Found(installed.program(_text(file.read(limit))))
        case Part.ELF:
            return _elf(file)
        case Part.LINK:
            return Unreadable("no part of a file's content")
        case _:
            assert_never(part)


def _excerpt(part: Part, content: bytes) -> str:
    match part:
        case Part.PACKAGES:
            return _text(_packages(content))
        case _:
            return excerpt.of(part, _text(content))


def _record(file: BinaryIO, limit: int) -> Answer[str]:
    """Return what is wanted of a ``RECORD``, read piece by piece: memory for all takes longer."""
    left = limit

    def read() -> Iterator[bytes]:
        nonlocal left
        while left >= 0 and (piece := file.read(PIECE)):
            left -= len(piece)
            yield piece

    told = installed.record(read())
    return Found(told) if left >= 0 else Unreadable(f"larger than {limit} bytes")


def _metadata(file: BinaryIO, limit: int) -> str:
    """Return the name and the version, which nearly always are among the first lines."""
    content = file.read(min(FIRST, limit))
    found = installed.metadata(_text(content))
    if found.count("\n") < len(("Name", "Version")) and len(content) >= FIRST and limit > FIRST:
        found = installed.metadata(_text(content + file.read(limit - FIRST)))
    return found


def _elf(file: BinaryIO) -> Answer[str]:
    from mxenv import elf  # noqa: PLC0415 - imported late: most questions are about text
    from mxenv.transports import _elf as reader  # noqa: PLC0415 - the same

    try:
        return Found(elf.render(reader.read(file)))
    except reader.Damaged as error:
        return Unreadable(str(error))


def _packages(status: bytes) -> bytes:
    """Return the lines of dpkg's ``status`` that say which package is there in which version."""
    # One line at a time: a list of them all takes several times the memory of the file.
    lines = io.BytesIO(status)
    return b"".join(line for line in lines if line == b"\n" or line.startswith(FIELDS))


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _sha256(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while chunk := file.read(CHUNK):
        digest.update(chunk)
    return digest.hexdigest()
