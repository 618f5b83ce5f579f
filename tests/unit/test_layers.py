from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from mxenv.errors import Incompatible
from mxenv.layers import (
    BUCKETS,
    FORMAT,
    LIMIT,
    SMALL,
    STANDARD,
    Entry,
    base_directories,
    check_union,
    directories,
    parents,
    plan,
)
from mxenv.lock import Base, Lock, Package, Target, Wheel

SITE = "/usr/local/lib/python3.11/dist-packages"
LOCK = Lock(
    name="demo",
    inputs="sha256:" + "0" * 64,
    accelerator="metax",
    base=Base(reference="scratch"),
    target=Target(
        platform="linux/amd64",
        python="3.11",
        prefix="/usr",
        interpreter="/usr/bin/python3",
        purelib=SITE,
        platlib=SITE,
        scripts="/usr/local/bin",
        data="/usr/local",
    ),
    packages=(),
)


def package(name: str, *, size: int = 1000, sha256: str = "0" * 64) -> Package:
    wheel = Wheel(name=f"{name}-1.0-py3-none-any.whl", sha256=sha256, size=size)
    return Package(name=name, version="1.0", wheel=wheel)


def lock_of(*packages: Package) -> Lock:
    return replace(LOCK, packages=packages)


def entry(path: str, *, sha256: str = "a", mode: int = 0o644) -> Entry:
    return Entry(path=path, sha256=sha256, size=1, mode=mode)


def test_each_wheel_has_a_layer_of_its_own_sorted_by_name() -> None:
    layers = plan(lock_of(package("b", size=SMALL), package("a", size=SMALL)), base_layers=3)
    assert [layer.title for layer in layers] == ["a==1.0", "b==1.0"]


def test_small_wheels_share_layers_though_there_is_room_for_each() -> None:
    small = [package(f"small{n}", size=SMALL - 1) for n in range(60)]
    layers = plan(lock_of(*small, package("big", size=SMALL)), base_layers=0)
    assert len(layers) <= BUCKETS + 1
    assert ["big"] in [[p.name for p in layer.packages] for layer in layers]


def test_a_wheel_whose_size_nobody_told_is_not_taken_for_a_small_one() -> None:
    unknown = [package(f"p{n}", size=0) for n in range(60)]
    assert len(plan(lock_of(*unknown), base_layers=0)) == 60


def test_one_wheel_too_many_makes_one_pair_of_the_smallest_share() -> None:
    packages = [package(f"p{n}", size=SMALL * (n + 1)) for n in range(LIMIT)]
    layers = plan(lock_of(*packages), base_layers=0)
    assert len(layers) == LIMIT - 1
    (pair,) = [layer for layer in layers if len(layer.packages) > 1]
    assert len(pair.packages) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"python": "3.12"},
        {"interpreter": "/opt/python3"},
        {"purelib": "/x"},
        {"platlib": "/x"},
        {"scripts": "/x"},
        {"data": "/x"},
        {"prefix": "/opt/x"},
    ],
)
def test_whatever_the_bytes_of_a_layer_depend_on_is_in_its_key(change: dict[str, str]) -> None:
    lock = replace(lock_of(package("a")), base=Base(reference="oci:x", digest="sha256:0"))
    other = replace(lock, target=replace(lock.target, **change))
    assert plan(lock, base_layers=0)[0].key != plan(other, base_layers=0)[0].key


def test_the_key_of_a_layer_stays_until_the_format_changes() -> None:
    (layer,) = plan(lock_of(package("a")), base_layers=0)
    # Another value while `FORMAT` is what it was: what caches hold would be useless, or wrong.
    assert FORMAT == 3
    assert layer.key == "8c9aadaa36d863bdffa9b58ecf90e2890db1aaa7e0d6f5efb474345128700460"


def test_another_hash_is_another_layer_and_another_base_is_not() -> None:
    lock = replace(lock_of(package("a")), base=Base(reference="x/y:1", digest="sha256:1"))
    (before,) = plan(lock, base_layers=0)
    (hash_,) = plan(replace(lock, packages=(package("a", sha256="1" * 64),)), base_layers=0)
    (base,) = plan(replace(lock, base=Base(reference="z", digest="sha256:2")), base_layers=7)
    assert before.key != hash_.key
    assert before.key == base.key


def test_beyond_the_limit_the_smallest_wheels_share_layers() -> None:
    big = [package(f"big{n}", size=10**9) for n in range(20)]
    small = [package(f"small{n}", size=100) for n in range(200)]
    layers = plan(lock_of(*big, *small), base_layers=30)
    assert len(layers) <= LIMIT - 30 - 1
    assert sorted(p.name for layer in layers for p in layer.packages) == sorted(
        p.name for p in (*big, *small)
    )
    alone = {layer.packages[0].name for layer in layers if len(layer.packages) == 1}
    assert alone >= {p.name for p in big}


