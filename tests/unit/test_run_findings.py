from __future__ import annotations

from mxenv.inventory import Inventory, Kernel, Phase, Use
from mxenv.operator_runs import Device, Ended, Run, Runs, Trial
from mxenv.run_findings import findings
from mxenv.verdict import Finding, Outcome

MODEL = Inventory(name="m", reader="torch", source="sha256:0")


def run(
    ended: Ended, operator: str = "aten::mm.default", sample: str = "[]", **more: object
) -> Run:
    trial = Trial(operator=operator, dtypes=("f32",), sample=sample)
    return Run(trial=trial, ended=ended, **more)  # type: ignore[arg-type] # as each test names it


def found(*runs: Run, inventory: Inventory = MODEL) -> list[Finding]:
    device = Device(name="cuda", torch="2.8.0")
    told = Runs(inventory=inventory.digest, model="m", device=device, runs=runs)
    return list(findings(inventory, told))


def test_each_operator_that_fails_is_told_by_its_worst_set_of_arguments() -> None:
    (one,) = found(
        run(Ended.WRONG, sample="[1]", quotient=3.0, said="3 times"),
        run(Ended.WRONG, sample="[2]", quotient=9.0, said="9 times"),
    )
    assert (one.code, one.outcome) == ("MX640", Outcome.INCOMPATIBLE)
    assert one.subject == "aten::mm.default (f32)"
    assert one.found == "wrong with 2 sets of arguments: 9 times"
    assert one.remedy


def test_what_crashed_or_hung_fails_too() -> None:
    told = found(run(Ended.HUNG), run(Ended.CRASHED, "aten::bmm.default", said="ended by SIGSEGV"))
    assert [one.code for one in told] == ["MX640", "MX640"]
    assert [one.found for one in told] == ["crashed: ended by SIGSEGV", "hung"]


def test_an_operator_that_a_device_refuses_is_told_apart() -> None:
    bare = Run(trial=Trial(operator="aten::x.default"), ended=Ended.REFUSED, said="no")
    (one,) = found(bare)
    assert (one.code, one.subject) == ("MX641", "aten::x.default")
    assert one.outcome is Outcome.INCOMPATIBLE


def test_one_of_several_that_a_device_chooses_from_need_not_be_there() -> None:
    both = ("aten::flash.default", "aten::math.default")
    model = Inventory(
        name="m",
        reader="torch",
        source="sha256:0",
        uses=(Use(operator=both[0], phase=Phase.FORWARD, one_of=both),),
    )
    (one,) = found(run(Ended.REFUSED, both[0]), inventory=model)
    assert one.outcome is Outcome.UNKNOWN
    assert one.expected == "one of aten::flash.default, aten::math.default"
    (bad,) = found(run(Ended.CRASHED, both[0]), inventory=model)
    assert bad.outcome is Outcome.INCOMPATIBLE


def test_tf32_is_told_with_its_switch_and_is_no_fault() -> None:
    (one,) = found(run(Ended.COARSE))
    assert (one.code, one.outcome) == ("MX642", Outcome.UNKNOWN)
    assert "allow_tf32" in one.remedy


def test_what_is_not_known_is_told_by_its_reason() -> None:
    told = found(
        run(Ended.UNKNOWN, "a", said="too large"),
        run(Ended.UNKNOWN, "b", said="too large"),
        run(Ended.UNKNOWN, "c", said="no arguments"),
    )
    assert [one.found for one in told] == ["a, b: too large", "c: no arguments"]
    assert {one.outcome for one in told} == {Outcome.UNKNOWN}


def test_what_went_well_is_counted_and_only_some_are_named() -> None:
    well = [run(Ended.VERIFIED, name, sample, quotient=0.5) for name in "abcd" for sample in "12"]
    verified, ran = sorted(found(*well, run(Ended.RAN)), key=lambda one: one.code, reverse=True)
    assert verified.found.startswith("a, b, c and 1 more (8 sets of arguments); at most 0.5")
    assert (ran.code, ran.outcome) == ("MX644", Outcome.COMPATIBLE)


def test_kernels_and_gaps_of_the_model_were_not_run() -> None:
    model = Inventory(
        name="m",
        reader="torch",
        source="sha256:0",
        kernels=(Kernel(kind="triton", name="_fwd", phase=Phase.FORWARD),),
        gaps=("decode: could not be walked", "half of it"),
    )
    kernel, first, second = found(inventory=model)
    assert (kernel.code, kernel.found) == ("MX643", "triton _fwd was not run")
    assert (first.subject, first.found) == ("decode", "m: could not be walked")
    assert (second.subject, second.found) == ("half of it", "in m")
    assert {one.outcome for one in (kernel, first, second)} == {Outcome.UNKNOWN}


def test_nothing_run_is_nothing_found() -> None:
    assert found() == []
