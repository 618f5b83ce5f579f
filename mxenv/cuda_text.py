"""What in CUDA, C and C++ source a port has to look at: comments and strings are told apart."""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
_RAW = re.compile(r"(?:u8|[uUL])?R\"")

_FORMS = {
    # What is looked for where neither comment nor string is, after letters that all of it has:
    # those are fast to look for, and few files have many of them.
    "cuda-launch": (
        ("<<<", "LaunchKernel", "LaunchCooperative"),
        (
            r"<<<"
            r"|\b(?:cudaLaunchKernel(?:ExC?)?|cuLaunchKernel(?:Ex)?|cudaLaunchCooperativeKernel)\s*\("
        ),
    ),
    "cooperative-groups": (
        ("cooperative_groups", "tiled_partition", "coalesced_threads"),
        r"\bcooperative_groups::|\b(?:tiled_partition|coalesced_threads)\s*[<(]",
    ),
    "inline-ptx": (
        ("asm",),
        r"\b(?:asm|__asm__|__asm)\s*(?:(?:volatile|__volatile__)\s*)?\(",
    ),
    "warp-intrinsic": (
        ("__shfl", "__ballot", "__any", "__all", "__activemask", "__match", "__reduce", "__sync"),
        r"\b__(?:shfl|ballot|any|all|activemask|match|reduce)(?:_\w+)?\s*\(|\b__syncwarp\s*\(",
    ),
    "warp-size": (
        ("WARP", "arpSize", "threadIdx"),
        (
            r"\b(?:k?WARP_?SIZE|kWarpSize|warpSize|WarpSize|C10_WARP_SIZE)\b"
            r"|\bthreadIdx\.[xyz]\s*(?:&\s*(?:31|0x1[fF])|[%/]\s*32|>>\s*5)\b"
        ),
    ),
    "tensor-core": (
        ("mma", "SM", "ensorMap"),
        (
            r"\bwmma::\w+|\b__?mma_\w+|\bmma_sync\b"
            r"|\bSM(?:70|75|80|89|90|100|120)_\w*(?:MMA|COPY|GMMA|TMA|UMMA)\w*"
            r"|\bcuTensorMapEncode\w*|\bCUtensorMap\b"
        ),
    ),
    "libcudacxx": (("cuda::",), r"(?<![\w:])cuda::(?!std\b)\w+"),
    "cuda-library": (
        ("cublas", "cudnn", "cusparse", "curand", "cufft", "cusolver", "nccl"),
        (
            r"\b(?:cublas(?:Lt|Xt)?|cudnn|cusparse(?:Lt)?|curand|cufft|cusolver(?:Dn|Sp)?|nccl)"
            r"[A-Z]\w*\s*\("
        ),
    ),
    "cuda-version-guard": (
        ("CUDA",),
        r"\b__CUDA_ARCH__\b|\bCUDART_VERSION\b|\bCUDA_VERSION\b",
    ),
    "capability": (
        ("rop", "ComputeCapability"),
        (
            r"\bcudaDevAttrComputeCapability\w+"
            r"|\b\w{0,40}[pP]rop\w{0,40}(?:\(\w{0,40}\))?(?:\.|->)(?:major|minor)\b"
        ),
    ),
    "cuda-in-string": (("nvrtc",), r"\bnvrtc(?:Create|Compile)Program\s*\("),
    "operator-library": (
        ("LIBRARY", "REGISTER_EXTENSION", "PYBIND11", "XLA_FFI"),
        (
            r"\b\w{0,40}TORCH_LIBRARY\w{0,40}\s*\(|\bREGISTER_EXTENSION\s*\(|\bPYBIND11_MODULE\s*\("
            r"|\bXLA_FFI_DEFINE_HANDLER\w*\s*\("
        ),
    ),
    "nvidia-tool": (("nvml",), r"\bnvml[A-Z]\w+\s*\("),
}
_PLAIN = {kind: (letters, re.compile(form)) for kind, (letters, form) in _FORMS.items()}
_TEXTS = {
    "nccl-setting": ("NCCL_", re.compile(r"\"(NCCL_[A-Z0-9_]+)\"")),
    "nvidia-tool": ("nvidia-", re.compile(r"\b(nvidia-smi)\b|\"[^\"\n]*\b(libnvidia-ml)\.so")),
}
"""What strings say."""
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)", re.MULTILINE)
_CONSTANT = re.compile(r"\s*\(?\s*(0|1|false|true)\s*\)?\s*$")
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
_BINDING = re.compile(r"\b(?:\w{0,40}TORCH_LIBRARY\w{0,40}|PYBIND11_MODULE)\s*\(")
_SCHEMA = re.compile(r"\s*(?:R\"[^\s()\\\"]{0,16}\(|(?:u8|[uUL])?\")\s*(?:\w+::)?(\w+)")
REACH = 2000
"""Characters in which the name of a kernel follows, templates and attributes before it."""
HINTS = (
    *("__global__", "cutlass", "cute/", "cub/", "thrust/", "cuda", "mma.h", "nvTools", "nvtx"),
    *("NCCL_", "nvidia-"),
    *(letters for group, _ in _FORMS.values() for letters in group),
)
"""Letters of which some are in every text that has any of it."""


