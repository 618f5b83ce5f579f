"""Files are read and written whole, or not at all."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from mxenv._files import read, unwritable, write_atomically
from mxenv.errors import UsageError


def test_text_and_bytes_are_written_and_folders_made(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a/b", "caf\xe9\n")
    write_atomically(tmp_path / "a/c", b"\xff")
    assert (tmp_path / "a/b").read_bytes() == b"caf\xc3\xa9\n"
    assert (tmp_path / "a/c").read_bytes() == b"\xff"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b", "c"]


def test_what_was_there_stays_until_all_is_written(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    with pytest.raises(UsageError, match="cannot be written") as raised:
        write_atomically(tmp_path / "dir", "x")
    assert raised.value.context == str(tmp_path / "dir")
    assert [path.name for path in tmp_path.iterdir()] == ["dir"]


def test_what_is_no_file_is_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(UsageError, match="is there and not a file"):
            write_atomically(tmp_path / name, "x")
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()


def test_a_full_disk_is_not_the_fault_of_the_path(tmp_path: Path) -> None:
    error = unwritable(tmp_path, OSError(errno.ENOSPC, "No space left on device"), hint="")
    assert isinstance(error, OSError)
    assert (error.errno, error.filename) == (errno.ENOSPC, str(tmp_path))
    assert isinstance(unwritable(tmp_path, OSError(errno.EROFS, "Read-only"), hint=""), UsageError)


def test_what_a_command_says_is_read_like_a_file() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader), os.fdopen(writer, "wb") as file:
        threading.Timer(0.1, lambda: (file.write(b"x" * 70000), file.close())).start()
        assert read(Path(f"/dev/fd/{reader}"), limit=100000) == b"x" * 70000


def test_a_file_is_read_up_to_a_limit(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert read(tmp_path / "x", limit=5) == b"12345"
    with pytest.raises(OSError, match="larger than 0 MiB"):
        read(tmp_path / "x", limit=4)


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_the_mode_is_what_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomically(tmp_path / "x", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", ""])
def test_a_name_that_cannot_be_is_a_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_atomically(tmp_path / name, "x")


def test_the_longest_name_that_can_be_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("x" * 255), "x")
    assert (tmp_path / ("x" * 255)).read_text() == "x"
