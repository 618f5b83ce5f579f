"""What `mxenv ops` says of exported programs, TorchScript and ONNX, and of files that do harm."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from _peak import PEAK
from _programs import (
    GEMM,
    LINEAR,
    field,
    graph,
    node,
    onnx,
    onnx_node,
    onnx_tensor,
    program,
    pt2,
    zipped,
)

import mxenv

MXENV = Path(sys.executable).with_name("mxenv")
SCHEMAS = Path(mxenv.__file__).parent / "schemas"
OLD = zipped({"serialized_exported_program.json": json.dumps(LINEAR), "version": "5.3"})
SCRIPT = zipped({"net/code/__torch__/net.py": "def f(x):\n  return torch.add(x, x)\n"})


def ops(folder: Path, *words: str, status: int) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [MXENV, "ops", *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == status, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


SHOWN = """\
net
what          is
architecture  Net
computes in   fp32
weights       128 bytes
operators     2, called 2 times
read as       exported
source        sha256:

Number formats
weights  packed as  activations  tensors  memory
fp32     plain      fp32         1        128 bytes

Operators
operator              calls  phases  types  first in  at
aten::linear.default  1      graph   f32    fc        net.py:7
aten::relu.default    1      graph   f32

Given
input  is
x      f32 1x4

Made with
what                 version
aten opset           10
torch                2.9.0
torch.export schema  8.14

Assumed
what    of     that
export  graph  operators are those of the graph; run from its source code, a model calls others
"""


def test_an_exported_program_is_shown_with_its_operators_and_where_they_are_called(
    tmp_path: Path,
) -> None:
    (tmp_path / "net.pt2").write_bytes(pt2())
    told = ops(tmp_path, "net.pt2", status=0).stdout.splitlines()
    cut = [line.partition("sha256:")[0] + "sha256:" if "sha256:" in line else line for line in told]
    assert cut == SHOWN.splitlines()
    page = ops(tmp_path, "net.pt2", "--format", "html", status=0).stdout
    assert "aten::linear.default" in page
    assert "net.py:7" in page


@pytest.mark.parametrize(
    ("name", "content", "operator"),
    [
        ("net.pt2", pt2(), "aten::linear.default"),
        ("old.pt2", OLD, "aten::linear.default"),
        ("renamed.pt", pt2(deflated=True), "aten::linear.default"),
        ("script.pt", SCRIPT, "aten::add"),
        ("net.onnx", GEMM, "ai.onnx::Gemm"),
    ],
)
def test_an_inventory_is_written_held_against_a_card_and_read_back(
    tmp_path: Path, name: str, content: bytes, operator: str
) -> None:
    (tmp_path / name).write_bytes(content)
    told = ops(tmp_path, name, "--format", "json", status=0).stdout
    schema = json.loads((SCHEMAS / "inventory.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(told), schema)
    assert operator in {use["operator"] for use in json.loads(told)["uses"]}
    ops(tmp_path, name, "--out", "kept.json", status=0)
    assert ops(tmp_path, "kept.json", "--format", "json", status=0).stdout == told
    done = ops(tmp_path, name, "--platform", "C500", "--format", "json", status=3)
    (verdict,) = json.loads(done.stdout)["verdicts"]
    said = [one for one in verdict["findings"] if operator in one["found"]]
    assert [one["outcome"] for one in said] == ["unknown"]
    assert ("another runtime than torch runs" in said[0]["found"]) == (name == "net.onnx")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.pt2", b"", "is cut, or no zip file: File is not a zip file"),
        ("a.pt2", pt2()[:-30], "is cut, or no zip file: File is not a zip file"),
        ("a.pt2", zipped({"a/models/m.json": "{"}), "'a/models/m.json' is not JSON"),
        ("a.pt2", zipped({"a/models/m.json": "[]"}), "'a/models/m.json' is not a JSON object"),
        ("a.pt2", pt2({"graph_module": 1}), "package/models/model.json: graph_module: not an"),
        ("a.pt2", pt2(program([])), "its graph calls no operator"),
        ("a.pt2", zipped({"data/aotinductor/model/x.so": ""}), "compiled for one kind of device"),
        ("a.pt", zipped({"archive/data.pkl": "x"}), "holds pickled weights alone"),
        ("a.pt", zipped({"a.txt": "x"}), "holds no program of torch"),
        ("a.pt", zipped({"a/code/b.py": "x = 1"}), "its code calls no operator"),
        ("a.onnx", b"", "is cut, or no ONNX file: it has no graph"),
        ("a.onnx", GEMM[:40], "is cut, or no ONNX file: "),
        ("a.onnx", json.dumps(LINEAR).encode(), "is cut, or no ONNX file: "),
    ],
)
def test_what_is_damaged_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = ops(tmp_path, name, status=5)
    first, *rest = done.stderr.splitlines()
    assert first.startswith(f"error: {name}: ")
    assert said in first
    assert not rest or (len(rest) == 1 and rest[0].startswith(" hint: "))


@pytest.mark.parametrize("name", ["a.pt2", "a.pt", "a.onnx"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / f"pipe-{name}")
    (tmp_path / f"loop-{name}").symlink_to(f"loop-{name}")
    (tmp_path / f"zero-{name}").symlink_to("/dev/zero")
    (tmp_path / f"folder-{name}").mkdir()
    for kind, status in (("pipe", 2), ("loop", 2), ("zero", 2), ("folder", 5)):
        began = time.monotonic()
        done = ops(tmp_path, f"{kind}-{name}", status=status)
        assert len(done.stderr.splitlines()) <= 2
        assert time.monotonic() - began < 20
    done = ops(tmp_path, f"pipe-{name}", "--reader", "onnx", status=5)
    assert done.stderr == f"error: pipe-{name}: is not a file\n"


def test_external_weights_are_looked_for_beside_the_file_alone(tmp_path: Path) -> None:
    outside = [
        onnx_tensor(name, 1, 4) + field(13, field(1, "location") + field(2, place)) + field(14, 1)
        for name, place in (("a", "../secret"), ("b", "/etc/passwd"), ("c", ""), ("d", "w\0"))
    ]
    content = onnx(onnx_node("Relu", "x") + b"".join(field(5, one) for one in outside))
    (tmp_path / "m.onnx").write_bytes(content)
    gaps = json.loads(ops(tmp_path, "m.onnx", "--format", "json", status=0).stdout)["gaps"]
    assert len(gaps) == 4
    assert all("which is no file beside it" in gap for gap in gaps)


def bomb(path: Path, name: str, size: int) -> None:
    """Write a zip file with ``size`` times nothing, packed into a thousandth."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(name, "w", force_zip64=True) as file,
    ):
        for _ in range(size >> 20):
            file.write(b"[" * (1 << 20))


