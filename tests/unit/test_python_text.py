from __future__ import annotations

import pytest

from mxenv import python_text
from mxenv.porting import KINDS


def found(text: str) -> set[tuple[str, str]]:
    return {(kind, name) for _, kind, name in python_text.scan(text)}


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("import triton\n@triton.jit\ndef f(x): ...", "triton-kernel", "f"),
        ("from triton import jit\n@jit\ndef f(x): ...", "triton-kernel", "f"),
        ("import triton\n@triton.jit(debug=True)\ndef f(x): ...", "triton-kernel", "f"),
        ("import cutlass.cute as cute\n@cute.jit\ndef f(x): ...", "tile-kernel", "f"),
        ("from numba import cuda\n@cuda.jit\ndef f(x): ...", "python-kernel", "f"),
        (
            "import torch\n@torch.library.custom_op('a::b', mutates_args=())\ndef f(x): ...",
            *("custom-operator", "a::b"),
        ),
        ("import torch\n@torch.library.custom_op\ndef f(x): ...", "custom-operator", "f"),
        ("import torch\n@torch.library.triton_op(NAME)\ndef f(x): ...", "custom-operator", "f"),
        ("import cupy as cp\nk = cp.RawKernel(src, 'k')", "python-kernel", "RawKernel"),
        (
            "from torch.utils.cpp_extension import load_inline\nload_inline('m', src)",
            *("extension-build", "m"),
        ),
        (
            "from torch.utils.cpp_extension import CUDAExtension\nCUDAExtension(name='m')",
            *("extension-build", "m"),
        ),
        (
            "import torch\ntorch.library.define('a::b', '(Tensor x) -> Tensor')",
            "custom-operator",
            "a::b",
        ),
        (
            "direct_register_custom_op(op_name='fast', op_func=f)",
            *("custom-operator", "fast"),
        ),
        ("import torch\ntorch.library.Library('a', 'DEF')", "operator-library", "a"),
        (
            "import torch\ntorch.cuda.get_device_capability()",
            *("capability", "torch.cuda.get_device_capability"),
        ),
        (
            "import torch\nn = torch.cuda.get_device_properties(0).multi_processor_count",
            *("capability", "torch.cuda.get_device_properties"),
        ),
        ("import torch\nv = torch.version.cuda.split('.')", "capability", "torch.version.cuda"),
        (
            "import torch\nn = torch.cuda.get_device_properties(0).total_memory",
            *("torch-cuda", "torch.cuda.get_device_properties"),
        ),
        ("import torch\ntorch.cuda.synchronize()", "torch-cuda", "torch.cuda.synchronize"),
        (
            "import torch\ntorch.backends.cudnn.benchmark = True",
            *("torch-cuda", "torch.backends.cudnn.benchmark"),
        ),
        (
            "from triton.language.extra import libdevice\nlibdevice.tanh(x)",
            "triton-libdevice",
            "tanh",
        ),
        (
            "import triton.language as tl\ntl.inline_asm_elementwise('mov', '=r')",
            *("triton-assembly", "mov"),
        ),
        ("import pynvml", "nvidia-tool", "pynvml"),
        ("import ctypes\nctypes.CDLL('libnvidia-ml.so.1')", "nvidia-tool", "libnvidia-ml"),
        ("from cuda.bindings import driver", "python-kernel", "cuda"),
        ("import warp as wp", "python-kernel", "warp"),
        ("from numba import cuda", "python-kernel", "numba.cuda"),
        ("import numba.cuda", "python-kernel", "numba.cuda"),
        ("from torch.cuda.amp import autocast", "torch-cuda", "torch.cuda.amp.autocast"),
        ("import torch.cuda.nvtx as nvtx", "torch-cuda", "torch.cuda.nvtx"),
        (
            "import triton.language as tl\ntl.extra.cuda.globaltimer()",
            *("triton-assembly", "globaltimer"),
        ),
        ("lib = L  # cuda\nlib.define('a::f(Tensor x) -> Tensor')", "custom-operator", "a::f"),
        (
            "import torch\n@torch.library.impl('a::f', 'CUDA')\ndef f(x): ...",
            *("operator-library", "a::f"),
        ),
        ("async def f():  # cuda\n    g('NCCL_DEBUG')", "nccl-setting", "NCCL_DEBUG"),
        ("r = ['torch==2.4.0+cu121']", "cuda-wheel", "torch==2.4.0+cu121"),
        ("url = 'https://x.org/whl/cu121'", "cuda-wheel", "https://x.org/whl/cu121"),
        ("from pynvml import nvmlInit", "nvidia-tool", "pynvml"),
        ("import subprocess\nsubprocess.run(['nvidia-smi', '-L'])", "nvidia-tool", "nvidia-smi"),
        ("s = '/usr/bin/nvidia-smi'", "nvidia-tool", "nvidia-smi"),
        ("flags = ['-gencode', 'arch=compute_80,code=sm_80']", "arch-flag", "compute_80"),
        ("import os\nos.environ['TORCH_CUDA_ARCH_LIST']", "arch-flag", "TORCH_CUDA_ARCH_LIST"),
        ("env = {'NCCL_DEBUG': 'INFO'}", "nccl-setting", "NCCL_DEBUG"),
        ("needs = ['nvidia-cublas-cu12==12.1']", "cuda-wheel", "nvidia-cublas-cu12==12.1"),
        ("needs = ['cupy-cuda12x']", "cuda-wheel", "cupy-cuda12x"),
        ("s = 'extern __global__ void k(int* x) { }'", "cuda-in-string", "k"),
        ("s = '__global__ {'", "cuda-in-string", ""),
        ("import tilelang", "tile-kernel", "tilelang"),
    ],
)
def test_what_a_port_has_to_look_at_is_found(text: str, kind: str, name: str) -> None:
    assert (kind, name) in found(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x = 1  # cuda",
        "import os.path as cuda",
        "def f():\n    'run nvidia-smi -L first'",
        "'__global__ void k() {}'",
        "# import pynvml\nx = 'triton'",
        "s = 'see nvidia-smiles'",
        "s = 'NCCL_ is a prefix'",
        "x = y().total_memory  # cuda",
        "from . import cuda",
        "import functools\n@functools.cache\ndef cuda(): ...",
        "import torch\nx = torch.tensor(1).cuda()",
    ],
)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert found(text) == set()


