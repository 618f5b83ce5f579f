"""What `mxenv ops` says of models, of source trees, and of either on a card."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from _weights import gguf, safetensors

from mxenv import inventory_file
from mxenv.api import operators

ROOT = Path(__file__).parents[2]
MXENV = Path(sys.executable).with_name("mxenv")
NODE = ROOT / "tests/golden/snapshots/c500-8cards.json"
LLAMA = {"architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16"}
FP8 = {
    **LLAMA,
    "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}
CUDA = """\
__global__ void add(float *x) { asm volatile("mov.u32 %0, %laneid;" : "=r"(x)); }
void run(float *x) { add<<<1, 32>>>(x); }
"""


def ops(folder: Path, *words: str, status: int) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [MXENV, "ops", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


def model(folder: Path, config: Any = LLAMA, **tensors: Any) -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    if tensors:
        content = safetensors({name.replace("__", "."): one for name, one in tensors.items()})
        (folder / "model.safetensors").write_bytes(content)
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "port" / "csrc").mkdir(parents=True)
    (tmp_path / "port" / "csrc" / "add.cu").write_text(CUDA, encoding="utf-8")
    (tmp_path / "port" / "tests").mkdir()
    (tmp_path / "port" / "tests" / "test_add.py").write_text(
        "import torch\ntorch.cuda.is_available()\n"
    )
    return tmp_path / "port"


SHOWN = """\
tiny
what          is
architecture  LlamaForCausalLM
computes in   bf16
weights       160 bytes
read as       checkpoint
source        sha256:61ee4c8a9b6a4b0f7bcc8e2bb9ef5e1f4d2d9ea4e7a3d6f7a6a4d1e0d5bd7a0f

Number formats
weights  packed as  activations  tensors  memory
bf16     plain      bf16         1        128 bytes
fp32     plain      fp32         1        32 bytes

Not known
what
operators were not looked at: that needs torch and transformers, here or where --python says
"""


def test_the_formats_of_a_model_are_shown_from_its_headers(tmp_path: Path) -> None:
    model(tmp_path / "tiny", a__weight=("BF16", (8, 8)), n__weight=("F32", (8,)))
    done = ops(tmp_path, "tiny", status=0)
    shown = [line if "sha256:" not in line else "source" for line in done.stdout.splitlines()]
    assert shown == [line if "sha256:" not in line else "source" for line in SHOWN.splitlines()]
    assert done.stderr == ""


def test_as_json_it_is_the_inventory_that_out_writes(tmp_path: Path) -> None:
    model(tmp_path / "tiny", a__weight=("BF16", (8, 8)))
    told = ops(tmp_path, "tiny", "--format", "json", status=0).stdout
    done = ops(tmp_path, "tiny", "--out", "tiny.json", status=0)
    assert done.stdout == ""
    assert (tmp_path / "tiny.json").read_text(encoding="utf-8") == told
    inventory = inventory_file.from_json(told, context="x")
    assert done.stderr == f"wrote tiny.json: {inventory.digest}\n"
    assert ops(tmp_path, "tiny.json", "--format", "json", status=0).stdout == told


@pytest.mark.parametrize("name", ["tiny/config.json", "tiny/model.safetensors", "tiny.gguf"])
def test_a_part_of_a_model_is_read_as_well(tmp_path: Path, name: str) -> None:
    model(tmp_path / "tiny", a__weight=("BF16", (8, 8)))
    (tmp_path / "tiny.gguf").write_bytes(gguf({"a": (12, (256, 2)), "b": (0, (8,))}))
    told = json.loads(ops(tmp_path, name, "--format", "json", status=0).stdout)
    assert told["reader"] == "checkpoint"
    assert told["gaps"]


ON_C500 = """\
unknown       MX630  operators were not looked at
    found     tiny: that needs torch and transformers, here or where --python says
    because   mxenv: Whatever read the model says where it could not look. (observed)
              mxenv explain MX630
    remedy    Read it again where that can be seen, or answer for it with [[waivers]].

