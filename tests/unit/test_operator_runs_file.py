from __future__ import annotations

import pytest

from mxenv import operator_runs_file as file
from mxenv.errors import InventoryError
from mxenv.operator_runs import Device, Ended, Run, Runs, Trial

DEVICE = Device(name="cpu", torch="2.13.0", python="3.11.7", machine="x86_64", tf32=("matmul",))
HEAD = file.head(Runs(inventory="sha256:0", model="m", device=DEVICE))
MM = Trial(operator="aten::mm.default", dtypes=("f32", "f32"), sample="[1]")
RUN = Run(
    trial=MM,
    ended=Ended.VERIFIED,
    against="float64",
    quotient=0.25,
    milliseconds=1.5,
    varies=True,
)
BARE = Run(trial=Trial(operator="aten::bare.default"), ended=Ended.UNKNOWN, said="no arguments")


def test_what_was_written_is_read_back() -> None:
    text = HEAD + file.begun(MM) + file.line(RUN) + file.line(BARE)
    runs = file.from_text(text, context="f")
    assert runs == Runs(inventory="sha256:0", model="m", device=DEVICE, runs=(RUN, BARE))


def test_a_last_line_that_was_not_written_to_its_end_is_left_out() -> None:
    text = HEAD + file.line(BARE) + file.line(RUN)
    for end in range(len(HEAD) + len(file.line(BARE)), len(text)):
        assert file.from_text(text[:end], context="f").runs == (BARE,)


def test_what_began_and_did_not_end_is_told_once_for_each_time() -> None:
    text = HEAD + file.begun(MM) + file.begun(BARE.trial) + file.line(BARE) + file.begun(MM)
    assert file.from_text(text, context="f").begun == (MM.key, MM.key)


def test_of_what_was_run_again_the_last_counts() -> None:
    again = Run(trial=MM, ended=Ended.WRONG)
    text = HEAD + file.line(RUN) + file.line(BARE) + file.line(again)
    assert file.from_text(text, context="f").runs == (again, BARE)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f: empty"),
        (HEAD[:-5], "f: empty"),
        ("{\n", "f: line 1: not JSON"),
        ('{"schema":"mxenv.inventory/1"}\n', "is not results of running operators"),
        ('{"schema":"mxenv.operatorruns/9"}\n', "only 'mxenv.operatorruns/1'"),
        (HEAD + "nonsense\n", "f: line 2: not JSON"),
        (HEAD + "[]\n", "f: line 2: not an object"),
        (HEAD + '{"operator":"a"}\n', "f: line 2: ended: missing"),
        (HEAD + '{"operator":"a","ended":"well"}\n', "ended: 'well' is not one of crashed, hung"),
        (HEAD + '{"operator":"a","ended":"ran","ms":-1}\n', "ms: not a number, zero or more"),
        (HEAD + '{"operator":"a","ended":"ran","ms":true}\n', "ms: not a number, zero or more"),
        (HEAD + '{"operator":"a","ended":"ran","quotient":Infinity}\n', "quotient: not a number"),
        (HEAD + '{"operator":"a","ended":"ran","more":1}\n', "more: unknown field"),
        (HEAD + '{"begun":1}\n', "begun: not a string"),
    ],
)
def test_what_is_no_file_of_results_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(InventoryError) as caught:
        file.from_text(text, context="f")
    assert said in str(caught.value)
