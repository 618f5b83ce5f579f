"""What lies in a folder of metadata is told from its names as from a look at each file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Unreadable
from mxenv.question import File, Found, Glob, Link, Part
from mxenv.transports._disk import DiskTree
from mxenv.transports._tree import Walker

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.question import Question

SITE = "/lib/python3.11/site-packages"
NAMES = ("METADATA", "RECORD", "INSTALLER", "direct_url.json", "PKG-INFO")


def lay(top: Path) -> None:
    """Lay metadata in every way that there is: whole, in part, as links, as what is no file."""
    site = top / SITE.removeprefix("/")
    site.mkdir(parents=True)
    for name in ("whole-1", "partly-2", "links-3", "odd-4", "other-5"):
        (site / f"{name}.dist-info").mkdir()
    for name in NAMES[:4]:
        (site / "whole-1.dist-info" / name).write_text(f"Name: {name}\nVersion: 1\n")
    (site / "partly-2.dist-info/METADATA").write_text("Name: partly\nVersion: 2\n")
    links = site / "links-3.dist-info"
    (links / "METADATA").symlink_to("../whole-1.dist-info/METADATA")
    (links / "RECORD").symlink_to("/etc/hostname")  # of the tree, in which there is none
    (links / "INSTALLER").symlink_to("INSTALLER")
    odd = site / "odd-4.dist-info"
    os.mkfifo(odd / "METADATA")
    (odd / "RECORD").mkdir()
    (site / "twin-6.dist-info").symlink_to("whole-1.dist-info")
    (site / "away-7.dist-info").symlink_to("/nowhere")
    (site / "file-8.dist-info").write_text("")


def answers(walker: Walker) -> dict[object, object]:
    """Ask for all that is asked of metadata, and for some of it once more by itself."""
    ends = [(name, part) for name in NAMES for part in (Part.HEAD, Part.METADATA, Part.LINK, None)]
    globs: list[Question] = [Glob(f"{SITE}/*-info/{name}", part, 64) for name, part in ends]
    single: list[Question] = [File(f"{SITE}/links-3.dist-info/{name}") for name in NAMES]
    asked = (*globs, *single, Link(f"{SITE}/twin-6.dist-info"))
    return {question: walker.answer(question) for question in asked}


def test_names_tell_what_a_look_at_each_file_does(tmp_path: Path) -> None:
    lay(tmp_path)
    disk = DiskTree(str(tmp_path))
    told = answers(Walker(disk, sorts=disk.sorts))
    assert told == answers(Walker(disk))
    found = told[Glob(f"{SITE}/*-info/METADATA", Part.HEAD, 64)]
    assert isinstance(found, Found)
    parts = {path.split("/")[-2]: part for path, part in found.value}
    assert parts["links-3.dist-info"] == parts["whole-1.dist-info"]
    assert parts["odd-4.dist-info"] == Unreadable("not a file but a fifo")
    assert "other-5.dist-info" not in parts
    records = told[Glob(f"{SITE}/*-info/RECORD", Part.HEAD, 64)]
    assert isinstance(records, Found)
    assert dict(records.value)[f"{SITE}/links-3.dist-info/RECORD"] == Absent()


def test_of_a_folder_that_shows_no_names_each_file_is_looked_at(tmp_path: Path) -> None:
    lay(tmp_path)
    disk = DiskTree(str(tmp_path))

    def closed(path: str) -> tuple[frozenset[str], frozenset[str]]:
        raise PermissionError(13, "Permission denied", path)

    assert answers(Walker(disk, sorts=closed)) == answers(Walker(disk))
