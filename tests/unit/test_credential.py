from __future__ import annotations

import pytest

from mxenv.credential import without_login

DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    "reference", ["r.example/a:1", f"r.example:5000/a@{DIGEST}", "127.0.0.1:5000/a", "", "@"]
)
def test_a_reference_without_a_login_stays_as_it_is(reference: str) -> None:
    assert without_login(reference) == reference


@pytest.mark.parametrize("login", ["me", "me:secret", "me:se/cret", "me:se@cret"])
@pytest.mark.parametrize("place", ["r.example/a:1", f"r.example:5000/a@{DIGEST}", "127.0.0.1:5612"])
def test_a_login_is_masked_wherever_an_image_lies(login: str, place: str) -> None:
    assert without_login(f"{login}@{place}") == f"***@{place}"
