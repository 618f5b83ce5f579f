from __future__ import annotations

import packaging.version
from hypothesis import given
from hypothesis import strategies as st

from mxenv import version

numbers = st.integers(0, 120).map(str)
releases = st.lists(numbers, min_size=1, max_size=5).map(".".join)
separators = st.sampled_from(["", ".", "-", "_"])


def part(names: list[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.just(""),
        st.tuples(separators, st.sampled_from(names), separators, numbers).map("".join),
        st.tuples(separators, st.sampled_from(names)).map("".join),
    )


pep440 = st.tuples(
    st.sampled_from(["", "v", "1!"]),
    releases,
    part(["a", "alpha", "b", "beta", "c", "rc", "pre", "preview", "RC"]),
    st.one_of(part(["post", "rev", "r"]), numbers.map("-{}".format)),
    part(["dev"]),
).map("".join)
tags = st.tuples(
    st.sampled_from(["+metax", "+maca", "+mc", "+gb78dab.d20260621.maca"]),
    releases,
    st.sampled_from(["", "torch2.8", ".torch2.10"]),
).map("".join)
suffixes = st.sampled_from(["-58-generic", "-24.0017.23.tl3", ".c600u", "-c600u", ", debug, x64"])
anything = st.one_of(
    pep440,
    st.tuples(pep440, tags).map("".join),
    st.tuples(releases, suffixes).map("".join),
    st.text(max_size=300),
)


@given(pep440, pep440)
def test_pep_440_versions_order_as_packaging_orders_them(left: str, right: str) -> None:
    ours = version.parse(left), version.parse(right)
    theirs = packaging.version.Version(left), packaging.version.Version(right)
    assert (ours[0] < ours[1]) == (theirs[0] < theirs[1])
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])


@given(anything, anything)
def test_of_any_two_versions_exactly_one_is_older_or_they_are_equal(left: str, right: str) -> None:
    a, b = version.parse(left), version.parse(right)
    assert [a < b, a == b, a > b].count(True) == 1


@given(anything, anything, anything)
def test_the_order_is_transitive(first: str, second: str, third: str) -> None:
    a, b, c = sorted(map(version.parse, (first, second, third)))
    assert a <= b <= c
    assert a <= c


@given(anything, anything)
def test_equal_versions_are_one_key_of_a_dictionary(left: str, right: str) -> None:
    a, b = version.parse(left), version.parse(right)
    assert (a == b) == (len({a, b}) == 1)


@given(st.integers(0, 400), st.integers(0, 400))
def test_kernels_order_by_the_number_of_their_build(one: int, other: int) -> None:
    left, right = (version.parse(f"5.15.0-{number}-generic") for number in (one, other))
    assert (left < right) == (one < other)


@given(releases, numbers)
def test_every_field_counts_and_the_fourth_as_well(text: str, more: str) -> None:
    longer = version.parse(f"{text}.{int(more) + 1}")
    assert version.parse(text) < longer


@given(anything)
def test_white_space_and_capitals_change_nothing(text: str) -> None:
    assert version.parse(f" {text}\n") == version.parse(text)


@given(releases, st.integers(1, 6))
def test_the_family_of_a_family_is_itself(text: str, count: int) -> None:
    family = version.family(text, count)
    assert version.family(family, count) == family


@given(releases, releases, st.sampled_from(["metax", "maca", "mc"]))
def test_a_tag_gives_back_the_sdk_it_was_made_of(public: str, sdk: str, prefix: str) -> None:
    tag = version.tag(f"{public}+{prefix}{sdk}")
    assert tag is not None
    assert tag.sdk == (sdk if sdk.count(".") > 1 else "")
