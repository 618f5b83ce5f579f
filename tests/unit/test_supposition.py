"""What is supposed of a node is so, and what was read of what it replaces is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from _stacks import ENV, GONE, KEYS, TODAY, codes, fact, matrix, node, snapshot

from mxenv.errors import UsageError
from mxenv.facts import Absent, FactKey, Observed, Snapshot, Unreadable, View
from mxenv.judgement import judge
from mxenv.supposition import Shift, Supposed, suppose

if TYPE_CHECKING:
    from mxenv.facts import Reading

MORE = {
    **KEYS,
    **{
        key.name: key
        for key in (
            FactKey(name="python.package.sdk", meaning="", instance="env/name"),
            FactKey(name="python.package.torch", meaning="", instance="env/name"),
            FactKey(name="python.package.origin", meaning="", instance="env/name"),
            FactKey(name="metax.module.on_disk", meaning=""),
            FactKey(name="metax.device.firmware", meaning="", instance="@bdf/unit"),
            FactKey(name="metax.library", meaning="", instance="env"),
        )
    },
}
TORCH = {"torch": "2.8.0+metax3.5.3.9"}


def after(given: Snapshot, *settings: str, env: str | None = ENV) -> Snapshot:
    changes = [Supposed.parse(text, keys=MORE) for text in settings]
    return suppose(given, changes, MORE, env)


def known(given: Snapshot, label: str) -> Reading:
    key, _, instance = label.partition("[")
    return given.reading(key, instance.removesuffix("]"))


def test_supposing_nothing_changes_nothing() -> None:
    assert after(node(TORCH)) == node(TORCH)


def test_a_value_takes_the_place_of_all_that_was_read() -> None:
    given = node(TORCH, fact("metax.sdk", "3.5.3.21", source="other"))
    found = after(given, "metax.sdk=3.7.0.38")
    assert [(f.reading, f.source) for f in found.of("metax.sdk")] == [
        (Observed("3.7.0.38"), "supposed")
    ]
    assert found.of("metax.sdk")[0].view is View.HOST


def test_a_distribution_is_one_of_the_environment() -> None:
    other = fact("python.package[/usr/torch]", "2.1.0")
    found = after(node(TORCH, other), "python.package[torch]=2.10.0+metax3.8.0.7torch2.10")
    assert known(found, f"python.package[{ENV}/torch]") == Observed("2.10.0+metax3.8.0.7torch2.10")
    assert known(found, "python.package[/usr/torch]") == Observed("2.1.0")
    assert known(found, f"python.package.sdk[{ENV}/torch]") == Observed("3.8.0.7")
    assert known(found, f"python.package.torch[{ENV}/torch]") == Observed("2.10")


def test_a_distribution_that_is_not_there_is_installed_and_one_that_is_can_go() -> None:
    found = after(node(TORCH), "python.package[vllm]=0.17.0", "python.package[torch]=absent")
    assert known(found, f"python.package[{ENV}/vllm]") == Observed("0.17.0")
    assert known(found, f"python.package[{ENV}/torch]") == Absent()
    assert after(node(), "python.package[vllm]=8").of("python.package") == (
        fact(f"python.package[{ENV}/vllm]", "8", source="supposed"),
    )


def test_what_was_read_of_the_files_of_another_version_is_forgotten() -> None:
    site = f"{ENV}/lib"
    read = (
        fact(f"python.package.origin[{ENV}/torch]", "index"),
        fact(f"python.package.sdk[{ENV}/torch]", "3.5.3.9"),
        fact(f"elf.glibc[{ENV}/torch]", "2.17"),
        fact(f"elf.undefined[{site}/torch/lib/x.so]", ("a",)),
        fact(f"elf.undefined[{site}/numpy/x.so]", ("a",)),
    )
    given = node(TORCH, *read, fact(f"python.site[{ENV}]", (site,)))
    found = after(given, "python.package[torch]=2.9")
    left = {f.label for f in found.facts if f in read}
    assert left == {f"elf.undefined[{site}/numpy/x.so]"}
    without = node(TORCH, *read, fact(f"python.site[{ENV}]", GONE))
    assert read[3] in after(without, "python.package[torch]=2.9").facts


def test_python_has_a_series() -> None:
    given = node(
        TORCH, fact(f"python.version[{ENV}]", "3.10.2"), fact(f"python.series[{ENV}]", "3.10")
    )
    found = after(given, "python.version=3.12.1")
    assert known(found, f"python.series[{ENV}]") == Observed("3.12")
    gone = after(given, "python.version=absent")
    assert gone.of("python.series") == ()


def test_a_driver_that_is_upgraded_is_the_one_that_lies_there() -> None:
    given = node(TORCH, fact("metax.module.on_disk", "3.8.30"))
    found = after(given, "metax.kmd=3.9.1")
    assert known(found, "metax.module.on_disk") == Observed("3.9.1")
    few = suppose(given, [Supposed.parse("metax.kmd=3.9.1", keys=KEYS)], KEYS, ENV)
    assert few.of("metax.module.on_disk") == ()


def test_another_kernel_has_no_module_that_anybody_saw_built() -> None:
    given = node(
        TORCH,
        fact("kernel.release", "5.15.0-1"),
        fact("kernel.build", "#1"),
        fact("metax.module.loaded", "3.8.30"),
        fact("metax.module.built[5.15.0-9]", "x"),
        fact("nvidia.module.loaded", GONE),
    )
    found = after(given, "kernel.release=5.15.0-2")
    lost = known(found, "metax.module.loaded")
    assert lost == Unreadable("supposed: nobody has seen the module built for 5.15.0-2")
    assert known(found, "metax.module.built[5.15.0-2]") == lost
    assert known(found, "nvidia.module.loaded") == Absent()
    assert found.of("kernel.build") == ()
    for kernel in ("5.15.0-1", "5.15.0-9"):
        same = after(given, f"kernel.release={kernel}")
        assert known(same, "metax.module.loaded") == Observed("3.8.30")


def test_numbers_stay_numbers_and_lists_stay_lists() -> None:
    given = node(TORCH, fact("libc.version", "2"), fact("metax.node[/dev/x]", ("a", "b")))
    found = after(given, "metax.device.count=8", "libc.version=3", "metax.node=c, d")
    assert known(found, "metax.device.count") == Observed(8)
    assert known(found, "libc.version") == Observed("3")
    assert known(found, "metax.node[/dev/x]") == Observed(("c", "d"))
    assert known(after(given, "metax.smi=12"), "metax.smi") == Observed(12)
    assert known(after(given, "metax.smi=²"), "metax.smi") == Observed("²")


def test_every_card_is_meant_or_the_one_that_is_named() -> None:
    cards = [fact(f"metax.device.model[0000:{n}:00.0]", "C500") for n in (1, 2)]
    found = after(snapshot(*cards), "metax.device.model=C550")
    assert {f.reading for f in found.facts} == {Observed("C550")}
    one = after(snapshot(*cards), "metax.device.model[0000:2:00.0]=C550")
    assert [f.reading for f in one.facts] == [Observed("C500"), Observed("C550")]


def test_a_variable_that_is_not_set_can_be() -> None:
    assert known(after(node(TORCH), "env[MACA_PATH]=/x"), "env[MACA_PATH]") == Observed("/x")
    assert known(after(node(TORCH), "metax.library[x]=1"), "metax.library[x]") == Observed(1)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("metax.sdk", "sets nothing"),
        ("metax.sdk= ", "sets nothing"),
        ("metax.device.count=many", "'many' is no number, and metax.device.count is one"),
        ("metax.device.count=²", "is no number"),
        ("metax.sdc=3", "no probe declares the fact 'metax.sdc'"),
        ("python.package[torch].sdk=3", "sets a part of a version"),
        ("metax.device.bios=1.13", "no metax.device.bios is known of node-1"),
        ("metax.device.firmware[x]=1", "which metax.device.firmware is meant by 'x' is not clear"),
    ],
)
def test_what_cannot_be_supposed_is_refused(setting: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        after(node(TORCH), setting)
    assert said in str(caught.value)


def test_without_an_environment_a_distribution_has_no_place() -> None:
    with pytest.raises(UsageError, match="is not clear"):
        after(snapshot(), "python.package[torch]=2.8", env=None)
    found = after(node(TORCH), "python.package[torch]=2.9", env=None)
    assert known(found, f"python.package[{ENV}/torch]") == Observed("2.9")
    whole = after(snapshot(), "metax.device.firmware[a/b]=1", env=None)
    assert known(whole, "metax.device.firmware[a/b]") == Observed(1)


def test_it_is_written_as_it_is_read() -> None:
    text = "python.package[torch]=2.8.0"
    assert str(Supposed.parse(text, keys=MORE)) == text


def test_a_shift_tells_what_appears_and_what_goes() -> None:
    rows = matrix(
        '[[rule]]\nid = "r"\ntext = "new"\nrequires = ["metax.sdk >= 3.6"]\nEVIDENCE\n'
        '[[broken]]\nid = "b"\ntext = "b"\nwhen = ["metax.sdk == 3.7.0.38"]\nEVIDENCE\n'
    )
    one, other = node(TORCH), after(node(TORCH), "metax.sdk=3.7.0.38")
    shift = Shift(before=judge(one, rows, today=TODAY), after=judge(other, rows, today=TODAY))
    assert [f.row for f in shift.gone if f.row] == ["test.toml:rule:r"]
    assert {f.row for f in shift.appeared if f.row} == {"test.toml:rule:r", "test.toml:broken:b"}
    same = Shift(before=shift.before, after=shift.before)
    assert (same.appeared, same.gone) == ((), ())
    assert "MX111" in codes(shift.before)
