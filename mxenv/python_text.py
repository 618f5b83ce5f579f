"""What in Python source a port has to look at, as `ast` reads it; nothing of it is run."""

from __future__ import annotations

import ast
import re
import warnings
from typing import TYPE_CHECKING, assert_never, cast, get_args

from mxenv.build_text import said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    "library.impl": "operator-library",
    "library.register_kernel": "operator-library",
    "direct_register_custom_op": "custom-operator",
    "cuda.get_device_capability": "capability",
    "cuda.get_device_properties": "capability",
    "cuda.get_arch_list": "capability",
    "cuda.get_device_name": "capability",
    "cuda.is_bf16_supported": "capability",
    "inline_asm_elementwise": "triton-assembly",
}
_LAST = frozenset(full.rpartition(".")[2] for full in CALLS)
MODULES = {
    "pynvml": "nvidia-tool",
    "nvidia_smi": "nvidia-tool",
    "nvitop": "nvidia-tool",
    "cupy": "python-kernel",
    "pycuda": "python-kernel",
    "warp": "python-kernel",
    "cuda": "python-kernel",
    "tilelang": "tile-kernel",
    "cutlass": "cutlass",
}
"""What importing a module means; a kernel in one of them is a hit of its own as well."""
TORCH = re.compile(r"torch\.(?:cuda|backends\.(?:cuda|cudnn))\b")
VERSION = re.compile(r"torch\.version\.cuda\b")
PROPERTIES = "get_device_properties"
HARMLESS = frozenset({"total_memory", "uuid", "gcnArchName"})
"""What a card says of itself and no code for one generation depends on, or none of NVIDIA's."""
NUMBA = re.compile(r"numba\.cuda\b")
ASSEMBLY = re.compile(r"(?:^|\.)extra\.cuda\.(?!libdevice\b)\w+$")
"""Functions of Triton that are a line of PTX each: ``tl.extra.cuda.globaltimer()``."""
SCHEMA = re.compile(r"(?:\w+::)?\w+(?:\.\w+)?\(.*->", re.DOTALL)
"""How an operator is said: ``norm(Tensor x) -> Tensor``."""
LIBDEVICE = re.compile(r"(?:^|\.)libdevice\.\w+$")
_ANY = (
    *("triton", "gluon", "tilelang", "prim_func", "numba", "cupy", "import warp", "from warp"),
    *(
        "cuda",
        "CUDA",
        ".library",
        "import library",
        ".define(",
        "register_custom_op",
        "cpp_extension",
        "pycuda",
        "jiterator",
        "pynvml",
    ),
    *("nvidia", "nvitop", "NCCL_", "libdevice", "__global__", "sm_", "compute_", "gencode"),
    *("cutlass", "cudnn", "inline_asm", "cu1"),
)
"""Letters of which some are in every text that has any of it: those are fast to look for."""

LARGEST = 2 << 20
"""Characters of a file that is parsed."""
PARTS = 250_000
"""Words and signs of a file: of each the tree may have two kilobytes."""
SIGNS = ",+-*/%&|^<>=([{.:"
FIELDS = 20_000
"""Braces in a file with f-strings: how long one takes to parse grows with their square."""
_FORMATTED = re.compile(r"(?i)\b(?:f|fr|rf)[\"']")
_NO_NODES = frozenset(
    (
        *("ctx", "op", "ops", "kind", "type_comment", "type_ignores", "tag", "names", "name", "id"),
        *("attr", "arg", "module", "level", "simple", "is_async", "conversion", "rest"),
        *("kwd_attrs", "asname"),
    )
)
_BELOW: Mapping[type, tuple[str, ...]] = {
    each: tuple(field for field in reversed(each._fields) if field not in _NO_NODES)
    for each in vars(ast).values()
    if isinstance(each, type) and issubclass(each, ast.AST)
}
"""The fields of each kind of node that hold others, the last first: as a stack gives them back."""
_LookedAt = (
    ast.Constant
    | ast.Attribute
    | ast.Call
    | ast.Expr
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Import
    | ast.ImportFrom
)
_LOOKED_AT = frozenset(get_args(_LookedAt))


def scan(text: str) -> Iterator[Found]:
    """Yield what is found in ``text``; raise `SyntaxError` or `ValueError` if it is no Python."""
    if not any(hint in text for hint in _ANY):
        return
    if len(text) > LARGEST or _endless(text):
        raise ValueError("nobody has written it by hand")
    with warnings.catch_warnings():
        # Of a string's odd escapes, which are its author's business.
        warnings.simplefilter("ignore")
        tree = ast.parse(text)
    found: set[Found] = set()
    _Module(found).walk(tree)
    yield from sorted(found)


