from __future__ import annotations

import pytest

from mxenv.lock import Provided, Target
from mxenv.provided import marker_environment, unmet

TARGET = Target(
    platform="linux/amd64",
    python="3.10",
    prefix="/opt/conda",
    interpreter="/opt/conda/bin/python3",
    purelib="/opt/conda/lib/python3.10/site-packages",
    platlib="/opt/conda/lib/python3.10/site-packages",
    scripts="/opt/conda/bin",
    data="/opt/conda",
    libc="2.35",
)
BASE = (
    Provided(name="torch", version="2.8.0+metax3.5.3.9"),
    Provided(name="flash-attn", version="2.6.3+metax3.5.3.9torch2.8"),
    Provided(name="vllm", version="0.17.0rc1"),
)


@pytest.mark.parametrize(
    "requirement",
    [
        "torch",
        "torch ==2.8.0",
        "torch >=2.6,<3",
        "Flash_Attn ==2.6.3",
        "vllm >=0.16",
        "click >=8",
        "torch >=9; python_version < '3.10'",
        "torch >=9; platform_machine == 'aarch64'",
    ],
)
def test_what_the_base_has_or_does_not_know_is_no_obstacle(requirement: str) -> None:
    assert list(unmet([requirement], BASE, TARGET)) == []


@pytest.mark.parametrize(
    "requirement",
    ["torch >=2.9", "torch ==2.8.0+cu128", "torch >=9; python_version == '3.10'", "vllm ==0.17.0"],
)
def test_a_requirement_that_the_base_does_not_meet_names_both(requirement: str) -> None:
    ((index, message, hint),) = unmet(["click", requirement], BASE, TARGET)
    name = requirement.partition(" ")[0]
    version = next(entry.version for entry in BASE if entry.name == name)
    assert index == 1
    assert message == f"{requirement!r} is not met by {name} {version}, which the base provides"
    assert "never replaced" in hint


def test_extras_of_what_the_base_has_are_refused() -> None:
    ((_, message, hint),) = unmet(["torch[opt] >=2"], BASE, TARGET)
    assert "asks for extras of torch 2.8.0+metax3.5.3.9" in message
    assert "requirements of their own" in hint


def test_markers_are_evaluated_for_the_target_and_not_for_this_machine() -> None:
    environment = marker_environment(TARGET)
    assert environment["python_version"] == "3.10"
    assert environment["platform_machine"] == "x86_64"
