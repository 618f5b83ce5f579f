from __future__ import annotations

import pytest

from mxenv import cuda_text
from mxenv.porting import KINDS


def found(text: str) -> list[tuple[int, str, str]]:
    return list(cuda_text.scan(text))


def kinds(text: str) -> set[str]:
    return {kind for _, kind, _ in found(text)}


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("__global__ void add(float* x) {}", "cuda-kernel", "add"),
        (
            "template <int N>\n__global__ void __launch_bounds__(N * (2), 4) add(float* x)\n{ }",
            *("cuda-kernel", "add"),
        ),
        ("__global__ __cluster_dims__(2, 1) void add(float* x) {}", "cuda-kernel", "add"),
        ("__global__ __attribute__((hot)) void add(int x) {}", "cuda-kernel", "add"),
        ("__global__ void add<__half>(__half* x) {}", "cuda-kernel", "add"),
        ("__global__ MACRO {}", "cuda-kernel", ""),
        ("add<<<1, 2>>>(x);", "cuda-launch", "<<<"),
        ("cudaLaunchKernelExC(&c, f, a);", "cuda-launch", "cudaLaunchKernelExC"),
        ("cuLaunchKernel(f, 1);", "cuda-launch", "cuLaunchKernel"),
        ("cudaLaunchCooperativeKernel(f);", "cuda-launch", "cudaLaunchCooperativeKernel"),
        ("auto w = cg::tiled_partition<32>(b);", "cooperative-groups", "tiled_partition<"),
        ("#include <cooperative_groups.h>", "cooperative-groups", "cooperative_groups.h"),
        ('asm volatile("mov.u32 %0, %1;" : "=r"(x));', "inline-ptx", "asm volatile"),
        ('__asm__("nop;");', "inline-ptx", "__asm__"),
        ("x = __shfl_xor_sync(m, v, 1);", "warp-intrinsic", "__shfl_xor_sync"),
        ("__syncwarp();", "warp-intrinsic", "__syncwarp"),
        ("m = __ballot_sync(full, p);", "warp-intrinsic", "__ballot_sync"),
        ("int lane = threadIdx.x % WARP_SIZE;", "warp-size", "WARP_SIZE"),
        ("int lane = threadIdx.x % warpSize;", "warp-size", "warpSize"),
        ("wmma::fragment<int> f;", "tensor-core", "wmma::fragment"),
        (
            "using A = SM80_16x8x16_F32F16F16F32_TN_MMA;",
            "tensor-core",
            "SM80_16x8x16_F32F16F16F32_TN_MMA",
        ),
        ("#include <mma.h>", "tensor-core", "mma.h"),
        ("cuda::barrier<scope> b;", "libcudacxx", "cuda::barrier"),
        ("#include <cuda/barrier>", "libcudacxx", "cuda/barrier"),
        ("#if __CUDA_ARCH__ >= 800", "cuda-version-guard", "__CUDA_ARCH__"),
        ("#if CUDA_VERSION > 11", "cuda-version-guard", "CUDA_VERSION"),
        ("TORCH_LIBRARY_FRAGMENT(mine, m) {}", "operator-library", "TORCH_LIBRARY_FRAGMENT"),
        ("PYBIND11_MODULE(mine, m) {}", "operator-library", "PYBIND11_MODULE"),
        ("int lane = threadIdx.x & 31;", "warp-size", "threadIdx.x & 31"),
        ("int warp = threadIdx.y >> 5;", "warp-size", "threadIdx.y >> 5"),
        ('__asm volatile("nop;");', "inline-ptx", "__asm volatile"),
        ("CUtensorMap map;", "tensor-core", "CUtensorMap"),
        ("cublasLtMatmul(h);", "cuda-library", "cublasLtMatmul"),
        ("ncclAllReduce(a, b);", "cuda-library", "ncclAllReduce"),
        ("bool h = prop.major >= 9;", "capability", "prop.major"),
        ("at::cuda::getDeviceProperties(0)->minor", "capability", "getDeviceProperties(0)->minor"),
        ("nvrtcCompileProgram(p, 0, 0);", "cuda-in-string", "nvrtcCompileProgram"),
        ('auto s = R"(__global__ void add(int* x) { })";', "cuda-in-string", "add"),
        ('auto s = R"(__global__ MACRO; {})";', "cuda-in-string", ""),
        ('getenv("NCCL_DEBUG");', "nccl-setting", "NCCL_DEBUG"),
        ('system("nvidia-smi -L");', "nvidia-tool", "nvidia-smi"),
        ('dlopen("libnvidia-ml.so.1", 1);', "nvidia-tool", "libnvidia-ml"),
        ("nvmlInit_v2();", "nvidia-tool", "nvmlInit_v2"),
        ("#include <nvml.h>", "nvidia-tool", "nvml.h"),
        ('  #  include "cutlass/cutlass.h"', "cutlass", "cutlass/cutlass.h"),
        ("#include <cub/cub.cuh>", "cuda-library", "cub/cub.cuh"),
        ("#include <cublas_v2.h>", "cuda-library", "cublas_v2.h"),
        ('TORCH_LIBRARY(a, m) { m.def("norm(Tensor x) -> Tensor"); }', "custom-operator", "norm"),
        ('TORCH_LIBRARY(a, m) { m.def(R"(norm(Tensor x))"); }', "custom-operator", "norm"),
        ('TORCH_LIBRARY(a, m) { m.def("a::norm", f); }', "custom-operator", "norm"),
    ],
)
def test_what_a_port_has_to_look_at_is_found(text: str, kind: str, name: str) -> None:
    assert (kind, name) in {(told, said) for _, told, said in found(text)}


