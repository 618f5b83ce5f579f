from __future__ import annotations

import pytest

from mxenv.inventory import Inventory, Phase, Use
from mxenv.operator_runs import Device, Ended, Run, Runs, Trial, fits, trials
from mxenv.operator_table import Table

CARD = Device(name="cuda:1", torch="2.8.0+metax3.5.3.9", tf32=("convolution",))


def run(ended: Ended, sample: str = "[]", operator: str = "aten::mm.default") -> Run:
    return Run(trial=Trial(operator=operator, dtypes=("f32",), sample=sample), ended=ended)


def runs(*found: Run, device: Device = CARD) -> Runs:
    return Runs(inventory="sha256:0", model="m", device=device, runs=found)


@pytest.mark.parametrize(
    ("ends", "worst"),
    [
        ([Ended.VERIFIED, Ended.WRONG], Ended.WRONG),
        ([Ended.VERIFIED, Ended.RAN], Ended.RAN),
        ([Ended.VERIFIED, Ended.UNKNOWN], Ended.VERIFIED),
        ([Ended.UNKNOWN], Ended.UNKNOWN),
        ([Ended.HUNG, Ended.CRASHED, Ended.REFUSED], Ended.CRASHED),
    ],
)
def test_of_several_forms_the_worst_counts_and_one_that_is_unknown_hides_none(
    ends: list[Ended], worst: Ended
) -> None:
    found = runs(*(run(end, str(n)) for n, end in enumerate(ends))).of("aten::mm.default", ["f32"])
    assert found is not None
    assert found.ended is worst


def test_what_was_not_run_in_these_formats_was_not_run() -> None:
    known = runs(run(Ended.VERIFIED))
    assert known.of("aten::mm.default", ["bf16"]) is None
    assert known.of("aten::bmm.default", ["f32"]) is None


def use(phase: Phase, *samples: str, operator: str = "aten::mm.default") -> Use:
    return Use(operator=operator, phase=phase, dtypes=("f32",), samples=samples)


def test_a_form_is_run_once_however_many_phases_have_it() -> None:
    inventory = Inventory(
        name="m",
        reader="torch",
        source="sha256:0",
        uses=(
            use(Phase.PREFILL, "[1]", "[2]"),
            use(Phase.DECODE, "[1]", "[0]"),
            use(Phase.BACKWARD),
            use(Phase.FORWARD, operator="aten::bare.default"),
        ),
    )
    found = [(one.operator, one.sample) for one in trials(inventory)]
    mm = "aten::mm.default"
    assert found == [("aten::bare.default", ""), (mm, "[0]"), (mm, "[1]"), (mm, "[2]")]


def test_trials_that_differ_in_anything_have_other_keys() -> None:
    ones = [
        Trial(operator="a", dtypes=("f32",), sample="[]"),
        Trial(operator="a", dtypes=("f32", "f32"), sample="[]"),
        Trial(operator="a", dtypes=("f32",), sample="[1]"),
        Trial(operator="b", dtypes=("f32",), sample="[]"),
    ]
    assert len({one.key for one in ones}) == len(ones)
    assert ones[0].key == Trial(operator="a", dtypes=("f32",), sample="[]").key


@pytest.mark.parametrize(
    ("device", "why"),
    [
        (CARD, ""),
        (Device(name="cuda", torch="2.8.0"), "they are of torch 2.8.0, and the platform has"),
        (Device(name="cpu", torch=CARD.torch), "they are of cpu, and the platform's operators are"),
        (Device(name="odd", torch=CARD.torch), "they are of odd, and the platform's operators are"),
    ],
)
def test_results_speak_of_the_very_build_and_its_device_only(device: Device, why: str) -> None:
    said = fits(runs(device=device), Table(torch=CARD.torch, key="CUDA"))
    assert said.startswith(why)
    assert bool(said) == bool(why)


@pytest.mark.parametrize(
    ("operator", "coarse"),
    [
        ("aten::convolution.default", True),
        ("aten::_cudnn_rnn.default", True),
        ("aten::mm.default", False),
    ],
)
def test_the_switch_for_tf32_is_that_of_the_operators_own_library(
    operator: str,
    coarse: bool,  # noqa: FBT001 - each case is a pair
) -> None:
    assert CARD.coarse(operator) is coarse
