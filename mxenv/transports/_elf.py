"""What is read of a shared object: the parts that a dynamic linker would, and no more of it.

Sections are not looked at, for a linker does without them and a stripped object may have none.
Whatever a file claims is held against its size and against limits: a damaged one costs little.
"""

from __future__ import annotations

import struct
import sys
from array import array
from dataclasses import field
from typing import TYPE_CHECKING, BinaryIO

from mxenv.elf import Elf
from mxenv.frozen import slotted

if TYPE_CHECKING:
    from collections.abc import Iterator

MAGIC = b"\x7fELF"
MACHINES = {
    3: "i386",
    21: "ppc64",
    22: "s390x",
    62: "x86_64",
    183: "aarch64",
    243: "riscv",
    258: "loongarch",
}
"""``e_machine``, as the ELF specifications of each processor number it."""
LOAD, DYNAMIC = 1, 2
NEEDED, HASH, STRTAB, SYMTAB, STRSZ, SONAME, RPATH, RUNPATH = 1, 4, 5, 6, 10, 14, 15, 29
GNU_HASH, VERSYM = 0x6FFFFEF5, 0x6FFFFFF0
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
BASE = 1
"""The flag of the version that is the object's own name."""
READS = 2_000_000
"""Times that one file is read from: some seconds of work, and far more than an object needs."""
PIECE = 32 << 20
"""Bytes that are read at once."""
SEGMENTS, ENTRIES = 1024, 1 << 16
"""Of the table of segments; of the dynamic section, and versions of one object."""
LIBRARIES, DIRECTORIES = 1024, 256
"""That one object needs, and where it looks for them."""
NAME = 1 << 14
"""Bytes of a name; those of C++ templates are long."""
NAMES = 1 << 20
"""Bytes of all names together, unless symbols are asked for."""
AT_ONCE = 1 << 20
"""Bytes of a table of names that are read, instead of each name by itself."""
OLD = (b"RKSs", b"_ZNSs", b"_ZNKSs")
"""``std::string`` of the C++ ABI before 2011, in the names of functions that take one."""
NEW = (b"__cxx11", b"B5cxx11")


class Damaged(Exception):
    """A file is no shared object, or not a whole one; the text says why."""


@slotted
class Bytes:
    """A file of which pieces are read, never beyond its end and never without end."""

    file: BinaryIO
    size: int = 0
    reads: int = 0

    def __post_init__(self) -> None:
        """Learn the size."""
        self.size = self.file.seek(0, 2)

    def at(self, offset: int, size: int) -> bytes:
        """Return a piece of the file, all of it."""
        if size > PIECE:
            raise Damaged(f"claims a table of {size} bytes")
        data = self.upto(offset, size)
        if len(data) < size:
            raise Damaged("ends early")
        return data

    def upto(self, offset: int, size: int) -> bytes:
        """Return a piece of the file, less of it where it ends."""
        self.reads += 1
        if self.reads > READS:
            raise Damaged("takes too long to read")
        if offset > self.size:
            raise Damaged("points beyond its end")
        self.file.seek(offset)
        return self.file.read(size)


@slotted
class Object:
    """A shared object that is open: its header, its segments and its dynamic section were read."""

    content: Bytes
    bits: int
    order: str
    """How numbers lie in it: ``<`` or ``>``, as `struct` has it."""
    machine: str
    sections: tuple[int, int, int] = (0, 0, 0)
    """Where the table of sections begins, the size of an entry, and how many there are."""
    segments: list[tuple[int, int, int]] = field(default_factory=list)
    """Address, size in the file, and place in the file of what is loaded."""
    tags: dict[int, int] = field(default_factory=dict)
    needed: list[int] = field(default_factory=list)
    dynamic: bool = False
    names_left: int = NAMES
    _names: bytes = b""

    def unpack(self, form: str, offset: int) -> tuple[int, ...]:
        """Read the numbers of ``form`` at a place in the file."""
        form = self.order + form
        return struct.unpack(form, self.content.at(offset, struct.calcsize(form)))

    def table(self, kind: str, count: int, offset: int) -> array[int]:
        """Read many numbers of one kind, as `array` names it."""
        numbers = array(kind)
        numbers.frombytes(self.content.at(offset, count * numbers.itemsize))
        if (self.order == "<") is not (sys.byteorder == "little"):
            numbers.byteswap()
        return numbers

    def place(self, tag: int) -> int:
        """Return where in the file that lies which ``tag`` gives the address of."""
        address = self.tags.get(tag, 0)
        for start, size, offset in self.segments:
            if start <= address < start + size:
                return offset + address - start
        raise Damaged("points at what is not in it")

    def name(self, at: int) -> str:
        """Return a name of the table of names."""
        return self.raw_name(at).decode(errors="replace")

    def raw_name(self, at: int) -> bytes:
        """Return a name of the table of names as it stands there."""
        size = self.tags.get(STRSZ, 0)
        if at >= size:
            raise Damaged("names what is in no table of names")
        if size <= AT_ONCE:
            self._names = self._names or self.content.at(self.place(STRTAB), size)
            data = self._names[at : at + NAME]
        else:
            start = self.place(STRTAB) + at
            data = self.content.upto(start, 256)
            if b"\0" not in data:
                data = self.content.upto(start, NAME)
        name, end, _ = data.partition(b"\0")
        if not end:
            raise Damaged("has a name without an end")
        self.names_left -= len(name)
        if self.names_left < 0:
            raise Damaged("has more names than can be kept")
        return name


