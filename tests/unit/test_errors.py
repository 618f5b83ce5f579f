from __future__ import annotations

import pytest

from mxenv import errors


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.MxenvError, 70),
        (errors.UsageError, 2),
        (errors.HostUnreachable, 4),
        (errors.LockError, 5),
        (errors.WheelError, 5),
        (errors.RegistryError, 6),
        (errors.IndexFailed, 6),
        (errors.Incompatible, 1),
    ],
)
def test_every_error_has_the_exit_status_of_its_kind(
    error: type[errors.MxenvError], status: int
) -> None:
    assert error("x").exit_code == status


def test_an_error_names_the_place_before_it_says_what_is_wrong_there() -> None:
    assert str(errors.LockError("bad", context="pylock.x.toml: tool")) == "pylock.x.toml: tool: bad"
    assert str(errors.UsageError("bad")) == "bad"
    assert errors.UsageError("bad", hint="do this").hint == "do this"
