"""How what was learned of a base image is written down: its own words, its facts, every path in it.

A text of lines, each of them JSON, in gzip (``zcat FILE | head -1 | jq``)::

    {"schema": "mxenv.base/1", "base": "sha256:…", …, "sections": [["/", "…"], ["/opt/x", "…"]]}
    {"keys": "…", "snapshot": {"schema": "mxenv.snapshot/1", …}}
    ["/usr/bin", [["python3", "link", "777", "python3.11"], ["python3.11", "file", "755", 6831736]]]

The digest of the first line stands for itself and, by the digests of sections in it, for every
path: a lock names it. It is made of text, so that no compressor has a say in it. Each line before
the folders, and each section of them, is a gzip member of its own, which tells its length: whoever
wants to know of a few folders unpacks and compares no more than their sections.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NoReturn

from mxenv.errors import InvalidFile
from mxenv.frozen import frozen
from mxenv.listing import KINDS, Listing, Place

SCHEMA = "mxenv.base/1"
SECTION = 1 << 16
"""Bytes of text after which a section ends, with the folder that it is in."""
LARGEST = 1 << 27
"""Bytes that one member may unpack to: a folder with a million files has fewer."""
AGAIN = "run `mxenv lock` again: it reads the base anew"

_MEMBER = struct.Struct("<4sIBBHHHI")
"""A gzip header with one extra field: what begins it, no time, and the deflated length."""
_BEGIN, _SUBFIELD = b"\x1f\x8b\x08\x04", int.from_bytes(b"MX", "little")
_END = struct.Struct("<II")
_FOLDER = re.compile(rb'^\[("(?:[^"\\]|\\.)*"),.*$', re.MULTILINE)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HEAD = ("base", "platform", "media_type", "manifest", "configuration")


@frozen
class Told:
    """What an image says of itself."""

    base: str
    """The digest of its manifest."""
    platform: str
    media_type: str
    manifest: bytes
    configuration: bytes


@frozen
class Record:
    """All that was learned of one base."""

    told: Told
    digest: str
    """``sha256:…``, of `told` and of every path; of the facts it says nothing."""
    listing: Listing
    keys: str
    """Names the facts that were asked for, so that whoever knows others asks again."""
    snapshot: str
    """The facts, as a file of them has them."""


def render(
    told: Told, folders: Mapping[str, Mapping[str, Place]], *, keys: str, snapshot: str
) -> bytes:
    """Return the file; equal images give equal texts, and one zlib equal bytes."""
    sections = list(_sections(folders))
    head = {
        "schema": SCHEMA,
        "base": told.base,
        "platform": told.platform,
        "media_type": told.media_type,
        "manifest": told.manifest.decode(),
        "configuration": told.configuration.decode(),
        "paths": sum(map(len, folders.values())),
        "sections": [[first, hashlib.sha256(text).hexdigest()] for first, text in sections],
    }
    facts = {"keys": keys, "snapshot": json.loads(snapshot)}
    texts = [_line(head), _line(facts), *(text for _, text in sections)]
    return b"".join(map(_packed, texts))


def _sections(folders: Mapping[str, Mapping[str, Place]]) -> Iterator[tuple[str, bytes]]:
    """Yield the first folder of each section, and its text."""
    first, text = "", bytearray()
    for folder in sorted(folders):
        first = first or folder
        text += _line([folder, [_row(name, at) for name, at in sorted(folders[folder].items())]])
        if len(text) >= SECTION:
            yield first, bytes(text)
            first, text = "", bytearray()
    if text:
        yield first, bytes(text)


def _row(name: str, place: Place) -> list[object]:
    row: list[object] = [name, place.kind, f"{place.mode:o}"]
    if place.kind == "link":
        row.append(place.target)
    elif place.kind == "file":
        row.append(place.size)
        row += [place.sha256] if place.sha256 else []
    return row


def _line(value: object) -> bytes:
    # ASCII: names in an image need not be Unicode.
    return json.dumps(value, separators=(",", ":")).encode() + b"\n"


def _packed(text: bytes) -> bytes:
    deflater = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = deflater.compress(text) + deflater.flush()
    header = _MEMBER.pack(_BEGIN, 0, 2, 255, 8, _SUBFIELD, 4, len(data))
    return header + data + _END.pack(zlib.crc32(text), len(text))


def parse(content: bytes, *, context: str) -> Record:
    """Return what the file holds; of its folders only those are read that are asked for.

    `InvalidFile` names ``context``, now or when a damaged section is met.
    """
    members = _Members(content, context)
    first, second = members.text(0), members.text(1)
    head, facts = members.document(first), members.document(second)
    if (schema := head.get("schema")) != SCHEMA:
        members.fail(f"{schema!r} is not a schema of this mxenv", f"known: {SCHEMA}")
    if not all(isinstance(head.get(name), str) for name in _HEAD):
        members.fail("does not say which image it is of")
    if not isinstance(facts.get("keys"), str) or "snapshot" not in facts:
        members.fail("holds no facts")
    sections = _Sections(members, head.get("sections"))
    told = Told(
        base=head["base"],
        platform=head["platform"],
        media_type=head["media_type"],
        manifest=head["manifest"].encode(),
        configuration=head["configuration"].encode(),
    )
    if f"sha256:{hashlib.sha256(told.manifest).hexdigest()}" != told.base:
        members.fail(f"its manifest is not {told.base}")
    return Record(
        told=told,
        digest=f"sha256:{hashlib.sha256(first).hexdigest()}",
        listing=Listing(folders=sections),
        keys=facts["keys"],
        snapshot=json.dumps(facts["snapshot"]),
    )


class _Members:
    """The gzip members of a file, found without unpacking them."""

    def __init__(self, content: bytes, context: str) -> None:
        self.content = content
        self.context = context
        self.places: list[tuple[int, int]] = []
        at = 0
        while at < len(content):
            start = at + _MEMBER.size
            if start > len(content):
                self.fail("ends early")
            begin, _, _, _, _, subfield, _, length = _MEMBER.unpack_from(content, at)
            at = start + length + _END.size
            if begin != _BEGIN or subfield != _SUBFIELD or at > len(content):
                self.fail("was not written by mxenv, or ends early")
            self.places.append((start, length))

    def fail(self, message: str, hint: str = AGAIN) -> NoReturn:
        raise InvalidFile(message, context=self.context, hint=hint)

    def text(self, number: int) -> bytes:
        """Return what one member holds."""
        if number >= len(self.places):
            self.fail("ends early")
        start, length = self.places[number]
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            text = inflater.decompress(self.content[start : start + length], LARGEST)
        except zlib.error:
            self.fail("is damaged")
        if not inflater.eof or (zlib.crc32(text), len(text)) != _END.unpack_from(
            self.content, start + length
        ):
            self.fail("is damaged")
        return text

    def document(self, text: bytes) -> dict[str, str]:
        """Return the object that a line holds."""
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            self.fail("is damaged")
        return value


class _Sections(Mapping[str, Mapping[str, Place]]):
    """The folders of a file, each section of them unpacked when it is first asked for."""

    def __init__(self, members: _Members, listed: object) -> None:
        if not isinstance(listed, list) or not all(map(_is_section, listed)):
            members.fail("does not say what it lists")
        self._members = members
        self._first: list[str] = [entry[0] for entry in listed]
        self._digests: list[str] = [entry[1] for entry in listed]
        if len(members.places) != len(listed) + 2 or self._first != sorted(self._first):
            members.fail("does not hold what it lists")
        self._lines: dict[int, dict[str, bytes]] = {}
        self._read: dict[str, Mapping[str, Place]] = {}

    def __getitem__(self, folder: str) -> Mapping[str, Place]:
        """Return what lies in ``folder``; raise `KeyError` if nothing does."""
        if folder not in self._read:
            line = self._section(bisect_right(self._first, folder) - 1)[folder]
            self._read[folder] = self._places(line)
        return self._read[folder]

    def __iter__(self) -> Iterator[str]:
        """Yield every folder that has something in it, sorted."""
        for number in range(len(self._first)):
            yield from self._section(number)

    def __len__(self) -> int:
        """Return how many there are."""
        return sum(1 for _ in self)

    def _section(self, number: int) -> dict[str, bytes]:
        if number < 0:
            return {}
        if number not in self._lines:
            text = self._members.text(number + 2)
            if hashlib.sha256(text).hexdigest() != self._digests[number]:
                self._members.fail("was changed: a section is not the one that it lists")
            self._lines[number] = {
                str(json.loads(found[1])): found[0] for found in _FOLDER.finditer(text)
            }
        return self._lines[number]

    def _places(self, line: bytes) -> Mapping[str, Place]:
        try:
            _, rows = json.loads(line)
            return {row[0]: _place(*row[1:]) for row in rows}
        except (ValueError, TypeError, LookupError, RecursionError):
            self._members.fail("holds a folder that is none")


def _is_section(entry: object) -> bool:
    match entry:
        case [str(), str(digest)]:
            return _DIGEST.fullmatch(digest) is not None
        case _:
            return False


def _place(kind: str, mode: str, what: object = "", sha256: str = "") -> Place:
    if kind not in KINDS or not isinstance(sha256, str):
        raise ValueError(kind)
    link = kind == "link"
    return Place(
        kind=kind,
        mode=int(mode, 8),
        size=what if isinstance(what, int) else 0,
        target=str(what) if link else "",
        sha256=sha256,
    )
