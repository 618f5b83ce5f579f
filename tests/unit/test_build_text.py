from __future__ import annotations

import pytest

from mxenv import build_text


def test_flags_of_a_build_are_found_outside_its_comments() -> None:
    text = "# -gencode\nset(CMAKE_CUDA_ARCHITECTURES 80)\nFLAGS = -arch=sm_80\n"
    text += "ENV TORCH_CUDA_ARCH_LIST=8.0"
    assert list(build_text.scan_build(text)) == [
        (2, "arch-flag", "set(CMAKE_CUDA_ARCHITECTURES 80)"),
        (3, "arch-flag", "-arch="),
        (4, "arch-flag", "ENV TORCH_CUDA_ARCH_LIST=8.0"),
    ]


@pytest.mark.parametrize(
    ("line", "kind", "name"),
    [
        ("find_package(CUDAToolkit REQUIRED)", "extension-build", "CUDAToolkit"),
        ("find_package( CUDA 12 )", "extension-build", "CUDA"),
        ("enable_language(C CUDA)", "extension-build", "CUDA"),
        ("project(x LANGUAGES CXX CUDA)", "extension-build", "CUDA"),
        ("cuda_add_library(x k.cu)", "extension-build", "cuda_add_library"),
        ("\tnvcc -c k.cu", "extension-build", "nvcc"),
        ("count=$(nvidia-smi -L | wc -l)", "nvidia-tool", "nvidia-smi"),
        ("nvidia-smi topo -m", "nvidia-tool", "nvidia-smi"),
        ("export NCCL_DEBUG=INFO", "nccl-setting", "NCCL_DEBUG"),
        ("ENV NCCL_IB_HCA mlx5", "nccl-setting", "NCCL_IB_HCA"),
        ("FROM --platform=linux/amd64 nvidia/cuda:12.1.0 AS b", "cuda-wheel", "nvidia/cuda:12.1.0"),
        ("RUN pip install 'cupy-cuda12x'", "cuda-wheel", "cupy-cuda12x"),
        ("conda install pytorch-cuda=12.1", "cuda-wheel", "pytorch-cuda=12.1"),
        (
            "pip install torch --index-url https://x.org/whl/cu121",
            *("cuda-wheel", "https://x.org/whl/cu121"),
        ),
    ],
)
def test_what_builds_or_starts_says_what_it_takes_of_nvidia(
    line: str, kind: str, name: str
) -> None:
    assert list(build_text.scan_build(f"\n{line}\n")) == [(2, kind, name)]


@pytest.mark.parametrize(
    "line",
    [
        "# nvidia-smi",
        "set(NCCL_ROOT /usr)  # NCCL_DEBUG=INFO",
        "cmake -DNCCL_ROOT=/usr",
        "echo ${NCCL_DEBUG=INFO}",
        "find_package(CUDAExtras)",
        "echo nvcc_flags",
        "pip install torch",
        "echo 'nvidia-smi failed'",
        "project(cuda_like)",
    ],
)
def test_what_only_looks_like_it_is_nothing(line: str) -> None:
    assert list(build_text.scan_build(line)) == []


def test_requirements_that_bring_cuda_are_found() -> None:
    text = (
        "torch\nnvidia-nccl-cu12>=2  # fast\ncupy-cuda12x\n# cupy-cuda11x\nonnxruntime-cu12 ; x\n"
    )
    text += "--extra-index-url https://x.org/whl/cu121\ntorch==2.4.0+cu121\n  - cudatoolkit=11.8\n"
    assert [name for _, _, name in build_text.scan_requirements(text)] == [
        *("nvidia-nccl-cu12>=2", "cupy-cuda12x", "onnxruntime-cu12 ; x"),
        *("https://x.org/whl/cu121", "torch==2.4.0+cu121", "cudatoolkit=11.8"),
    ]


def test_what_a_project_asks_for_is_found() -> None:
    text = """[project]
dependencies = ["torch==2.4.0+cu121", "numpy", 'nvidia-cudnn-cu12==9.1']  # "cupy-cuda12x"
urls = { wheels = "https://x.org/whl/cu126" }
name = "torch-cu126"
torch = [{ index = "torch-cu126" }]
"""
    assert list(build_text.scan_project(text)) == [
        (2, "cuda-wheel", "torch==2.4.0+cu121"),
        (2, "cuda-wheel", "nvidia-cudnn-cu12==9.1"),
        (3, "cuda-wheel", "https://x.org/whl/cu126"),
    ]


def test_a_text_that_is_no_requirement_is_not_looked_at_again_and_again() -> None:
    assert not build_text.brings_cuda("nvidia-cuda" + " " * 3_000_000 + "x")
    assert list(build_text.said("https://" * 300_000)) == []
    assert list(build_text.scan_build("CUDA project(" + "project(" * 300_000)) == []
