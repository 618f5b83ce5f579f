"""Which operators the graphs and functions of an ONNX file call, node by node.

Fields are those of ONNX's own ``onnx.proto``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv import onnx_tensor
from mxenv.call_sites import innermost
from mxenv.frozen import frozen
from mxenv.wire import BYTES, VARINT, Wire, signed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized

    from mxenv.onnx_tensor import Held

STANDARD = "ai.onnx"
"""The domain that is meant where none is named."""
DEEPEST = 30
"""How many graphs may lie in one another."""
CHOICES = frozenset({f"{STANDARD}::If"})
LOOPS = frozenset({f"{STANDARD}::Loop", f"{STANDARD}::Scan", f"{STANDARD}::SequenceMap"})
UNPACKED = frozenset(
    {
        f"{STANDARD}::DequantizeLinear",
        "com.microsoft::DequantizeLinear",
        "com.microsoft::MatMulNBits",
        "com.microsoft::MatMulBnb4",
        "com.microsoft::GatherBlockQuantized",
    }
)
"""Operators that take packed weights, and compute in floating point."""
PACKED = frozenset(
    {
        f"{STANDARD}::ConvInteger",
        f"{STANDARD}::MatMulInteger",
        f"{STANDARD}::QLinearConv",
        f"{STANDARD}::QLinearMatMul",
        "com.microsoft::DynamicQuantizeLSTM",
        "com.microsoft::DynamicQuantizeMatMul",
        "com.microsoft::MatMulIntegerToFloat",
        "com.microsoft::QAttention",
        "com.microsoft::QGemm",
        "com.microsoft::QLinearConv",
    }
)
"""Those that compute with them as they are."""
TENSORS = 1 << 20
"""Names of tensors, and operators with types that differ, in one file."""
DIGESTED = 4096
"""Bytes of a node that go into a digest; what is longer holds a tensor."""
TRACE = "pkg.torch.onnx.stack_trace"
"""Under which name torch's exporter writes where a node comes from."""

_OPERATOR = re.compile(r"[^:\s]+::[^:.\s]+(?:\.[^:\s]+)?")

Key = tuple[str, tuple[str, ...]]
"""An operator, and the types of its tensors."""


@frozen
class Packed:
    """How an operator takes weights that are packed."""

    operator: str
    computes: bool
    """With them as they are; else it unpacks them first."""
    bits: int = 0
    """Of one, if the operator says so; else as many as the type has."""


@dataclass(slots=True)
class Body:
    """What one graph or function calls, with all that lies within it."""

    calls: Counter[Key] = field(default_factory=Counter)
    first: dict[Key, tuple[int, int]] = field(default_factory=dict)
    """Where the first node of each lies."""


