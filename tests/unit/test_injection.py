from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mxenv import injection
from mxenv.facts import Absent, Fact, Observed, Reading, Snapshot, Unreadable, View
from mxenv.verdict import Outcome

DRIVER = "/opt/mxdriver/lib"
CUDA = "/usr/lib/x86_64-linux-gnu/libcuda.so.1"


def node(**readings: Reading) -> Snapshot:
    """A node with these facts, written ``key__instance``."""
    facts = [
        Fact(
            key=key.partition("__")[0].replace("_", "."),
            instance=key.partition("__")[2],
            reading=reading,
            source=f"{key.partition('__')[2]}/libmxsml.so",
        )
        for key, reading in readings.items()
    ]
    taken = datetime(2026, 1, 1, tzinfo=UTC)
    return Snapshot(node="n", view=View.HOST, taken_at=taken, facts=tuple(facts))


def floor(owner: str, reading: Reading, **more: Reading) -> Snapshot:
    return node(**{f"elf_glibc__{owner}": reading}, **more)


@pytest.mark.parametrize("owner", [DRIVER, CUDA, "/usr/lib64/libnvidia-ml.so.1"])
def test_an_image_with_an_older_glibc_than_the_driver_needs_is_refused(owner: str) -> None:
    found = injection.finding(floor(owner, Observed("2.38")), "2.9")
    assert found.outcome is Outcome.INCOMPATIBLE
    assert "needs glibc 2.38, and the image has 2.9" in found.found
    assert found.expected == "glibc 2.38 or newer in the image"


@pytest.mark.parametrize("needed", ["2.9", "2.36"])
def test_an_image_with_as_new_a_glibc_is_fine(needed: str) -> None:
    found = injection.finding(floor(DRIVER, Observed(needed)), "2.36")
    assert found.outcome is Outcome.COMPATIBLE
    assert needed in found.found


def test_what_other_libraries_of_the_host_need_does_not_count() -> None:
    found = injection.finding(floor("/usr/torch", Observed("2.99")), "2.36")
    assert (found.outcome, found.found.partition(",")[0]) == (
        Outcome.COMPATIBLE,
        "the host has none to give",
    )


def test_a_host_without_any_library_gives_none() -> None:
    assert injection.finding(floor("", Absent()), "2.36").outcome is Outcome.COMPATIBLE


def test_is_unknown_if_nobody_knows_the_glibc_of_the_image() -> None:
    assert injection.finding(floor(DRIVER, Observed("2.17")), "").outcome is Outcome.UNKNOWN


def test_is_unknown_if_the_libraries_could_not_be_read() -> None:
    found = injection.finding(floor("", Unreadable("a shell reads none")), "2.36")
    assert found.outcome is Outcome.UNKNOWN
    assert "a shell reads none" in found.found


def test_is_unknown_if_nobody_looked() -> None:
    assert "not asked" in injection.finding(node(), "2.36").found


def test_is_unknown_if_one_library_could_not_be_read() -> None:
    snapshot = floor(
        DRIVER,
        Observed("2.17"),
        **{
            "elf_objects__/opt/maca/lib": Unreadable("x"),
            f"elf_objects__{DRIVER}": Unreadable("y"),
        },
    )
    found = injection.finding(snapshot, "2.36")
    assert found.outcome is Outcome.UNKNOWN
    assert "not known: y" in found.found
    assert injection.finding(snapshot, "2.9").outcome is Outcome.INCOMPATIBLE


def test_a_host_with_no_newer_glibc_than_the_image_gives_nothing_that_needs_one() -> None:
    old = node(libc_version=Observed("2.31"))
    assert injection.finding(old, "2.36").outcome is Outcome.COMPATIBLE
    assert injection.finding(old, "2.28").outcome is Outcome.UNKNOWN


@pytest.mark.parametrize(
    ("reading", "outcome"),
    [
        (Observed("x86_64"), Outcome.COMPATIBLE),
        (Observed("aarch64"), Outcome.INCOMPATIBLE),
        (Unreadable("no uname"), Outcome.UNKNOWN),
        (Absent(), Outcome.UNKNOWN),
    ],
)
def test_holds_the_machine_against_that_of_the_image(reading: Reading, outcome: Outcome) -> None:
    assert injection.machine(node(machine_arch=reading), "x86_64").outcome is outcome
