"""What is true of every listing of a base, and of every set of layers on top of it."""

from __future__ import annotations

import hashlib
import posixpath
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxenv.base_record import Told, parse, render
from mxenv.errors import Incompatible, InvalidFile
from mxenv.layers import Entry, parents
from mxenv.listing import Listing, Place
from mxenv.lock import Base, Lock, Target
from mxenv.union import check

MANIFEST = b"{}"
TOLD = Told(
    base=f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}",
    platform="linux/amd64",
    media_type="m",
    manifest=MANIFEST,
    configuration=b"{}",
)
SITE = "/a/b"
LOCK = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="none",
    base=Base(reference="r.example.com/x", digest="sha256:" + "1" * 64),
    target=Target(
        platform="linux/amd64",
        python="3.11",
        prefix="/a",
        interpreter="/a/bin/python3",
        purelib=SITE,
        platlib=SITE,
        scripts="/a/bin",
        data="/a",
    ),
    packages=(),
)
# Names in an image are bytes: what is no Unicode comes as lone surrogates.
NAMES = st.one_of(
    st.sampled_from("abc"),
    st.text(st.characters(blacklist_characters="/\0"), min_size=1, max_size=6).filter(
        lambda name: name not in {".", ".."}
    ),
)
MODES = st.integers(0, 0o7777)
HASHES = st.sampled_from(["", "a" * 64, "b" * 64])
LEAVES = st.one_of(
    st.builds(Place, kind=st.just("file"), mode=MODES, size=st.integers(0, 3), sha256=HASHES),
    st.builds(Place, kind=st.just("link"), mode=MODES, target=st.text(max_size=5)),
    st.builds(Place, kind=st.sampled_from(["char", "block", "fifo", "directory"]), mode=MODES),
)
TREES = st.recursive(LEAVES, lambda inner: st.dictionaries(NAMES, inner, max_size=4), max_leaves=25)
ROOTS = st.dictionaries(NAMES, TREES, max_size=4)
Tree = dict[str, "Place | Tree"]


def folders(tree: Tree, at: str = "/") -> dict[str, dict[str, Place]]:
    """Return what a record is made from."""
    found: dict[str, dict[str, Place]] = {}
    if tree:
        found[at] = {
            n: v if isinstance(v, Place) else Place(kind="directory") for n, v in tree.items()
        }
    for name, value in tree.items():
        if isinstance(value, dict):
            found |= folders(value, posixpath.join(at, name))
    return found


def written(tree: Tree) -> bytes:
    return render(TOLD, folders(tree), keys="k", snapshot="{}")


@given(ROOTS)
def test_every_path_is_read_as_it_was_written(tree: Tree) -> None:
    record = parse(written(tree), context="f")
    found = {folder: dict(names) for folder, names in record.listing.folders.items()}
    assert found == folders(tree)


@given(ROOTS)
def test_equal_images_have_equal_bytes(tree: Tree) -> None:
    again = dict(reversed(tree.items()))
    assert written(tree) == written(again)


@given(ROOTS, st.integers(0, 1 << 20), st.integers(1, 255))
def test_one_wrong_byte_is_an_error_or_changes_nothing(tree: Tree, at: int, flip: int) -> None:
    content = bytearray(written(tree))
    content[at % len(content)] ^= flip
    with suppress(InvalidFile):
        record = parse(bytes(content), context="f")
        found = {folder: dict(names) for folder, names in record.listing.folders.items()}
        assert found == folders(tree)
        assert record.digest == parse(written(tree), context="f").digest


@given(ROOTS, st.integers(0, 1 << 20))
def test_a_file_that_ends_early_is_an_error(tree: Tree, length: int) -> None:
    content = written(tree)
    with pytest.raises(InvalidFile):
        parse(content[: length % len(content)], context="f")


ENTRIES = st.lists(
    st.builds(
        Entry,
        path=st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts)),
        sha256=st.sampled_from(["a" * 64, "b" * 64]),
        size=st.integers(0, 3),
        mode=st.sampled_from([0o644, 0o755]),
    ),
    max_size=6,
)


def refusal(entries: list[Entry], base: Listing) -> Incompatible | None:
    try:
        check([("a==1", entries)], base, LOCK)
    except Incompatible as error:
        return error
    return None


@given(ROOTS, ENTRIES)
def test_what_is_let_through_takes_nothing_of_the_base_away(
    tree: Tree, entries: list[Entry]
) -> None:
    base = Listing(folders=folders(tree))
    refused = refusal(entries, base)
    if refused is not None:
        paths = {path for each in entries for path in (each.path, *parents(each.path))}
        assert refused.context in paths
        assert base.at(refused.context) is not None
        assert "a==1" in refused.message
        return
    for each in entries:
        place = base.at(each.path)
        same = place is not None and (place.kind, place.sha256, place.size) == (
            "file",
            each.sha256,
            each.size,
        )
        assert place is None or same
        for folder in parents(each.path):
            above = base.at(folder)
            assert above is None or above.kind == "directory"


@given(ROOTS, ENTRIES)
def test_a_listing_that_was_written_and_read_decides_the_same(
    tree: Tree, entries: list[Entry]
) -> None:
    read = parse(written(tree), context="f").listing
    assert str(refusal(entries, Listing(folders=folders(tree)))) == str(refusal(entries, read))
