"""Which operators an ONNX file calls, of which domains and versions, and what it brings along.

Fields are those of ONNX's own ``onnx.proto``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from mxenv.frozen import frozen
from mxenv.inventory import Assumption, Phase, Use
from mxenv.onnx_graph import Body, Walk, few, opset
from mxenv.wire import Wire

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mxenv.onnx_graph import Key, Packed
    from mxenv.onnx_tensor import Held

MOST = 8_000_000
"""Fields of all that is looked at; a model of 100,000 nodes has fewer than half of them."""
CALLS = 1 << 53
"""More than anybody calls in one run."""
FUNCTIONS = 1 << 16
TRAINING = "how it is trained was not looked at"
IR = "ONNX IR"
"""How the version of the format itself is called."""


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
    wire = Wire(of, size, most=MOST)
    parts = _parts(wire)
    walk = Walk(wire)
    uses = tuple(_uses(walk, parts))
    return Model(
        digest=f"sha256:{walk.digest.hexdigest()}",
        uses=uses,
        held=tuple(walk.held.values()),
        packed=walk.packed,
        inputs=tuple((n, told) for n, told in walk.inputs.items() if n not in walk.held),
        tools=tuple(parts.tools()),
        assumptions=tuple(
            Assumption(kind="path", subject=subject, count=count, said=text)
            for (subject, text), count in walk.paths.items()
        ),
        gaps=(TRAINING,) if parts.trained else (),
    )


@dataclass(slots=True)
class _Parts:
    """Where the parts of a file lie, and what it says of itself."""

    graph: tuple[int, int] = (0, 0)
    functions: list[tuple[int, int]] = field(default_factory=list)
    opsets: dict[str, int] = field(default_factory=dict)
    version: int = 0
    """Of the format itself."""
    producer: list[str] = field(default_factory=lambda: ["", ""])
    """What wrote it, and its version."""
    trained: bool = False

    def tools(self) -> Iterator[tuple[str, str]]:
        yield IR, str(self.version)
        yield from ((name, str(number)) for name, number in self.opsets.items())
        if self.producer[0]:
            yield self.producer[0], self.producer[1]


def _parts(wire: Wire) -> _Parts:
    """Return the parts of a file; one without a graph or a version is none."""
    parts = _Parts()
    for what, kind, first, last in wire.fields(0, wire.size):
        match what, kind:
            case 1, 0:
                parts.version = first
            case ((2 | 3), 2):
                parts.producer[what - 2] = wire.text(first, last)
            case 7, 2:
                parts.graph = first, last
            case 8, 2:
                parts.opsets |= [opset(wire, first, last)]
            case 20, 2:
                parts.trained = True
            case 25, 2:
                parts.functions.append((first, last))
                few(parts.functions, FUNCTIONS, "functions")
            case _:
                pass
    needed = {"graph": parts.graph[0], "version of ONNX": parts.version, "version": parts.opsets}
    for name, one in needed.items():
        if not one:
            raise ValueError(f"it has no {name}")
    return parts


def _uses(walk: Walk, parts: _Parts) -> Iterator[Use]:
    """Yield what the graph calls, with functions of the file's own as what they consist of."""
    main = Body()
    walk.graph(*parts.graph, {}, main, 1)
    bodies = {"": main}
    known = set(parts.opsets)
    for place in parts.functions:
        name, body = walk.function(*place, known)
        bodies[name] = body
    unknown = sorted(walk.domains - known)
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
        module, site = walk.origin(*first[operator, dtypes])
        yield Use(
            operator=operator,
            phase=Phase.GRAPH,
            dtypes=dtypes,
            calls=number,
            module=module,
            site=site,
        )


def _times(bodies: Mapping[str, Body]) -> Iterator[tuple[str, int]]:
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
