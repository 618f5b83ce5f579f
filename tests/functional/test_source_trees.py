from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mxenv.errors import ModelError
from mxenv.inventory import Change, Inventory
from mxenv.models import Request
from mxenv.models.source import area_of, claims, read
from mxenv.porting import KINDS, effort, places

LABELS = json.loads((Path(__file__).parents[1] / "porting" / "labels.json").read_text("utf-8"))


def tree(tmp_path: Path, **files: str) -> Inventory:
    for name, content in files.items():
        path = tmp_path / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return read(Request(target=str(tmp_path)))


def test_a_tree_is_read_with_files_lines_and_areas(tmp_path: Path) -> None:
    found = tree(
        tmp_path,
        csrc__k_DOT_cu='__global__ void k() { asm("nop;"); }\n',
        csrc__rocm__k_DOT_cu="__global__ void k() {}\n",
        third_party__k_DOT_cuh="__global__ void k() {}\n",
        tests__test_k_DOT_py="import pynvml\n",
        setup_DOT_py="flags = ['-gencode']\n",
        requirements_DOT_txt="torch\ncupy-cuda12x\n",
        requirements__cuda_DOT_in="cupy-cuda12x\n",
        environment_DOT_yml="dependencies:\n  - pytorch-cuda=12.1\n",
        pyproject_DOT_toml="[project]\ndependencies = ['torch==2.4.0+cu121']\n",
        Dockerfile="FROM nvidia/cuda:12.1.0\n",
        run_DOT_sh="nvidia-smi -L\n",
        CMakeLists_DOT_txt="set(F -arch=sm_80)\n",
    )
    assert [(h.file, h.line, h.kind, h.area) for h in found.hits] == [
        ("CMakeLists.txt", 1, "arch-flag", "main"),
        ("Dockerfile", 1, "cuda-wheel", "main"),
        ("csrc/k.cu", 1, "cuda-kernel", "main"),
        ("csrc/k.cu", 1, "inline-ptx", "main"),
        ("csrc/rocm/k.cu", 1, "cuda-kernel", "other platform"),
        ("environment.yml", 2, "cuda-wheel", "main"),
        ("pyproject.toml", 2, "cuda-wheel", "main"),
        ("requirements.txt", 2, "cuda-wheel", "main"),
        ("requirements/cuda.in", 1, "cuda-wheel", "main"),
        ("run.sh", 1, "nvidia-tool", "main"),
        ("setup.py", 1, "arch-flag", "main"),
        ("tests/test_k.py", 1, "nvidia-tool", "test"),
        ("third_party/k.cuh", 1, "cuda-kernel", "vendored"),
    ]
    assert effort(places(found.hits))[Change.REWRITE] == 1
    assert (found.reader, found.name) == ("source", tmp_path.name)


def test_a_file_may_begin_with_a_mark_of_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("import pynvml\r\n".encode("utf-8-sig"))
    (tmp_path / "b.cu").write_bytes("\n__global__ void k() {}".encode("utf-16"))
    (tmp_path / "c.py").write_bytes(b"x = '\xff'\nimport pynvml\n")
    found = read(Request(target=str(tmp_path)))
    assert [(h.file, h.line) for h in found.hits] == [("a.py", 1), ("b.cu", 2), ("c.py", 2)]
    assert len(found.gaps) == 1


def test_equal_trees_give_equal_inventories(tmp_path: Path) -> None:
    one = tree(tmp_path / "a" / "t", k_DOT_cu="k<<<1, 1>>>();")
    other = tree(tmp_path / "b" / "t", k_DOT_cu="k<<<1, 1>>>();")
    changed = tree(tmp_path / "c" / "t", k_DOT_cu="k<<<1, 2>>>();")
    assert one.digest == other.digest != changed.digest


def test_source_alone_never_says_which_operators_run(tmp_path: Path) -> None:
    assert tree(tmp_path, a_DOT_py="x = 1").gaps == (
        "source code says what a port has to look at, and not which operators run",
    )


def test_what_cannot_be_understood_is_said(tmp_path: Path) -> None:
    found = tree(tmp_path, a_DOT_py="def cuda(:", b_DOT_py="import triton\0", c_DOT_py="x = 1")
    assert any(gap.startswith("2 files could not be understood, a.py among") for gap in found.gaps)


def test_a_file_that_nobody_wrote_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "minified.py").open("wb") as file:
        file.truncate(1 << 30)
    found = tree(tmp_path, a_DOT_py="x = 1")
    assert "1 files of more than 4 MiB were not looked at" in found.gaps


def test_links_pipes_and_loops_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    os.mkfifo(tmp_path / "pipe.py")
    found = tree(tmp_path, a_DOT_py="import pynvml")
    assert [hit.file for hit in found.hits] == ["a.py"]


def test_nesting_without_end_is_an_odd_file(tmp_path: Path) -> None:
    found = tree(tmp_path, a_DOT_py=f"cuda = {'(' * 100_000}", b_DOT_py=f"cuda = {'-' * 9000}1")
    assert any("could not be understood" in gap for gap in found.gaps)


def test_a_name_that_is_no_unicode_is_shown_as_one(tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"\xff.py")  # noqa: PTH118 - bytes have no `Path`
    with open(path, "wb") as file:  # noqa: PTH123 - the same
        file.write(b"import pynvml")
    (hit,) = tree(tmp_path, a_DOT_py="x = 1").hits
    hit.file.encode()


@pytest.mark.usefixtures("powerless")
def test_a_folder_that_may_not_be_read_is_said(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir(mode=0)
    try:
        found = tree(tmp_path, a_DOT_py="x = 1")
    finally:
        inner.chmod(0o700)
    assert any("inner could not be read: permission denied" in gap for gap in found.gaps)


def test_what_is_no_tree_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is no folder"):
        read(Request(target=str(tmp_path / "nowhere")))
    with pytest.raises(ModelError, match="holds no source code that is known here"):
        read(Request(target=str(tmp_path)))


def test_a_model_is_no_tree(tmp_path: Path) -> None:
    assert claims(str(tmp_path))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    assert not claims(str(tmp_path))
    assert not claims(str(tmp_path / "config.json"))


@pytest.mark.parametrize(
    ("name", "area"),
    [
        ("csrc/k.cu", "main"),
        ("csrc/rocm/k.cu", "other platform"),
        ("csrc/attention_rocm.cu", "other platform"),
        ("csrc/flash_attn_ck/a.cpp", "other platform"),
        ("vllm/platforms/xpu.py", "other platform"),
        ("pkg/army.py", "main"),
        ("third_party/cub/a.cuh", "vendored"),
        ("tests/k.py", "test"),
        ("pkg/kernel_test.py", "test"),
        ("pkg/testing_ground.py", "test"),
        ("pkg/latest.py", "main"),
    ],
)
def test_whose_code_a_path_is_in(name: str, area: str) -> None:
    assert area_of(name) == area


class TestLabels:
    """Hits in public packages, each looked at by hand: is it what it is called?"""

    def test_they_are_of_many_packages_and_nearly_all_kinds(self) -> None:
        assert len(LABELS) == 140
        assert len({label["package"] for label in LABELS}) >= 15
        assert len({label["kind"] for label in LABELS}) >= 25
        assert {label["kind"] for label in LABELS} <= set(KINDS)

    def test_nearly_all_are_right(self) -> None:
        assert sum(label["right"] for label in LABELS) >= 0.95 * len(LABELS)