@pytest.mark.parametrize(
    "text",
    [
        "int main() { return 0; }",
        "// __global__ void add() {}",
        "/* a<<<1, 2>>>(); */",
        "/* never ends: a<<<1, 2>>>();",
        'const char* s = "__shfl_sync(";',
        'auto s = R"x(asm volatile(")x";',
        "char c = '<'; // <<<",
        "__global__ void add(float* x);",
        "at::cuda::getCurrentCUDAStream();",
        "cuda::std::array<int, 3> a;",
        "#include <cuda/std/array>",
        '#include "cuda/scatter_cuda.h"',
        '#include "cublas_wrappers.h"',
        "//#include <cub/cub.cuh>",
        'm.def("run", &run);  // cuda',
        'PYBIND11(x); m.def("run", &run);',
        'const char* s = "threadIdx.x & 31";',
        'auto s = R"(__global__ cuda)";',
        "int n = threadIdx.x / 320;",
        "int NCCL_DEBUG = nvidia-smi;",
    ],
)
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert found(text) == []


def test_an_operator_without_a_text_for_a_name_is_none() -> None:
    assert "custom-operator" not in kinds("TORCH_LIBRARY(a, m) { m.def(schema); }")


def test_what_pybind_is_told_beside_a_library_is_no_operator() -> None:
    library = 'TORCH_LIBRARY(a, m) { m.def("norm(Tensor x)"); }\n'
    text = f'{library}PYBIND11_MODULE(b, m) {{ m.def("run", &run); }}\n{library}'
    assert [line for line, kind, _ in found(text) if kind == "custom-operator"] == [1, 3]


def test_lines_are_those_of_the_file() -> None:
    text = '/* one\n two */\nR"(\n\n)";\nk<<<1, 1>>>();\n'
    assert found(text) == [(6, "cuda-launch", "<<<")]


def test_a_digit_separator_is_no_quote() -> None:
    assert kinds("int n = 1'000'000; k<<<1, 1>>>();") == {"cuda-launch"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("#ifdef USE_ROCM\n__shfl(a);\n#else\n__shfl(b);\n#endif\n__shfl(c);", [4, 6]),
        ("#ifndef USE_ROCM\n__shfl(a);\n#else\n__shfl(b);\n#endif", [2]),
        ("#if defined(USE_ROCM)\n__shfl(a);\n#elif X\n__shfl(b);\n#endif", [4]),
        ("#if !defined(__HIP_PLATFORM_AMD__)\n__shfl(a);\n#endif", [2]),
        ("#if defined(USE_ROCM) || X\n__shfl(a);\n#endif", [2]),
        (
            "#if X\n#ifdef USE_ROCM\n__shfl(a);\n#endif\n__shfl(b);\n#else\n__shfl(c);\n#endif",
            [5, 7],
        ),
        ("#else\n#endif\n__shfl(a); // USE_ROCM", [3]),
        ("#if 0\n__shfl(a);\n#else\n__shfl(b);\n#endif\n__shfl(c);", [4, 6]),
        ("#if (1)\n__shfl(a);\n#else\n__shfl(b);\n#endif", [2]),
        ("#if 0 // never\n__shfl(a);", []),
        ("/*\n#if 0\n*/\n__shfl(a);", [4]),
        ('auto s = R"(\n#ifdef USE_ROCM\n)";\n__shfl(a);', [4]),
    ],
)
def test_what_another_platform_compiles_is_left_out(text: str, lines: list[int]) -> None:
    assert [line for line, kind, _ in found(text) if kind == "warp-intrinsic"] == lines


def test_every_kind_is_known() -> None:
    own = {*cuda_text._PLAIN, *(kind for kind, _ in cuda_text._INCLUDED)}
    assert {*own, "cuda-kernel", "custom-operator"} <= set(KINDS)


@pytest.mark.parametrize("quote", ['"', "'"])
@pytest.mark.parametrize("end", ["", "\n", "\\"])
def test_a_string_without_an_end_is_looked_at_once(quote: str, end: str) -> None:
    text = f"__global__ void k(int a) {{}}\n{quote}" + f"\\{quote}" * 300_000 + end
    assert [(line, kind) for line, kind, _ in found(text)] == [(1, "cuda-kernel")]


@pytest.mark.parametrize(
    "text",
    [
        "asm" + " " * 2_000_000,
        "cuda " + "prop" * 500_000,
        "cuda " + "TORCH_LIBRARY" * 150_000,
        "#if 0\n#endif\n" * 150_000 + "cuda",
        "__global__ " * 40_000,
        'R"(' * 600_000 + "__global__ {",
    ],
    ids=["spaces", "properties", "libraries", "conditions", "kernels", "strings"],
)
def test_what_repeats_without_end_is_looked_at_once(text: str) -> None:
    assert found(text) in ([], [(1, "cuda-in-string", "")])
