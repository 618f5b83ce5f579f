"""Shared objects that tests make themselves: what a dynamic linker reads, and no code."""

from __future__ import annotations

import struct
from functools import reduce
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BASE = 0x10000
"""The address at which the file begins in memory: addresses and places must not be mixed up."""
X86_64, AARCH64 = 62, 183
NULL, NEEDED, HASH, STRTAB, SYMTAB, STRSZ, SONAME, RPATH, RUNPATH = 0, 1, 4, 5, 6, 10, 14, 15, 29
GNU_HASH, VERSYM = 0x6FFFFEF5, 0x6FFFFFF0
VERDEF, VERDEFNUM, VERNEED, VERNEEDNUM = 0x6FFFFFFC, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF


class _Names:
    def __init__(self) -> None:
        self.data = b"\0"

    def __call__(self, text: str) -> int:
        at = len(self.data)
        self.data += text.encode() + b"\0"
        return at


def gnu_hash(name: str) -> int:
    return reduce(lambda value, sign: (value * 33 + sign) % 2**32, name.encode(), 5381)


def sysv_hash(name: str) -> int:
    value = 0
    for sign in name.encode():
        value = (value << 4) + sign
        value ^= (value & 0xF0000000) >> 24
        value &= 0x0FFFFFFF
    return value


