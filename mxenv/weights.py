"""In which number formats a model's weights are held, by its tensors and what is said of them.

What the tensors of each way to pack them are named is that of the libraries that write them:
AutoGPTQ, AutoAWQ, bitsandbytes, compressed-tensors, ModelOpt, HQQ, AQLM, quanto, EETQ, DeepSeek's
and gpt-oss's own checkpoints.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from mxenv.declared_weights import UNKNOWN
from mxenv.frozen import frozen
from mxenv.inventory import Stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.declared_weights import Declared

PLAIN = "plain"
FLOATS = {
    "F64": "fp64",
    "F32": "fp32",
    "F16": "fp16",
    "BF16": "bf16",
    "F8_E4M3": "fp8",
    "F8_E5M2": "fp8",
    "F8_E4M3FNUZ": "fp8",
    "F8_E5M2FNUZ": "fp8",
    "F4": "fp4",
    "I8": "int8",
}
"""The types of safetensors that are computed in, as a matrix calls them; others are indices."""


@frozen
class Tensor:
    """One tensor of a checkpoint, as its header has it."""

    dtype: str
    shape: tuple[int, ...] = ()
    bytes: int = 0


@frozen
class Scheme:
    """A way to pack the weights of one module, known by the tensors that it leaves."""

    name: str
    markers: frozenset[str]
    """Ends of names, all of which are there."""
    weights: str
    """Empty: as the type of ``weight`` says."""
    activations: str = ""
    """Empty: what the model computes in."""


SCHEMES = (
    # The first whose markers are all there is meant: a later one's are part of an earlier one's.
    Scheme(
        name="gptq", markers=frozenset({"qweight", "qzeros", "scales", "g_idx"}), weights="int4"
    ),
    Scheme(name="awq", markers=frozenset({"qweight", "qzeros", "scales"}), weights="int4"),
    Scheme(
        name="bitsandbytes-nf4",
        markers=frozenset({"weight.quant_state.bitsandbytes__nf4"}),
        weights="nf4",
    ),
    Scheme(
        name="bitsandbytes-fp4",
        markers=frozenset({"weight.quant_state.bitsandbytes__fp4"}),
        weights="fp4",
    ),
    Scheme(
        name="bitsandbytes-int8",
        markers=frozenset({"weight", "SCB"}),
        weights="int8",
        activations="int8",
    ),
    Scheme(
        name="compressed-tensors-nvfp4",
        markers=frozenset({"weight_packed", "weight_scale", "weight_global_scale"}),
        weights="fp4",
    ),
    Scheme(
        name="compressed-tensors-packed",
        markers=frozenset({"weight_packed", "weight_scale", "weight_shape"}),
        weights="int4",
    ),
    Scheme(
        name="compressed-tensors-mxfp4",
        markers=frozenset({"weight_packed", "weight_scale"}),
        weights="fp4",
    ),
    Scheme(
        name="fp8-block",
        markers=frozenset({"weight", "weight_scale_inv"}),
        weights="fp8",
        activations="fp8",
    ),
    Scheme(
        name="modelopt-nvfp4",
        markers=frozenset({"weight", "weight_scale", "weight_scale_2"}),
        weights="fp4",
    ),
    Scheme(name="scaled", markers=frozenset({"weight", "weight_scale"}), weights=""),
    Scheme(name="hqq", markers=frozenset({"W_q"}), weights=UNKNOWN),
    Scheme(name="aqlm", markers=frozenset({"codes", "codebooks"}), weights=UNKNOWN),
    Scheme(name="quanto", markers=frozenset({"weight._data", "weight._scale"}), weights="int8"),
    Scheme(name="eetq", markers=frozenset({"weight", "weight_scales"}), weights="int8"),
    Scheme(name="mxfp4", markers=frozenset({"_blocks", "_scales"}), weights="fp4"),
)
PARTED = ("_blocks", "_scales")
"""Ends that are no part of their own between points: ``gate_up_proj_blocks``."""
_ENDS = frozenset().union(*(scheme.markers for scheme in SCHEMES))
_TWO = frozenset(end for end in _ENDS if "." in end)
"""Ends that have a point themselves."""
_WHOLE = (
    (_ENDS - _TWO - {two.rpartition(".")[2] for two in _TWO}).union({"bias"}).difference(PARTED)
)
"""Ends that are no part of a longer one: nearly all names have such."""


def found(tensors: Mapping[str, Tensor], dtype: str = "") -> tuple[Stored, ...]:
    """Return in which formats ``tensors`` are held, by their names and their types.

    ``dtype`` is what the model computes in, for weights that are unpacked into it.
    """
    # Modules are many and alike: what their tensors are called is looked at once.
    alike: dict[tuple[str, ...], list[Mapping[str, Tensor]]] = defaultdict(list)
    for parts in _modules(tensors).values():
        alike[tuple(parts)].append(parts)
    count: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for ends, modules in alike.items():
        scheme = _scheme(ends)
        for end in ends:
            for told, size in _column(scheme, end, modules, dtype):
                count[told][0] += 1
                count[told][1] += size
    return tuple(
        Stored(scheme=scheme, weights=weights, activations=activations, tensors=number, bytes=size)
        for (scheme, weights, activations), (number, size) in sorted(count.items())
    )


def _column(
    scheme: Scheme | None, end: str, modules: Iterable[Mapping[str, Tensor]], dtype: str
) -> Iterator[tuple[tuple[str, str, str], int]]:
    """Yield what the tensors called ``end`` of modules that are alike count for, and their bytes.

    Nothing is yielded of those that are indices.
    """
    said: dict[tuple[str, str], tuple[str, str, str] | None] = {}
    for parts in modules:
        tensor = parts[end]
        weight = parts["weight"].dtype if "weight" in parts else ""
        both = tensor.dtype, weight
        if both not in said:
            said[both] = _held(scheme, end, tensor.dtype, weight, dtype)
        if told := said[both]:
            yield told, tensor.bytes


def _held(
    scheme: Scheme | None, end: str, own: str, weight: str, dtype: str
) -> tuple[str, str, str] | None:
    """Return the scheme and formats that a tensor counts for; nothing for what are indices.

    ``own`` is its type, and ``weight`` that of its module's weights, as safetensors has them.
    """
    if scheme is None or end == "bias":
        plain = FLOATS.get(own)
        return (PLAIN, plain, plain) if plain else None
    weights = scheme.weights or FLOATS.get(weight, UNKNOWN)
    title = scheme.name if scheme.weights else f"{weights}-scaled"
    if not scheme.weights and weights not in {"fp8", "int8"}:
        return (PLAIN, weights, weights)
    activations = scheme.activations or (dtype if scheme.weights else weights)
    return title, weights, activations


def _modules(tensors: Mapping[str, Tensor]) -> Mapping[str, Mapping[str, Tensor]]:
    """Return the tensors of each module, by what their names end with."""
    modules: dict[str, dict[str, Tensor]] = defaultdict(dict)
    for name, tensor in tensors.items():
        module, _, end = name.rpartition(".")
        if end not in _WHOLE:
            module, end = _split(name)
        modules[module][end] = tensor
    return modules


def _split(name: str) -> tuple[str, str]:
    """Return the module and the end of a tensor's name."""
    module, _, end = name.rpartition(".")
    for suffix in PARTED:
        if end.endswith(suffix) and end not in _ENDS:
            return f"{module}.{end.removesuffix(suffix)}", suffix
    for two in _TWO:
        if name.endswith(f".{two}"):
            return name.removesuffix(f".{two}"), two
    return module, end