def test_where_all_are_big_the_least_big_share_layers() -> None:
    packages = [package(f"p{n}", size=10**6 * (n + 1)) for n in range(150)]
    layers = plan(lock_of(*packages), base_layers=0)
    assert len(layers) <= LIMIT - 1
    assert sum(len(layer.packages) for layer in layers) == 150


def test_which_wheels_share_a_layer_stays_until_the_format_changes() -> None:
    packages = [package(f"p{n}", size=10**4 * (n + 1)) for n in range(150)]
    titles = "\n".join(layer.title for layer in plan(lock_of(*packages), base_layers=0))
    # Another grouping while `FORMAT` is what it was: one lock would no longer be one image.
    assert FORMAT == 3
    assert hashlib.sha256(titles.encode()).hexdigest().startswith("6c5bc9f14f5c005aaa9701a3")


def test_one_place_left_takes_every_wheel() -> None:
    (layer,) = plan(lock_of(package("a"), package("b")), base_layers=LIMIT - 2)
    assert layer.title == "a==1.0 b==1.0"


def test_a_base_with_too_many_layers_is_refused() -> None:
    with pytest.raises(Incompatible, match="119 layers"):
        plan(lock_of(package("a")), base_layers=LIMIT - 1)


def test_a_base_that_leaves_room_for_the_lock_alone_takes_no_wheel_and_needs_none() -> None:
    assert plan(lock_of(), base_layers=LIMIT - 1) == ()


def test_the_parents_of_a_path_are_the_folders_above_it_but_not_the_root() -> None:
    assert list(parents("/a/b/c")) == ["/a/b", "/a"]
    assert list(parents("/a")) == []


def test_directories_come_before_what_is_in_them_and_the_base_s_own_are_left_alone() -> None:
    paths = ["/usr/local/lib/x/y/z.py", "/usr/local/lib/x/a.py"]
    assert directories(paths, skipped=STANDARD) == ("/usr/local/lib/x", "/usr/local/lib/x/y")
    assert directories(paths, skipped=frozenset())[0] == "/usr"


def test_on_scratch_nothing_is_the_base_s_own() -> None:
    assert base_directories(LOCK) == frozenset()


def test_the_prefix_and_what_is_above_it_are_the_base_s_own() -> None:
    # The data folder differs from the prefix where that is a link.
    target = replace(LOCK.target, prefix="/opt/env", data="/srv/env/one")
    lock = replace(LOCK, base=Base(reference="x/y:1", digest="sha256:1"), target=target)
    found = {"/opt/env", "/srv/env/one", "/srv/env", "/srv"}
    assert base_directories(lock) == STANDARD | found


def test_where_the_links_of_a_base_lead_is_part_of_a_layer() -> None:
    lock = lock_of(package("a"))
    other = replace(lock, target=replace(lock.target, links=(("/a", "/b"),)))
    (one,), (two,) = (plan(each, base_layers=0) for each in (lock, other))
    assert one.key != two.key


def test_two_owners_of_one_path_are_refused_and_both_named() -> None:
    owners = [("a==1", [entry("/x/f")]), ("b==1", [entry("/x/f", sha256="b")])]
    with pytest.raises(Incompatible, match="a==1 and b==1") as caught:
        check_union(owners)
    assert caught.value.context == "/x/f"


def test_equal_bytes_with_equal_modes_may_have_two_owners() -> None:
    check_union([("a", [entry("/x/f")]), ("b", [entry("/x/f"), entry("/x/g")])])


def test_equal_bytes_with_another_mode_are_not_the_same() -> None:
    with pytest.raises(Incompatible):
        check_union([("a", [entry("/x/f")]), ("b", [entry("/x/f", mode=0o755)])])


@pytest.mark.parametrize("order", [1, -1])
def test_a_file_that_is_another_s_folder_is_refused(order: int) -> None:
    owners = [("a", [entry("/x/f")]), ("b", [entry("/x/f/g"), entry("/x/h/i/j")])]
    with pytest.raises(Incompatible, match="both bring it"):
        check_union(owners[::order])


def test_who_compiles_modules_is_part_of_a_layer_if_anybody_does() -> None:
    lock = lock_of(package("a"))
    keys = {plan(lock, base_layers=0, compiler=each)[0].key for each in ("", "3.11.2", "3.11.7")}
    assert len(keys) == 3
