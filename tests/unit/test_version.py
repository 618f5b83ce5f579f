from __future__ import annotations

import pytest

from mxenv import version
from mxenv.version import Tag

OLDEST_FIRST = [
    ["2.23.0.16", "2.23.0.1018", "2.27.0.9", "2.33.1.13", "3.0.0.5", "3.0.0.8", "3.5.3.307"],
    ["2.2.0", "2.5.014", "2.9.8", "2.12.13", "2.16.0", "3.0.11", "3.4.3", "3.4.4", "3.8.30"],
    ["5.4.0-26-generic", "5.15.0-58-generic", "5.15.0-119-generic", "6.6.92-34.1.tl4"],
    ["5.4.119-19.0009.44", "5.4.119-19.0009.54", "5.4.241-24.0017.23.tl3", "6.6.98-40.2.tl4"],
    ["4.18.0-240.el8", "4.18.0-477.27.1.3.kos5", "5.14.0-284.11.1.el9_2.x86_64"],
    ["2.8.0", "2.8.0+metax3.5.3.9", "2.8.0+metax3.7.0.7", "2.8.0+metax3.10.0.1", "2.8.1"],
    ["0.4.3+maca3.5.3.20.torch2.8", "0.4.4+maca3.5.3.18.torch2.8", "0.4.4+maca3.5.3.20.torch2.8"],
    ["1.0.dev1", "1.0a1.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0", "1.0.post1", "1!0.1"],
    ["0.10.2", "0.11.0rc0", "0.11.0", "0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8"],
    ["6.1.0-rc3", "6.1.0", "6.1.0-1-cloud-amd64", "6.1.0-2-cloud-amd64"],
    ["unknown", "20251011.746, debug, x64", "20251011.747"],
    ["3.7.0.38", "3.7.0.38.dsv4", "3.7.0.39"],
    ["1.1.1", "1.1.1w", "1.1.2"],
]


@pytest.mark.parametrize("texts", OLDEST_FIRST, ids=lambda texts: texts[0])
def test_real_versions_order_as_their_makers_meant_them(texts: list[str]) -> None:
    parsed = [version.parse(text) for text in texts]
    assert sorted(parsed, reverse=True) == parsed[::-1]
    assert len(set(parsed)) == len(parsed)


def test_a_product_suffix_is_no_release_candidate() -> None:
    assert version.parse("3.8.0-c600u") > version.parse("3.8.0")
    assert version.parse("4.18.0-amd64") > version.parse("4.18.0")


def test_spellings_of_one_version_are_equal() -> None:
    assert version.parse("2.5.014") == version.parse("2.5.14")
    assert version.parse("v1.0-ALPHA.1") == version.parse("1.0a1")
    assert version.parse("1.0-1") == version.parse("1.0.post1") == version.parse("1.0.REV1")
    assert hash(version.parse("3.0")) == hash(version.parse("3.0.0"))


def test_a_text_that_is_too_long_to_be_a_version_is_kept_whole() -> None:
    digits = "9" * 5000
    assert version.parse(digits) < version.parse("0")
    assert version.parse(digits) != version.parse(digits + "9")
    assert version.parse(digits).text == digits


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.8.0+metax3.5.3.9", Tag(vendor="metax", sdk="3.5.3.9")),
        ("2.6.3+metax3.5.3.9torch2.8", Tag(vendor="metax", sdk="3.5.3.9", torch="2.8")),
        ("0.4.4+maca3.5.3.20.torch2.8", Tag(vendor="metax", sdk="3.5.3.20", torch="2.8")),
        ("0.8.5+maca2.33.0.12torch2.6", Tag(vendor="metax", sdk="2.33.0.12", torch="2.6")),
        ("2.6.3+metax3.8.0.7torch2.10", Tag(vendor="metax", sdk="3.8.0.7", torch="2.10")),
        ("2.0.0+mc2.18.0.8", Tag(vendor="metax", sdk="2.18.0.8")),
        (
            "0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8",
            Tag(vendor="metax", sdk="3.5.3.20", torch="2.8"),
        ),
        ("0.8.5+maca", Tag(vendor="metax")),
        ("0.6.1+metax3.6", Tag(vendor="metax")),
        ("2.6.0+cu124", Tag(vendor="cu")),
        ("1.13.1+cu117", Tag(vendor="cu")),
        ("2.10.0+cpu", None),
        ("0.20.0+gcce172.d20260529", None),
        ("1.0+macabre", None),
        ("0.4.2", None),
    ],
)
def test_a_build_tag_is_read_in_each_of_its_spellings(text: str, expected: Tag | None) -> None:
    assert version.tag(text) == expected


def test_a_family_is_the_first_fields_and_no_more_than_there_are() -> None:
    assert version.family("3.5.3.20", 3) == "3.5.3"
    assert version.family("2.8.0+metax3.5.3.9", 2) == "2.8"
    assert version.family("2.5.014", 3) == "2.5.14"
    assert version.family("3.7", 3) == "3.7"
    assert version.family("unknown", 3) == ""
    assert version.parse(" v3.5.3-c600u").fields == (3, 5, 3)


def test_the_public_part_is_what_stands_before_the_tag() -> None:
    assert version.public("2.8.0+metax3.5.3.9") == "2.8.0"
    assert version.public("2.8.0") == "2.8.0"
