from __future__ import annotations

import pytest

from mxenv import wheel_tags
from mxenv.errors import Incompatible

NUMPY = {
    "old": "numpy-1-cp310-cp310-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
    "new": "numpy-1-cp310-cp310-manylinux_2_28_x86_64.whl",
    "newest": "numpy-1-cp310-cp310-manylinux_2_39_x86_64.whl",
    "other": "numpy-1-cp311-cp311-manylinux_2_17_x86_64.whl",
    "arm": "numpy-1-cp310-cp310-manylinux_2_17_aarch64.whl",
    "musl": "numpy-1-cp310-cp310-musllinux_1_2_x86_64.whl",
    "linux": "numpy-1-cp310-cp310-linux_x86_64.whl",
    "abi3": "numpy-1-cp38-abi3-manylinux_2_17_x86_64.whl",
    "pure": "numpy-1-py3-none-any.whl",
}


def best(*names: str, libc: str = "2.35", platform: str = "linux/amd64") -> str | None:
    fitting = wheel_tags.supported("3.10.12", platform, libc)
    found = wheel_tags.best([NUMPY[name] for name in names], fitting)
    return next((name for name, file in NUMPY.items() if file == found), None)


def test_the_wheel_for_the_newest_libc_that_the_target_has_is_best() -> None:
    assert best("old", "new", "newest", "pure") == "new"


def test_a_wheel_that_asks_for_more_than_the_target_has_does_not_fit() -> None:
    assert best("new", "newest", libc="2.27") is None
    assert best("old", "new", libc="2.27") == "old"


def test_another_python_another_machine_and_another_libc_do_not_fit() -> None:
    assert best("other", "arm", "musl") is None
    assert best("old", "arm", platform="linux/arm64") == "arm"


def test_a_wheel_of_a_vendor_that_names_no_libc_fits() -> None:
    assert best("linux", "pure") == "linux"


def test_a_stable_abi_is_better_than_pure_python() -> None:
    assert best("abi3", "pure") == "abi3"


def test_a_later_build_of_the_same_wheel_is_better() -> None:
    fitting = wheel_tags.supported("3.10", "linux/amd64", "2.35")
    names = ["a-1-1-py3-none-any.whl", "a-1-10b-py3-none-any.whl", "a-1-9-py3-none-any.whl"]
    assert wheel_tags.best(names, fitting) == "a-1-10b-py3-none-any.whl"
    assert wheel_tags.best(["a-1-py3-none-any.whl", names[0]], fitting) == names[0]


def test_without_a_libc_wheels_may_ask_for_that_of_manylinux_2_28() -> None:
    assert best("old", "new", "newest", libc="") == "new"


def test_a_libc_older_than_every_manylinux_is_refused() -> None:
    with pytest.raises(Incompatible, match=r"no wheel is built for glibc 2\.12 on aarch64"):
        wheel_tags.supported("3.10", "linux/arm64", "2.12")


@pytest.mark.parametrize(
    ("text", "expected"), [("3.10.12", (3, 10)), ("2.35", (2, 35)), ("3", (3, 0))]
)
def test_two_numbers_of_a_version_are_read(text: str, expected: tuple[int, int]) -> None:
    assert wheel_tags.minor(text) == expected
