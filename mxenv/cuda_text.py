"""What in CUDA, C and C++ source a port has to look at: comments and strings are told apart."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Found = tuple[int, str, str]
    """The line, the kind (`mxenv.porting.KINDS`), and the name of what is there."""

SUFFIXES = (
    *(".cu", ".cuh", ".cpp", ".cc", ".cxx", ".c", ".h", ".hpp", ".hxx", ".inl", ".inc", ".hip"),
)
_TOKEN = re.compile(
    r"//(?:[^\\\n]|\\.)*"
    r"|/\*.*?(?:\*/|\Z)"
    r"|\b(?:u8|[uUL])?R\"([^\s()\\\"]{0,16})\(.*?(?:\)\1\"|\Z)"
    # One that has no end takes the line, and no part of it is looked at twice.
    r"|\"(?:\\.|[^\"\\\n])*\"?"
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n]){1,12}'",
    re.DOTALL,
)
"""A comment, a raw string, a string, a character; a digit's own ``'`` parts a number."""
_NO_LINE = re.compile(r"[^\n]")

_WORDS = {
    "cuda-launch": (
        r"<<<"
        r"|\b(?:cudaLaunchKernel(?:ExC?)?|cuLaunchKernel(?:Ex)?|cudaLaunchCooperativeKernel)\s*\("
    ),
    "cooperative-groups": r"\bcooperative_groups::|\b(?:tiled_partition|coalesced_threads)\s*[<(]",
    "inline-ptx": r"\b(?:asm|__asm__)\s*(?:volatile|__volatile__)?\s*\(",
    "warp-intrinsic": (
        r"\b__(?:shfl|ballot|any|all|activemask|match|reduce)(?:_\w+)?\s*\(|\b__syncwarp\s*\("
    ),
    "warp-size": r"\b(?:k?WARP_?SIZE|kWarpSize|warpSize|WarpSize|C10_WARP_SIZE)\b",
    "tensor-core": (
        r"\bwmma::\w+|\b__?mma_\w+|\bmma_sync\b"
        r"|\bSM(?:70|75|80|89|90|100|120)_\w*(?:MMA|COPY|GMMA|TMA|UMMA)\w*"
    ),
    "libcudacxx": r"(?<![\w:])cuda::(?!std\b)\w+",
    "cuda-version-guard": r"\b__CUDA_ARCH__\b|\bCUDART_VERSION\b|\bCUDA_VERSION\b",
    "operator-library": (
        r"\b\w*TORCH_LIBRARY\w*\s*\(|\bREGISTER_EXTENSION\s*\(|\bPYBIND11_MODULE\s*\("
        r"|\bXLA_FFI_DEFINE_HANDLER\w*\s*\("
    ),
    "nvidia-tool": r"\bnvml[A-Z]\w+\s*\(",
}
_PLAIN = {kind: re.compile(form) for kind, form in _WORDS.items()}
"""What is looked for where neither comment nor string is."""
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)", re.MULTILINE)
_ELSEWHERE = re.compile(r"\b(?:USE_ROCM|__HIP\w*|HIP_VERSION|ROCM_VERSION|USE_MUSA|__MUSA\w*)\b")
"""What is defined on another platform than NVIDIA's, whose code a port starts from."""
_KERNEL = re.compile(r"\b__global__\b")
_ATTRIBUTE = re.compile(
    r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)"
    r"|__cluster_dims__\s*\([^()]*\)"
    r"|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)"
)
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*(?:<[^<>(){}]*>\s*)?\(")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_INCLUDED = (
    ("cutlass", re.compile(r"(?:cutlass|cute)/")),
    ("cooperative-groups", re.compile(r"cooperative_groups(?:\.h|/)")),
    ("tensor-core", re.compile(r"mma\.h$")),
    ("libcudacxx", re.compile(r"cuda/(?!std/)[a-z_/]+$")),
    ("nvidia-tool", re.compile(r"nvml\.h$")),
    (
        "cuda-library",
        re.compile(
            r"(?:cub|thrust)/|(?:cublas(?:Lt|XT|_v2|_api)?|cudnn(?:_\w+)?|cusparse|curand(?:_\w+)?"
            r"|cufft|cusolver\w{2}|nccl)\.h$"
            r"|cuda_(?:fp8|fp4|fp16|bf16|runtime\w*)\.h|nvToolsExt|nvtx3/"
        ),
    ),
)
_DEFINED = re.compile(r"\.\s*def\s*\(")
_SCHEMA = re.compile(r"\s*(?:R\"[^\s()\\\"]{0,16}\(|(?:u8|[uUL])?\")\s*(?:\w+::)?(\w+)")
REACH = 2000
"""Characters in which the name of a kernel follows, templates and attributes before it."""
HINTS = (
    *("__global__", "<<<", "LaunchKernel", "asm", "LIBRARY", "PYBIND11", "REGISTER_EXTENSION"),
    *("__shfl", "__ballot", "__any", "__all", "__activemask", "__match", "__reduce", "__syncwarp"),
    *("WARP", "warpSize", "Warp", "mma", "SM70", "SM75", "SM80", "SM89", "SM90", "SM100", "SM120"),
    *("cooperative_groups", "tiled_partition", "coalesced_threads", "cuda", "CUDA", "CUDART"),
    *("cutlass", "cute/", "cub/", "thrust/", "nccl", "nvml", "nvtx", "nvTools", "XLA_FFI", "cu"),
)
"""Letters of which some are in every text that has any of it: those are fast to look for."""