def opened(file: BinaryIO) -> Object:
    """Read what leads to everything else; raise `Damaged`."""
    content = Bytes(file)
    ident = content.upto(0, 16)
    if ident[:4] != MAGIC:
        raise Damaged("not an ELF file")
    if len(ident) < 16 or ident[4] not in {1, 2} or ident[5] not in {1, 2}:  # noqa: PLR2004 - e_ident
        raise Damaged("of no known class of ELF files")
    found = Object(content, 32 * ident[4], "<>"[ident[5] - 1], "")
    wide = found.bits == 64  # noqa: PLR2004 - bits
    _, number, _, _, heads, sections, *_, entry, count, width, many, _ = found.unpack(
        "HHIQQQIHHHHHH" if wide else "HHIIIIIHHHHHH", 16
    )
    found.machine = _machine(number, found)
    found.sections = (sections, width, many)
    _segments(found, heads, entry, count)
    return found


def _machine(number: int, found: Object) -> str:
    name = MACHINES.get(number, f"machine-{number}")
    if name in {"riscv", "loongarch"}:
        return f"{name}{found.bits}"
    return "ppc64le" if name == "ppc64" and found.order == "<" else name


def _segments(found: Object, heads: int, entry: int, count: int) -> None:
    wide = found.bits == 64  # noqa: PLR2004 - bits
    form = struct.Struct(found.order + ("IIQQQQ" if wide else "IIIIII"))
    if count > SEGMENTS or (count and entry < form.size):
        raise Damaged("has no plausible table of segments")
    table = found.content.at(heads, count * entry)
    dynamic = None
    for number in range(count):
        fields = form.unpack_from(table, number * entry)
        kind, offset, address, size = (
            fields[0],
            *((fields[2], fields[3], fields[5]) if wide else (fields[1], fields[2], fields[4])),
        )
        if kind == LOAD:
            found.segments.append((address, size, offset))
        elif kind == DYNAMIC:
            dynamic = (offset, size)
    if dynamic is not None:
        _tags(found, *dynamic)


def _tags(found: Object, offset: int, size: int) -> None:
    pair = struct.Struct(found.order + ("QQ" if found.bits == 64 else "II"))  # noqa: PLR2004 - bits
    if not size:
        raise Damaged("its dynamic section is kept elsewhere")
    if size > ENTRIES * pair.size:
        raise Damaged("has no plausible dynamic section")
    found.dynamic = True
    data = found.content.at(offset, size - size % pair.size)
    for tag, value in pair.iter_unpack(data):
        if not tag:
            return
        if tag == NEEDED:
            found.needed.append(value)
        else:
            found.tags.setdefault(tag, value)


def read(file: BinaryIO) -> Elf:
    """Return what a dynamic linker reads first; raise `Damaged`."""
    found = opened(file)
    if not found.dynamic:
        return Elf(machine=found.machine, bits=found.bits)
    if len(found.needed) > LIBRARIES:
        raise Damaged("needs too many libraries")
    needs: dict[str, list[str]] = {}
    for _, library, version in needs_of(found):
        needs.setdefault(library, []).append(version)
    return Elf(
        machine=found.machine,
        bits=found.bits,
        soname=_named(found, SONAME),
        needed=tuple(found.name(at) for at in found.needed),
        rpath=_directories(_named(found, RPATH)),
        runpath=_directories(_named(found, RUNPATH)),
        needs=tuple((library, tuple(sorted(needs[library]))) for library in sorted(needs)),
        provides=tuple(sorted(set(provides_of(found).values()))),
        cxx11=_abi(found),
    )


def _named(found: Object, tag: int) -> str:
    return found.name(found.tags[tag]) if tag in found.tags else ""


def _directories(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(":")[:DIRECTORIES] if part)


def _abi(found: Object) -> str:
    """Return which C++ ABI the names are of, as far as the first of them tell."""
    size = min(found.tags.get(STRSZ, 0), AT_ONCE)
    if not size:
        return ""
    names = found.content.upto(found.place(STRTAB), size)
    for abi, signs in (("1", NEW), ("0", OLD)):
        if any(sign in names for sign in signs):
            return abi
    return ""


def needs_of(found: Object) -> Iterator[tuple[int, str, str]]:
    """Yield the versions that must be there: their numbers, whose they are, their names."""
    if VERNEED not in found.tags:
        return
    at, seen = found.place(VERNEED), 0
    for _ in range(min(found.tags.get(VERNEEDNUM, 0), ENTRIES)):
        _, count, library, first, after = found.unpack("HHIII", at)
        inner = at + first
        for _ in range(count):
            seen += 1
            if seen > ENTRIES:
                raise Damaged("needs too many versions")
            _, _, number, name, step = found.unpack("IHHII", inner)
            yield number & 0x7FFF, found.name(library), found.name(name)
            if not step:
                break
            inner += step
        if not after:
            break
        at += after


def provides_of(found: Object) -> dict[int, str]:
    """Return the versions that are defined there, by their numbers."""
    versions: dict[int, str] = {}
    if VERDEF not in found.tags:
        return versions
    at = found.place(VERDEF)
    for _ in range(min(found.tags.get(VERDEFNUM, 0), ENTRIES)):
        _, flags, number, count, _, first, after = found.unpack("HHHHIII", at)
        if count and not flags & BASE:
            versions[number & 0x7FFF] = found.name(found.unpack("I", at + first)[0])
        if not after:
            break
        at += after
    return versions
