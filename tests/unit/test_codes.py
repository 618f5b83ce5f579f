"""Every code says what it means, how it is found out, and what to do."""

from __future__ import annotations

import pytest

from mxenv.codes import CODES, explain


@pytest.mark.parametrize("code", CODES)
def test_a_code_says_what_it_means_how_it_is_found_out_and_what_to_do(code: str) -> None:
    known = CODES[code]
    assert known.title
    for text in (known.meaning, known.how, known.remedy):
        assert text[:1].isupper() or text.startswith("`")
        assert text.endswith((".", "`"))


def test_codes_stand_in_their_order() -> None:
    assert list(CODES) == sorted(CODES)


def test_a_code_is_found_however_it_is_written() -> None:
    assert explain(" mx110 ") is CODES["MX110"]
    assert explain("MX999") is None
