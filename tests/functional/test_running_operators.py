"""``mxenv ops --run``: operators of a real torch, on devices that are right and others."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import _runnable
import jsonschema
import pytest

import mxenv
from mxenv import inventory_file, operator_runs_file
from mxenv.operator_runs import BAD, Ended, Run, Runs, trials

if TYPE_CHECKING:
    from collections.abc import Callable

MXENV = Path(sys.executable).with_name("mxenv")
STANDINS = Path(__file__).parent.parent / "_standins.py"
SCHEMA = Path(mxenv.__file__).parent / "schemas" / "operatorruns.schema.json"
PRODUCTS = ("mm", "addmm", "bmm", "convolution")


@pytest.fixture
def device(tmp_path: Path, torch_python: str) -> Callable[[str], Path]:
    """Return what gives an interpreter whose device is one of `_standins`."""

    def made(name: str) -> Path:
        path = tmp_path / f"python-{name}"
        words = shlex.join([torch_python, str(STANDINS), name])
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        path.chmod(0o755)
        return path

    return made


def command(model: Path, python: str | Path, *words: str) -> list[str]:
    return [str(MXENV), "ops", str(model), "--run", "--python", str(python), *words]


def ran(model: Path, python: str | Path, *words: str) -> tuple[Runs, int]:
    """Return the results, and the exit status."""
    out = model.with_suffix(".jsonl")
    done = subprocess.run(
        command(model, python, "--out", str(out), *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert out.exists(), done.stderr
    return operator_runs_file.from_text(out.read_text(), context=str(out)), done.returncode


def written(folder: Path, *formats: str, more: Any = None) -> Path:
    path = folder / "many.json"
    path.write_text(_runnable.inventory(*formats, more=more))
    return path


def ends(runs: Runs, *ended: Ended) -> list[Run]:
    return [run for run in runs.runs if run.ended in ended]


def named(run: Run) -> str:
    return run.trial.operator.removeprefix("aten::").partition(".")[0]


def test_healthy_operators_are_verified_and_the_results_are_as_the_schema_says(
    tmp_path: Path, torch_python: str
) -> None:
    model = written(tmp_path, "f32", "bf16", "f16", more=_runnable.EXACT)
    runs, status = ran(model, torch_python)
    assert [run for run in runs.runs if run.ended is not Ended.VERIFIED] == []
    assert status == 0
    assert runs.device.name == "cpu"
    assert all(run.against == "float64" for run in runs.runs if run.quotient)
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    lines = model.with_suffix(".jsonl").read_text().splitlines()
    assert [error for line in lines for error in validator.iter_errors(json.loads(line))] == []


@pytest.mark.parametrize("name", ["split", "wider", "ulp", "threads", "without_onednn"])
def test_a_device_that_computes_in_another_way_raises_no_alarm(
    tmp_path: Path, device: Callable[[str], Path], name: str
) -> None:
    model = written(tmp_path, "f32", "bf16", "f16")
    runs, status = ran(model, device(name))
    assert [run for run in runs.runs if run.ended is not Ended.VERIFIED] == []
    assert status == 0


def test_tf32_is_found_in_every_product_and_nowhere_else(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, status = ran(written(tmp_path, "f32"), device("tf32"))
    assert sorted(named(run) for run in ends(runs, Ended.WRONG)) == sorted(PRODUCTS)
    assert len(ends(runs, Ended.VERIFIED)) == len(runs.runs) - len(PRODUCTS)
    assert status == 1


def test_float32_that_is_computed_in_halves_is_found(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, _ = ran(written(tmp_path, "f32"), device("half"))
    assert sorted(named(run) for run in ends(runs, Ended.WRONG)) == sorted(PRODUCTS)


def test_a_hundredth_in_one_number_of_ten_thousand_is_found(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    model = written(tmp_path, "f32", "f16", "bf16")
    runs, _ = ran(model, device("one_percent"))
    # A hundredth is about a step of bfloat16; of what is not finite, or an index, there is none.
    fine = [run for run in ends(runs, Ended.VERIFIED) if run.trial.dtypes[:1] != ("bf16",)]
    assert {named(run) for run in fine} <= {"argmax", "full_like", "masked_fill", "where"}
    assert {run.trial.dtypes[0] for run in ends(runs, Ended.WRONG)} >= {"f32", "f16"}


def test_what_is_no_number_is_found(tmp_path: Path, device: Callable[[str], Path]) -> None:
    runs, status = ran(written(tmp_path, "f32", "bf16"), device("nan"))
    found = ends(runs, Ended.WRONG)
    assert [named(run) for run in found] == ["mul", "mul"]
    assert {run.said for run in found} == {"1 of 4224 are no numbers"}
    assert status == 1


def test_results_of_another_shape_are_found(tmp_path: Path, device: Callable[[str], Path]) -> None:
    runs, _ = ran(written(tmp_path, "f32"), device("transpose"))
    assert [run.said for run in ends(runs, Ended.WRONG)] == ["gives [80, 64] in place of [64, 80]"]


def test_an_operator_that_a_device_lacks_is_refused(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, status = ran(written(tmp_path, "f16"), device("refuse"))
    assert [named(run) for run in ends(runs, Ended.REFUSED)] == ["mul"]
    assert status == 1


def test_one_that_ends_the_process_costs_no_other(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, status = ran(written(tmp_path, "f32", "bf16"), device("crash"))
    crashed = ends(runs, Ended.CRASHED)
    assert [named(run) for run in crashed] == ["mul", "mul"]
    assert {run.said for run in crashed} == {"was ended by SIGSEGV"}
    assert len(ends(runs, Ended.VERIFIED)) == len(runs.runs) - 2
    assert status == 1


def test_one_that_ends_the_process_as_if_all_were_well_costs_no_other(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, status = ran(written(tmp_path, "f32", "bf16"), device("leave"))
    crashed = ends(runs, Ended.CRASHED)
    assert [named(run) for run in crashed] == ["mul", "mul"]
    assert {run.said for run in crashed} == {"ended its process without a word"}
    assert len(ends(runs, Ended.VERIFIED)) == len(runs.runs) - 2
    assert status == 1


def test_what_was_ended_from_outside_is_nobody_s_fault(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, status = ran(written(tmp_path, "f32"), device("killed"))
    (killed,) = ends(runs, Ended.UNKNOWN)
    assert named(killed) == "mul"
    assert "SIGKILL, which is sent from outside" in killed.said
    assert len(ends(runs, Ended.VERIFIED)) == len(runs.runs) - 1
    assert status == 3


def test_to_have_no_number_on_both_sides_proves_nothing(tmp_path: Path, torch_python: str) -> None:
    nothing = ("aten::mul.Scalar", [_runnable.t("f32", 8, 8), {"f": "nan"}])
    runs, status = ran(written(tmp_path, more=[nothing]), torch_python)
    (run,) = runs.runs
    assert (run.ended, run.said) == (Ended.UNKNOWN, "there is no number to compare")
    assert status == 3


def test_the_time_of_one_operator_is_not_that_of_importing_torch(
    tmp_path: Path, torch_python: str
) -> None:
    one = ("aten::neg.default", [_runnable.t("f32", 8, 8)])
    runs, _ = ran(written(tmp_path, more=[one]), torch_python, "--seconds", "0.7")
    assert len(runs.runs) == 1


def test_one_that_never_comes_back_costs_its_time_and_no_other(
    tmp_path: Path, device: Callable[[str], Path]
) -> None:
    runs, status = ran(written(tmp_path, "f32"), device("hang"), "--seconds", "20")
    (hung,) = ends(runs, Ended.HUNG)
    assert (named(hung), hung.said) == ("mul", "did not come to an end in 20 seconds")
    assert len(ends(runs, Ended.VERIFIED)) == len(runs.runs) - 1
    assert status == 1


def test_what_cannot_be_called_is_unknown_for_a_reason_and_never_ran(
    tmp_path: Path, torch_python: str
) -> None:
    model = written(tmp_path, more=[*_runnable.UNKNOWN, *_runnable.OPEN])
    runs, status = ran(model, torch_python)
    said = {named(run): run.said for run in ends(runs, Ended.UNKNOWN)}
    assert said.pop("_embedding_bag") == (
        "nobody knows which values of 'indices' (i64[10]) are legal"
    )
    assert "what registers it is not imported here" in said.pop("mylib::thing")
    assert said.pop("mm") == "its arguments take 54931 MiB, more than 512 MiB"
    assert said.pop("c10d::allreduce_") == "other processes have a part in it"
    assert "must match" in said.pop("add")
    assert said == {}
    assert sorted(named(run) for run in ends(runs, Ended.RAN)) == ["empty_like", "native_dropout"]
    assert status == 3


def test_what_this_torch_does_not_have_is_refused(tmp_path: Path, torch_python: str) -> None:
    more = [("aten::not_in_any_torch.default", [_runnable.t("f32", 3)])]
    runs, status = ran(written(tmp_path, more=more), torch_python)
    assert [run.ended for run in runs.runs] == [Ended.REFUSED]
    assert status == 1


def mark_of(operator: str, model: Path) -> str:
    """Return the line that stands in a file of results before an operator is run."""
    inventory = inventory_file.from_json(model.read_text(), context=str(model))
    return operator_runs_file.begun(
        next(one for one in trials(inventory) if one.operator == operator)
    )


def killed_at(model: Path, python: Path, out: Path, mark: str) -> None:
    """Run into ``out``, and kill mxenv once ``mark`` stands there."""
    with subprocess.Popen(
        command(model, python, "--out", str(out)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        until = time.monotonic() + 120
        while not (out.exists() and mark in out.read_text()):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_after_any_end_it_goes_on_where_it_was(
    tmp_path: Path, device: Callable[[str], Path], torch_python: str
) -> None:
    model, out = written(tmp_path, "f32"), tmp_path / "many.jsonl"
    killed_at(model, device("hang"), out, mark_of("aten::mul.Tensor", model))
    before = out.read_text()
    with out.open("a") as file:
        file.write('{"operator":"aten::mul')  # as a disk that is full leaves it
    runs, status = ran(model, torch_python)
    after = out.read_text()
    assert after.startswith(before)
    assert status == 0
    assert [run.ended for run in runs.runs] == [Ended.VERIFIED] * len(runs.runs)
    results = [json.loads(line) for line in after.splitlines() if '"ended"' in line]
    keys = [(one["operator"], one["sample"]) for one in results]
    assert len(keys) == len(set(keys)) == len(runs.runs)


def test_what_mxenv_did_not_come_back_from_twice_is_left_out(
    tmp_path: Path, device: Callable[[str], Path], torch_python: str
) -> None:
    model, out = written(tmp_path, "f32"), tmp_path / "many.jsonl"
    mark = mark_of("aten::mul.Tensor", model)
    killed_at(model, device("hang"), out, mark)
    killed_at(model, device("hang"), out, mark + mark)
    runs, _ = ran(model, torch_python)
    (bad,) = ends(runs, *BAD)
    assert (named(bad), bad.ended) == ("mul", Ended.CRASHED)
    assert "twice" in bad.said


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--device", "cuda:7"], 5, "the device 'cuda:7' cannot be used"),
        (["--device", "toaster"], 5, "the device 'toaster' cannot be used"),
        (["--platform", "C500"], 2, "--run runs a model's operators"),
        (["--out", "/dev/full"], 2, "/dev/full: is there, and is no file"),
    ],
)
def test_what_cannot_be_is_one_line(
    tmp_path: Path, torch_python: str, words: list[str], status: int, said: str
) -> None:
    model = written(tmp_path, "f32")
    done = subprocess.run(
        command(model, torch_python, *words), capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_of_other_results_or_of_none_is_left_alone(
    tmp_path: Path, torch_python: str
) -> None:
    model = written(tmp_path, more=_runnable.EXACT)
    ran(model, torch_python)
    out = model.with_suffix(".jsonl")
    other = tmp_path / "other.json"
    other.write_text(_runnable.inventory(more=_runnable.OPEN))
    for path, said in (
        (out, "holds results of another inventory"),
        (other, "is there, and holds no results"),
    ):
        before = path.read_bytes()
        done = subprocess.run(
            command(other, torch_python, "--out", str(path)),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in {2, 5}
        assert said in done.stderr
        assert path.read_bytes() == before


def test_an_interpreter_without_torch_is_told_what_to_install(tmp_path: Path) -> None:
    model = written(tmp_path, "f32")
    done = subprocess.run(
        command(model, sys.executable), capture_output=True, text=True, check=False
    )
    assert done.returncode == 5
    assert "torch is not installed there" in done.stderr


def test_a_model_that_was_walked_through_is_run_and_every_argument_is_legal(
    tmp_path: Path, torch_python: str
) -> None:
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 128}
    config |= {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2}
    config |= {"num_attention_heads": 4, "num_key_value_heads": 2, "dtype": "bfloat16"}
    (tmp_path / "llama").mkdir()
    (tmp_path / "llama" / "config.json").write_text(json.dumps(config))
    model = tmp_path / "llama.json"
    words = [str(tmp_path / "llama"), "--train", "--python", torch_python, "--out", str(model)]
    subprocess.run([MXENV, "ops", *words], check=True, capture_output=True)
    runs, status = ran(model, torch_python)
    # Attention of cards is nothing that a CPU has; a device need not have every one of them.
    assert all("attention" in named(run) for run in ends(runs, *BAD))
    assert ends(runs, Ended.UNKNOWN) == []
    verified = {named(run) for run in ends(runs, Ended.VERIFIED)}
    assert verified >= {"embedding", "embedding_dense_backward", "mm", "nll_loss_backward"}
    assert status == 3


def test_a_device_without_a_run_means_nothing(tmp_path: Path) -> None:
    words = [str(MXENV), "ops", str(written(tmp_path, "f32")), "--device", "cpu"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "add --run" in done.stderr
