"""What in Python source a port has to look at, as `ast` reads it; nothing of it is run."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING

from mxenv import cuda_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.cuda_text import Found

SUFFIXES = (".py", ".pyi")
DECORATORS = {
    # The end of a decorator's full name, and what it makes of a function.
    "triton.jit": "triton-kernel",
    "triton.runtime.jit.jit": "triton-kernel",
    "gluon.jit": "tile-kernel",
    "cute.jit": "tile-kernel",
    "cute.kernel": "tile-kernel",
    "tilelang.jit": "tile-kernel",
    "prim_func": "tile-kernel",
    "numba.cuda.jit": "python-kernel",
    "cuda.jit": "python-kernel",
    "cupyx.jit.rawkernel": "python-kernel",
    "warp.kernel": "python-kernel",
    "wp.kernel": "python-kernel",
    "library.custom_op": "custom-operator",
    "library.triton_op": "custom-operator",
}
CALLS = {
    # The end of a function's full name, and what calling it means.
    "cpp_extension.load": "extension-build",
    "cpp_extension.load_inline": "extension-build",
    "CUDAExtension": "extension-build",
    "cupy.RawKernel": "python-kernel",
    "cupy.RawModule": "python-kernel",
    "cupy.ElementwiseKernel": "python-kernel",
    "cupy.ReductionKernel": "python-kernel",
    "compiler.SourceModule": "python-kernel",
    "jiterator._create_jit_fn": "python-kernel",
    "jiterator._create_multi_output_jit_fn": "python-kernel",
    "library.define": "custom-operator",
    "library.Library": "operator-library",
    "direct_register_custom_op": "custom-operator",
    "cuda.get_device_capability": "capability",
    "cuda.get_device_properties": "capability",
    "cuda.get_arch_list": "capability",
    "cuda.get_device_name": "capability",
    "cuda.is_bf16_supported": "capability",
    "inline_asm_elementwise": "triton-assembly",
}
MODULES = {
    "pynvml": "nvidia-tool",
    "nvidia_smi": "nvidia-tool",
    "nvitop": "nvidia-tool",
    "cupy": "python-kernel",
    "pycuda": "python-kernel",
    "tilelang": "tile-kernel",
    "cutlass": "cutlass",
}
"""What importing a module means; a kernel in one of them is a hit of its own as well."""
TORCH = re.compile(r"torch\.(?:cuda|backends\.(?:cuda|cudnn))\b")
VERSION = re.compile(r"torch\.version\.cuda\b")
PROPERTIES = "get_device_properties"
HARMLESS = frozenset({"total_memory", "uuid", "gcnArchName"})
"""What a card says of itself and no code for one generation depends on, or none of NVIDIA's."""
LIBDEVICE = re.compile(r"(?:^|\.)libdevice\.\w+$")
ARCH = re.compile(r"\b(?:sm|compute)_[0-9]{2,3}[af]?\b|-gencode\b|-arch=|--gpu-architecture")
ARCH_LIST = "TORCH_CUDA_ARCH_LIST"
NCCL = re.compile(r"NCCL_[A-Z0-9_]+")
SMI = re.compile(r"(?:^|[\s/'\"])nvidia-smi\b")
WHEEL = re.compile(
    r"(?:nvidia-(?:cuda|cublas|cudnn|nccl|cufft|curand|cusolver|cusparse|nvtx|nvjitlink)[\w-]*"
    r"|cupy-cuda\w+|[\w-]+-cu1[0-9]+)"
    r"\s*(?:\[[^]]*\])?\s*(?:[=<>!~;@].*)?"
)
_ANY = (
    *("triton", "gluon", "cute", "tilelang", "prim_func", "numba", "cupy", "warp", "wp.", "cuda"),
    *("CUDA", "library", "register_custom_op", "cpp_extension", "pycuda", "jiterator", "pynvml"),
    *("nvidia", "nvitop", "NCCL_", "libdevice", "__global__", "sm_", "compute_", "gencode"),
    *("cutlass", "cudnn", "inline_asm"),
)
"""Letters of which some are in every text that has any of it: those are fast to look for."""

LARGEST = 2 << 20
"""Characters of a file; its tree of syntax takes up to six hundred times as much memory."""
FIELDS = 20_000
"""Braces in a file with f-strings: how long one takes to parse grows with their square."""
_FORMATTED = re.compile(r"(?i)\b(?:f|fr|rf)[\"']")


def scan(text: str) -> Iterator[Found]:
    """Yield what is found in ``text``; raise `SyntaxError` or `ValueError` if it is no Python."""
    if not any(hint in text for hint in _ANY):
        return
    if len(text) > LARGEST or (text.count("{") > FIELDS and _FORMATTED.search(text)):
        raise ValueError("nobody has written it by hand")
    with warnings.catch_warnings():
        # Of a string's odd escapes, which are its author's business.
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    found: set[Found] = set()
    _Visitor(found).visit(tree)
    yield from sorted(found)


