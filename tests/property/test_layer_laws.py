"""What is true of every plan of layers, and of every tar header."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from mxenv.archive import END, header, stored
from mxenv.layers import LIMIT, SMALL, directories, parents, plan
from mxenv.lock import Base, Lock, Package, Target, Wheel

if TYPE_CHECKING:
    from random import Random

NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)
SIZES = st.integers(0, 10 * SMALL)
PATHS = st.lists(
    st.text(st.characters(blacklist_characters="/\0", blacklist_categories=("Cs",)), min_size=1)
    .filter(lambda part: part not in {".", ".."})
    .map(lambda part: part[:80]),
    min_size=1,
    max_size=8,
).map(lambda parts: "/" + "/".join(parts))
SITE = "/opt/x/lib/python3.11/site-packages"
LOCK = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="metax",
    base=Base(reference="scratch"),
    target=Target(
        platform="linux/amd64",
        python="3.11",
        prefix="/opt/x",
        interpreter="/opt/x/bin/python3",
        purelib=SITE,
        platlib=SITE,
        scripts="/opt/x/bin",
        data="/opt/x",
    ),
    packages=(),
)


def package(name: str, size: int) -> Package:
    wheel = Wheel(name=f"{name}-1-py3-none-any.whl", sha256="0" * 64, size=size)
    return Package(name=name, version="1", wheel=wheel)


PACKAGES = st.dictionaries(NAMES, SIZES, max_size=300).map(
    lambda sizes: [package(name, size) for name, size in sizes.items()]
)


@given(PACKAGES, st.randoms(use_true_random=False), st.integers(0, LIMIT - 2))
def test_the_order_of_packages_makes_no_difference(
    packages: list[Package], random: Random, base: int
) -> None:
    shuffled = packages[:]
    random.shuffle(shuffled)
    one = plan(replace(LOCK, packages=tuple(packages)), base_layers=base)
    other = plan(replace(LOCK, packages=tuple(shuffled)), base_layers=base)
    assert one == other


@given(PACKAGES, st.integers(0, LIMIT - 2))
def test_every_wheel_is_in_one_layer_and_the_limit_holds(
    packages: list[Package], base: int
) -> None:
    layers = plan(replace(LOCK, packages=tuple(packages)), base_layers=base)
    names = sorted(p.name for layer in layers for p in layer.packages)
    assert names == sorted(p.name for p in packages)
    assert base + len(layers) + 1 <= LIMIT


def changed(packages: list[Package], more: Package, base: int) -> int:
    """Return how many layers are no longer there when there is one more package."""
    before = plan(replace(LOCK, packages=tuple(packages)), base_layers=base)
    after = plan(replace(LOCK, packages=(*packages, more)), base_layers=base)
    return len({layer.key for layer in before} - {layer.key for layer in after})


@given(PACKAGES, SIZES, st.integers(0, LIMIT - 2))
def test_one_more_package_changes_few_layers_whatever_there_was(
    packages: list[Package], size: int, base: int
) -> None:
    # At worst its own, and those of one wheel that has to make room.
    assert changed(packages, package("one-more", size), base) <= 3


@given(st.lists(SIZES, max_size=80), SIZES, st.integers(0, 30))
def test_one_more_package_changes_one_layer_at_most_below_the_limit(
    sizes: list[int], size: int, base: int
) -> None:
    packages = [package(f"p{n}", each) for n, each in enumerate(sizes)]
    assert changed(packages, package("one-more", size), base) <= (0 < size < SMALL)


@given(PACKAGES, st.data())
def test_another_version_of_one_package_changes_its_own_layer_alone(
    packages: list[Package], data: st.DataObject
) -> None:
    if packages:
        chosen = data.draw(st.sampled_from(packages))
        other = replace(chosen, wheel=replace(chosen.wheel, sha256="1" * 64))
        after = [other if each is chosen else each for each in packages]
        keys = [
            {layer.key for layer in plan(replace(LOCK, packages=tuple(each)), base_layers=20)}
            for each in (packages, after)
        ]
        assert len(keys[0] - keys[1]) == len(keys[1] - keys[0]) == 1


@given(st.lists(PATHS), st.sets(PATHS))
def test_a_directory_has_one_entry_before_all_that_is_in_it(
    paths: list[str], skipped: set[str]
) -> None:
    found = directories(paths, skipped=frozenset(skipped))
    assert len(set(found)) == len(found)
    assert list(found) == sorted(found)
    for path in paths:
        assert set(parents(path)) <= set(found) | skipped


@given(PATHS, st.integers(0, 2**40), st.sampled_from([0o644, 0o755]))
def test_any_tar_reader_gets_back_path_size_and_mode(path: str, size: int, mode: int) -> None:
    head = header(path, size=size, mode=mode)
    with tarfile.open(fileobj=io.BytesIO(head + END), mode="r|") as archive:
        found = archive.next()
    assert (f"/{found.name}", found.size, found.mode) == (path, size, mode)


@given(st.lists(st.binary(max_size=200_000), max_size=4))
def test_stored_members_in_a_row_are_one_stream(pieces: list[bytes]) -> None:
    blob = b"".join(part for piece in pieces for part in stored(piece, crc=zlib.crc32(piece)))
    assert gzip.decompress(blob) == b"".join(pieces)
