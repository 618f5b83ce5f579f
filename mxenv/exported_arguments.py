"""What an operator is called with in an exported program: types of tensors, and a sample of all.

The layout is that of torch's schema of exported programs (``torch/_export/serde/schema.py``).
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING

from mxenv.foreign_json import items, table, text
from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@frozen
class Dtype:
    """A type of numbers, as several files call it."""

    use: str
    """In the uses of an inventory."""
    weights: str
    """In files of weights."""
    size: int
    """Bytes of one."""


DTYPES = {
    1: Dtype(use="u8", weights="U8", size=1),
    2: Dtype(use="i8", weights="I8", size=1),
    3: Dtype(use="i16", weights="I16", size=2),
    4: Dtype(use="i32", weights="I32", size=4),
    5: Dtype(use="i64", weights="I64", size=8),
    6: Dtype(use="f16", weights="F16", size=2),
    7: Dtype(use="f32", weights="F32", size=4),
    8: Dtype(use="f64", weights="F64", size=8),
    9: Dtype(use="c32", weights="C32", size=4),
    10: Dtype(use="c64", weights="C64", size=8),
    11: Dtype(use="c128", weights="C128", size=16),
    12: Dtype(use="bool", weights="BOOL", size=1),
    13: Dtype(use="bf16", weights="BF16", size=2),
    28: Dtype(use="u16", weights="U16", size=2),
    29: Dtype(use="f8_e4m3", weights="F8_E4M3", size=1),
    30: Dtype(use="f8_e5m2", weights="F8_E5M2", size=1),
    31: Dtype(use="f8_e4m3fnuz", weights="F8_E4M3FNUZ", size=1),
    32: Dtype(use="f8_e5m2fnuz", weights="F8_E5M2FNUZ", size=1),
}
"""By the schema's numbers."""
LAYOUTS = {1: "sparse_coo", 2: "sparse_csr", 3: "sparse_csc", 4: "sparse_bsr", 7: "strided"}
MEMORY_FORMATS = {
    1: "contiguous_format",
    2: "channels_last",
    3: "channels_last_3d",
    4: "preserve_format",
}
POSITIONAL, KEYWORD = 1, 2


def dtype(meta: object) -> Dtype | None:
    """Return the type of a tensor, by what a graph says of it."""
    number = table(meta).get("dtype")
    return DTYPES.get(number) if isinstance(number, int) else None


def size(meta: object) -> int:
    """Return a size, or what it was when the program was exported; else raise `ValueError`."""
    match meta:
        case {"as_int": int(number)} | {"as_expr": {"hint": {"as_int": int(number)}}}:
            return number
        case _:
            raise ValueError("no size")


