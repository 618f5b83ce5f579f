"""How a zip file is read that may have been made to do harm."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING, BinaryIO

from mxenv.archive import can_hold
from mxenv.errors import WheelError
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator

MEMBERS = 200_000
"""More files than any wheel has; each costs memory before the first is read."""

RATIO = 200
"""More than real files shrink by, all together; looked at beyond `HARMLESS`."""

HARMLESS = 64 * 1024 * 1024
"""A wheel that unpacks to less may have any ratio."""

SMALL = 4 * 1024 * 1024
"""The most that is read into memory in one go."""

CHUNK = 1024 * 1024
"""Packed bytes that are read at a time."""

LOCAL = struct.Struct("<4s2xH18xHH")
"""Of a member's own header: signature, flags, lengths of name and extra field."""

LAST, LAST_SIZE = b"PK\5\6", 22
"""How the record begins that ends a zip file, and how long it is without a comment."""

UTF8 = 0x800
"""The flag that says that a name is in UTF-8 (else in code page 437)."""

ENCRYPTED = 0x1

_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\]|(?:^|/)\.{0,2}(?:/|$)")
"""A control character, a backslash, or a part of a path that is empty, ``.`` or ``..``."""


@frozen
class Member:
    """One regular file of a zip file."""

    name: str
    start: int
    """Where in the file its packed bytes begin."""
    packed: int
    size: int
    crc: int
    deflated: bool
    executable: bool


class Archive:
    """The regular files of one zip file, every name and every place of which was checked."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        """Read the directory of ``file``; ``name`` is what it is called in errors."""
        self.name = name
        self._file = file
        try:
            with zipfile.ZipFile(file) as archive:
                infos, comment = archive.infolist(), archive.comment
        except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise WheelError(f"is no zip file: {error}", context=name) from error
        if len(infos) > MEMBERS:
            raise self._refusal("", f"has {len(infos)} files, more than {MEMBERS}")
        self._alone(min((info.header_offset for info in infos), default=0), len(comment))
        self.members: dict[str, Member] = {}
        end = 0
        for info in sorted(infos, key=lambda info: info.header_offset):
            start = self._start(info)
            if info.header_offset < end:
                raise self._refusal(info.filename, "overlaps another member")
            end = start + info.compress_size
            self._add(info, start)
        total = sum(member.size for member in self.members.values())
        if total > max(HARMLESS, RATIO * end):
            raise self._refusal("", f"unpacks to {total} bytes, over {RATIO} times its size")

    def _alone(self, first: int, comment: int) -> None:
        """Refuse bytes before the first member or after the end, which some readers begin with."""
        size = os.fstat(self._file.fileno()).st_size
        end = os.pread(self._file.fileno(), len(LAST), max(size - LAST_SIZE - comment, 0))
        if first or end != LAST:
            where = "before its first member" if first else "after its end"
            raise self._refusal("", f"is no zip file alone: there are bytes {where}")

    def _refusal(self, member: str, message: str) -> WheelError:
        """Return an error that names the wheel and the member."""
        return WheelError(message, context=f"{self.name}: {member}" if member else self.name)

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Return where the packed bytes begin, by the member's own header, which must agree."""
        # A damaged directory can point before the beginning.
        self._file.seek(max(info.header_offset, 0))
        head = self._file.read(LOCAL.size)
        if info.header_offset < 0 or len(head) < LOCAL.size:
            raise self._refusal(info.filename, "lies outside the file")
        signature: bytes
        flags: int
        name_length: int
        extra_length: int
        signature, flags, name_length, extra_length = LOCAL.unpack(head)
        name = self._file.read(name_length).decode("utf-8" if flags & UTF8 else "cp437", "replace")
        if signature != b"PK\x03\x04" or name != info.orig_filename:
            raise self._refusal(info.filename, f"is called {name!r} in its own header")
        return info.header_offset + LOCAL.size + name_length + extra_length

    def _add(self, info: zipfile.ZipInfo, start: int) -> None:
        """Take a member in, unless it is a directory; refuse what no wheel may hold."""
        mode = info.external_attr >> 16
        name = info.orig_filename
        if name in self.members:
            raise self._refusal(name, "is there twice")
        kind = stat.S_IFMT(mode)
        if kind not in {0, stat.S_IFREG, stat.S_IFDIR}:
            what = "is a link" if kind == stat.S_IFLNK else "is no regular file"
            raise self._refusal(name, what)
        if unsafe(name.removesuffix("/")):
            raise self._refusal(name, "is no path below the wheel's root")
        if name.endswith("/"):
            return
        if info.flag_bits & ENCRYPTED:
            raise self._refusal(name, "is encrypted")
        if info.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
            raise self._refusal(name, f"is packed by method {info.compress_type}, not deflated")
        self.members[name] = Member(
            name=name,
            start=start,
            packed=info.compress_size,
            size=info.file_size,
            crc=info.CRC,
            deflated=info.compress_type == zipfile.ZIP_DEFLATED,
            executable=bool(mode & 0o111),
        )

    def read(self, name: str, limit: int = SMALL) -> bytes:
        """Return the content of a small member."""
        member = self.members.get(name)
        if member is None:
            raise self._refusal(name, "is missing")
        if member.size > limit:
            raise self._refusal(name, f"has {member.size} bytes, more than {limit}")
        return b"".join(self.pieces(member))

    def pieces(self, member: Member) -> Iterator[bytes]:
        """Yield the content of a member, up to its end.

        Size and checksum are compared on the way; memory does not grow with the member.
        """
        size = crc = 0
        for plain in self._inflated(member) if member.deflated else self.packed(member):
            size += len(plain)
            if size > member.size:
                break
            crc = zlib.crc32(plain, crc)
            yield plain
        if size != member.size or crc != member.crc:
            raise self._refusal(member.name, "is damaged: size or checksum is wrong")

    def packed(self, member: Member) -> Iterator[bytes]:
        """Yield the bytes of a member as they lie in the file."""
        left, place, handle = member.packed, member.start, self._file.fileno()
        while left:
            # Others may read from the file while this generator rests.
            data = os.pread(handle, min(CHUNK, left), place)
            if not data:
                raise self._refusal(member.name, "ends too early")
            left -= len(data)
            place += len(data)
            yield data

    def _inflated(self, member: Member) -> Iterator[bytes]:
        """Yield what deflated bytes inflate to, at most `SMALL` at a time."""
        stream = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            for data in self.packed(member):
                rest = data
                while True:
                    plain = stream.decompress(rest, SMALL)
                    yield plain
                    rest = stream.unconsumed_tail
                    if not rest and len(plain) < SMALL:
                        break
        except zlib.error as error:
            raise self._refusal(member.name, f"is damaged: {error}") from error
        if not stream.eof or stream.unused_data:
            # What follows the end would be read as another file by whoever unpacks the layer.
            raise self._refusal(member.name, "is damaged: its packed bytes end elsewhere")


def unsafe(path: str) -> bool:
    """Return whether ``path`` could mean anything but a file below a folder."""
    return _UNSAFE.search(path) is not None or not can_hold(path)
