"""What `mxenv ops` says of the operators of a model on a node whose torch was asked."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from _gated import mxenv
from _operators import ENTRIES, TORCH, model, node, results, table

from mxenv.operator_runs import Ended
from mxenv.operator_table import Entry, How

ROOT = Path(__file__).parents[2]
ALL = (*ENTRIES, "aten::_new_in_2_13.default", "flash_attn::fwd.default")


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return model(tmp_path / "llama.json", *ALL)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    return node(tmp_path / "here.json", table())


def ops(*words: str | Path, status: int) -> str:
    done = mxenv("ops", *words)
    assert done.exit_code == status, done.output
    return done.stdout


def judged(*words: str | Path, status: int) -> dict[str, Any]:
    document = json.loads(ops(*words, "--format", "json", status=status))
    schema = (ROOT / "mxenv/schemas/verdict.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(document, json.loads(schema))
    (verdict,) = document["verdicts"]
    return dict(verdict)


def test_a_model_whose_operators_are_all_there_is_compatible(tmp_path: Path, here: Path) -> None:
    small = model(tmp_path / "small.json", "aten::mm.default", "aten::add.Tensor")
    said = ops(small, "--platform", here, "-v", status=0)
    assert (
        "compatible    MX610  indirect operators\n"
        "    found     aten::add.Tensor: by way of aten::mm.default (registered); "
        "10 of 20 calls, in prefill, first at "
        "transformers/models/llama/modeling_llama.py:241 in model.layers.0\n"
    ) in said
    assert "compatible    MX610  supported operators\n" in said


def test_every_operator_is_in_one_class_with_what_to_do(llama: Path, here: Path) -> None:
    said = ops(llama, "--platform", here, status=1)
    assert (
        "incompatible  MX612  aten::_fused_sdp.default\n"
        "    found     no kernel for CUDA; 10 of 80 calls, in prefill, first at "
        "transformers/models/llama/modeling_llama.py:241 in model.layers.0\n"
        "    expected  an operator that here is known to have\n"
    ) in said
    assert (
        "remedy    Read the model with the platform's torch (it was read with torch 2.13.0), or "
        "take a torch that has it.\n"
    ) in said
    for code, operator in (
        ("MX613", "aten::linalg_svd.default"),
        ("MX614", "flash_attn::fwd.default"),
        ("MX615", "aten::odd.default"),
    ):
        assert f"unknown       {code}  {operator}\n" in said
    assert SHARES in said


SHARES = """\
operators of llama on here
class        operators  calls  share of calls
unsupported  2          20     25.0 %
unknown      1          10     12.5 %
custom       1          10     12.5 %
fallback     1          10     12.5 %
indirect     1          10     12.5 %
supported    2          20     25.0 %
"""


def test_programs_are_told_each_operator_and_every_class(llama: Path, here: Path) -> None:
    verdict = judged(llama, "--platform", here, status=1)
    assert verdict["shares"] == {
        "classes": [
            {"class": "unsupported", "operators": 2, "calls": 20},
            {"class": "unknown", "operators": 1, "calls": 10},
            {"class": "custom", "operators": 1, "calls": 10},
            {"class": "fallback", "operators": 1, "calls": 10},
            {"class": "indirect", "operators": 1, "calls": 10},
            {"class": "supported", "operators": 2, "calls": 20},
        ],
        "gaps": 0,
    }
    named = [one for one in verdict["findings"] if one["code"] in {"MX610", "MX612"}]
    assert len(named) == 5


def test_what_nobody_looked_at_stands_beside_the_shares(tmp_path: Path, here: Path) -> None:
    part = model(tmp_path / "part.json", "aten::mm.default", gaps=("the decoder: it failed",))
    said = ops(part, "--platform", here, status=3)
    lines = [line.split("  ") for line in said.splitlines()]
    told = [[cell.strip() for cell in line if cell] for line in lines]
    assert ["supported", "1", "10", "100.0 %"] in told
    assert ["not looked at", "1 thing of the model", "no part of these"] in told


def test_other_reports_tell_each_operator(llama: Path, here: Path) -> None:
    sarif = json.loads(ops(llama, "--platform", here, "--format", "sarif", status=1))
    schema = json.loads((ROOT / "tests/schemas/sarif-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.validate(sarif, schema)
    told = json.dumps(sarif)
    suite = ET.fromstring(ops(llama, "--platform", here, "--format", "junit", status=1))  # noqa: S314 - the program's own output
    cases = ET.tostring(suite, "unicode")
    page = ops(llama, "--platform", here, "--format", "html", status=1)
    for operator in ("aten::_fused_sdp.default", "flash_attn::fwd.default"):
        assert operator in told
        assert operator in cases
        assert operator in page
    assert "share of calls" in page
    assert "12.5 %" in page


def test_another_build_of_torch_says_nothing_of_the_card(tmp_path: Path, llama: Path) -> None:
    torch = "2.13.0+cpu"
    cpu = node(tmp_path / "cpu.json", table(torch=torch, key="CPU"), torch=torch)
    said = ops(llama, "--platform", cpu, status=3)
    assert (
        "torch 2.13.0+cpu was asked what it has for CPU: a build that is not for the cards of "
        "metax says nothing of the one that is"
    ) in said
    assert "unknown      8          80     100.0 %" in said


def test_a_table_of_another_torch_than_is_installed_says_nothing(
    tmp_path: Path, llama: Path
) -> None:
    old = node(tmp_path / "old.json", table(), torch="2.6.0+metax3.2.1.3")
    said = ops(llama, "--platform", old, status=3)
    assert f"torch {TORCH} was asked, and 2.6.0+metax3.2.1.3 is installed in /opt/conda" in said


def test_a_damaged_table_is_unknown_and_said(tmp_path: Path, llama: Path) -> None:
    bad = node(tmp_path / "bad.json", table().replace("CUDA", "CPU"))
    said = ops(llama, "--platform", bad, status=3)
    assert "the table of operators of its torch is not what its digest says" in said


def test_a_card_alone_leaves_operators_unknown_and_flaggems_list_is_not_torchs(
    tmp_path: Path,
) -> None:
    copying = model(tmp_path / "copying.json", "aten::copy_.default", "aten::mm.default")
    verdict = judged(copying, "--platform", "C500", status=3)
    told = {one["subject"]: one for one in verdict["findings"]}
    copy = told["aten::copy_.default"]
    assert (copy["code"], copy["outcome"]) == ("MX615", "unknown")
    assert copy["row"] == "metax.toml:operator:flaggems-tests-2026-01"
    assert "its list says nothing of torch's kernel" in copy["found"]
    assert "op_black_list.yaml" in copy["because"][0]["link"]
    assert told["unknown operators"]["found"].startswith(
        "aten::mm.default: no table of operators is known of the platform; 10 of 20 calls"
    )


def test_what_is_known_of_flaggems_says_nothing_where_torchs_own_kernel_runs(
    tmp_path: Path,
) -> None:
    copying = model(tmp_path / "copying.json", "aten::copy_.default")
    for by, status in (("", 0), ("flag_gems", 3)):
        entries = {"aten::copy_.default": Entry(how=How.NATIVE, by=by)}
        there = node(tmp_path / "there.json", table(entries), more=(("flag-gems", "5.0.2"),))
        ops(copying, "--platform", there, status=status)


def test_one_operator_can_be_answered_for(tmp_path: Path, here: Path) -> None:
    slow = model(tmp_path / "slow.json", "aten::mm.default", "aten::linalg_svd.default")
    (tmp_path / "waivers.toml").write_text(
        '[[waivers]]\ncode = "MX613"\nsubject = "aten::linalg_svd.default"\n'
        'reason = "once at the start"\nowner = "us"\nexpires = 2999-01-01\n'
    )
    ops(slow, "--platform", here, status=3)
    for form in ("text", "json"):
        words = ("--waivers", tmp_path / "waivers.toml", "--format", form)
        ops(slow, "--platform", here, *words, status=0)


def test_of_several_environments_one_has_to_be_named(tmp_path: Path, llama: Path) -> None:
    both = node(tmp_path / "both.json", table(), envs=("/opt/conda", "/opt/venv"))
    said = ops(llama, "--platform", both, status=3)
    assert "torch was asked in several environments: /opt/conda, /opt/venv" in said
    assert "aten::_fused_sdp.default" in ops(
        llama, "--platform", both, "--env", "/opt/venv", status=1
    )
    done = mxenv("ops", llama, "--platform", both, "--env", "/nowhere")
    assert done.exit_code == 2
    done = mxenv("ops", llama, "--platform", "C500", "--env", "/opt/venv")
    assert done.stderr == (
        "error: C500 is a model of card: it has no Python environment '/opt/venv'\n"
    )


MORE = {**ENTRIES, "aten::_fused_sdp.default": Entry(how=How.NATIVE)}
NEWER = "2.8.0+metax3.7.0.7"


def test_two_builds_of_torch_are_compared(tmp_path: Path, here: Path) -> None:
    newer = node(tmp_path / "newer.json", table(MORE, torch=NEWER), torch=NEWER)
    document = json.loads(ops(here, "--diff", newer, "--format", "json", status=1))
    assert document["schema"] == "mxenv.platformdiff/1"
    assert document["changes"] == [
        {"part": "build", "name": "torch", "before": TORCH, "after": NEWER},
        {
            "part": "operators",
            "name": "aten::_fused_sdp.default",
            "before": "unsupported",
            "after": "supported",
        },
    ]
    done = mxenv("ops", here, "--diff", here)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "aten::_fused_sdp.default" in ops(here, "--diff", newer, status=1)


def test_what_a_model_gains_on_another_platform_is_told(tmp_path: Path, here: Path) -> None:
    newer = node(tmp_path / "newer.json", table(MORE), torch=TORCH)
    wants = model(tmp_path / "wants.json", "aten::_fused_sdp.default", "aten::mm.default")
    done = mxenv("ops", wants, "--platform", here, "--diff", newer)
    assert done.exit_code == 1
    assert "aten::_fused_sdp.default  unsupported" in done.stdout
    plain = model(tmp_path / "plain.json", "aten::mm.default")
    assert mxenv("ops", plain, "--platform", here, "--diff", newer).exit_code == 0
    done = mxenv("ops", plain, "--platform", here, "--diff", "C500")
    assert done.exit_code == 1
    assert "asked" in done.stdout
    plain = model(tmp_path / "plain.json", "aten::neg.default")
    done = mxenv("ops", plain, "--platform", "C500", "--diff", "C550")
    assert (done.exit_code, done.stdout) == (3, "")


def test_a_model_and_a_node_are_not_compared(llama: Path, here: Path) -> None:
    done = mxenv("ops", llama, "--diff", here)
    assert done.exit_code == 2
    assert done.stderr == (
        f"error: {llama} and {here}: one is a node and one is none\n"
        " hint: hold a model against a node with --platform\n"
    )
    done = mxenv("ops", llama, "--platform", "C500", "--platform", "C550", "--diff", "N100")
    assert done.stderr == "error: --diff compares one --platform with another: name one\n"


PAIR = ("aten::mm.default", "aten::add.Tensor")


def test_what_was_run_says_how_well_operators_are_known_to_work(tmp_path: Path, here: Path) -> None:
    asked = model(tmp_path / "asked.json", *PAIR)
    good = results(tmp_path / "good.jsonl", asked, dict.fromkeys(PAIR, Ended.VERIFIED))
    said = ops(asked, "--platform", here, "--ran", good, "-v", status=0)
    assert "verified when it was run (verified); 10 of 20 calls" in said
    bad = results(tmp_path / "bad.jsonl", asked, {"aten::mm.default": Ended.WRONG})
    said = ops(asked, "--platform", here, "--ran", bad, status=1)
    assert "incompatible  MX612  aten::mm.default\n    found     wrong when it was run; " in said


def test_what_was_run_on_a_card_counts_where_nobody_asked_its_torch(tmp_path: Path) -> None:
    asked = model(tmp_path / "asked.json", "aten::neg.default")
    good = results(tmp_path / "good.jsonl", asked, {"aten::neg.default": Ended.VERIFIED})
    ops(asked, "--platform", "C500", "--ran", good, status=0)


def test_what_was_run_elsewhere_or_of_another_model_is_refused(tmp_path: Path, here: Path) -> None:
    asked = model(tmp_path / "asked.json", "aten::mm.default")
    ended = {"aten::mm.default": Ended.VERIFIED}
    cpu = results(tmp_path / "cpu.jsonl", asked, ended, device="cpu", torch="2.13.0+cpu")
    for platform, why in (
        (here, f"they are of torch 2.13.0+cpu, and the platform has {TORCH}"),
        (Path("C500"), "they are of torch 2.13.0+cpu on cpu, not of its cards of metax"),
    ):
        done = mxenv("ops", asked, "--platform", platform, "--ran", cpu)
        assert done.exit_code == 2
        name = platform.stem
        assert done.stderr == f"error: the results say nothing of {name}: {why}\n"
    other = model(tmp_path / "other.json", "aten::neg.default")
    done = mxenv("ops", other, "--platform", here, "--ran", cpu)
    assert done.stderr == "error: the results are of another inventory, of llama\n"
    for words in ((), ("--platform", "C500", "--platform", "C550"), ("--diff", other)):
        done = mxenv("ops", asked, *words, "--ran", cpu)
        assert done.exit_code == 2
        assert done.stderr == (
            "error: --ran is what came of a run on one --platform: name that one alone\n"
        )


def test_what_was_run_becomes_rows_of_a_site_that_count_without_the_results(
    tmp_path: Path,
) -> None:
    asked = model(tmp_path / "asked.json", "aten::odd.default", "aten::mm.default")
    here = node(tmp_path / "here.json", table())
    ended = {"aten::odd.default": Ended.VERIFIED, "aten::mm.default": Ended.CRASHED}
    ran = results(tmp_path / "ran.jsonl", asked, ended)
    site = tmp_path / "site.toml"
    words = ("--evidence", "https://wiki.example.com/run", "--who", "us", "--out", site)
    done = mxenv("matrix", "add-ran", here, ran, *words)
    assert done.exit_code == 0, done.output
    assert ":operator:c500-sdk3.5.3.20-traps-bf16-" in done.stdout
    assert ": 1 works" in done.stdout
    verdict = judged(asked, "--platform", here, "--matrix", site, status=1)
    told = {one["code"]: one for one in verdict["findings"]}
    assert told["MX612"]["subject"] == "aten::mm.default"
    assert told["MX612"]["because"][0]["grade"] == "site"
    assert told["MX610"]["found"].startswith("aten::odd.default: right to what the format allows")
    assert mxenv("matrix", "lint", site).exit_code == 0
    done = mxenv("matrix", "add-ran", here, ran, "--evidence", " ", "--out", site)
    assert done.stderr.startswith("error: --evidence says nothing\n")
