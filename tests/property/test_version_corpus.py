"""Real versions, and the order that they are in."""

from __future__ import annotations

import itertools
import re
from functools import cache
from pathlib import Path

import packaging.version
import pytest

from mxenv import version

CORPUS = Path(__file__).parent.parent / "versions.txt"
Groups = list[list[str]]


@cache
def sections() -> dict[str, Groups]:
    """Return the groups of equal versions of each section, oldest first."""
    found: dict[str, Groups] = {}
    for line in CORPUS.read_text("utf-8").splitlines():
        if match := re.fullmatch(r"\[(.+)\]", line):
            groups = found.setdefault(match[1], [])
        elif line and not line.startswith("#"):
            groups.append(line.split(" = "))
    return found


def words() -> list[str]:
    return [text for groups in sections().values() for group in groups for text in group]


def test_there_are_more_than_two_hundred_of_them_and_none_twice_in_a_section() -> None:
    assert len(set(words())) > 200
    for groups in sections().values():
        flat = [text for group in groups for text in group]
        assert len(set(flat)) == len(flat)


@pytest.mark.parametrize("name", sections())
def test_every_pair_of_a_section_is_in_the_order_of_the_file(name: str) -> None:
    ranked = [(rank, text) for rank, group in enumerate(sections()[name]) for text in group]
    for (low, older), (high, newer) in itertools.product(ranked, repeat=2):
        left, right = version.parse(older), version.parse(newer)
        assert (left < right, left == right) == (low < high, low == high), (older, newer)


def test_all_of_them_stand_in_one_order() -> None:
    parsed = sorted(map(version.parse, words()))
    for a, b in itertools.pairwise(parsed):
        assert a <= b
        assert not b < a
    for a, b in itertools.combinations(parsed[::7], 2):
        assert a <= b


def test_where_pep_440_has_an_order_it_is_that_order() -> None:
    known = [text for text in words() if pep_440(text)]
    assert len(known) > 150
    for left, right in itertools.product(known, repeat=2):
        ours = version.parse(left) < version.parse(right)
        assert ours == (packaging.version.Version(left) < packaging.version.Version(right))


def pep_440(text: str) -> bool:
    try:
        packaging.version.Version(text)
    except packaging.version.InvalidVersion:
        return False
    # A kernel's `5.14.0-3.1.8` would be read as a post release, which it is not.
    return not re.search(r"^\d+\.\d+\.\d+-\d+\.", text)


@pytest.mark.parametrize(
    "text", [text for text in words() if re.fullmatch(r"\d+(\.\d+){2,}", text)]
)
def test_a_family_is_the_first_fields_and_one_more_field_is_newer(text: str) -> None:
    numbers = [str(int(part)) for part in text.split(".")]
    for count in range(1, len(numbers) + 1):
        assert version.family(text, count) == ".".join(numbers[:count])
    assert version.parse(text) < version.parse(f"{text}.1")


TAGS = [
    ("2.8.0+metax3.5.3.9", "3.5.3.9", ""),
    ("2.6.3+metax3.5.3.9torch2.8", "3.5.3.9", "2.8"),
    ("0.4.7+maca3.8.0.23.torch2.10", "3.8.0.23", "2.10"),
    ("2.0.0+mc2.18.0.8", "2.18.0.8", ""),
    ("2.6.0+maca3.0.0.5", "3.0.0.5", ""),
    ("0.8.5+maca2.33.0.12torch2.6", "2.33.0.12", "2.6"),
    ("0.22.0+gb78dab.d20260621.maca3.5.3.20.torch2.8", "3.5.3.20", "2.8"),
    ("3.3.0.dev20260128+maca3.3.0.15", "3.3.0.15", ""),
    ("0.6.1+metax3.6", "", ""),
    ("0.8.5+maca", "", ""),
]


@pytest.mark.parametrize(("text", "sdk", "torch"), TAGS)
def test_every_spelling_of_the_vendors_tag_is_understood(text: str, sdk: str, torch: str) -> None:
    assert version.tag(text) == version.Tag(vendor="metax", sdk=sdk, torch=torch)
    assert version.tag(text.upper()) == version.tag(text)


def test_every_version_with_a_tag_of_the_vendor_is_seen_to_have_one() -> None:
    for text in words():
        named = re.search(r"\+(?:.*\.)?(?:metax|maca|mc)\d", text) is not None
        assert named == (getattr(version.tag(text), "vendor", "") == "metax"), text
