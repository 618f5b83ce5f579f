"""What every resolver must do, shown on wheels that the tests make themselves."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

import _index
import pytest

from mxenv import _plugins
from mxenv.errors import Incompatible, IndexFailed, UsageError
from mxenv.lock import Provided
from mxenv.resolvers import Indexes, Request, Resolver

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(params=_plugins.names("resolvers"))
def resolver(request: pytest.FixtureRequest) -> Resolver:
    return _plugins.load("resolvers", request.param)


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder of wheels: an application, two libraries, one of them twice."""
    folder = tmp_path / "links"
    _index.wheel(folder, "mx-app", requires=["mx-lib >=1", "torch >=2.6"])
    _index.wheel(folder, "mx-lib", "1.0")
    _index.wheel(folder, "mx-lib", "2.0")
    _index.wheel(folder, "mx-picky", requires=["torch >=2.9"])
    _index.wheel(folder, "mx-extra", requires=["torch[opt]"])
    _index.wheel(folder, "torch", "2.8.0")
    _index.wheel(folder, "torch", "3.0.0")
    for tag in ("manylinux_2_17_x86_64", "manylinux_2_28_x86_64", "manylinux_2_39_x86_64"):
        _index.wheel(folder, "mx-native", tag=f"cp310-cp310-{tag}")
    _index.wheel(folder, "mx-native", tag="cp310-cp310-manylinux_2_17_aarch64")
    _index.wheel(folder, "mx-native", tag="cp311-cp311-manylinux_2_17_x86_64")
    return folder


def asking(links: Path, *requires: str, provided: dict[str, str] | None = None) -> Request:
    return Request(
        requires=requires,
        python="3.10.12",
        platform="linux/amd64",
        libc="2.35",
        provided=tuple(Provided(name=n, version=v) for n, v in (provided or {}).items()),
        indexes=Indexes(find_links=(str(links),), no_index=True, directory=links.parent),
    )


VENDOR = {"torch": "2.8.0+metax3.5.3.9"}


def versions(resolver: Resolver, request: Request) -> dict[str, str]:
    return {p.name: p.version for p in resolver.resolve(request).packages}


def test_what_is_asked_for_and_what_it_needs_is_resolved(resolver: Resolver, links: Path) -> None:
    found = versions(resolver, asking(links, "mx-app"))
    assert found == {"mx-app": "1.0", "mx-lib": "2.0", "torch": "3.0.0"}


def test_wheels_are_named_with_their_hash_and_size(resolver: Resolver, links: Path) -> None:
    (package,) = resolver.resolve(asking(links, "mx-lib==1.0")).packages
    file = links / "mx_lib-1.0-py3-none-any.whl"
    assert package.wheel.name == file.name
    assert package.wheel.sha256 == _index.sha256(file)
    assert package.wheel.size == file.stat().st_size


def test_nothing_asked_for_is_nothing_resolved(resolver: Resolver, links: Path) -> None:
    assert resolver.resolve(asking(links)).packages == ()


def test_what_is_provided_is_used_and_never_listed(resolver: Resolver, links: Path) -> None:
    resolution = resolver.resolve(asking(links, "mx-app", "torch", provided=VENDOR))
    assert {p.name for p in resolution.packages} == {"mx-app", "mx-lib"}
    assert resolution.used == ("torch",)


def test_what_is_provided_wins_over_the_same_version_of_an_index(
    resolver: Resolver, links: Path
) -> None:
    """Its real metadata would bring what the base does well without."""
    _index.wheel(links, "mx-fat", requires=["mx-lib"])
    resolution = resolver.resolve(asking(links, "mx-fat", provided={"mx-fat": "1.0"}))
    assert resolution.packages == ()


@pytest.mark.parametrize("version", ["0.11.0rc0", "1.0.dev3+metax3.2", "1.5.0.post8+m.1", "1!2"])
def test_odd_versions_that_are_provided_are_taken(
    resolver: Resolver, links: Path, version: str
) -> None:
    request = asking(links, "mx-odd", provided={"mx-odd": version})
    assert resolver.resolve(request).used == ("mx-odd",)


@pytest.mark.parametrize("specifier", ["==2.8.0", "<=2.8.0", "~=2.8", ">2.7", "==2.*"])
def test_a_vendor_build_meets_what_its_public_version_meets(
    resolver: Resolver, links: Path, specifier: str
) -> None:
    assert resolver.resolve(asking(links, f"torch{specifier}", provided=VENDOR)).used == ("torch",)


def test_a_need_that_what_is_provided_does_not_meet_names_both(
    resolver: Resolver, links: Path
) -> None:
    with pytest.raises(Incompatible, match=r"mx-picky.*torch>=2\.9.*torch==2\.8\.0\+metax3\.5"):
        resolver.resolve(asking(links, "mx-picky", provided=VENDOR))


def test_an_extra_of_what_is_provided_is_noted(resolver: Resolver, links: Path) -> None:
    resolution = resolver.resolve(asking(links, "mx-extra", provided=VENDOR))
    assert any("torch" in note and "opt" in note for note in resolution.notes)


