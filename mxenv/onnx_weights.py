"""In which number formats an ONNX file holds its weights."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from mxenv.declared_weights import UNKNOWN
from mxenv.inventory import Stored
from mxenv.onnx_tensor import BITS
from mxenv.weights import FLOATS, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mxenv.onnx_graph import Packed
    from mxenv.onnx_tensor import Held

SCHEME = "onnx"
INTEGERS = {"I8": 8, "U8": 8, "I4": 4, "U4": 4, "I2": 2, "U2": 2}
"""Types that are weights if an operator takes them as such, with their bits; else indices."""
COMPUTED = frozenset({"fp16", "bf16", "fp32", "fp64"})


def stored(held: Iterable[Held], packed: Mapping[str, Packed]) -> tuple[Stored, ...]:
    """Return the formats of the tensors of a file, and how much memory each takes."""
    count: dict[tuple[str, str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for tensor in held:
        told = _format(tensor, packed.get(tensor.name))
        if told is not None:
            count[told][0] += 1
            count[told][1] += tensor.bytes
    return tuple(
        Stored(
            scheme=scheme,
            weights=weights,
            activations=activations,
            tensors=number,
            bytes=size,
            note=note,
        )
        for (scheme, weights, activations, note), (number, size) in sorted(count.items())
    )


def _format(tensor: Held, packed: Packed | None) -> tuple[str, str, str, str] | None:
    """Return scheme, format, format of activations and operator; nothing for what are indices."""
    name = BITS[tensor.type][1] if tensor.type in BITS else ""
    if not name:
        return SCHEME, UNKNOWN, "", f"type {tensor.type}"
    if packed is not None and name in INTEGERS:
        weights = f"int{packed.bits or INTEGERS[name]}"
        activations = weights if packed.computes else ""
        return SCHEME, weights, activations, packed.operator
    plain = FLOATS.get(name)
    if plain is None or plain == "int8":
        return None
    if packed is not None and plain not in COMPUTED:
        return SCHEME, plain, "", packed.operator
    return PLAIN, plain, plain, ""


def computes(formats: Iterable[Stored]) -> str:
    """Return in which format a model computes, if all of its plain weights are in one."""
    plain = {one.weights for one in formats if one.scheme == PLAIN} & COMPUTED
    return plain.pop() if len(plain) == 1 else ""
