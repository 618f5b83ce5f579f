"""Files that mxenv writes are whole, or not there."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import pytest

from mxenv._files import write_atomically
from mxenv.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


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