@pytest.mark.parametrize(
    ("python", "platform", "libc", "tag"),
    [
        ("3.10.12", "linux/amd64", "2.35", "cp310-cp310-manylinux_2_28_x86_64"),
        ("3.10", "linux/amd64", "2.39", "cp310-cp310-manylinux_2_39_x86_64"),
        ("3.10", "linux/amd64", "2.27", "cp310-cp310-manylinux_2_17_x86_64"),
        ("3.10", "linux/amd64", "", "cp310-cp310-manylinux_2_28_x86_64"),
        ("3.11", "linux/amd64", "2.35", "cp311-cp311-manylinux_2_17_x86_64"),
        ("3.10", "linux/arm64", "2.35", "cp310-cp310-manylinux_2_17_aarch64"),
    ],
)
def test_the_wheel_is_for_the_target_and_not_for_this_machine(  # noqa: PLR0913, PLR0917 - a target
    resolver: Resolver, links: Path, python: str, platform: str, libc: str, tag: str
) -> None:
    request = replace(asking(links, "mx-native"), python=python, platform=platform, libc=libc)
    (package,) = resolver.resolve(request).packages
    assert package.wheel.name == f"mx_native-1.0-{tag}.whl"


def test_there_is_no_wheel_for_another_target(resolver: Resolver, links: Path) -> None:
    with pytest.raises(Incompatible, match="mx-native"):
        resolver.resolve(replace(asking(links, "mx-native"), python="3.12"))


def test_versions_that_are_preferred_stay_until_they_cannot(
    resolver: Resolver, links: Path
) -> None:
    request = replace(asking(links, "mx-lib"), preferred=(("mx-lib", "1.0"),))
    assert versions(resolver, request) == {"mx-lib": "1.0"}
    assert versions(resolver, replace(request, requires=("mx-lib>1",))) == {"mx-lib": "2.0"}


def test_requirements_that_contradict_each_other_are_refused(
    resolver: Resolver, links: Path
) -> None:
    with pytest.raises(Incompatible, match="mx-lib"):
        resolver.resolve(asking(links, "mx-lib==1.0", "mx-lib==2.0"))


def test_a_name_that_no_index_knows_is_a_failure_of_the_index(
    resolver: Resolver, links: Path
) -> None:
    with pytest.raises(IndexFailed, match="mx-nowhere"):
        resolver.resolve(asking(links, "mx-nowhere"))


def test_an_index_that_cannot_be_reached_is_named_without_its_login(
    resolver: Resolver, links: Path
) -> None:
    request = asking(links, "mx-nowhere")
    gone = replace(request.indexes, no_index=False, index=("http://u:secret@127.0.0.1:1/simple",))
    with pytest.raises(IndexFailed, match=r"127\.0\.0\.1:1") as caught:
        resolver.resolve(replace(request, indexes=gone))
    assert "secret" not in str(caught.value)


def test_a_resolution_that_takes_too_long_is_given_up(resolver: Resolver, links: Path) -> None:
    hurried = replace(asking(links, "mx-app").indexes, seconds=0.001)
    with pytest.raises(IndexFailed, match="did not come to an end"):
        resolver.resolve(replace(asking(links, "mx-app"), indexes=hurried))


def test_places_are_named_in_the_order_in_which_they_are_asked(
    resolver: Resolver, links: Path
) -> None:
    more = links.parent / "more"
    more.mkdir()
    request = asking(links)
    indexes = replace(
        request.indexes,
        find_links=(str(more), str(links)),
        index=("first=http://u:p@127.0.0.1:1/simple", "http://127.0.0.1:2/simple"),
        no_index=False,
    )
    places = resolver.places(indexes)
    assert places.find_links[:2] == (str(more), str(links))
    assert places.index[:2] == ("http://u:p@127.0.0.1:1/simple", "http://127.0.0.1:2/simple")


def test_without_an_index_there_are_folders_only(resolver: Resolver, links: Path) -> None:
    assert resolver.places(asking(links).indexes).index == ()


def test_a_folder_is_named_from_where_the_user_is(resolver: Resolver, links: Path) -> None:
    """Whatever folder the resolver itself runs in."""
    relative = os.path.relpath(links)
    request = asking(links, "mx-lib")
    indexes = replace(request.indexes, find_links=(relative,), directory=links)
    assert versions(resolver, replace(request, indexes=indexes)) == {"mx-lib": "2.0"}


@pytest.mark.parametrize(
    "place", ["/nowhere", "", "ftp://index.example.com", "htps://u:secret@index.example.com/simple"]
)
@pytest.mark.parametrize("option", ["index", "find_links"])
def test_a_place_that_cannot_be_asked_is_refused_and_not_passed_by(
    resolver: Resolver, links: Path, place: str, option: str
) -> None:
    request = asking(links, "mx-lib")
    elsewhere = replace(request.indexes, **{option: (place,)})
    with pytest.raises(UsageError, match="is no ") as caught:
        resolver.resolve(replace(request, indexes=elsewhere))
    assert caught.value.context == f"--{option.replace('_', '-')}"
    assert "secret" not in str(caught.value)


def test_an_index_may_be_a_folder_or_have_a_name(resolver: Resolver, links: Path) -> None:
    with _index.serve(links) as index:
        for place in (str(links), f"own={index.url}"):
            request = asking(links, "mx-lib")
            elsewhere = replace(request.indexes, index=(place,), no_index=False, offline=False)
            assert versions(resolver, replace(request, indexes=elsewhere)) == {"mx-lib": "2.0"}