tiny on C500: UNKNOWN - 1 unknown, 2 compatible, 1 advice (-v shows all), matrix sha256:"""


def test_formats_that_a_card_has_leave_only_operators_open(tmp_path: Path) -> None:
    model(tmp_path / "tiny", a__weight=("BF16", (8, 8)))
    done = ops(tmp_path, "tiny", "--platform", "c500", status=3)
    assert done.stdout.startswith(ON_C500)
    assert done.stderr == ""


def test_fp8_on_a_c500_is_incompatible_with_what_to_do(tmp_path: Path) -> None:
    model(tmp_path / "tiny", FP8, a__weight=("F8_E4M3", (8, 8)), a__weight_scale_inv=("F32", (1,)))
    done = ops(tmp_path, "tiny", "--platform", "C500", "--format", "json", status=1)
    (verdict,) = json.loads(done.stdout)["verdicts"]
    told = {one["subject"]: one for one in verdict["findings"]}
    weights = told["weights in fp8 (fp8-block) on C500"]
    assert (weights["code"], weights["outcome"]) == ("MX601", "incompatible")
    assert "no by c500-fp8, software by c-series-fp8" in weights["found"]
    assert weights["because"][0]["link"] == "https://ai.gitee.com/docs/compute/domestic-gpu"
    assert weights["remedy"] == (
        "Unpack the weights into bf16 (twice the memory); or take a checkpoint "
        "in int8 (W8A8) or packed into int4 by GPTQ or AWQ."
    )
    assert told["computing in fp8 on C500"]["outcome"] == "incompatible"
    assert told["computing in bf16 on C500"]["outcome"] == "compatible"


def test_the_cards_of_a_node_are_those_of_its_snapshot(tmp_path: Path) -> None:
    model(tmp_path / "tiny", a__weight=("BF16", (8, 8)))
    done = ops(tmp_path, "tiny", "--platform", str(NODE), "-v", status=3)
    assert "    found     128 bytes of weights; there are 8 cards, the smallest of 64.0 GiB\n" in (
        done.stdout
    )
    assert "compatible    MX601  weights in bf16 on C500\n" in done.stdout


@pytest.mark.parametrize(
    ("recording", "said"),
    [
        ("plain-debian12", "unknown       MX604  plain-debian12\n    found     no card was seen\n"),
        ("x201-white-label", "MX601  weights in bf16 on X201\n"),
        ("nvidia-h100-8cards", "there are 8 cards, the smallest of 79.6 GiB\n"),
        ("c500-sgpu-container", "there is one card, of 15.6 GiB\n"),
    ],
)
def test_what_a_recording_has_is_told(tmp_path: Path, recording: str, said: str) -> None:
    model(tmp_path / "tiny", a__weight=("BF16", (8, 8)))
    address = f"recording:{ROOT / 'tests/recordings' / recording}"
    assert said in ops(tmp_path, "tiny", "--platform", address, "-v", status=3).stdout


def test_of_several_platforms_the_worst_decides(tmp_path: Path) -> None:
    model(tmp_path / "tiny", FP8)
    words = ("--platform", "N100", "--platform", "C500")
    done = ops(tmp_path, "tiny", *words, status=1)
    assert "tiny on N100: UNKNOWN" in done.stdout
    assert done.stdout.endswith("\nall 2: INCOMPATIBLE\n")


PORT = """\
port
what     is
read as  source

Places to change
change   places  most of them in
rewrite  1       csrc/add.cu (1)
none     2       csrc/add.cu (2)