def many(path: Path) -> None:
    """Write the directory of a zip file with a million files that are not there."""
    entry = struct.pack(
        "<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
    )
    directory = (entry + b"a") * 1_000_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 0xFFFF, 0xFFFF, len(directory), 0, 0)
    path.write_bytes(directory + end)


def nested() -> bytes:
    """Return an ONNX graph in which graphs lie in one another, thousands deep."""
    inner = onnx_node("Sin", "x")
    for _ in range(5000):
        inner = onnx_node("If", more=field(5, field(6, inner)))
    return onnx(inner)


def harmful(folder: Path) -> dict[str, str]:
    """Write files that do harm to whoever believes them; return what is said of each."""
    bomb(folder / "bomb.pt2", "m/models/model.json", 1 << 30)
    bomb(folder / "bomb.pt", "m/code/model.py", 1 << 30)
    many(folder / "many.pt2")
    (folder / "deep.pt2").write_bytes(
        zipped({"m/models/model.json": '{"a":' + "[" * 5_000_000}, deflated=True)
    )
    (folder / "lists.pt2").write_bytes(
        zipped({"m/models/model.json": f'{{"a":[{"[]," * 20_000_000}0]}}'}, deflated=True)
    )
    large = json.dumps(LINEAR) + " " * (60 << 20)
    (folder / "several.pt2").write_bytes(
        zipped({f"m/models/{n}.json": large for n in range(6)}, deflated=True)
    )
    (folder / "number.pt2").write_bytes(
        zipped({"m/models/model.json": f'{{"a":{"9" * 50_000_000}}}'}, deflated=True)
    )
    calls = [node("torch.ops.higher_order.wrap", ("as_graph", {"graph": graph([])}))] * 2
    (folder / "quiet.pt2").write_bytes(pt2(program(calls)))
    (folder / "nested.onnx").write_bytes(nested())
    (folder / "length.onnx").write_bytes(b"\x08\x08\x3a" + b"\xff" * 9 + b"\x01")
    (folder / "fields.onnx").write_bytes(onnx(onnx_node("A") + b"\x12\x00" * 20_000_000))
    with (folder / "hole.onnx").open("wb") as file:
        file.write(onnx(onnx_node("A"))[:-4] + b"\x3a\xff\xff\xff\xff\x7f")
        file.truncate(1 << 36)
    return {
        "bomb.pt2": "'m/models/model.json' unpacks to more than 64 MiB",
        "bomb.pt": "'m/code/model.py' unpacks to more than 64 MiB",
        "many.pt2": "a directory of more than 16 MiB",
        "deep.pt2": "'m/models/model.json' is not JSON: nested too deeply",
        "lists.pt2": "it has more than 8000000 parts",
        "several.pt2": "graphs of more than 256 MiB",
        "number.pt2": "'m/models/model.json' is not JSON",
        "quiet.pt2": "its graph calls no operator",
        "nested.onnx": "graphs nested too deeply",
        "length.onnx": "bytes at byte 2, where 0 are left",
        "fields.onnx": "it has more than 8000000 fields",
        "hole.onnx": "a field without a number at byte 34",
    }


