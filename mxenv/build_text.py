"""What files that build, install or start code say of NVIDIA, and what one text in code does."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv import cuda_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.cuda_text import Found

ARCH = re.compile(r"\b(?:sm|compute)_[0-9]{2,3}[af]?\b|-gencode\b|-arch=|--gpu-architecture")
ARCH_LIST = "TORCH_CUDA_ARCH_LIST"
NCCL = re.compile(r"NCCL_[A-Z0-9_]+")
TOOL = re.compile(
    r"(?:^|[\s/'\"=(|;&`])(nvidia-smi)\b(?!\s+(?!(?:topo|nvlink|dmon|pmon|mig|vgpu)\b)[A-Za-z])"
    r"|\b(libnvidia-ml)\.so"
)
"""A call, or a library; a word after it that it does not know is of a sentence about it."""
WHEEL = re.compile(
    r"(?:nvidia-(?:cuda|cublas|cudnn|nccl|cufft|curand|cusolver|cusparse|nvtx|nvjitlink)[\w-]*"
    r"|cupy-cuda\w+|[\w-]+-cu1[0-9]+|pytorch-cuda|cudatoolkit|cuda-toolkit)"
    r"\s*(?:\[[^]]*\])?\s*(?:[=<>!~;@].*)?"
    r"|[\w.-]+\s*(?:\[[^]]*\])?\s*===?\s*[\w.!]+\+cu1[0-9]+\b.*"
)
INDEX = re.compile(r"https?://\S{1,200}/cu1[0-9]{2}(?=[/\s?#'\"]|$)")
"""An index of wheels that are built for CUDA."""
BASE = re.compile(r"(?i)^\s*FROM\s+(?:--\S+\s+)*(\S*nvidia/cuda:\S+)")
REQUIREMENT = 300
"""Characters of one; a longer text is none, and would be looked at many times."""
LONGEST = 60
"""Characters of a line that are kept as its name."""

_SAYS = re.compile(
    r"__global__|TORCH_CUDA|sm_|compute_|gencode|-arch=|gpu-arch|NCCL_|nvidia|cu[dp1]|-cuda"
)
"""Letters of which some are in every text that has any of it."""
_SETTING = re.compile(r"(?<![\w$\{])(NCCL_[A-Z0-9_]+)=|^\s*ENV\s+(NCCL_[A-Z0-9_]+)\s")
_ARCHITECTURES = re.compile(r"\b(?:CMAKE_)?CUDA_ARCHITECTURES\b")
_COMPILER = re.compile(
    r"(?i)\bfind_package\s*\(\s*(CUDA(?:Toolkit)?)\b|\benable_language\s*\([^)]{0,99}\b(CUDA)\b"
    r"|\bproject\s*\([^)]{0,99}\b(CUDA)\b|\b(cuda_add_(?:library|executable))\b"
    r"|(?:^|[\s;&|(/])(nvcc)\s"
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*|^\s*#.*")
_NAMED = re.compile(r"\b(?:name|index)\s*=\s*$")
"""What stands before the name of an index, which brings nothing by itself."""
_WORD = re.compile(r"[^\s'\"]+")
_QUOTED = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'")


def brings_cuda(requirement: str) -> bool:
    """Return whether a requirement brings CUDA: ``torch==2.4.0+cu121``, ``nvidia-nccl-cu12``."""
    return len(requirement) <= REQUIREMENT and WHEEL.fullmatch(requirement) is not None


def said(text: str) -> Iterator[tuple[str, str]]:
    """Yield what one text in code says, source code of another language among it."""
    if not _SAYS.search(text):
        return
    if "__global__" in text and "{" in text:
        names = [name for _, kind, name in cuda_text.scan(text) if kind == "cuda-kernel"]
        yield "cuda-in-string", names[0] if names else ""
    elif ARCH_LIST in text or ARCH.search(text):
        match = ARCH.search(text)
        yield "arch-flag", match[0] if match else ARCH_LIST
    elif match := NCCL.fullmatch(text):
        yield "nccl-setting", match[0]
    elif match := TOOL.search(text):
        yield "nvidia-tool", match[1] or match[2]
    elif brings_cuda(text.strip()):
        yield "cuda-wheel", text.strip()[:LONGEST]
    elif match := INDEX.search(text):
        yield "cuda-wheel", match[0][:LONGEST]


def scan_build(text: str) -> Iterator[Found]:
    """Yield what a file says that builds or starts: of CMake or make, for a container, a script."""
    if not _SAYS.search(text) and "CUDA" not in text and "nvcc" not in text:
        return
    for number, line in enumerate(text.splitlines(), 1):
        code = _COMMENT.sub("", line)
        for kind, name in _build_line(code):
            yield number, kind, name


def _build_line(code: str) -> Iterator[tuple[str, str]]:
    match = ARCH.search(code)
    if match or ARCH_LIST in code or _ARCHITECTURES.search(code):
        yield "arch-flag", match[0] if match else code.strip()[:LONGEST]
    for kind, form in (
        ("extension-build", _COMPILER),
        ("nvidia-tool", TOOL),
        ("nccl-setting", _SETTING),
        ("cuda-wheel", BASE),
    ):
        if found := form.search(code):
            yield kind, next(filter(None, found.groups()))
    if "pip" in code or "conda" in code or "mamba" in code or "uv " in code:
        for word in _WORD.findall(code):
            if brings_cuda(word) or INDEX.match(word):
                yield "cuda-wheel", word[:LONGEST]


def scan_requirements(text: str) -> Iterator[Found]:
    """Yield the lines of a list of requirements that bring CUDA: pip's, conda's, ``setup.cfg``."""
    for number, line in enumerate(text.splitlines(), 1):
        wanted = _COMMENT.sub("", line).strip(" \t-'\"")
        if brings_cuda(wanted):
            yield number, "cuda-wheel", wanted[:LONGEST]
        elif found := INDEX.search(wanted):
            yield number, "cuda-wheel", found[0][:LONGEST]


def scan_project(text: str) -> Iterator[Found]:
    """Yield what the texts in a ``pyproject.toml`` say."""
    for number, line in enumerate(text.splitlines(), 1):
        code = _COMMENT.sub("", line)
        for match in _QUOTED.finditer(code):
            if _NAMED.search(code[: match.start()][-LONGEST:]):
                continue
            for kind, name in said(match[1] or match[2] or ""):
                yield number, kind, name