class Walk:
    """What was seen of one file's graphs and functions so far."""

    def __init__(self, wire: Wire) -> None:
        """Take the bytes of the file."""
        self.wire = wire
        self.held: dict[str, Held] = {}
        self.packed: dict[str, Packed] = {}
        self.inputs: dict[str, str] = {}
        self.paths: Counter[tuple[str, str]] = Counter()
        self.domains: set[str] = set()
        """Those of all operators that are called."""
        self.digest = hashlib.sha256()

    def graph(self, start: int, end: int, types: Mapping[str, str], body: Body, depth: int) -> None:
        """Look at a graph: first at its values, since nodes come before them in a file."""
        if depth > DEEPEST:
            raise ValueError("graphs nested too deeply")
        known = dict(types)
        for what, kind, first, last in self.wire.fields(start, end):
            match what, kind:
                case 5, 2:
                    self._hold(first, last, known)
                case ((11 | 12 | 13), 2):
                    name, dtype, shape = onnx_tensor.value(self.wire, first, last)
                    known.setdefault(name, dtype)
                    if what == 11 and depth == 1:  # noqa: PLR2004 - the field of inputs
                        self.inputs[name] = f"{dtype or 'unknown'} {shape}".rstrip()
                case 15, 2:
                    for which, of, begin, stop in self.wire.fields(first, last):
                        if (which, of) == (1, BYTES):
                            self._hold(begin, stop, known)
                case _:
                    pass
            few(known, TENSORS, "tensors")
        self._nodes(start, end, 1, known, body, depth)

    def _nodes(  # noqa: PLR0913, PLR0917 - where, and what is known there
        self,
        start: int,
        end: int,
        number: int,
        types: Mapping[str, str],
        body: Body,
        depth: int,
    ) -> None:
        """Look at the nodes of a graph or function, which are its fields ``number``."""
        for what, kind, first, last in self.wire.fields(start, end):
            if (what, kind) == (number, BYTES):
                self._node(first, last, types, body, depth)
                few(body.calls, TENSORS, "operators that differ")

    def _hold(self, start: int, end: int, types: dict[str, str]) -> None:
        one = onnx_tensor.held(self.wire, start, end)
        if not one.name:
            raise ValueError(f"a tensor without a name at byte {start}")
        self.held[one.name] = one
        self.digest.update(repr((one.name, one.type, one.bytes)).encode(errors="replace"))
        types[one.name] = one.use

    def _node(self, start: int, end: int, types: Mapping[str, str], body: Body, depth: int) -> None:
        self.digest.update(self.wire.piece(start, min(end, start + DIGESTED)))
        words = {4: "", 7: "", 8: ""}
        given: list[str] = []
        within: list[tuple[int, int]] = []
        bits = 0
        for what, kind, first, last in self.wire.fields(start, end):
            match what, kind:
                case 1, 2:
                    given.append(self.wire.text(first, last))
                case ((4 | 7 | 8), 2):
                    words[what] = self.wire.text(first, last)
                case 5, 2:
                    bits = self._attribute(first, last, within) or bits
                case _:
                    pass
        name, domain, overload = words.values()
        operator = named(domain, name, overload)
        if not _OPERATOR.fullmatch(operator):
            raise ValueError(f"a node of the operator {operator[:200]!a} at byte {start}")
        self.domains.add(domain or STANDARD)
        dtypes = tuple(types.get(one, "") for one in given if one)
        key = operator, dtypes if all(dtypes) else ()
        body.calls[key] += 1
        body.first.setdefault(key, (start, end))
        self._remember(operator, given, bits)
        for place in within:
            self.graph(*place, types, body, depth + 1)

    def _remember(self, operator: str, given: list[str], bits: int) -> None:
        """Keep what an operator says beside that it is called."""
        if operator in UNPACKED or operator in PACKED:
            packed = Packed(operator=operator, computes=operator in PACKED, bits=bits)
            self.packed |= {one: packed for one in given if one in self.held}
        if operator in CHOICES:
            self.paths[operator, "both ways are counted, and a run takes one of them"] += 1
        elif operator in LOOPS:
            said = "its body is counted once, and runs as often as the data says"
            self.paths[operator, said] += 1

    def _attribute(self, start: int, end: int, within: list[tuple[int, int]]) -> int:
        """Add the graphs that an attribute holds; return its number if it is about bits."""
        name, number = "", 0
        for what, kind, first, last in self.wire.fields(start, end):
            match what, kind:
                case 1, 2:
                    name = self.wire.text(first, last)
                case 3, 0:
                    number = first
                case ((6 | 11), 2):
                    within.append((first, last))
                case _:
                    pass
        return number if name == "bits" else 0

    def function(self, start: int, end: int, domains: set[str]) -> tuple[str, Body]:
        """Return the name of a function that the file brings along, and what it calls."""
        name = domain = overload = ""
        body = Body()
        for what, kind, first, last in self.wire.fields(start, end):
            match what, kind:
                case 1, 2:
                    name = self.wire.text(first, last)
                case 9, 2:
                    domains.add(opset(self.wire, first, last)[0])
                case 10, 2:
                    domain = self.wire.text(first, last)
                case 13, 2:
                    overload = self.wire.text(first, last)
                case _:
                    pass
        self._nodes(start, end, 7, {}, body, 1)
        domains.add(domain or STANDARD)
        return named(domain, name, overload), body

    def origin(self, start: int, end: int) -> tuple[str, str]:
        """Return where a node comes from: its module, and its line of code, if it says so."""
        module = site = ""
        for what, kind, first, last in self.wire.fields(start, end):
            if (what, kind) == (3, BYTES):
                # ``/model/layers.0/mlp/MatMul``: all but the last is where it lies.
                parts = [part for part in self.wire.text(first, last).split("/")[:-1] if part]
                module = ".".join(parts)
        for name, text in onnx_tensor.pairs(self.wire, start, end, 9):
            if name == TRACE:
                site = innermost(text)
        return module, site


def opset(wire: Wire, start: int, end: int) -> tuple[str, int]:
    """Return a domain of operators, and which version of it is meant."""
    domain, version = "", 0
    for what, kind, first, last in wire.fields(start, end):
        if (what, kind) == (1, BYTES):
            domain = wire.text(first, last)
        elif (what, kind) == (2, VARINT):
            version = signed(first)
    return domain or STANDARD, version


def few(found: Sized, most: int, what: str) -> None:
    """Raise `ValueError` if more than ``most`` were found."""
    if len(found) > most:
        raise ValueError(f"it has more than {most} {what}")


def named(domain: str, name: str, overload: str) -> str:
    """Return an operator's name; without a domain it is one of the standard's own."""
    return f"{domain or STANDARD}::{name}{f'.{overload}' if overload else ''}"
