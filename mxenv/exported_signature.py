"""What an exported program brings along, what it is given, and what has written it.

The layout is that of torch's schema of exported programs (``torch/_export/serde/schema.py``).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from mxenv.exported_arguments import dtype, size
from mxenv.foreign_json import items, table, text
from mxenv.weights import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_NAME = re.compile(r"(?:Symbol\(')?(\w+)(?:'[^()]*\))?", re.ASCII)
"""A size that may be any, by its name; what is reckoned from others has none."""
BROUGHT = ("parameter", "buffer", "tensor_constant")
"""The kinds of inputs that lie in the file."""
GRADIENTS = frozenset({"loss_output", "gradient_to_parameter", "gradient_to_user_input"})
"""What a program gives back that was exported with its backward pass."""


def training(signature: Mapping[str, object]) -> bool:
    """Return whether a program was exported with its backward pass."""
    return any(not GRADIENTS.isdisjoint(table(one)) for one in items(signature.get("output_specs")))


def weights(
    signature: Mapping[str, object], values: Mapping[str, object]
) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors that a program brings along, by their names."""
    for spec in map(table, items(signature.get("input_specs"))):
        for kind in BROUGHT:
            told = table(spec.get(kind))
            name = text(told.get(f"{kind}_name"))
            meta = table(values.get(text(table(told.get("arg")).get("name"))))
            known = dtype(meta)
            if name and known:
                shape = _sizes(meta)
                total = max(math.prod(shape), 0) * known.size
                yield name, Tensor(dtype=known.weights, shape=shape, bytes=total)


def _sizes(meta: Mapping[str, object]) -> tuple[int, ...]:
    try:
        return tuple(size(one) for one in items(meta.get("sizes")))
    except ValueError:
        return (0,)


def inputs(
    signature: Mapping[str, object], values: Mapping[str, object]
) -> Iterator[tuple[str, str]]:
    """Yield what whoever runs the program gives it: its name, and ``i64 1x64``."""
    for spec in map(table, items(signature.get("input_specs"))):
        argument = table(table(spec.get("user_input")).get("arg"))
        name = text(table(argument.get("as_tensor")).get("name"))
        if name:
            meta = table(values.get(name))
            known = dtype(meta)
            yield name, f"{known.use if known else 'unknown'} {_shape(meta)}".rstrip()


def _shape(meta: Mapping[str, object]) -> str:
    """Return a shape for people: ``s0x64``, where a name stands for what may be any size."""
    told = []
    for one in map(table, items(meta.get("sizes"))):
        number = one.get("as_int")
        name = _NAME.fullmatch(text(table(one.get("as_expr")).get("expr_str")))
        told.append(str(number) if isinstance(number, int) else name[1] if name else "?")
    return "x".join(told)


def tools(program: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield what has written a program, with versions."""
    torch = text(program.get("torch_version"))
    # One that says "<=2.4" does not say which.
    if torch[:1].isdigit():
        yield "torch", torch
    for name, number in table(program.get("opset_version")).items():
        yield f"{name} opset", str(number)
    version = table(program.get("schema_version"))
    if version:
        yield "torch.export schema", ".".join(str(version.get(n, "?")) for n in ("major", "minor"))
