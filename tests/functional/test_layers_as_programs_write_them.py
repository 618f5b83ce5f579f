"""Layers that GNU tar, busybox, gzip and zstd wrote, read without any of them."""

from __future__ import annotations

import gzip
import importlib
import os
import random
import shutil
import subprocess
import threading
from datetime import UTC, datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from _layouts import OCI, add_index, add_manifest, describe, file, put, sha256, tar

from mxenv.errors import LayoutError
from mxenv.stores import layout as layouts
from mxenv.stores import unpacked
from mxenv.stores.description import describe as described

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mxenv.stores.unpacked import Unpacked, Want

LONG = "-".join(["long"] * 40)
GNU = [
    ("--format=gnu",),
    ("--format=gnu", "--sparse"),
    ("--format=ustar",),
    ("--format=v7",),
    ("--format=oldgnu", "--sparse"),
    ("--format=pax",),
    ("--format=pax", "--sparse", "--sparse-version=0.0"),
    ("--format=pax", "--sparse", "--sparse-version=0.1"),
    ("--format=pax", "--sparse", "--sparse-version=1.0"),
    ("--format=pax", "--pax-option=globexthdr.name=g,comment=all"),
    ("--format=gnu", "--label=volume"),
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files of the odd kinds."""
    top = tmp_path / "tree"
    (top / "d" / "e").mkdir(parents=True)
    (top / "d" / "empty").touch()
    (top / "d" / "text").write_text("words\n" * 500)
    (top / "d" / "text").chmod(0o4711)
    (top / "d" / "link").symlink_to("../d/text")
    (top / "hard").hardlink_to(top / "d" / "text")
    os.mkfifo(top / "fifo")
    for name in ("holes", f"d/holes-{LONG}"):
        with (top / name).open("wb") as made:
            for place in range(40):
                made.seek(place * 100_000 + 7)
                made.write(b"data" * 300)
            made.truncate(5_000_000)
    (top / "d" / f"{LONG}-ünicode").write_text("1")
    (top / f"to-{LONG}").symlink_to(f"nowhere/{LONG}")
    return top


def image(layout: Path, blob: bytes, plain: bytes) -> Path:
    put(layout, blob)
    below = [describe(f"{OCI}.layer.v1.tar", blob)]
    add_index(layout, [add_manifest(layout, [], base=below, base_diff_ids=[sha256(plain)])])
    return layout


def hashed(layout: Path) -> Unpacked:
    def want(path: str) -> Want:
        del path
        return unpacked.Want.HASH | unpacked.Want.CONTENT

    source = layouts.open_source(str(layout))
    return unpacked.read(source, described(source, ""), want)


def differences(files: Unpacked, tree: Path) -> Iterator[str]:
    """Yield every path below ``tree`` that the image has otherwise."""
    for path in sorted(tree.rglob("*")):
        node = files.at(f"/{path.relative_to(tree)}")
        if node is None:
            yield f"{path} is missing"
        elif path.is_symlink():
            if (node.kind, node.target) != ("link", str(path.readlink())):
                yield f"{path} is {node.kind} to {node.target}"
        elif path.is_file():
            content = files.contents[node.origin].data if node.size else b""
            if (node.mode, content) != (path.stat().st_mode & 0o7777, path.read_bytes()):
                yield f"{path} has another content or mode"
        elif node.kind != ("directory" if path.is_dir() else "fifo"):
            yield f"{path} is {node.kind}"


@pytest.mark.parametrize("options", GNU, ids=" ".join)
def test_what_gnu_tar_writes_is_read_as_it_was(
    tree: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    if options[0] in {"--format=ustar", "--format=v7"}:
        for path in [*tree.glob("*-long*"), *tree.glob("d/*long*")]:
            path.unlink()
    if "--format=v7" in options:
        (tree / "fifo").unlink()
    argv = ["tar", *options, "-C", str(tree), "-cf", "-", "."]
    plain = subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout
    files = hashed(image(tmp_path / "i", plain, plain))
    assert list(differences(files, tree)) == []


def test_what_busybox_writes_is_read_as_it_was(tree: Path, tmp_path: Path) -> None:
    if not shutil.which("busybox"):
        pytest.skip("no busybox here")
    (tree / "fifo").unlink()
    argv = ["busybox", "tar", "-C", str(tree), "-c", "-f", "-", "."]
    plain = subprocess.run(argv, check=True, stdout=subprocess.PIPE).stdout
    files = hashed(image(tmp_path / "i", plain, plain))
    assert list(differences(files, tree)) == []


def layer() -> bytes:
    """A tar file that compresses neither well nor badly."""
    noise = random.Random(1)  # noqa: S311 - nothing secret
    files = [file(f"f{n}", noise.randbytes(n * 100) + b"text" * n * 50) for n in range(200)]
    return tar([*files, file("zeros", bytes(9_000_000))])


def test_a_gzip_member_for_each_file_and_zeros_between_them_are_one_stream(tmp_path: Path) -> None:
    plain = layer()
    cuts = [*range(0, 400_000, 1_111), *range(400_000, len(plain), 1_000_000), len(plain)]
    members = [gzip.compress(plain[a:b], 6, mtime=0) + bytes(a % 3) for a, b in pairwise(cuts)]
    files = hashed(image(tmp_path / "i", b"".join(members), plain))
    assert len(files.root.children) == 201


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda packed: packed[:-9], "ends before"),
        (lambda packed: packed + b"and more", "damaged"),
        (lambda packed: packed[:5000] + b"\xff" * 50 + packed[5050:], "damaged"),
        (lambda packed: packed[:-6] + b"\0\0" + packed[-4:], "damaged"),
    ],
    ids=["cut", "followed by rubbish", "other bytes", "another checksum"],
)
def test_a_gzip_file_that_is_damaged_is_refused(
    tmp_path: Path, damage: object, reason: str
) -> None:
    plain = layer()
    packed = damage(gzip.compress(plain, 1, mtime=0))  # type: ignore[operator]
    layout = image(tmp_path / "i", packed, plain)
    with pytest.raises(LayoutError, match=reason):
        hashed(layout)


def test_zstd_is_read_where_something_can_and_damage_is_refused(tmp_path: Path) -> None:
    for name in ("compression.zstd", "backports.zstd"):
        try:
            zstd = importlib.import_module(name)
        except ImportError:
            continue
        break
    else:
        pytest.skip("nothing here reads zstd")
    plain = layer()
    packed = zstd.compress(plain)
    assert len(hashed(image(tmp_path / "i", packed, plain)).root.children) == 201
    for number, broken in enumerate((packed[:-9], packed[:5000] + b"\xff" * 50 + packed[5050:])):
        with pytest.raises(LayoutError, match=r"is damaged|holds sha256"):
            hashed(image(tmp_path / str(number), broken, plain))


def test_no_thread_is_left_however_the_reading_of_a_layer_ends(tmp_path: Path) -> None:
    before = threading.active_count()
    plain = layer()
    layout = image(tmp_path / "i", gzip.compress(plain, 1, mtime=0), plain)
    source = layouts.open_source(str(layout))
    description = described(source, "")
    calls = []

    def check() -> None:
        calls.append(datetime.now(UTC))
        if len(calls) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        unpacked.read(source, description, lambda _: unpacked.Want.NOTHING, check)
    assert threading.active_count() == before
    hashed(layout)
    assert threading.active_count() == before