def _scheme(parts: Iterable[str]) -> Scheme | None:
    ends = frozenset(parts)
    return next((scheme for scheme in SCHEMES if scheme.markers <= ends), None)


def reconciled(said: Declared, there: Iterable[Stored]) -> tuple[tuple[Stored, ...], list[str]]:
    """Return what the weights are held in, of both, and where the two do not agree.

    Where tensors were read they count, with what only a configuration knows (how many bits are
    packed into an integer, what activations are held in) taken from there.
    """
    there = tuple(there)
    packed = [one for one in there if one.scheme != PLAIN]
    if not there:
        return said.formats, list(said.said)
    problems = list(said.said)
    if packed and not said.formats:
        schemes = ", ".join(sorted({one.scheme for one in packed}))
        problems.append(f"tensors are packed ({schemes}), and the configuration says nothing of it")
    told = {one.weights for one in said.formats}
    if told and not packed and told.isdisjoint(one.weights for one in there):
        schemes = ", ".join(sorted({one.scheme for one in said.formats}))
        problems.append(f"the configuration says {schemes}, and no tensor is packed so")
    formats = []
    for one in there:
        by = said.formats[0] if one.scheme != PLAIN and len(said.formats) == 1 else one
        weights = by.weights if by.weights != UNKNOWN else one.weights
        activations = by.activations or one.activations
        both = replace(by, weights=weights, activations=activations)
        formats.append(replace(both, tensors=one.tensors, bytes=one.bytes))
    return tuple(formats), problems
