"""A container's own files say nothing about the modules that its host could load."""

from __future__ import annotations

import pytest

from mxenv.facts import Absent, Reading
from mxenv.question import NOT_FOUND, Answers, Command, Completed, Found, Given, Question, Status
from mxenv.vendors import _nvidia_driver, _place, metax, nvidia

VENDORS = {"metax": metax.VENDOR, "nvidia": nvidia.VENDOR}
KEYS = ("metax.module.on_disk", "metax.module.vermagic", "nvidia.module.on_disk")
KERNEL = "5.15.0-58"


def readings(name: str, given: dict[Question, Given]) -> dict[tuple[str, str], set[Reading]]:
    probe = VENDORS[name].probe
    bare: dict[Question, Given] = {
        question: Completed(NOT_FOUND) if isinstance(question, Command) else Absent()
        for question in probe.questions
    }
    bare[_place.SYSFS] = Found(Status("directory"))
    bare[_place.MOUNTS] = Found("1 0 8:1 / / rw - ext4 /dev/sda1 rw\n")
    bare[_nvidia_driver.KERNEL] = Found(f"{KERNEL}\n")
    told: dict[tuple[str, str], set[Reading]] = {}
    for fact in probe.read(Answers({**bare, **given})):
        told.setdefault((fact.key, fact.instance), set()).add(fact.reading)
    return told


@pytest.mark.parametrize("name", sorted(VENDORS))
@pytest.mark.parametrize(
    ("sign", "expected"),
    [(Absent(), Absent()), (Found(Status("file")), _place.ON_HOST)],
)
def test_what_is_not_among_them_may_lie_on_the_host(
    name: str, sign: Given, expected: Reading
) -> None:
    told = readings(name, {_place.DOCKER: sign})
    assert told[f"{name}.module.built", KERNEL] == {expected}
    for key in KEYS:
        if key.startswith(name):
            assert told[key, ""] == {expected}


@pytest.mark.parametrize(
    ("sign", "expected"),
    [(Absent(), Absent()), (Found(Status("file")), _place.ON_HOST)],
)
def test_a_modinfo_that_finds_none_says_so_of_its_own_files(sign: Given, expected: Reading) -> None:
    lost = Completed(1, "", "modinfo: ERROR: Module nvidia not found.\n")
    loaded = {_nvidia_driver.MODULE: Found(Status("directory")), _nvidia_driver.MODINFO: lost}
    told = readings("nvidia", {**loaded, _place.DOCKER: sign})
    assert told["nvidia.module.on_disk", ""] == {expected}
