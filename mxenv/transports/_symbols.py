"""Which symbols a shared object needs that none of some others defines, found by their hashes."""

from __future__ import annotations

import struct
from array import array
from dataclasses import field
from typing import TYPE_CHECKING, BinaryIO

from mxenv.facts import Unreadable
from mxenv.frozen import slotted
from mxenv.question import Found
from mxenv.transports._elf import (
    GNU_HASH,
    HASH,
    SYMTAB,
    VERDEF,
    VERNEED,
    VERSYM,
    Damaged,
    needs_of,
    opened,
    provides_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mxenv.question import Answer
    from mxenv.transports._elf import Object

GLOBAL = 1
"""The binding of a symbol that must be found; a weak one need not be."""
DYNSYM = 11
"""The type of the section that holds the dynamic symbols."""
WIDE = 64
SECTIONS = 1 << 16
STEPS = 4 << 20
"""Symbols that are looked at in one table; of a good table two for each that is looked for."""
MOST = 1000
"""Symbols that are told; whoever lacks so many has the wrong library altogether."""
NAMES = 32 << 20
"""Bytes of the names of all symbols that one object needs."""


@slotted
class Wanted:
    """A symbol that is needed."""

    name: bytes
    version: str = ""
    _gnu: int = -1

    @property
    def text(self) -> str:
        """Return ``name@VERSION``, as ``nm`` shows it."""
        name = self.name.decode(errors="replace")
        return f"{name}@{self.version}" if self.version else name

    @property
    def gnu(self) -> int:
        """Return the hash of the name in tables of the GNU kind."""
        if self._gnu < 0:
            value = 5381
            for sign in self.name:
                value = value * 33 + sign & 0xFFFFFFFF
            self._gnu = value
        return self._gnu

    @property
    def sysv(self) -> int:
        """Return the hash of the name in tables of the kind of System V."""
        value = 0
        for sign in self.name:
            value = (value << 4) + sign
            high = value & 0xF0000000
            value = (value ^ high >> 24) & ~high & 0xFFFFFFFF
        return value


def needed(file: BinaryIO) -> list[Wanted]:
    """Return the symbols that the object in ``file`` needs from others; raise `Damaged`."""
    found = opened(file)
    if SYMTAB not in found.tags:
        return []
    found.names_left = NAMES
    count = _undefined(found)
    width = 24 if found.bits == WIDE else 16
    symbols = found.content.at(found.place(SYMTAB), count * width)
    versions = array("H")
    names = {}
    if VERSYM in found.tags and VERNEED in found.tags:
        versions = found.table("H", count, found.place(VERSYM))
        names = {number: name for number, _, name in needs_of(found)}
    wanted = []
    for number, (at, info, section) in enumerate(_entries(found, symbols)):
        if at and not section and info >> 4 == GLOBAL:
            version = names.get(versions[number] & 0x7FFF, "") if versions else ""
            wanted.append(Wanted(found.raw_name(at), version))
    return wanted


def _entries(found: Object, symbols: bytes) -> Iterator[tuple[int, int, int]]:
    """Yield of each symbol where its name is, its type and binding, and its section."""
    if found.bits == WIDE:
        for name, info, _, section, _, _ in struct.iter_unpack(f"{found.order}IBBHQQ", symbols):
            yield name, info, section
    else:
        for name, _, _, info, _, section in struct.iter_unpack(f"{found.order}IIIBBH", symbols):
            yield name, info, section


def _undefined(found: Object) -> int:
    """Return how many symbols have to be looked at to see all that are undefined."""
    if HASH in found.tags:
        return found.unpack("II", found.place(HASH))[1]
    if GNU_HASH in found.tags:
        buckets, first, *_ = found.unpack("IIII", found.place(GNU_HASH))
        # What is undefined stands before what is hashed; a table of nothing says nothing.
        if buckets > 1 or first > 1:
            return first
    return _counted(found)


def _counted(found: Object) -> int:
    """Return how many dynamic symbols the table of sections says that there are."""
    start, width, many = found.sections
    form = struct.Struct(found.order + ("IIQQQQIIQQ" if found.bits == WIDE else "IIIIIIIIII"))
    if start and many < SECTIONS and width >= form.size:
        table = found.content.at(start, many * width)
        for number in range(many):
            _, kind, _, _, _, size, _, _, _, entry = form.unpack_from(table, number * width)
            if kind == DYNSYM and entry:
                return int(size // entry)
    raise Damaged("does not say how many symbols it has")


@slotted
class Provider:
    """The symbols that a shared object defines, looked up as a dynamic linker does."""

    found: Object
    _symbols: int = 0
    _versions: dict[int, str] = field(default_factory=dict)
    _bloom: array[int] = field(default_factory=lambda: array("Q"))
    _shift: int = 0
    _buckets: array[int] = field(default_factory=lambda: array("I"))
    _chains: array[int] = field(default_factory=lambda: array("I"))
    _first: int = 0
    _steps: int = STEPS

    def lacks(self, wanted: list[Wanted]) -> list[Wanted]:
        """Return those symbols that are not defined here."""
        if SYMTAB not in self.found.tags:
            return wanted
        self.found.names_left = NAMES
        self._symbols = self.found.place(SYMTAB)
        if VERSYM in self.found.tags and VERDEF in self.found.tags:
            self._versions = provides_of(self.found)
        if GNU_HASH in self.found.tags:
            self._gnu_table()
            return [symbol for symbol in wanted if not self._in_gnu(symbol)]
        if HASH in self.found.tags:
            self._sysv_table()
            return [symbol for symbol in wanted if not self._in_sysv(symbol)]
        raise Damaged("has no table of its symbols")

    def _gnu_table(self) -> None:
        at = self.found.place(GNU_HASH)
        buckets, self._first, words, self._shift = self.found.unpack("IIII", at)
        if not buckets or not words:
            raise Damaged("has no plausible table of its symbols")
        self._bloom = self.found.table("Q" if self.found.bits == WIDE else "I", words, at + 16)
        at += 16 + words * self._bloom.itemsize
        self._buckets = self.found.table("I", buckets, at)
        at += 4 * buckets
        last = max(self._buckets)
        if last < self._first:
            return
        # The last chain ends where a hash is odd.
        while not self.found.unpack("I", at + 4 * (last - self._first))[0] & 1:
            last += 1
        self._chains = self.found.table("I", last - self._first + 1, at)

    def _in_gnu(self, wanted: Wanted) -> bool:
        value, bits = wanted.gnu, self.found.bits
        word = self._bloom[value // bits % len(self._bloom)]
        if not word >> value % bits & word >> (value >> self._shift) % bits & 1:
            return False
        start = self._buckets[value % len(self._buckets)] - self._first
        if start < 0:
            return False
        for place in range(start, len(self._chains)):
            self._step()
            differs = self._chains[place] ^ value
            # The last bit only says where the chain ends.
            if not differs >> 1 and self._is(self._first + place, wanted):
                return True
            if self._chains[place] & 1:
                return False
        return False

    def _sysv_table(self) -> None:
        at = self.found.place(HASH)
        buckets, chains = self.found.unpack("II", at)
        if not buckets:
            raise Damaged("has no plausible table of its symbols")
        self._buckets = self.found.table("I", buckets, at + 8)
        self._chains = self.found.table("I", chains, at + 8 + 4 * buckets)

    def _in_sysv(self, wanted: Wanted) -> bool:
        number = self._buckets[wanted.sysv % len(self._buckets)]
        while 0 < number < len(self._chains):
            self._step()
            if self._is(number, wanted):
                return True
            number = self._chains[number]
        return False

    def _step(self) -> None:
        self._steps -= 1
        if not self._steps:
            raise Damaged("has a table of its symbols that does not end")

    def _is(self, number: int, wanted: Wanted) -> bool:
        """Return whether symbol ``number`` is defined here and the one that is wanted."""
        width, form = (24, "IBBHQQ") if self.found.bits == WIDE else (16, "IIIBBH")
        fields = self.found.unpack(form, self._symbols + number * width)
        name, section = fields[0], fields[3] if self.found.bits == WIDE else fields[5]
        if not section or self.found.raw_name(name) != wanted.name:
            return False
        if not wanted.version or not self._versions:
            return True
        (version,) = self.found.unpack("H", self.found.place(VERSYM) + 2 * number)
        # The numbers 0 and 1 are of no version in particular.
        return self._versions.get(version & 0x7FFF, wanted.version) == wanted.version


def missing(wanted: list[Wanted], file: BinaryIO) -> list[Wanted]:
    """Return those of ``wanted`` that the object in ``file`` does not define; raise `Damaged`."""
    return Provider(opened(file)).lacks(wanted)


def unprovided(
    open_file: Callable[[str], BinaryIO], path: str, providers: tuple[str, ...]
) -> Answer[str]:
    """Return the symbols that ``path`` needs and no provider defines, one a line.

    What a provider that cannot be read might define is not known to be missing.
    """
    hidden = ""
    try:
        with open_file(path) as file:
            wanted = needed(file)
    except Damaged as error:
        return Unreadable(str(error))
    for provider in providers:
        if wanted:
            try:
                with open_file(provider) as file:
                    wanted = missing(wanted, file)
            except Damaged as error:
                hidden = hidden or f"{provider} {error}"
    if wanted and hidden:
        return Unreadable(hidden)
    texts = sorted({symbol.text for symbol in wanted})
    return Found("".join(f"{text}\n" for text in texts[:MOST]))
