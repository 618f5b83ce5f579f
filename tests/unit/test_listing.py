from __future__ import annotations

from mxenv.listing import ROOT, Listing, Place

FILE = Place(kind="file", mode=0o644, size=3)
LISTING = Listing(
    folders={
        "/": {"usr": Place(kind="directory"), "top": FILE},
        "/usr": {"a": FILE},
    }
)


def test_a_path_is_found_in_the_folder_above_it() -> None:
    assert LISTING.at("/usr/a") == FILE
    assert LISTING.at("/top") == FILE


def test_the_root_is_a_directory() -> None:
    assert LISTING.at("/") is ROOT
    assert ROOT.kind == "directory"


def test_what_is_not_there_is_nothing() -> None:
    assert LISTING.at("/usr/b") is None
    assert LISTING.at("/none/b") is None
    assert LISTING.names("/usr/a") == {}
