"""The headers of tar files, held against what Python's `tarfile` makes of them."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mxenv.stores._layer import Member, _members
from mxenv.stores._tar import HEADERS, Archive, Stream
from mxenv.stores._tar_header import number

if TYPE_CHECKING:
    from collections.abc import Iterator

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
KINDS = {
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
    tarfile.LNKTYPE: "hard link",
    tarfile.CHRTYPE: "char",
    tarfile.BLKTYPE: "block",
    tarfile.FIFOTYPE: "fifo",
}


@dataclass(frozen=True)
class Seen:
    """What is known of one member."""

    path: str
    kind: str
    mode: int
    target: str
    content: bytes


def whole(member: Member) -> Seen:
    content = b""
    if member.open is not None:
        file = member.open()
        while data := file.read(700):
            content += data
        assert len(content) == member.size
    return Seen(member.path, member.kind, member.mode, member.target, content)


def cut(data: bytes, sizes: list[int]) -> Iterator[bytes]:
    """Yield ``data`` in pieces of these sizes, again and again."""
    at = number = 0
    while at < len(data):
        yield data[at : at + sizes[number % len(sizes)]]
        at += sizes[number % len(sizes)]
        number += 1


def ours(data: bytes, sizes: list[int] | None = None) -> list[Seen]:
    archive = Archive(Stream(cut(data, sizes or [1 << 20])))
    return [whole(member) for member in _members(archive)]


def theirs(data: bytes) -> list[Seen]:
    seen = []
    with tarfile.open(fileobj=io.BytesIO(data), mode="r|") as archive:
        for info in archive:
            kind = KINDS.get(info.type, "file")
            if kind == "file" and not info.isreg():
                continue
            file = archive.extractfile(info) if kind == "file" else None
            target = f"/{info.linkname.lstrip('/')}" if kind == "hard link" else info.linkname
            content = file.read() if file else b""
            path = f"/{info.name.strip('/')}"
            seen.append(Seen(path, kind, info.mode & 0o7777, target, content))
    return seen


letters = st.characters(exclude_characters="\0/.", exclude_categories=("Cs",))
part = st.text(letters, min_size=1, max_size=40)
path = st.lists(part, min_size=1, max_size=8).map("/".join)


@st.composite
def entry(draw: st.DrawFn) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(draw(path))
    info.type = draw(st.sampled_from([tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE, *KINDS]))
    info.mode = draw(st.integers(0, 0o7777))
    info.mtime = draw(st.integers(0, 1 << 31) | st.floats(0, 1e9))
    info.uid = draw(st.integers(0, 1 << 20))
    info.uname = draw(st.text(letters, max_size=10))
    if info.type in {tarfile.SYMTYPE, tarfile.LNKTYPE}:
        info.linkname = draw(path)
    if info.type in {tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE}:
        content = draw(st.binary(max_size=1500))
        info.size = len(content)
        return info, content
    return info, b""


@st.composite
def archives(draw: st.DrawFn) -> bytes:
    out = io.BytesIO()
    kind = draw(st.sampled_from(FORMATS))
    given_to_all = draw(st.dictionaries(st.just("comment"), part)) if kind == FORMATS[2] else None
    with tarfile.open(fileobj=out, mode="w", format=kind, pax_headers=given_to_all) as archive:
        archive.addfile(tarfile.TarInfo("first"))
        for info, content in draw(st.lists(entry(), max_size=6)):
            if info.type == tarfile.AREGTYPE and info.name.encode()[:100].endswith(b"/"):
                continue  # `tarfile` takes what is left of a longer name for a directory
            try:
                archive.addfile(info, io.BytesIO(content))
            except ValueError:
                continue  # ustar cannot say it
    return out.getvalue()


class TestHeadersAreReadAsTarfileReadsThem:
    """Whatever the format, and however the bytes come in."""

    @given(archives(), st.lists(st.integers(1, 3000), min_size=1, max_size=5))
    def test_whole_archives(self, data: bytes, sizes: list[int]) -> None:
        assert ours(data, sizes) == theirs(data)

    @given(archives())
    def test_contents_that_nobody_reads_are_passed_over(self, data: bytes) -> None:
        named = [member.path for member in _members(Archive(Stream(cut(data, [777]))))]
        assert named == [seen.path for seen in theirs(data)]

    @given(st.binary(min_size=8, max_size=12))
    @example(b"\x80" + b"\0" * 10 + b"\x05")
    @example(b"\xff" * 12)
    @example(b"   644 \0")
    def test_numbers(self, field: bytes) -> None:
        try:
            expected = tarfile.nti(field)  # type: ignore[attr-defined]
        except tarfile.TarError:
            with pytest.raises(ValueError, match="invalid header"):
                number(field)
        else:
            assert number(field) == expected


def sparse(fields: dict[str, str], data: bytes, name: str = "x") -> bytes:
    """An archive with a sparse file as pax has them, and another file behind it."""
    info, behind = tarfile.TarInfo(name), tarfile.TarInfo("behind")
    info.size, info.pax_headers = len(data), fields
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(info, io.BytesIO(data))
        archive.addfile(behind)
    return out.getvalue()


@st.composite
def holes(draw: st.DrawFn) -> tuple[list[tuple[int, int]], int, bytes]:
    """Pieces of a sparse file, its size, and what is in the pieces."""
    gaps = draw(st.lists(st.tuples(st.integers(0, 900), st.integers(1, 900)), max_size=5))
    pieces, at = [], 0
    for gap, size in gaps:
        pieces.append((at + gap, size))
        at += gap + size
    total = sum(size for _, size in pieces)
    return pieces, at + draw(st.integers(0, 900)), draw(st.binary(min_size=total, max_size=total))


class TestSparseFiles:
    """Their holes are zeros again."""

    @given(holes())
    def test_the_map_in_a_pax_header(self, made: tuple[list[tuple[int, int]], int, bytes]) -> None:
        pieces, size, data = made
        pieces = pieces or [(0, 0)]
        listed = ",".join(f"{offset},{length}" for offset, length in pieces)
        fields = {"GNU.sparse.map": listed, "GNU.sparse.size": str(size)}
        packed = sparse(fields, data)
        assert ours(packed) == theirs(packed)

    @given(holes())
    def test_the_map_before_the_content(
        self, made: tuple[list[tuple[int, int]], int, bytes]
    ) -> None:
        pieces, size, data = made
        numbers = [len(pieces), *(number for piece in pieces for number in piece)]
        head = "".join(f"{number}\n" for number in numbers).encode()
        head += b"\0" * (-len(head) % 512)
        fields = {
            "GNU.sparse.major": "1",
            "GNU.sparse.minor": "0",
            "GNU.sparse.name": "its/own/name",
            "GNU.sparse.realsize": str(size),
        }
        packed = sparse(fields, head + data)
        assert ours(packed) == theirs(packed)
        assert ours(packed)[0].path == "/its/own/name"

    @given(holes(), st.sampled_from([(0, -1), (1, -1), (1, 1 << 40), (0, 1 << 40)]))
    def test_pieces_that_overlap_or_lie_outside_are_refused(
        self, made: tuple[list[tuple[int, int]], int, bytes], change: tuple[int, int]
    ) -> None:
        pieces, size, data = made
        place, by = change
        wrong = [(offset, length) for offset, length in [*pieces, (size, 0), (0, 1)]]
        if by > 0:
            last = [size, 1]
            last[place] += by
            wrong = [*pieces, (last[0], last[1])]
        listed = ",".join(f"{offset},{length}" for offset, length in wrong)
        packed = sparse({"GNU.sparse.map": listed, "GNU.sparse.size": str(size)}, data)
        with pytest.raises(ValueError, match="pieces of a sparse file"):
            ours(packed)


class TestDamageIsRefusedOrHarmless:
    """No bytes lead to anything but members or a `ValueError`; none are believed by half."""

    @given(archives(), st.data())
    def test_bytes_that_changed(self, data: bytes, draw: st.DataObject) -> None:
        at = draw.draw(st.integers(0, len(data) - 1))
        changed = data[:at] + bytes([data[at] ^ draw.draw(st.integers(1, 255))]) + data[at + 1 :]
        try:
            members = ours(changed)
        except ValueError:
            return
        assert len(members) <= len(ours(data))

    @given(archives(), st.data())
    def test_a_header_that_changed_is_never_the_end(self, data: bytes, draw: st.DataObject) -> None:
        # The first header is the member ``first`` or, before it, what is told of all.
        at = draw.draw(st.integers(0, 511).filter(lambda at: not 148 <= at < 156))
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        with pytest.raises(ValueError, match=r"bad checksum|invalid header"):
            ours(changed)

    @given(archives(), st.data())
    def test_an_archive_that_is_cut_off(self, data: bytes, draw: st.DataObject) -> None:
        members = ours(data)
        cut_off = data[: draw.draw(st.integers(1, len(data)))]
        try:
            fewer = ours(cut_off)
        except ValueError:
            return
        assert fewer == members[: len(fewer)]

    @given(st.binary(max_size=2000))
    def test_anything_at_all(self, data: bytes) -> None:
        with pytest.raises(ValueError, match=r"\w"):
            ours(b"x" + data)


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_what_is_told_of_a_member_that_does_not_come_is_refused(kind: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type = kind
    with pytest.raises(ValueError, match="announced"):
        ours(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))


def test_a_chain_of_headers_without_end_is_refused() -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.XHDTYPE
    chain = info.tobuf(tarfile.GNU_FORMAT) * (HEADERS // 512 + 2)
    with pytest.raises(ValueError, match="a header is longer than"):
        ours(chain)


@pytest.mark.parametrize("field", ["path", "linkpath", "size"])
def test_a_field_that_pax_tells_nothing_of_is_the_headers_own(field: str) -> None:
    info = tarfile.TarInfo("a")
    info.type, info.linkname = tarfile.SYMTYPE, "b"
    # Written by hand: `tarfile` drops a field without a value.
    line = f"{len(field) + (4 if len(field) < 6 else 5)} {field}=\n".encode()
    out = io.BytesIO()
    extended = tarfile.TarInfo("x")
    extended.type, extended.size = tarfile.XHDTYPE, len(line)
    out.write(extended.tobuf(tarfile.USTAR_FORMAT) + line.ljust(512, b"\0"))
    out.write(info.tobuf(tarfile.USTAR_FORMAT) + bytes(1024))
    assert [(seen.path, seen.target) for seen in ours(out.getvalue())] == [("/a", "b")]


def test_the_size_that_pax_tells_counts_as_in_a_file_that_ustar_cannot_hold() -> None:
    info = tarfile.TarInfo("large")
    info.pax_headers = {"size": "3"}
    out = io.BytesIO()
    out.write(info.tobuf(tarfile.PAX_FORMAT))
    out.write(b"abc" + bytes(509))
    out.write(tarfile.TarInfo("behind").tobuf())
    data = out.getvalue() + bytes(1024)
    assert [(seen.path, seen.content) for seen in ours(data)] == [
        ("/large", b"abc"),
        ("/behind", b""),
    ]
    assert ours(data) == theirs(data)


@pytest.mark.parametrize("kind", FORMATS[1:])
def test_an_old_file_whose_long_name_is_cut_at_a_slash_is_a_file(kind: int) -> None:
    info = tarfile.TarInfo(f"{'a' * 99}/b")
    info.type, info.size = tarfile.AREGTYPE, 3
    data = info.tobuf(kind) + b"abc" + bytes(509 + 1024)
    (seen,) = ours(data)
    assert (seen.path, seen.kind, seen.content) == (f"/{info.name}", "file", b"abc")


def test_an_old_directory_has_a_slash_behind_its_name() -> None:
    info = tarfile.TarInfo("a/b/")
    info.type = tarfile.AREGTYPE
    data = info.tobuf() + bytes(1024)
    assert [seen.kind for seen in ours(data)] == ["directory"]


def test_a_label_of_a_volume_is_no_file_and_what_it_says_is_passed_over() -> None:
    label, behind = tarfile.TarInfo("label"), tarfile.TarInfo("behind")
    label.type, label.size = b"V", 3
    data = label.tobuf() + b"abc" + bytes(509) + behind.tobuf() + bytes(1024)
    assert [seen.path for seen in ours(data)] == ["/behind"]
    assert ours(data) == theirs(data)
