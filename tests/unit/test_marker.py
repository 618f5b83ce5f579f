"""Two requirements count at once if any environment on Linux meets both."""

from __future__ import annotations

import pytest

from mxenv.marker import sound, together


@pytest.mark.parametrize(
    ("markers", "at_once"),
    [
        ((), True),
        (("",), True),
        (('python_version < "3.10"', 'python_version >= "3.10"'), False),
        (('python_version < "3.12"', 'python_version >= "3.10"'), True),
        (('platform_machine == "aarch64"', 'platform_machine == "x86_64"'), False),
        (('sys_platform == "win32"',), False),
        (('extra == "gpu"',), False),
        (('python_version ~= "x"',), True),
    ],
)
def test_markers_together(markers: tuple[str, ...], at_once: bool) -> None:  # noqa: FBT001 - a case
    assert together(*markers) is at_once


def test_what_is_no_marker_is_not_sound() -> None:
    assert sound('python_version < "3"')
    assert not sound("whatever")