What they are
"""


def test_the_effort_of_a_port_is_shown_by_what_has_to_be_done(tree: Path) -> None:
    done = ops(tree.parent, "port", status=0)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("source ")]
    assert "\n".join(lines).startswith(PORT)
    assert "inline PTX   1       rewrite  PTX is NVIDIA's own" in done.stdout
    assert "csrc/add.cu:1" not in done.stdout
    whole = ops(tree.parent, "port", "-v", status=0)
    assert "csrc/add.cu:1  inline PTX " in whole.stdout
    assert "Seen, and not counted as places\ncode  hits\ntest  1\n" in done.stdout


def test_places_in_code_are_work_and_not_incompatible(tree: Path) -> None:
    done = ops(tree.parent, "port", "--platform", "C500", status=3)
    assert "unknown       MX620  inline PTX\n    found     1 place: port/csrc/add.cu:1\n" in (
        done.stdout
    )
    assert "port on C500: UNKNOWN - 2 unknown, 2 compatible, 1 advice" in done.stdout


def test_each_place_stands_at_its_line_in_sarif(tree: Path) -> None:
    done = ops(tree.parent, "port", "--platform", "C500", "--format", "sarif", status=3)
    document = json.loads(done.stdout)
    schema = json.loads((ROOT / "tests/schemas/sarif-2.1.0.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    places = [
        (
            one["ruleId"],
            one["level"],
            where["artifactLocation"]["uri"],
            where["region"]["startLine"],
        )
        for one in document["runs"][0]["results"]
        if (where := one["locations"][0].get("physicalLocation"))
    ]
    assert places == [
        ("MX620", "none", "port/csrc/add.cu", 1),
        ("MX620", "warning", "port/csrc/add.cu", 1),
        ("MX620", "none", "port/csrc/add.cu", 2),
    ]


@pytest.mark.parametrize("form", ["junit", "html", "github", "gitlab", "json"])
def test_every_format_tells_the_place(tree: Path, form: str) -> None:
    done = ops(tree.parent, "port", "--platform", "C500", "--format", form, status=3)
    assert "port/csrc/add.cu" in done.stdout
    if form == "junit":
        suite = ET.fromstring(done.stdout)[0]  # noqa: S314 - the program's own output
        assert suite.get("name") == "port on C500"
        assert any("inline PTX" in (case.get("name") or "") for case in suite)


def test_what_somebody_answers_for_does_not_count(tree: Path) -> None:
    head = '[[waivers]]\nreason = "ported"\nowner = "us"\nexpires = 2999-01-01\n'
    codes = ("MX620", "MX630")
    text = "\n".join(f'{head}code = "{code}"' for code in codes)
    (tree.parent / "waivers.toml").write_text(text, encoding="utf-8")
    words = ("port", "--platform", "C500", "--waivers", "waivers.toml")
    assert (
        "COMPATIBLE - 2 compatible, 1 advice, 2 waived" in ops(tree.parent, *words, status=0).stdout
    )


def test_a_page_shows_the_inventory_as_well(tree: Path) -> None:
    done = ops(tree.parent, "port", "--format", "html", status=0)
    assert done.stdout.startswith("<!DOCTYPE html>")
    assert "<title>What a model asks for</title>" in done.stdout
    assert "inline PTX" in done.stdout


DIFFERENT = """\
What is not the same
part     name             one                 two
model    dtype            bf16                fp16
formats  bf16 plain bf16  1 tensor, 128 bytes  nothing
formats  fp16 plain fp16  nothing             1 tensor, 128 bytes
"""


def test_two_versions_of_a_model_are_compared(tmp_path: Path) -> None:
    model(tmp_path / "one", a__weight=("BF16", (8, 8)))
    model(tmp_path / "two", {**LLAMA, "torch_dtype": "float16"}, a__weight=("F16", (8, 8)))
    done = ops(tmp_path, "one", "--diff", "two", status=1)
    assert [line.split() for line in done.stdout.splitlines()] == [
        line.split() for line in DIFFERENT.splitlines()
    ]
    assert done.stderr == "3 differences between one and two\n"
    told = json.loads(ops(tmp_path, "one", "--diff", "two", "--format", "json", status=1).stdout)
    assert told["changes"][0] == {
        "part": "model",
        "name": "dtype",
        "before": "bf16",
        "after": "fp16",
    }


def test_a_model_does_not_differ_from_itself_and_may_from_another(tmp_path: Path) -> None:
    model(tmp_path / "one", a__weight=("BF16", (8, 8)))
    model(tmp_path / "two", {**LLAMA, "more": 1}, a__weight=("BF16", (8, 8)))
    done = ops(tmp_path, "one", "--diff", "one", status=0)
    assert (done.stdout, done.stderr) == ("", "no differences between one and one\n")
    done = ops(tmp_path, "one", "--diff", "two", status=3)
    assert done.stderr == (
        "no differences between one and two; what neither says may still differ\n"
    )


READERS = operators.readers()
TITLES = "; ".join(f"{one.title} ({name})" for name, one in READERS.items())
KNOWN = f" hint: what can be read: {TITLES}; or an inventory as .json\n"
NO_SOURCE = "holds no source code that is known here (Python, CUDA, C, C++)"
CUT = f"is cut, or not safetensors: a header of {1 << 63} bytes, in a file of 8"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("nowhere",), 2, f"error: nowhere: there is no such file\n{KNOWN}"),
        (("",), 2, f"error: there is no such file\n{KNOWN}"),
        (("loop",), 2, f"error: loop: there is no such file\n{KNOWN}"),
        (("x" * 5000,), 2, f"error: {'x' * 5000}: there is no such file\n{KNOWN}"),
        (("odd.bin",), 2, f"error: odd.bin: nobody here reads such a model\n{KNOWN}"),
        (("pipe.json",), 5, "error: pipe.json: cannot be read: not a file\n"),
        (("pipe.gguf",), 5, "error: pipe.gguf: is not a file\n"),
        (("pipe.safetensors",), 5, "error: pipe.safetensors: is not a file\n"),
        (
            ("huge.json",),
            5,
            "error: huge.json: cannot be read: larger than 64 MiB\n",
        ),
        (("latin.json",), 5, "error: latin.json: not UTF-8 (byte 1)\n"),
        (
            ("empty",),
            5,
            f"error: empty: {NO_SOURCE}\n hint: name the top of a tree\n",
        ),
        (
            ("cut.gguf",),
            5,
            "error: cut.gguf: is cut, or not GGUF: it does not begin with GGUF\n",
        ),
        (
            ("cut.safetensors",),
            5,
            f"error: cut.safetensors: {CUT}\n hint: download it again\n",
        ),
        (
            ("ggufs",),
            5,
            "error: ggufs: holds 2 files of GGUF\n hint: name one of them: a.gguf, b.gguf\n",
        ),
        (
            ("odd.bin", "--reader", "nobody"),
            2,
            f"error: nothing reads 'nobody'\n hint: one of {', '.join(READERS)}\n",
        ),
        (
            ("cut.gguf", "--format", "sarif"),
            2,
            "error: the format 'sarif' is for verdicts only\n hint: name a card: --platform\n",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(
    tmp_path: Path, words: tuple[str, ...], status: int, said: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for suffix in ("json", "gguf", "safetensors"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
    (tmp_path / "odd.bin").write_bytes(b"odd")
    (tmp_path / "latin.json").write_bytes(b'"\xe4"')
    (tmp_path / "cut.gguf").write_bytes(b"GGU")
    (tmp_path / "cut.safetensors").write_bytes((1 << 63).to_bytes(8, "little"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "ggufs").mkdir()
    for name in ("a", "b"):
        (tmp_path / "ggufs" / f"{name}.gguf").write_bytes(gguf({}))
    with (tmp_path / "huge.json").open("wb") as file:
        file.truncate(1 << 30)
    done = ops(tmp_path, *words, status=status)
    assert (done.stdout, done.stderr) == ("", said)


def test_a_card_that_nobody_knows_is_named_with_those_that_are(tmp_path: Path) -> None:
    model(tmp_path / "tiny")
    done = ops(tmp_path, "tiny", "--platform", "C555", status=2)
    assert done.stderr.startswith(
        "error: 'C555' is no card, no snapshot and no address\n hint: did you mean C5"
    )
    assert "cards that are known: C280, " in done.stderr


def test_a_tree_of_hostile_files_is_scanned_and_what_was_left_out_is_said(tree: Path) -> None:
    with (tree / "min.py").open("wb") as file:
        file.truncate(1 << 30)
    (tree / "round").symlink_to(tree)
    (tree / "loop.py").symlink_to("loop.py")
    os.mkfifo(tree / "pipe.py")
    done = ops(tree.parent, "port", status=0)
    assert "1 files of more than 4 MiB were not looked at" in done.stdout


def test_code_that_a_model_brings_is_not_looked_at_and_that_is_said(tmp_path: Path) -> None:
    folder = model(tmp_path / "tiny", {**LLAMA, "auto_map": {"AutoModel": "modeling_x.XModel"}})
    (folder / "modeling_x.py").write_text("import torch\ntorch.cuda.synchronize()\n")
    assert "code that it brings was not looked at: modeling_x.XModel\n" in (
        ops(tmp_path, "tiny", status=0).stdout
    )
    done = ops(tmp_path, "tiny", "--reader", "source", status=0)
    assert "modeling_x.py" in done.stdout


def test_one_file_of_several_says_that_it_is_not_all(tmp_path: Path) -> None:
    for name in ("m-00002-of-00003", "m-00001-of-00001"):
        (tmp_path / f"{name}.safetensors").write_bytes(safetensors({"a": ("BF16", (2,))}))
    said = "m-00002-of-00003.safetensors is one of several files"
    assert said in ops(tmp_path, "m-00002-of-00003.safetensors", status=0).stdout
    assert "one of several" not in ops(tmp_path, "m-00001-of-00001.safetensors", status=0).stdout


def test_a_folder_with_one_file_of_gguf_is_that_model(tmp_path: Path) -> None:
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / "small.gguf").write_bytes(gguf({"a": (12, (256, 2))}))
    told = json.loads(ops(tmp_path, "g", "--format", "json", status=0).stdout)
    assert told["name"] == "small"


def test_a_configuration_that_says_nothing_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    model(tmp_path / "tiny", {})
    done = ops(tmp_path, "tiny", "--platform", "C500", status=3)
    assert "nothing says in which number format it is held\n" in done.stdout


def test_an_inventory_of_a_newer_program_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"schema": "mxenv.inventory/2"}', encoding="utf-8")
    done = ops(tmp_path, "a.json", status=5)
    assert done.stderr == (
        "error: a.json: schema: 'mxenv.inventory/2' is not understood, "
        "only 'mxenv.inventory/1'\n hint: use a newer mxenv\n"
    )
