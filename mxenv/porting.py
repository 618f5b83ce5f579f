"""What in source code a port to MXMACA has to look at, why, and what has to be done there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.inventory import Change

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.inventory import Hit

MAIN = "main"
"""The area of code that a port is about; tests, vendored code and other platforms' are not."""


@frozen
class Kind:
    """One kind of place."""

    title: str
    why: str
    """Why it matters on MXMACA; what it rests on stands in docs/explanation/porting.md."""
    change: Change
    alike: str = ""
    """Under which name places are counted as one: all of them in one file; empty: each is one."""


KINDS: Mapping[str, Kind] = {
    "cuda-kernel": Kind(
        title="CUDA kernel",
        why="cu-bridge compiles CUDA C++ for MXMACA; what is in the kernel decides the rest",
        change=Change.NONE,
    ),
    "cuda-launch": Kind(
        title="CUDA launch",
        why="cu-bridge knows both forms of a launch",
        change=Change.NONE,
        alike="launches",
    ),
    "cooperative-groups": Kind(
        title="cooperative groups",
        why="a tile of 32 threads is half a warp of 64 here",
        change=Change.EDIT,
        alike="warp",
    ),
    "inline-ptx": Kind(
        title="inline PTX",
        why="PTX is NVIDIA's own assembly; there is none of it here",
        change=Change.REWRITE,
    ),
    "warp-intrinsic": Kind(
        title="warp intrinsic",
        why="a warp has 64 threads here: masks of 32 bits and lanes counted to 32 are wrong",
        change=Change.EDIT,
        alike="warp",
    ),
    "warp-size": Kind(
        title="assumed size of a warp",
        why="a warp has 64 threads here",
        change=Change.EDIT,
        alike="warp",
    ),
    "tensor-core": Kind(
        title="tensor-core intrinsic",
        why="shapes and layouts of matrix instructions are those of one NVIDIA generation",
        change=Change.REWRITE,
        alike="tensor cores",
    ),
    "cutlass": Kind(
        title="CUTLASS or CuTe",
        why="the vendor's mcTlass stands in its place, version for version, and not for every part",
        change=Change.EDIT,
        alike="cutlass",
    ),
    "libcudacxx": Kind(
        title="libcu++",
        why="cuda::barrier, cuda::pipeline and others are not all in cu-bridge",
        change=Change.EDIT,
        alike="libcu++",
    ),
    "cuda-library": Kind(
        title="CUDA library",
        why="cu-bridge has a library for it with the same names",
        change=Change.NONE,
        alike="libraries",
    ),
    "cuda-version-guard": Kind(
        title="guard by CUDA version or architecture",
        why="cu-bridge says CUDA 11.6 and capability 8.0: the branch taken may be another one",
        change=Change.EDIT,
        alike="guards",
    ),
    "arch-flag": Kind(
        title="compiler flag for an NVIDIA architecture",
        why="there is no sm_NN here; extensions are built with the list 8.0",
        change=Change.CONFIGURATION,
        alike="build",
    ),
    "extension-build": Kind(
        title="build of an extension",
        why="CUDA_HOME has to be cu-bridge, and the compiler its cucc",
        change=Change.CONFIGURATION,
        alike="build",
    ),
    "cuda-in-string": Kind(
        title="CUDA in a text",
        why="it is compiled when it runs, or by a script: through cu-bridge only where told to",
        change=Change.EDIT,
    ),
    "operator-library": Kind(
        title="registration of operators",
        why="it has to be built for the platform, unless the vendor has one of that name",
        change=Change.NONE,
        alike="bindings",
    ),
    "custom-operator": Kind(
        title="operator of its own",
        why="it has to be registered in the build of torch that the platform has",
        change=Change.NONE,
    ),
    "triton-kernel": Kind(
        title="Triton kernel, or a function of one",
        why="the vendor's Triton compiles it anew; its tuning is for another card",
        change=Change.NONE,
    ),
    "triton-libdevice": Kind(
        title="libdevice in Triton",
        why="libdevice is NVIDIA's library; what stands in its place has not all of its functions",
        change=Change.EDIT,
        alike="libdevice",
    ),
    "triton-assembly": Kind(
        title="inline assembly in Triton",
        why="PTX is NVIDIA's own assembly; there is none of it here",
        change=Change.REWRITE,
    ),
    "tile-kernel": Kind(
        title="kernel in CuTe DSL, TileLang or Gluon, or a function of one",
        why="the language compiles for NVIDIA, and for the platform only in the vendor's own build",
        change=Change.REWRITE,
    ),
    "python-kernel": Kind(
        title="kernel in CuPy, Numba, PyCUDA, Warp or CUDA Python",
        why="the library compiles for NVIDIA only, unless the vendor has a build of it",
        change=Change.REWRITE,
    ),
    "torch-cuda": Kind(
        title="torch.cuda",
        why="the platform's torch calls its device cuda: it works unless it asks what the card is",
        change=Change.NONE,
        alike="torch.cuda",
    ),
    "capability": Kind(
        title="question for the card's capability",
        why="torch says 8.0 and CUDA 11.6 here, whatever the card: the branch may be the wrong one",
        change=Change.EDIT,
    ),
    "nccl-setting": Kind(
        title="setting of NCCL",
        why="MCCL reads names of its own",
        change=Change.CONFIGURATION,
        alike="collectives",
    ),
    "nvidia-tool": Kind(
        title="nvidia-smi or NVML",
        why="there is mx-smi, and libmxsml; neither answers to NVIDIA's names",
        change=Change.EDIT,
    ),
    "cuda-wheel": Kind(
        title="wheel that brings CUDA",
        why="it brings NVIDIA's libraries, or replaces the vendor's build",
        change=Change.CONFIGURATION,
        alike="requirements",
    ),
}
"""Every kind that a scan may find."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """What has to be changed as one: a kernel, the warp sizes of a file, the flags of a build."""

    file: str
    line: int
    """Of the first hit."""
    kind: str
    name: str
    change: Change
    hits: tuple[Hit, ...]


def places(hits: Iterable[Hit]) -> tuple[Place, ...]:
    """Return what hits in the main code are places to change, each counted once.

    A kernel counts by its name, wherever it is declared again; what is alike in one file is one
    place, since whoever changes one of them has to look at all.
    """
    groups: dict[tuple[str, str, str], list[Hit]] = defaultdict(list)
    for hit in sorted(hits):
        if hit.area == MAIN:
            kind = KINDS[hit.kind]
            own = hit.name or str(hit.line)
            groups[hit.file, kind.alike or hit.kind, "" if kind.alike else own].append(hit)
    return tuple(sorted(_place(tuple(group)) for group in groups.values()))


def _place(hits: tuple[Hit, ...]) -> Place:
    """Return hits that are one place; the dearest of them says what has to be done."""
    dearest = max(hits, key=lambda hit: list(Change).index(KINDS[hit.kind].change))
    return Place(
        file=hits[0].file,
        line=hits[0].line,
        kind=dearest.kind,
        name=dearest.name,
        change=KINDS[dearest.kind].change,
        hits=hits,
    )


def effort(found: Iterable[Place]) -> Mapping[Change, int]:
    """Return how many places ask for each kind of change: what a pilot is planned with."""
    count = dict.fromkeys(Change, 0)
    for place in found:
        count[place.change] += 1
    return count
