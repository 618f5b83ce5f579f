"""What the engine's own reader of tar files says of what Python's wrote, and of nonsense."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxenv.engines._tar import Found, Reader

NAMES = st.text(
    st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1, max_size=90
).filter(lambda name: name not in {".", ".."})
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)
FILES = st.dictionaries(PATHS, st.tuples(st.binary(max_size=3000), st.sampled_from([0o644, 0o755])))


def archive(files: dict[str, tuple[bytes, int]], form: int = tarfile.PAX_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as tar:
        for path, (data, mode) in files.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(data), mode
            tar.addfile(member, io.BytesIO(data))
    return stream.getvalue()


def read(data: bytes, *pieces: int, keep: str = "") -> list[Found]:
    found: list[Found] = []
    reader = Reader(found.append, keep=keep.__eq__)
    at = 0
    for piece in (*pieces, len(data)):
        reader.feed(data[at : at + piece])
        at += piece
    reader.close()
    return found


@given(FILES, st.lists(st.integers(1, 2000), max_size=30))
def test_it_finds_what_python_wrote_however_the_bytes_come(
    files: dict[str, tuple[bytes, int]], pieces: list[int]
) -> None:
    found = read(archive(files), *pieces)
    assert [(f.path, f.kind, f.mode, f.size, f.sha256) for f in found] == [
        # A name that ends in a slash is a directory's.
        (path, "file", mode, len(data), hashlib.sha256(data).hexdigest())
        for path, (data, mode) in files.items()
    ]


def test_the_beginning_of_a_file_is_kept_where_it_is_asked_for() -> None:
    data = archive({"a": (b"one", 0o644), "b": (b"two", 0o644)})
    assert [found.start for found in read(data, keep="b")] == [b"", b"two"]


def test_a_directory_has_neither_content_nor_a_slash() -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        member = tarfile.TarInfo("a/b/")
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(member)
    (found,) = read(stream.getvalue())
    assert (found.path, found.kind, found.mode, found.sha256) == ("a/b", "directory", 0o755, "")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, b"S"]
)
def test_what_no_layer_of_mxenv_has_is_refused(kind: bytes) -> None:
    member = tarfile.TarInfo("a")
    member.type, member.linkname = kind, "b"
    data = member.tobuf(tarfile.USTAR_FORMAT) + bytes(1024)
    with pytest.raises(ValueError, match="of kind"):
        read(data)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT])
def test_another_format_of_headers_is_refused(form: int) -> None:
    with pytest.raises(ValueError, match="ustar"):
        read(archive({"a": (b"", 0o644)}, form))


def changed(place: int, new: bytes) -> bytes:
    data = bytearray(archive({"a": (b"x", 0o644), "b": (b"", 0o644)}))
    data[place : place + len(new)] = new
    block = data[:512]
    block[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(block)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (archive({"a": (b"", 0o644)})[:512], "ends early"),
        (archive({"a": (b"xyz", 0o644)})[:514], "ends early"),
        (archive({"a": (b"", 0o644)})[:700], "ends early"),
        (b"", "ends early"),
        (b"\1" * 512, "ustar"),
        (changed(600, b"\1"), "padding"),
        (changed(124, b"9"), "a number"),
        (changed(124, b"-1"), "a number"),
        (changed(156, b"5"), "directory has content"),
        (changed(156, b"x"), "int"),
        (archive({"a": (b"", 0o644)}) + archive({"b": (b"", 0o644)}), "follows its end"),
    ],
)
def test_nonsense_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(data)


def test_a_wrong_checksum_is_refused() -> None:
    data = bytearray(archive({"a": (b"x", 0o644)}))
    data[0] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        read(bytes(data))


def pax(record: bytes, times: int = 1) -> bytes:
    member = tarfile.TarInfo("p")
    member.type, member.size = tarfile.XHDTYPE, len(record)
    one = member.tobuf(tarfile.USTAR_FORMAT) + record + bytes(-len(record) % 512)
    return one * times + archive({"a": (b"", 0o644)})


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (b"9 path=b\n", ""),
        (b"8 path=b\n", "pax record"),
        (b"99 path=b\n", "pax record"),
        (b"7 path\n", "pax record"),
        (b"x path=b\n", "int"),
        (b"", "too long"),
        (bytes(1024 * 1024 + 1), "too long"),
    ],
)
def test_a_pax_record_has_its_own_length(record: bytes, message: str) -> None:
    if message:
        with pytest.raises(ValueError, match=message):
            read(pax(record))
    else:
        assert read(pax(record))[0].path == "b"


def test_two_pax_records_for_one_entry_are_refused() -> None:
    with pytest.raises(ValueError, match="two pax"):
        read(pax(b"9 path=b\n", times=2))
