from __future__ import annotations

import pytest
from _programs import field, varint

from mxenv.wire import BLOCK, Wire, signed


def wire(content: bytes, most: int = 100) -> tuple[Wire, list[int]]:
    reads: list[int] = []

    def read(offset: int, length: int) -> bytes:
        reads.append(length)
        return content[offset : offset + length]

    return Wire(read, len(content), most=most), reads


def all_of(content: bytes) -> list[tuple[int, int, int, int]]:
    return list(wire(content)[0].fields(0, len(content)))


def test_every_type_of_field_is_found_with_its_place() -> None:
    content = field(1, 300) + field(2, b"ab") + field(3, 1.0) + varint(4 << 3 | 1) + bytes(8)
    assert all_of(content) == [(1, 0, 300, 0), (2, 2, 5, 7), (3, 5, 8, 12), (4, 1, 13, 21)]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x08", "a number that does not end, at byte 1"),
        (b"\x80" * 12, "a number that does not end, at byte 0"),
        (b"\x00\x00", "a field without a number at byte 0"),
        (b"\x0b", "a field of the type 3 at byte 0"),
        (b"\x0d\x00\x00", "4 bytes at byte 0, where 2 are left"),
        (b"\x0a" + varint(1 << 63), f"{1 << 63} bytes at byte 0, where 0 are left"),
        (b"\x0a\x05ab", "5 bytes at byte 0, where 2 are left"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        all_of(content)


def test_a_field_does_not_end_past_the_message_that_it_is_in() -> None:
    content = field(1, b"\x0a\x05") + b"12345"
    inner, _ = wire(content)
    with pytest.raises(ValueError, match="5 bytes at byte 2, where 0 are left"):
        list(inner.fields(2, 4))


def test_what_is_skipped_is_not_read() -> None:
    content = field(1, bytes(BLOCK * 8)) + field(2, 7)
    found, reads = wire(content)
    assert [one[0] for one in found.fields(0, len(content))] == [1, 2]
    assert sum(reads) < BLOCK * 2


def test_more_fields_than_allowed_are_refused_and_long_texts_are_some() -> None:
    found, _ = wire(field(1, 1) * 5, most=4)
    with pytest.raises(ValueError, match="it has more than 4 fields"):
        list(found.fields(0, 10))
    found, _ = wire(b"a" * 640, most=9)
    with pytest.raises(ValueError, match="it has more than 9 fields"):
        found.text(0, 640)


def test_texts_and_numbers_are_read_where_they_lie() -> None:
    content = bytes(BLOCK - 2) + "schön".encode() + varint(5) + varint(1 << 40)
    found, _ = wire(content, most=1 << 20)
    found.piece(0, 4)
    assert found.text(BLOCK - 2, BLOCK + 4) == "schön"
    assert list(found.numbers(BLOCK + 4, len(content))) == [5, 1 << 40]
    assert found.text(0, 1) == "\0"
    with pytest.raises(ValueError, match="does not end"):
        list(found.numbers(len(content) - 2, len(content) - 1))


def test_a_number_of_64_bits_may_be_less_than_nothing() -> None:
    assert [signed(7), signed((1 << 64) - 3)] == [7, -3]


def test_a_file_that_became_shorter_is_one_that_is_cut() -> None:
    found = Wire(lambda *_: b"", 10, most=5)
    with pytest.raises(ValueError, match="it ends at byte 0, and became shorter"):
        list(found.fields(0, 10))


def test_a_piece_that_was_read_already_is_not_read_again() -> None:
    found, reads = wire(b"abcdef")
    assert (found.piece(0, 3), found.piece(2, 6), len(reads)) == (b"abc", b"cdef", 1)


def test_a_piece_may_be_longer_than_what_is_read_at_a_time() -> None:
    content = bytes(BLOCK * 3)
    assert wire(content)[0].piece(1, len(content)) == content[1:]
