"""Which operators an ONNX file calls, of which domains and versions, and what it brings along.

Fields are those of ONNX's own ``onnx.proto``.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from mxenv import onnx_tensor
from mxenv.call_sites import innermost
from mxenv.frozen import frozen
from mxenv.inventory import Assumption, Phase, Use
from mxenv.wire import BYTES, VARINT, Wire, signed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sized

    from mxenv.onnx_tensor import Held

STANDARD = "ai.onnx"
"""The domain that is meant where none is named."""
MOST = 8_000_000
"""Fields of all that is looked at; a model of 100,000 nodes has fewer than half of them."""
DEEPEST = 30
"""How many graphs may lie in one another."""
CALLS = 1 << 53
"""More than anybody calls in one run."""
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
FUNCTIONS = 1 << 16
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


@frozen
class Model:
    """What one ONNX file says of itself."""

    digest: str
    """``sha256:…`` of its nodes, and of the names, types and sizes of its tensors."""
    uses: tuple[Use, ...]
    held: tuple[Held, ...]
    """The tensors that it brings along."""
    packed: Mapping[str, Packed]
    """By the names of tensors, what they are given to that takes them packed."""
    inputs: tuple[tuple[str, str], ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    gaps: tuple[str, ...] = ()


def read(of: Callable[[int, int], bytes], size: int) -> Model:
    """Return what a file of ``size`` bytes says, of which ``of(offset, length)`` reads some.

    What is no such file, or is made to do harm, raises `ValueError`.
    """
    return _Reading(Wire(of, size, most=MOST)).model()


@dataclass(slots=True)
class _Body:
    """What one graph or function calls, with all that lies within it."""

    calls: Counter[Key] = field(default_factory=Counter)
    first: dict[Key, tuple[int, int]] = field(default_factory=dict)
    """Where the first node of each lies."""


class _Reading:
    """One file, as far as it was read."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.held: dict[str, Held] = {}
        self.packed: dict[str, Packed] = {}
        self.inputs: dict[str, str] = {}
        self.paths: Counter[tuple[str, str]] = Counter()
        self.domains: set[str] = set()
        self.digest = hashlib.sha256()

    def model(self) -> Model:
        """Return what all of the file says."""
        graph: tuple[int, int] | None = None
        functions: list[tuple[int, int]] = []
        opsets: dict[str, int] = {}
        said: dict[str, str] = {}
        gaps = []
        for what, kind, first, last in self.wire.fields(0, self.wire.size):
            match what, kind:
                case 1, 0:
                    said["ONNX IR"] = str(first)
                case ((2 | 3), 2):
                    said[f"{what}"] = self.wire.text(first, last)
                case 7, 2:
                    graph = first, last
                case 8, 2:
                    domain, version = self._opset(first, last)
                    opsets[domain] = version
                case 20, 2:
                    gaps = ["how it is trained was not looked at"]
                case 25, 2:
                    functions.append((first, last))
                    _few(functions, FUNCTIONS, "functions")
                case _:
                    pass
        if graph is None or "ONNX IR" not in said or not opsets:
            parts = {"graph": graph, "version of ONNX": said.get("ONNX IR"), "version": opsets}
            raise ValueError(f"it has no {next(name for name, one in parts.items() if not one)}")
        producer = said.pop("2", "")
        tools = {"ONNX IR": said["ONNX IR"], **{name: str(one) for name, one in opsets.items()}}
        if producer:
            tools[producer] = said.get("3", "")
        uses = tuple(self._uses(graph, functions, opsets))
        return Model(
            digest=f"sha256:{self.digest.hexdigest()}",
            uses=uses,
            held=tuple(self.held.values()),
            packed=self.packed,
            inputs=tuple((n, told) for n, told in self.inputs.items() if n not in self.held),
            tools=tuple(tools.items()),
            assumptions=tuple(
                Assumption(kind="path", subject=subject, count=count, said=text)
                for (subject, text), count in self.paths.items()
            ),
            gaps=tuple(gaps),
        )

    def _opset(self, start: int, end: int) -> tuple[str, int]:
        domain, version = "", 0
        for what, kind, first, last in self.wire.fields(start, end):
            if (what, kind) == (1, BYTES):
                domain = self.wire.text(first, last)
            elif (what, kind) == (2, VARINT):
                version = signed(first)
        return domain or STANDARD, version

    def _uses(
        self, graph: tuple[int, int], places: list[tuple[int, int]], opsets: Mapping[str, int]
    ) -> Iterator[Use]:
        """Yield what the graph calls, with functions of the file's own as what they consist of."""
        main = _Body()
        self._graph(*graph, {}, main, 1)
        bodies = {"": main}
        known = set(opsets)
        for place in places:
            name, body = self._function(*place, known)
            bodies[name] = body
        unknown = sorted(self.domains - known)
        if unknown:
            raise ValueError(f"it calls operators of {unknown[0]!r}, of which it has no version")
        calls: Counter[Key] = Counter()
        first: dict[Key, tuple[int, int]] = {}
        for name, times in _times(bodies):
            for key, number in bodies[name].calls.items():
                if key[0] not in bodies:
                    calls[key] += times * number
                    first.setdefault(key, bodies[name].first[key])
        if not calls:
            raise ValueError("it calls no operator")
        for (operator, dtypes), number in calls.items():
            module, site = self._origin(*first[operator, dtypes])
            yield Use(
                operator=operator,
                phase=Phase.GRAPH,
                dtypes=dtypes,
                calls=number,
                module=module,
                site=site,
            )

    def _graph(
        self, start: int, end: int, types: Mapping[str, str], body: _Body, depth: int
    ) -> None:
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
            _few(known, TENSORS, "tensors")
        self._nodes(start, end, 1, known, body, depth)

    def _nodes(  # noqa: PLR0913, PLR0917 - where, and what is known there
        self,
        start: int,
        end: int,
        number: int,
        types: Mapping[str, str],
        body: _Body,
        depth: int,
    ) -> None:
        """Look at the nodes of a graph or function, which are its fields ``number``."""
        for what, kind, first, last in self.wire.fields(start, end):
            if (what, kind) == (number, BYTES):
                self._node(first, last, types, body, depth)
                _few(body.calls, TENSORS, "operators that differ")

    def _hold(self, start: int, end: int, types: dict[str, str]) -> None:
        one = onnx_tensor.held(self.wire, start, end)
        if not one.name:
            raise ValueError(f"a tensor without a name at byte {start}")
        self.held[one.name] = one
        self.digest.update(repr((one.name, one.type, one.bytes)).encode(errors="replace"))
        types[one.name] = one.use

    def _node(
        self, start: int, end: int, types: Mapping[str, str], body: _Body, depth: int
    ) -> None:
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
        operator = _named(domain, name, overload)
        if not _OPERATOR.fullmatch(operator):
            raise ValueError(f"a node of the operator {operator[:200]!a} at byte {start}")
        self.domains.add(domain or STANDARD)
        dtypes = tuple(types.get(one, "") for one in given if one)
        key = operator, dtypes if all(dtypes) else ()
        body.calls[key] += 1
        body.first.setdefault(key, (start, end))
        self._remember(operator, given, bits)
        for place in within:
            self._graph(*place, types, body, depth + 1)

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

    def _function(self, start: int, end: int, domains: set[str]) -> tuple[str, _Body]:
        """Return the name of a function that the file brings along, and what it calls."""
        name = domain = overload = ""
        body = _Body()
        for what, kind, first, last in self.wire.fields(start, end):
            match what, kind:
                case 1, 2:
                    name = self.wire.text(first, last)
                case 9, 2:
                    domains.add(self._opset(first, last)[0])
                case 10, 2:
                    domain = self.wire.text(first, last)
                case 13, 2:
                    overload = self.wire.text(first, last)
                case _:
                    pass
        self._nodes(start, end, 7, {}, body, 1)
        domains.add(domain or STANDARD)
        return _named(domain, name, overload), body

    def _origin(self, start: int, end: int) -> tuple[str, str]:
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


def _few(found: Sized, most: int, what: str) -> None:
    if len(found) > most:
        raise ValueError(f"it has more than {most} {what}")


def _named(domain: str, name: str, overload: str) -> str:
    return f"{domain or STANDARD}::{name}{f'.{overload}' if overload else ''}"


def _times(bodies: Mapping[str, _Body]) -> Iterator[tuple[str, int]]:
    """Yield how often each body runs, in one run of the graph, which has no name."""
    callers = {
        name: {key[0] for key in body.calls if key[0] in bodies} for name, body in bodies.items()
    }
    try:
        order = list(TopologicalSorter(callers).static_order())
    except CycleError:
        raise ValueError("one of its functions calls itself") from None
    times: Counter[str] = Counter({"": 1})
    for name in reversed(order):
        if times[name] > CALLS:
            raise ValueError("it calls more operators than anybody can run")
        if times[name]:
            yield name, times[name]
        for key, number in bodies[name].calls.items():
            if key[0] in bodies:
                times[key[0]] += times[name] * number