class _Visitor(ast.NodeVisitor):
    """Goes through a module from its top, knowing what imported names stand for."""

    def __init__(self, found: set[Found]) -> None:
        self._found = found
        self._names: dict[str, str] = {}

    def _add(self, node: ast.AST, kind: str, name: str = "") -> None:
        self._found.add((getattr(node, "lineno", 0), kind, name))

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._names[alias.asname or top] = alias.name if alias.asname else top
            if top in MODULES:
                self._add(node, MODULES[top], top)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            self._names[alias.asname or alias.name] = f"{module}.{alias.name}"
        top = module.partition(".")[0]
        if top in MODULES:
            self._add(node, MODULES[top], top)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for decorator in node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            kind = _ending(DECORATORS, self._full(call))
            if kind == "custom-operator" and isinstance(decorator, ast.Call):
                self._add(node, kind, _first_text(decorator) or node.name)
            elif kind:
                self._add(node, kind, node.name)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        # A docstring, or a text that nobody uses, says nothing of what runs.
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        full = self._full(node.func)
        kind = _ending(CALLS, full)
        if kind == "capability":
            self._add(node, kind, full)
        elif kind:
            self._add(node, kind, _first_text(node) or full.rpartition(".")[2])
        elif LIBDEVICE.search(full):
            self._add(node, "triton-libdevice", full.rpartition(".")[2])
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        full = self._full(node)
        if VERSION.match(full):
            self._add(node, "capability", "torch.version.cuda")
        elif TORCH.match(full):
            if not _ending(CALLS, full):
                self._add(node, "torch-cuda", full)
        elif node.attr in HARMLESS and isinstance(node.value, ast.Call):
            self._harmless(node.value)
        else:
            self.generic_visit(node)

    def _harmless(self, call: ast.Call) -> None:
        """Visit a call of whose result nothing is asked that only one kind of card knows."""
        full = self._full(call.func)
        if full.endswith(f".{PROPERTIES}"):
            self._add(call, "torch-cuda", full)
        else:
            self.visit(call)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            for kind, name in _in_text(node.value):
                self._add(node, kind, name)

    def _full(self, node: ast.AST) -> str:
        """Return the name that an expression is, imported names written out."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        parts.append(self._names.get(node.id, node.id) if isinstance(node, ast.Name) else "?")
        return ".".join(reversed(parts))


def _ending(table: dict[str, str], full: str) -> str:
    """Return what ``table`` says of the longest end of a full name, if it says anything."""
    parts = full.split(".")
    for number in range(len(parts)):
        if kind := table.get(".".join(parts[number:])):
            return kind
    return ""


def _first_text(node: ast.Call) -> str:
    named = [word.value for word in node.keywords if word.arg in {"op_name", "name"}]
    first = (*named, *node.args, None)[0]
    said = first.value if isinstance(first, ast.Constant) else ""
    # Of a schema, the name before what it takes.
    return said.partition("(")[0] if isinstance(said, str) and len(said) < 200 else ""  # noqa: PLR2004 - longer than a name


def _in_text(text: str) -> Iterator[tuple[str, str]]:
    """Yield what a string says, source code of another language among it."""
    if "__global__" in text and "{" in text:
        names = [name for _, kind, name in cuda_text.scan(text) if kind == "cuda-kernel"]
        yield "cuda-in-string", names[0] if names else ""
    elif ARCH_LIST in text or ARCH.search(text):
        match = ARCH.search(text)
        yield "arch-flag", match[0] if match else ARCH_LIST
    elif match := NCCL.fullmatch(text):
        yield "nccl-setting", match[0]
    elif SMI.search(text):
        yield "nvidia-tool", "nvidia-smi"
    elif match := WHEEL.fullmatch(text):
        yield "cuda-wheel", text.strip()[:60]


def scan_build(text: str) -> Iterator[Found]:
    """Yield the flags for NVIDIA's architectures in a file that builds: CMake, make, Docker."""
    for number, line in enumerate(text.splitlines(), 1):
        code = line.partition("#")[0]
        match = ARCH.search(code)
        if match or ARCH_LIST in code or "CMAKE_CUDA_ARCHITECTURES" in code:
            yield number, "arch-flag", match[0] if match else code.strip()[:60]


def scan_requirements(text: str) -> Iterator[Found]:
    """Yield the lines of a requirements file that bring CUDA."""
    for number, line in enumerate(text.splitlines(), 1):
        if WHEEL.fullmatch(said := line.partition("#")[0].strip()):
            yield number, "cuda-wheel", said[:60]