READ = f"""{PEAK}
import sys, time
from mxenv.api import operators
from mxenv.errors import ModelError
for name in sys.argv[1:]:
    began = time.process_time()
    try:
        operators.inventory_of(name)
        said = "read"
    except ModelError as error:
        said = str(error)
    print(name, round(time.process_time() - began), peak(), said, sep="\\t")
"""


def test_files_that_do_harm_are_refused_in_bounded_memory_and_time(tmp_path: Path) -> None:
    expected = harmful(tmp_path)
    for name, words in expected.items():
        done = subprocess.run(
            [sys.executable, "-c", READ, name],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        (line,) = done.stdout.splitlines()
        _, seconds, peak, said = line.split("\t")
        assert words in said, line
        assert int(seconds) <= 30, line
        assert int(peak) <= 400, line


def test_damage_within_a_packed_file_is_told(tmp_path: Path) -> None:
    content = bytearray(pt2(deflated=True))
    packed = zlib.compress(b"x")
    place = content.index(b"model.json") + len("model.json") + 20
    content[place : place + len(packed)] = packed
    (tmp_path / "a.pt2").write_bytes(content)
    done = ops(tmp_path, "a.pt2", status=5)
    assert done.stderr.startswith("error: a.pt2: is cut, or no zip file: ")


def told(folder: Path, name: str, content: bytes) -> Any:
    (folder / name).write_bytes(content)
    return json.loads(ops(folder, name, "--format", "json", status=0).stdout)


def test_names_that_nobody_can_print_do_no_harm(tmp_path: Path) -> None:
    evil = "\x1b[31m\ud800\n\u202e<script>"
    document = program(
        [
            node(
                "torch.ops.aten.relu.default",
                nn_module_stack=f"k,{evil},demo.{evil}",
                stack_trace=f'File "{evil.replace(chr(10), "")}.py", line 3',
            ),
            node(f"#{evil}"),
        ],
    )
    document["torch_version"] = f"2{evil}"
    found = told(tmp_path, "a.pt2", pt2(document))
    assert found["uses"][0]["operator"] == "aten::relu.default"
    text = ops(tmp_path, "a.pt2", status=0).stdout
    assert "\x1b" not in text
    assert "<script>" not in ops(tmp_path, "a.pt2", "--format", "html", status=0).stdout
    ops(tmp_path, "a.pt2", "--out", "a.json", status=0)
    assert ops(tmp_path, "a.json", status=0).stdout == text