def shared(  # noqa: PLR0913, PLR0915, C901 - it writes a file from its beginning to its end
    *,
    machine: int = X86_64,
    bits: int = 64,
    order: str = "<",
    soname: str = "",
    needed: Sequence[str] = (),
    rpath: str = "",
    runpath: str = "",
    needs: Mapping[str, Sequence[str]] | None = None,
    provides: Sequence[str] = (),
    undefined: Sequence[str] = (),
    weak: Sequence[str] = (),
    defines: Sequence[str] = (),
    tables: Sequence[str] = ("gnu",),
    sections: bool = False,
    padding: int = 0,
) -> bytes:
    """The bytes of a shared object; ``name@VERSION`` is a symbol of a version."""
    wide = bits == 64
    names = _Names()
    numbers: dict[str, int] = {}
    for version in (*provides, *(v for each in (needs or {}).values() for v in each)):
        numbers.setdefault(version, len(numbers) + 2)
    buckets = max(1, len(defines) // 2)
    ordered = sorted(defines, key=lambda name: gnu_hash(name.partition("@")[0]) % buckets)
    symbols = [("", 0, 0), *((name, 0, 1) for name in undefined), *((n, 0, 2) for n in weak)]
    first = len(symbols)
    symbols += [(name, 7, 1) for name in ordered]
    head, entry = (64, 56) if wide else (52, 32)
    body = bytearray(head + 2 * entry + padding)
    tags: list[tuple[int, int]] = []

    def put(tag: int, data: bytes) -> int:
        body.extend(b"\0" * (-len(body) % 8))
        at = len(body)
        body.extend(data)
        tags.append((tag, BASE + at))
        return at

    table = b""
    versions = b""
    for name, section, binding in symbols:
        plain, _, version = name.partition("@")
        at = names(plain) if plain else 0
        info = binding << 4 | 2
        value = BASE if section else 0
        table += (
            struct.pack(f"{order}IBBHQQ", at, info, 0, section, value, 0)
            if wide
            else struct.pack(f"{order}IIIBBH", at, value, 0, info, 0, section)
        )
        versions += struct.pack(f"{order}H", numbers.get(version, 1 if plain else 0))
    symtab = put(SYMTAB, table)
    if numbers:
        put(VERSYM, versions)
    if needs:
        put(VERNEED, _verneed(order, needs, numbers, names))
        tags.append((VERNEEDNUM, len(needs)))
    if provides:
        put(VERDEF, _verdef(order, (soname or "self", *provides), numbers, names))
        tags.append((VERDEFNUM, len(provides) + 1))
    if "gnu" in tables:
        hashes = [gnu_hash(name.partition("@")[0]) for name in ordered]
        put(GNU_HASH, _gnu(order, bits, hashes, first if hashes else 1, buckets))
    if "sysv" in tables:
        put(HASH, _sysv(order, [name.partition("@")[0] for name, _, _ in symbols], first))
    tags += [(NEEDED, names(name)) for name in needed]
    tags += [
        (tag, names(text))
        for tag, text in ((SONAME, soname), (RPATH, rpath), (RUNPATH, runpath))
        if text
    ]
    put(STRTAB, names.data)
    tags.append((STRSZ, len(names.data)))
    pair = f"{order}{'QQ' if wide else 'II'}"
    dynamic = b"".join(struct.pack(pair, *tag) for tag in (*tags, (NULL, 0)))
    start = put(NULL, dynamic)
    place = 0
    if sections:
        place = put(NULL, b"")
        form = f"{order}{'IIQQQQIIQQ' if wide else 'IIIIIIIIII'}"
        width = 24 if wide else 16
        for kind in (0, 11):
            body += struct.pack(form, 0, kind, 0, 0, symtab, len(table), 0, 0, 8, width)
    body[:16] = b"\x7fELF" + bytes((bits // 32, 1 if order == "<" else 2, 1)) + b"\0" * 9
    form = f"{order}{'HHIQQQIHHHHHH' if wide else 'HHIIIIIHHHHHH'}"
    many = 2 if sections else 0
    width = 64 if wide else 40
    header = (3, machine, 1, 0, head, place, 0, head, entry, 2, width, many, 0)
    body[16:head] = struct.pack(form, *header)
    for number, (kind, at, size) in enumerate(((1, 0, len(body)), (2, start, len(dynamic)))):
        fields = (
            (kind, 4, at, BASE + at, 0, size, size, 8)
            if wide
            else (kind, at, BASE + at, 0, size, size, 4, 8)
        )
        where = head + number * entry
        body[where : where + entry] = struct.pack(
            f"{order}{'IIQQQQQQ' if wide else 'IIIIIIII'}", *fields
        )
    return bytes(body)


def _verneed(
    order: str, needs: Mapping[str, Sequence[str]], numbers: Mapping[str, int], names: _Names
) -> bytes:
    data = b""
    for position, (library, versions) in enumerate(needs.items()):
        size = 16 + 16 * len(versions)
        after = size if position < len(needs) - 1 else 0
        data += struct.pack(f"{order}HHIII", 1, len(versions), names(library), 16, after)
        for number, version in enumerate(versions):
            step = 16 if number < len(versions) - 1 else 0
            data += struct.pack(f"{order}IHHII", 0, 0, numbers[version], names(version), step)
    return data


def _verdef(
    order: str, provides: Sequence[str], numbers: Mapping[str, int], names: _Names
) -> bytes:
    data = b""
    for position, version in enumerate(provides):
        after = 28 if position < len(provides) - 1 else 0
        number, flags = (numbers[version], 0) if position else (1, 1)
        data += struct.pack(f"{order}HHHHIII", 1, flags, number, 1, 0, 20, after)
        data += struct.pack(f"{order}II", names(version), 0)
    return data


def _gnu(order: str, bits: int, hashes: Sequence[int], first: int, buckets: int) -> bytes:
    shift, bloom = 6, 0
    for value in hashes:
        bloom |= 1 << value % bits | 1 << (value >> shift) % bits
    starts = [0] * buckets
    for number, value in reversed(list(enumerate(hashes))):
        starts[value % buckets] = first + number
    chains = []
    for number, value in enumerate(hashes):
        last = number + 1 == len(hashes) or hashes[number + 1] % buckets != value % buckets
        chains.append(value & ~1 | last)
    return (
        struct.pack(f"{order}IIII", buckets, first, 1, shift)
        + struct.pack(f"{order}{'Q' if bits == 64 else 'I'}", bloom)
        + struct.pack(f"{order}{buckets}I", *starts)
        + struct.pack(f"{order}{len(chains)}I", *chains)
    )


def _sysv(order: str, names: Sequence[str], first: int) -> bytes:
    buckets = 3
    starts, chains = [0] * buckets, [0] * len(names)
    for number in range(first, len(names)):
        at = sysv_hash(names[number]) % buckets
        chains[number], starts[at] = starts[at], number
    return struct.pack(f"{order}II{buckets}I{len(names)}I", buckets, len(names), *starts, *chains)
