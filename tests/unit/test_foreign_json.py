from __future__ import annotations

import pytest

from mxenv import foreign_json


def test_reads_an_object() -> None:
    assert foreign_json.read(b'{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 200_000, "nested too deep"),
        (b"\xff", "not JSON"),
        (b"{", "not JSON"),
        (b"[1]", "not a JSON object"),
    ],
)
def test_says_why_it_reads_nothing(content: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        foreign_json.read(content)


def test_takes_what_is_of_another_type_for_empty() -> None:
    assert foreign_json.table([1]) == {}
    assert foreign_json.items({"a": 1}) == []
    assert foreign_json.text(5) == ""
    assert foreign_json.text("a") == "a"