def _endless(text: str) -> bool:
    """Return whether parsing ``text`` takes time or memory that no file needs which is written."""
    if text.count("{") > FIELDS and _FORMATTED.search(text):
        return True
    return len(text) > PARTS and sum(map(text.count, SIGNS)) + len(text.split()) > PARTS


class _Module:
    """Goes through a module from its top, knowing what imported names stand for.

    A visitor of `ast` takes three times as long: it calls two functions for every node.
    """

    def __init__(self, found: set[Found]) -> None:
        self._found = found
        self._names: dict[str, str] = {}
        self._stack: list[object] = []

    def walk(self, tree: ast.AST) -> None:
        """Look at every node of ``tree``, in the order of the text."""
        stack = self._stack
        stack.append(tree)
        while stack:
            node = stack.pop()
            kind = type(node)
            if kind in _LOOKED_AT and not self._look(cast("_LookedAt", node)):
                continue
            for field in _BELOW.get(kind, ()):
                below = getattr(node, field)
                if type(below) is list:
                    stack += reversed(below)
                else:
                    stack.append(below)

    def _look(self, node: _LookedAt) -> bool:
        """Add what ``node`` is; return whether what lies below it has to be looked at as well."""
        match node:
            case ast.Constant():
                self._constant(node)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                self._call(node)
            case ast.Expr():
                # A docstring, or a text that nobody uses, says nothing of what runs.
                return not isinstance(node.value, ast.Constant)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node)
            case ast.Import():
                self._import(node)
            case ast.ImportFrom():
                self._import_from(node)
            case _:
                assert_never(node)
        return True

    def _add(self, node: ast.AST, kind: str, name: str = "") -> None:
        self._found.add((getattr(node, "lineno", 0), kind, name))

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            self._names[alias.asname or top] = alias.name if alias.asname else top
            self._imported(node, alias.name)

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            self._names[alias.asname or alias.name] = f"{module}.{alias.name}"
            self._imported(node, f"{module}.{alias.name}")

    def _imported(self, node: ast.AST, full: str) -> None:
        top = full.partition(".")[0]
        if top in MODULES:
            self._add(node, MODULES[top], top)
        elif TORCH.match(full):
            self._add(node, "torch-cuda", full)
        elif NUMBA.match(full):
            self._add(node, "python-kernel", "numba.cuda")

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for decorator in node.decorator_list:
            call = decorator.func if isinstance(decorator, ast.Call) else decorator
            kind = _ending(DECORATORS, self._full(call))
            if kind == "custom-operator" and isinstance(decorator, ast.Call):
                self._add(node, kind, _first_text(decorator) or node.name)
            elif kind:
                self._add(node, kind, node.name)

    def _call(self, node: ast.Call) -> None:
        full = self._full(node.func)
        last = full.rpartition(".")[2]
        kind = _ending(CALLS, full) if last in _LAST else ""
        if kind == "capability":
            self._add(node, kind, full)
        elif kind:
            self._add(node, kind, _first_text(node) or last)
        elif last == "define" and (schema := _schema(node)):
            self._add(node, "custom-operator", schema)
        elif LIBDEVICE.search(full):
            self._add(node, "triton-libdevice", last)
        elif ASSEMBLY.search(full):
            self._add(node, "triton-assembly", last)

    def _attribute(self, node: ast.Attribute) -> bool:
        if node.attr in HARMLESS and isinstance(node.value, ast.Call):
            return not self._harmless(node.value)
        base = node.value
        while isinstance(base, ast.Attribute):
            base = base.value
        if not isinstance(base, ast.Name):
            self._stack.append(base)
            return False
        if self._names.get(base.id, base.id).partition(".")[0] == "torch":
            full = self._full(node)
            if VERSION.match(full):
                self._add(node, "capability", "torch.version.cuda")
            elif TORCH.match(full) and not _ending(CALLS, full):
                self._add(node, "torch-cuda", full)
        return False

    def _harmless(self, call: ast.Call) -> bool:
        """Return whether of a call's result nothing is asked that only one kind of card knows."""
        full = self._full(call.func)
        harmless = full.endswith(f".{PROPERTIES}")
        if harmless:
            self._add(call, "torch-cuda", full)
        return harmless

    def _constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            for kind, name in said(node.value):
                self._add(node, kind, name)

    def _full(self, node: ast.AST) -> str:
        """Return the name that an expression is, imported names written out."""
        if isinstance(node, ast.Name):
            return self._names.get(node.id, node.id)
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


def _schema(node: ast.Call) -> str:
    """Return the name in a call's first text, if that says what an operator takes and gives."""
    first = node.args[0] if node.args else None
    text = first.value if isinstance(first, ast.Constant) else None
    return text.partition("(")[0] if isinstance(text, str) and SCHEMA.match(text) else ""