def arguments(node: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield every argument of ``node``: of which kind it is, and its value."""
    for entry in items(node.get("inputs")):
        yield from table(table(entry).get("arg")).items()


class Scope:
    """The values of one graph, which its nodes are given by name."""

    def __init__(self, graph: Mapping[str, object]) -> None:
        """Take the tables of ``graph``."""
        self._tensors = table(graph.get("tensor_values"))
        self._sizes = table(graph.get("sym_int_values"))

    def dtypes(self, node: Mapping[str, object]) -> tuple[str, ...]:
        """Return the types of a node's tensors, in order; nothing if one is not known."""
        found = []
        for kind, value in arguments(node):
            for name in _names(kind, value):
                known = dtype(self._tensors.get(name))
                if known is None:
                    return ()
                found.append(known.use)
        return tuple(found)

    def sample(self, node: Mapping[str, object]) -> str:
        """Return the arguments of a call as a JSON list; nothing if one cannot be told."""
        told: list[object] = []
        named: dict[str, object] = {}
        for entry in map(table, items(node.get("inputs"))):
            kind = entry.get("kind")
            if kind not in {POSITIONAL, KEYWORD}:
                return ""  # older programs do not say which arguments have to be named
            try:
                value = self._value(table(entry.get("arg")))
            except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
                return ""
            if kind == KEYWORD:
                named[text(entry.get("name"))] = value
            else:
                told.append(value)
        if named:
            told.append({"k": named})
        return json.dumps(told, sort_keys=True)

    def _value(  # noqa: PLR0911 - one for each kind of argument
        self, argument: Mapping[str, object]
    ) -> object:
        """Return an argument as samples have it; what cannot be told raises `ValueError`."""
        ((kind, value),) = argument.items()
        match kind, value:
            case "as_none", _:
                return None
            case "as_tensor", {"name": str(name)}:
                return self._tensor(name)
            case (("as_tensors" | "as_optional_tensors"), list(several)):
                return [
                    self._value({"as_tensor": one} if "name" in one else one) for one in several
                ]
            case "as_optional_tensor", dict(inner):
                return self._value(inner)
            case (("as_int" | "as_bool" | "as_string"), (int() | str())):
                return value
            case (("as_ints" | "as_bools" | "as_strings"), list(several)):
                kind = kind.removesuffix("s")
                return [self._value({kind: one}) for one in several]
            case "as_floats", list(several):
                return [_number(one) for one in several]
            case (("as_sym_ints" | "as_sym_floats"), list(several)):
                return [self._value({kind.removesuffix("s"): one}) for one in several]
            case _:
                return self._single(kind, value)

    def _single(  # noqa: PLR0911 - the same
        self, kind: str, value: object
    ) -> object:
        match kind, value:
            case "as_float", _:
                return _number(value)
            case "as_sym_int", {"as_int": int(number)}:
                return number
            case "as_sym_int", {"as_name": str(name)}:
                return size(self._sizes.get(name))
            case "as_sym_float", {"as_float": number}:
                return _number(number)
            case "as_scalar_type", int(number):
                return {"dtype": DTYPES[number].use}
            case "as_device", {"type": str(device)}:
                return {"device": device}
            case "as_layout", int(number):
                return {"layout": LAYOUTS[number]}
            case "as_memory_format", int(number):
                return {"memory_format": MEMORY_FORMATS[number]}
            case _:
                raise ValueError(kind)

    def _tensor(self, name: str) -> object:
        meta = table(self._tensors.get(name))
        known = dtype(meta)
        if known is None:
            raise ValueError(name)
        sizes = [size(one) for one in items(meta.get("sizes"))]
        strides = [size(one) for one in items(meta.get("strides"))]
        told: dict[str, object] = {"t": known.use, "s": sizes}
        if len(strides) == len(sizes) and not _contiguous(sizes, strides):
            told["st"] = strides
        return told


def _names(kind: str, value: object) -> Iterator[str]:
    """Yield the names of the tensors of one argument."""
    match kind, value:
        case (("as_tensor" | "as_optional_tensor"), {"name": str(name)}):
            yield name
        case "as_optional_tensor", {"as_tensor": {"name": str(name)}}:
            yield name
        case (("as_tensors" | "as_optional_tensors"), list(several)):
            for one in several:
                yield from _names("as_optional_tensor", one)
        case "as_nested_tensors", list(several):
            for one in several:
                yield from _names("as_tensors", one)
        case _:
            pass


def _contiguous(sizes: list[int], strides: list[int]) -> bool:
    """Return whether elements lie one after another; the stride of a single one says nothing."""
    if 0 in sizes:
        return True
    kept = [(number, step) for number, step in zip(sizes, strides, strict=True) if number != 1]
    last = not kept or kept[-1][1] == 1
    return last and all(step == below * count for (_, step), (count, below) in pairwise(kept))


def _number(value: object) -> object:
    """Return a number as samples have it; the schema has those that JSON lacks as texts."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("no number")  # noqa: TRY004 - of a file
    number = float(value)
    if math.isfinite(number):
        return number
    return {"f": "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"}
