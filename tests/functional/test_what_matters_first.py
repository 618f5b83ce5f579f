"""What people read first on a page: what differs, and not what nobody knows."""

from __future__ import annotations

import os
import re
from pathlib import Path

from click.testing import CliRunner, Result

from mxenv.cli._front import FRONT

RECORDINGS = Path(__file__).parents[1] / "recordings"


def mxenv(*words: str) -> Result:
    return CliRunner().invoke(FRONT, list(words), env={"MXENV_FORMAT": None})


def at(name: str) -> str:
    return f"recording:{os.path.relpath(RECORDINGS / name)}"


def labels(page: str) -> list[str]:
    return re.findall(r"^ *([a-z]+(?:\.\w+)+\S*)", page, re.MULTILINE)


def test_two_values_come_before_what_only_one_node_has() -> None:
    shown = labels(mxenv("diff", at("c500-8cards"), at("c500-mixed")).stdout)
    changed = ["flash-attn", "mcoplib", "triton"]
    assert shown[:3] == [f"python.package[/opt/conda/{name}]" for name in changed]


def test_what_neither_node_has_is_counted_and_listed_on_demand() -> None:
    few = mxenv("diff", at("c500-8cards"), at("c500-driver-broken"))
    every = mxenv("diff", "-v", at("c500-8cards"), at("c500-driver-broken"))
    assert "without a value on either side (-v lists them)" in few.stdout
    assert "without a value" not in every.stdout
    assert "boot.parameter[amd_iommu]" in every.stdout
    assert "boot.parameter[amd_iommu]" not in few.stdout


def test_what_could_not_be_read_is_not_shown_as_nothing() -> None:
    told = mxenv("diff", at("c500-8cards"), at("c500-mixed")).stdout
    assert "boot.parameter[iommu]\n  - pt\n  + unreadable: not recorded\n" in told


def test_cards_in_other_places_are_told_of_in_one_line() -> None:
    told = mxenv("diff", at("c500-8cards"), at("c550-8cards")).stdout
    (line,) = re.findall(r"^metax\.device\.model +(.*)$", told, re.MULTILINE)
    assert line == "C500 \N{MULTIPLICATION SIGN}8 → C550 \N{MULTIPLICATION SIGN}8"
    assert "metax.device.model[" not in told


def test_a_group_of_nodes_names_its_odd_versions_first() -> None:
    told = mxenv("probe", "--on", at("c500-8cards"), "--on", at("c500-mixed")).stdout
    apart = told.partition("differs from A")[2]
    assert labels(apart)[0] == "python.package[/opt/conda/flash-attn]"
    assert "python.package[/opt/conda/mcoplib]" in apart