def scan(text: str) -> Iterator[Found]:
    """Yield what is found in ``text``, line by line; strings count for names only."""
    if not any(hint in text for hint in HINTS):
        return
    if _ELSEWHERE.search(text):
        text = _ours(text)
    code, bare = _without(text, strings=False), _without(text, strings=True)
    ends = [match.start() for match in re.finditer("\n", text)]
    found = {*_kernels(bare), *_plain(bare), *_includes(code), *_defined(code, bare)}
    for place, kind, name in sorted(found):
        yield bisect_left(ends, place) + 1, kind, name


def _without(text: str, *, strings: bool) -> str:
    """Return ``text`` with blanks for comments, and for strings if wanted; lines stay."""

    def blank(match: re.Match[str]) -> str:
        token = match[0]
        return _NO_LINE.sub(" ", token) if strings or token[0] == "/" else token

    return _TOKEN.sub(blank, text)


def _ours(text: str) -> str:
    """Return ``text`` with blanks for what the preprocessor leaves to other platforms."""
    pieces, end = [], 0
    # Of each condition that is open: whether it asks for another platform, whether it is not met.
    asked: list[bool | None] = []
    left_out = False
    for match in _CONDITION.finditer(text):
        piece = text[end : match.start()]
        pieces.append(_NO_LINE.sub(" ", piece) if left_out else piece)
        end = match.start()
        word, rest = match[1], match[2]
        if word in {"if", "ifdef", "ifndef"}:
            asked.append(_asks(word, rest))
        elif asked and word == "endif":
            asked.pop()
        elif asked:
            last = asked[-1]
            turned = None if last is None else not last
            asked[-1] = _asks("if", rest) if word == "elif" else turned
        left_out = any(state is True for state in asked)
    return "".join([*pieces, text[end:]])


def _asks(word: str, rest: str) -> bool | None:
    """Return whether a condition is met on another platform only; `None` if it is about neither."""
    named = _ELSEWHERE.search(rest)
    if named is None or "||" in rest or "&&" in rest:
        return None
    negated = word == "ifndef" or "!" in rest[: named.start()]
    return not negated


def _plain(bare: str) -> Iterator[Found]:
    for kind, form in _PLAIN.items():
        for match in form.finditer(bare):
            yield match.start(), kind, match[0].rstrip("( \t\n").strip()


def _kernels(bare: str) -> Iterator[Found]:
    """Yield definitions of kernels; a prototype ends before it has a body."""
    for match in _KERNEL.finditer(bare):
        head = _ATTRIBUTE.sub(" ", bare[match.end() : match.end() + REACH])
        body, end = head.find("{"), head.find(";")
        if body < 0 or -1 < end < body:
            continue
        name = _CALLED.search(head, 0, body)
        yield match.start(), "cuda-kernel", name[1] if name else ""


def _includes(code: str) -> Iterator[Found]:
    for match in _INCLUDE.finditer(code):
        for kind, form in _INCLUDED:
            if form.match(match[1]):
                yield match.start(), kind, match[1]
                break


def _defined(code: str, bare: str) -> Iterator[Found]:
    """Yield operators that a library defines: ``m.def("name(Tensor x) -> Tensor")``.

    What pybind11 is told in the same words are functions that no dispatcher knows.
    """
    if "LIBRARY" not in bare:
        return
    for match in _DEFINED.finditer(bare):
        schema = _SCHEMA.match(code, match.end())
        if schema:
            yield match.start(), "custom-operator", schema[1]
