from __future__ import annotations

import pytest

from mxenv.distribution import normalised, project_of, same_version


@pytest.mark.parametrize("name", ["Flash.Attn", "flash_attn", "flash-attn", "FLASH-_.attn"])
def test_a_name_is_one_however_it_is_spelt(name: str) -> None:
    assert normalised(name) == "flash-attn"


@pytest.mark.parametrize(
    ("one", "other"),
    [("1.0", "1.0.0"), ("2.0RC1", "2.0rc1"), ("2.6.3+metax3.5.3.9", "2.6.3+MetaX3.5.3-9")],
)
def test_a_version_is_one_however_it_is_spelt(one: str, other: str) -> None:
    assert same_version(one, other)


@pytest.mark.parametrize(("one", "other"), [("1.0", "1.0.1"), ("2.8", "2.8+metax"), ("x", "y")])
def test_other_versions_are_not(one: str, other: str) -> None:
    assert not same_version(one, other)


def test_what_is_no_version_is_like_itself_only() -> None:
    assert same_version("unknown", "unknown")
    assert not same_version("unknown", "1.0")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("Mx_Lib-1.0-py3-none-any.whl", "mx-lib"),
        ("mx.lib-1.0.tar.gz", "mx-lib"),
        ("mx-lib-1.0.tar.gz", "mx-lib"),
        ("mx_lib.whl", ""),
        ("mx_lib.tar.gz", ""),
        ("mx_lib-.tar.gz", ""),
        ("mx_lib-1.0.zip", ""),
        ("README-1.md", ""),
        ("", ""),
    ],
)
def test_a_file_is_of_the_distribution_that_its_name_begins_with(file: str, name: str) -> None:
    assert project_of(file) == name