def scan(text: str) -> Iterator[Found]:
    """Yield what is found in ``text``, line by line; of strings only what is code, or a name."""
    if not any(hint in text for hint in HINTS):
        return
    code, bare = _without(text, strings=False), _without(text, strings=True)
    if out := list(_elsewhere(bare)):
        code, bare = _blanked(code, out), _blanked(bare, out)
    ends = [match.start() for match in re.finditer("\n", text)]
    found = {*_kernels(bare), *_plain(bare), *_includes(code), *_defined(code, bare)}
    found |= {*_strings(code, bare)}
    for place, kind, name in sorted(found):
        yield bisect_left(ends, place) + 1, kind, name


def _without(text: str, *, strings: bool) -> str:
    """Return ``text`` with blanks for comments, and for strings if wanted; lines stay."""

    def blank(match: re.Match[str]) -> str:
        token = match[0]
        return _NO_LINE.sub(" ", token) if strings or token[0] == "/" else token

    return _TOKEN.sub(blank, text)


def _blanked(text: str, out: Iterable[tuple[int, int]]) -> str:
    """Return ``text`` with blanks from the one to the other place of each pair in ``out``."""
    pieces: list[str] = []
    last = 0
    for begin, end in out:
        pieces += text[last:begin], _NO_LINE.sub(" ", text[begin:end])
        last = end
    return "".join([*pieces, text[last:]])


def _elsewhere(bare: str) -> Iterator[tuple[int, int]]:
    """Yield from where to where the preprocessor leaves code to other platforms, or to nobody."""
    # Of each condition that is open: whether what follows it is left out; `None` if that is open.
    open_: list[bool | None] = []
    begin = -1
    for match in _CONDITION.finditer(bare):
        word, rest = match[1], match[2]
        if word in {"if", "ifdef", "ifndef"}:
            open_.append(_left_out(word, rest))
        elif open_ and word == "endif":
            open_.pop()
        elif open_:
            last = open_[-1]
            turned = None if last is None else not last
            open_[-1] = _left_out("if", rest) if word == "elif" else turned
        out = any(open_)
        if out and begin < 0:
            begin = match.start()
        elif not out and begin >= 0:
            yield begin, match.start()
            begin = -1
    if begin >= 0:
        yield begin, len(bare)


def _left_out(word: str, rest: str) -> bool | None:
    """Return whether a condition is met on another platform only, or never; `None` if neither."""
    if word == "if" and (constant := _CONSTANT.match(rest)):
        return constant[1] in {"0", "false"}
    named = _ELSEWHERE.search(rest)
    if named is None or "||" in rest or "&&" in rest:
        return None
    negated = word == "ifndef" or "!" in rest[: named.start()]
    return not negated


def _plain(bare: str) -> Iterator[Found]:
    for kind, (letters, form) in _PLAIN.items():
        if any(each in bare for each in letters):
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
    bindings = [(match.start(), match[0]) for match in _BINDING.finditer(bare)]
    for match in _DEFINED.finditer(bare):
        before = bisect_left(bindings, (match.start(), "")) - 1
        if before >= 0 and bindings[before][1].startswith("PYBIND11"):
            continue
        schema = _SCHEMA.match(code, match.end())
        if schema:
            yield match.start(), "custom-operator", schema[1]


def _strings(code: str, bare: str) -> Iterator[Found]:
    """Yield what strings say, and the kernels that are in some of them."""
    for kind, (letters, form) in _TEXTS.items():
        if letters in code:
            for match in form.finditer(code):
                # What is no blank where strings are left out is in none.
                if bare[match.start() : match.end()].isspace():
                    yield match.start(), kind, next(filter(None, match.groups()))
    if "__global__" not in code or not _RAW.search(code):
        return
    for match in _TOKEN.finditer(code):
        text = match[0]
        if _RAW.match(text) and "__global__" in text and "{" in text:
            kernel = next(_kernels(text), None)
            yield match.start(), "cuda-in-string", kernel[2] if kernel else ""
