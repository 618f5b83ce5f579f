from __future__ import annotations

import gzip
import io
import tarfile
import zlib

import pytest

from mxenv.archive import (
    BLOCK,
    END,
    GZIP_HEADER,
    MTIME,
    OCTAL_SIZE,
    STORED,
    header,
    padding,
    stored,
    trailer,
)


def member_of(head: bytes) -> tarfile.TarInfo:
    with tarfile.open(fileobj=io.BytesIO(head + END)) as archive:
        return archive.getmembers()[0]


@pytest.mark.parametrize(
    "path",
    [
        "/a",
        "/" + "n" * 100,
        "/" + "folder/" * 20 + "n" * 90,
        "/" + "f" * 155 + "/" + "n" * 100,
        "/" + "f" * 156 + "/" + "n" * 100,
        "/" + "n" * 101,
        "/" + "f/" * 200 + "n",
        "/opt/ünicode/名.py",
    ],
)
@pytest.mark.parametrize("directory", [False, True])
def test_a_tar_reader_finds_the_path_that_was_written(path: str, *, directory: bool) -> None:
    found = member_of(header(path, directory=directory, mode=0o755))
    assert found.name == path[1:]
    assert found.isdir() == directory
    assert (found.mode, found.uid, found.gid, found.uname, found.gname) == (0o755, 0, 0, "", "")
    assert found.mtime == MTIME


def test_a_short_ascii_path_needs_one_block() -> None:
    assert len(header("/a/b.py")) == BLOCK


@pytest.mark.parametrize("size", [0, 1, OCTAL_SIZE - 1, OCTAL_SIZE, 10 * OCTAL_SIZE + 1])
def test_a_tar_reader_finds_the_size_that_was_written(size: int) -> None:
    # Read as a stream: the content is not there.
    head = header("/big", size=size)
    with tarfile.open(fileobj=io.BytesIO(head), mode="r|") as archive:
        found = archive.next()
    assert found is not None
    assert found.size == size


@pytest.mark.parametrize(("size", "zeros"), [(0, 0), (1, 511), (512, 0), (513, 511)])
def test_content_is_padded_to_whole_blocks(size: int, zeros: int) -> None:
    assert padding(size) == bytes(zeros)


@pytest.mark.parametrize("size", [0, 1, STORED - 1, STORED, STORED + 1, 3 * STORED])
def test_a_gzip_reader_finds_what_was_stored(size: int) -> None:
    data = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    blob = b"".join(stored(data, crc=zlib.crc32(data)))
    assert gzip.decompress(blob) == data
    assert len(blob) <= size + 18 + 5 * (size // STORED + 1)


def test_a_deflated_member_between_stored_ones_reads_as_one_stream() -> None:
    text = b"text " * 1000
    packed = zlib.compressobj(wbits=-15)
    deflated = packed.compress(text) + packed.flush()
    blob = b"".join(
        (
            *stored(b"before ", crc=zlib.crc32(b"before ")),
            GZIP_HEADER,
            deflated,
            trailer(zlib.crc32(text), len(text)),
            *stored(b"after", crc=zlib.crc32(b"after")),
        )
    )
    assert gzip.decompress(blob) == b"before " + text + b"after"


def test_a_size_beyond_four_gigabytes_is_written_modulo_as_gzip_has_it() -> None:
    assert trailer(0, 2**32 + 5) == b"\0\0\0\0\x05\0\0\0"