def test_a_name_given_to_an_import_is_known() -> None:
    assert found("from triton import jit as compiled\n@compiled\ndef f(): ...") == {
        ("triton-kernel", "f")
    }


def test_what_is_nested_is_found() -> None:
    text = (
        "import torch\nclass A:\n    def f(self):\n        return [torch.cuda.Stream() for _ in x]"
    )
    assert list(python_text.scan(text)) == [(4, "torch-cuda", "torch.cuda.Stream")]


def test_other_properties_of_other_calls_are_looked_into() -> None:
    assert found("import torch\ntorch.cuda.Stream().uuid") == {("torch-cuda", "torch.cuda.Stream")}


@pytest.mark.parametrize("text", ["def cuda(:", "cuda = '\0'"])
def test_what_is_no_python_is_an_error(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        list(python_text.scan(text))


def test_every_kind_is_known() -> None:
    told = {
        *python_text.DECORATORS.values(),
        *python_text.CALLS.values(),
        *python_text.MODULES.values(),
    }
    assert told <= set(KINDS)


@pytest.mark.parametrize(
    "text", ["x = f'" + "{x}" * 20_001 + "'", "x = 1\n" * 350_000], ids=["fields", "large"]
)
def test_what_nobody_has_written_by_hand_is_not_parsed(text: str) -> None:
    with pytest.raises(ValueError, match="nobody has written it by hand"):
        list(python_text.scan(f"import triton\n{text}"))


@pytest.mark.parametrize("part", ["1,", "-1+", "a.b(", "a\n", "a in "])
def test_an_expression_of_more_parts_than_anybody_writes_is_not_parsed(part: str) -> None:
    with pytest.raises(ValueError, match="nobody has written it by hand"):
        list(python_text.scan(f"cuda = [{part * 250_001}"))


def test_a_table_of_many_braces_is_parsed() -> None:
    table = "x = [" + "{}," * 20_001 + "]"
    assert found(f"import triton\n{table}") == found("import triton")


@pytest.mark.parametrize(
    "text",
    [
        "names.define('torch.cuda')",
        "names.define(cuda)",
        "import triton.language as tl\ntl.extra.cuda",
        "from .cuda import x",
        "from numba import jit",
        "x = {**cuda, 'a': None}",
    ],
)
def test_what_only_sounds_like_it_is_nothing(text: str) -> None:
    assert found(text) == set()
