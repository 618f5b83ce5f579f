"""What the bytes of a layer look like: tar headers, and gzip members that no compressor made.

A layer is a tar file in gzip. Compressors differ between libraries and their versions, so none is
asked: what a wheel holds deflated is carried over as it is, one gzip member each, and everything
else is stored. The bytes are therefore the same on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 512
"""The unit of a tar file (POSIX ustar)."""

END = bytes(2 * BLOCK)
"""What ends a tar file."""

MTIME = 315_532_800
"""1980-01-01, the age of every file: a zip file, as a wheel is, can hold nothing older."""

NAME, PREFIX = 100, 155
"""Bytes that a ustar header has for a name, and for the folders before it."""

WHITEOUT = ".wh."
"""What the name of an entry begins with that deletes a file of a layer below, and is none."""

LONGEST_NAME, LONGEST_PATH = 255, 4095
"""Bytes that Linux allows a name, and a path (``NAME_MAX``, ``PATH_MAX``)."""

OCTAL_SIZE = 8**11
"""A ustar header holds sizes below this one (8 GiB); larger ones stand in a pax record."""

STORED = 0xFFFF
"""The most bytes that one stored block of a deflate stream can hold (RFC 1951)."""

OWNER = DEVICE = b"0000000\0" * 2
TIME = b"%011o\0" % MTIME
MAGIC = b"ustar\x0000"

CONSTANT = sum(OWNER + TIME + MAGIC + DEVICE) + 8 * ord(" ")
"""What the fields that never differ add to a header's checksum, its own eight bytes as spaces."""

GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""No time, no name, unknown system (RFC 1952)."""


def header(path: str, *, size: int = 0, mode: int = 0o644, directory: bool = False) -> bytes:
    """Return the tar header of the file or directory at the absolute ``path``.

    Owner and group are root's by number alone, the time is `MTIME`. What a ustar header cannot
    hold stands in a pax record before it.
    """
    name = path.lstrip("/").encode() + (b"/" if directory else b"")
    records = b""
    prefix, short = _split(name)
    if short is None:
        records += _record(b"path", name)
        short = name[:NAME]
    if size >= OCTAL_SIZE:
        records += _record(b"size", str(size).encode())
    kind = b"5" if directory else b"0"
    octal = size if size < OCTAL_SIZE else 0
    head = _ustar(short, size=octal, mode=mode, kind=kind, prefix=prefix)
    if not records:
        return head
    extended = _ustar(b"././@PaxHeader", size=len(records), mode=0o644, kind=b"x")
    return extended + records + padding(len(records)) + head


def can_hold(path: str) -> bool:
    """Return whether a layer can hold a file at ``path``, and a disk that it is unpacked to."""
    if WHITEOUT not in path and len(path.encode()) <= LONGEST_NAME:
        return True
    return len(path.encode()) <= LONGEST_PATH and not any(
        name.startswith(WHITEOUT) or len(name.encode()) > LONGEST_NAME for name in path.split("/")
    )


def padding(size: int) -> bytes:
    """Return the zeros that follow ``size`` bytes of content."""
    return bytes(-size % BLOCK)


def _split(name: bytes) -> tuple[bytes, bytes | None]:
    """Return prefix and name as a ustar header holds them; no name if it cannot."""
    if len(name) <= NAME and name.isascii():
        return b"", name
    cut = name.find(b"/", max(len(name) - NAME - 1, 1), len(name) - 1)
    if cut < 0 or cut > PREFIX or not name.isascii():
        return b"", None
    return name[:cut], name[cut + 1 :]


def _record(key: bytes, value: bytes) -> bytes:
    """Return a pax record; its length counts its own digits."""
    rest = len(key) + len(value) + 3
    length = rest + len(str(rest))
    length = rest + len(str(length))
    return b"%d %s=%s\n" % (length, key, value)


def _ustar(name: bytes, *, size: int, mode: int, kind: bytes, prefix: bytes = b"") -> bytes:
    """Return one block: the fields in the order of POSIX, with their checksum."""
    varying = (name, b"%07o" % mode, b"%011o" % size, kind, prefix)
    checksum = CONSTANT + sum(map(sum, varying))
    return b"".join(
        (
            name.ljust(NAME, b"\0"),
            varying[1],
            b"\0",
            OWNER,
            varying[2],
            b"\0",
            TIME,
            b"%06o\0 " % checksum,
            kind,
            bytes(100),
            MAGIC,
            bytes(64),
            DEVICE,
            prefix.ljust(PREFIX, b"\0"),
            bytes(12),
        )
    )


def stored(data: bytes, *, crc: int) -> Iterator[bytes]:
    """Yield the gzip member that holds ``data`` as it is; ``crc`` is its CRC-32."""
    yield GZIP_HEADER
    view = memoryview(data)
    for start in range(0, len(data), STORED):
        chunk = view[start : start + STORED]
        last = start + STORED >= len(data)
        size = len(chunk)
        yield b"%c%s%s" % (last, size.to_bytes(2, "little"), (size ^ STORED).to_bytes(2, "little"))
        yield bytes(chunk)
    if not data:
        yield b"\x01\x00\x00\xff\xff"
    yield trailer(crc, len(data))


def trailer(crc: int, size: int) -> bytes:
    """Return what ends a gzip member of ``size`` uncompressed bytes."""
    return crc.to_bytes(4, "little") + (size % 2**32).to_bytes(4, "little")
