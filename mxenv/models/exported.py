"""A file that torch has written of a program: which operators its graph calls, and where.

It is read as a zip file of documents; nothing of it is loaded, and no torch imported.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mxenv import exported_program, torchscript
from mxenv.errors import ModelError
from mxenv.inventory import Assumption, Inventory, Phase, Use
from mxenv.models import Reader, Request
from mxenv.models._bytes import archive, document, member
from mxenv.onnx_weights import computes
from mxenv.weights import found

if TYPE_CHECKING:
    import zipfile
    from collections.abc import Iterator, Sequence

    from mxenv.exported_program import Program

SUFFIXES = (".pt2", ".pt", ".pth", ".ts", ".torchscript")
PROGRAM = re.compile(r"(?:^|/)(?:models/[^/]+\.json|serialized_exported_program\.json)$")
"""How a graph is called in the layouts of torch.export, the newer and the older one."""
CODE = re.compile(r"(?:^|/)code/(.+\.py)$")
"""How a file of TorchScript is."""
COMPILED = "data/aotinductor/"
PICKLED = re.compile(r"(?:^|/)data\.pkl$")
MOST = 4096
"""Graphs, or files of code, in one file."""
CODE_LARGEST = 64 << 20
"""Bytes of all files of code together."""
PROGRAMS_LARGEST = 256 << 20
"""Bytes of all graphs together."""


def claims(target: str) -> bool:
    """Return whether ``target`` is called as torch's files are."""
    path = Path(target)
    return path.suffix in SUFFIXES and path.is_file()


def read(request: Request) -> Inventory:
    """Return what the program in the request's target calls."""
    path = Path(request.target)
    with archive(path) as inside:
        names = inside.namelist()
        programs = sorted({name for name in names if PROGRAM.search(name)})
        code = sorted({name for name in names if CODE.search(name)})
        if len(programs) > MOST or len(code) > MOST:
            raise ValueError(f"more than {MOST} graphs or files of code")
        if programs:
            return _exported(path, inside, programs)
        if code:
            return _scripted(path, inside, code)
    raise _other(path, names)


def _other(path: Path, names: Sequence[str]) -> ModelError:
    """Return what to raise for a zip file without a graph."""
    if any(COMPILED in name for name in names):
        said = "holds code that was compiled for one kind of device, and no graph"
        return ModelError(said, context=str(path), hint="take what torch.export.save wrote")
    if any(PICKLED.search(name) for name in names):
        said = "holds pickled weights alone, which say nothing of operators"
        hint = "take what torch.export.save wrote; weights are read from .safetensors"
        return ModelError(said, context=str(path), hint=hint)
    said = "holds no program of torch"
    return ModelError(said, context=str(path), hint="take what torch.export.save wrote")


def _exported(path: Path, inside: zipfile.ZipFile, names: Sequence[str]) -> Inventory:
    digest = hashlib.sha256()
    programs = []
    left = PROGRAMS_LARGEST
    for name in names:
        told, content = document(inside, name)
        left -= len(content)
        if left < 0:
            raise ValueError(f"graphs of more than {PROGRAMS_LARGEST >> 20} MiB")
        digest.update(content)
        try:
            programs.append(exported_program.read(told))
        except ValueError as error:
            raise ModelError(str(error), context=f"{path}: {name}") from None
    return _inventory(path, f"sha256:{digest.hexdigest()}", programs)


def _inventory(path: Path, source: str, programs: Sequence[Program]) -> Inventory:
    tensors = {name: one for program in programs for name, one in program.tensors.items()}
    formats = found(tensors)
    if not any(program.uses or program.kernels for program in programs):
        raise ModelError("its graph calls no operator", context=str(path))
    traced = Assumption(
        kind="export",
        subject="graph",
        said="operators are those of the graph; run from its source code, a model calls others",
    )
    return Inventory(
        name=path.stem,
        reader="exported",
        source=source,
        architecture=programs[0].architecture,
        mode="training" if any(program.training for program in programs) else "inference",
        dtype=computes(formats),
        inputs=tuple(pair for program in programs for pair in program.inputs),
        tools=tuple(pair for program in programs for pair in program.tools),
        uses=tuple(use for program in programs for use in program.uses),
        kernels=tuple(kernel for program in programs for kernel in program.kernels),
        formats=formats,
        assumptions=(traced, *(one for program in programs for one in program.assumptions)),
        gaps=tuple(gap for program in programs for gap in program.gaps),
    )


def _scripted(path: Path, inside: zipfile.ZipFile, names: Sequence[str]) -> Inventory:
    digest = hashlib.sha256()
    uses: list[Use] = []
    left = CODE_LARGEST
    for name in names:
        content = member(inside, name)
        left -= len(content)
        if left < 0:
            raise ValueError(f"code of more than {CODE_LARGEST >> 20} MiB")
        digest.update(content)
        uses += _called(name, content)
    if not uses:
        raise ModelError("its code calls no operator", context=str(path))
    counted = Assumption(
        kind="count",
        subject="code",
        said="calls are places in its code, which runs each as often as it is reached",
    )
    return Inventory(
        name=path.stem,
        reader="exported",
        source=f"sha256:{digest.hexdigest()}",
        uses=tuple(uses),
        assumptions=(counted,),
        gaps=(
            "TorchScript does not say which overload of an operator is called",
            "its weights were not read: they are pickled, and to load them runs code",
        ),
    )


def _called(name: str, content: bytes) -> Iterator[Use]:
    match = CODE.search(name)
    file = match[1] if match else name
    for line, operator in torchscript.calls(content.decode(errors="replace")):
        yield Use(operator=operator, phase=Phase.GRAPH, site=f"{file}:{line}")


READER = Reader(title="a program that torch has exported, or TorchScript", claims=claims, read=read)
