"""Which operators a program calls that ``torch.export`` has written, and where.

The layout is that of torch's schema of exported programs (``torch/_export/serde/schema.py``),
versions 1 to 8: a graph is a list of nodes, each with the operator that it calls, and a table of
the tensors that pass between them.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mxenv import exported_signature
from mxenv.call_sites import innermost
from mxenv.exported_arguments import Scope, arguments
from mxenv.foreign_json import table, text
from mxenv.frozen import frozen
from mxenv.inventory import SAMPLES, Assumption, Kernel, Phase, Use

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mxenv.weights import Tensor

DEEPEST = 40
"""How many graphs may lie in one another."""
NO_MODULE = "_empty_nn_module_stack"
"""How torch calls the module of what it adds itself."""
OF_SIZES = frozenset(
    {
        "_assert_scalar",
        "_assert_tensor_metadata",
        "sym_constrain_range",
        "sym_constrain_range_for_size",
        "sym_is_contiguous",
        "sym_numel",
        "sym_size",
        "sym_storage_offset",
        "sym_stride",
    }
)
"""Operators that ask about a tensor's shape, and never touch a device."""
PREFIX = "torch.ops."
_OPERATOR = re.compile(r"torch\._?ops\.(\w+)\.(\w+)(?:\.(\w+))?", re.ASCII)
_PYTHON = re.compile(
    r"_operator\.|operator\.|math\.|builtins\.|torch\.sym_|torch\._sym_|torch\.utils\._sympy"
)
"""What a graph applies to sizes, and never to tensors."""
HIGHER = "higher_order"
"""The namespace of what takes graphs, or operators, as arguments."""
CHOICES = frozenset({"cond"})
LOOPS = frozenset({"while_loop", "while_loop_stack_output", "scan", "associative_scan", "map_impl"})
WRAPPERS = frozenset(
    {
        "autograd_function_apply",
        "auto_functionalized",
        "auto_functionalized_v2",
        "hints_wrapper",
        "invoke_subgraph",
        "out_dtype",
        "run_const_graph",
        "strict_mode",
        "tag_activation_checkpoint",
        "with_effects",
        "wrap",
        "wrap_activation_checkpoint",
        "wrap_with_autocast",
        "wrap_with_set_grad_enabled",
    }
)
"""Those that do nothing but run the graph, or the operator, that they are given."""
TRITON = frozenset({"triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation"})


@frozen
class Program:
    """What one exported program says of itself."""

    uses: tuple[Use, ...]
    kernels: tuple[Kernel, ...] = ()
    tensors: Mapping[str, Tensor]
    """Its parameters, buffers and constants, by their names."""
    inputs: tuple[tuple[str, str], ...] = ()
    tools: tuple[tuple[str, str], ...] = ()
    architecture: str = ""
    training: bool = False
    assumptions: tuple[Assumption, ...] = ()
    gaps: tuple[str, ...] = ()


def read(program: Mapping[str, object]) -> Program:
    """Return what the JSON document of an exported program says.

    What is not laid out as such a program raises `ValueError` with the place.
    """
    module = _within(program, "graph_module", "graph_module")
    graph = _within(module, "graph", "graph_module.graph")
    walk = _Walk()
    walk.graph(graph, "graph_module.graph", 1)
    signature, values = table(module.get("signature")), table(graph.get("tensor_values"))
    return Program(
        uses=tuple(walk.uses()),
        kernels=tuple(walk.kernels),
        tensors=dict(exported_signature.weights(signature, values)),
        inputs=tuple(exported_signature.inputs(signature, values)),
        tools=tuple(exported_signature.tools(program)),
        architecture=walk.architecture,
        training=exported_signature.training(signature),
        assumptions=tuple(walk.assumptions()),
        gaps=tuple(walk.gaps),
    )


def _within(parent: Mapping[str, object], name: str, place: str) -> Mapping[str, object]:
    value = parent.get(name)
    if not isinstance(value, dict):
        raise ValueError(f"{place}: not an object")  # noqa: TRY004 - of a file
    return value


def operator_of(target: str) -> str:
    """Return ``namespace::name.overload`` for ``torch.ops.namespace.name.overload``."""
    match = _OPERATOR.fullmatch(target)
    return f"{match[1]}::{match[2]}.{match[3] or 'default'}" if match else ""


@dataclass(slots=True, kw_only=True)
class _Seen:
    """One operator, called with tensors of the same types."""

    calls: int = 0
    module: str = ""
    site: str = ""
    samples: dict[str, None] = field(default_factory=dict)


class _Walk:
    """All graphs of a program, those within others too."""

    def __init__(self) -> None:
        self.kernels: list[Kernel] = []
        self.gaps: dict[str, None] = {}
        self.architecture = ""
        self._seen: dict[tuple[str, tuple[str, ...]], _Seen] = {}
        self._paths: Counter[tuple[str, str]] = Counter()

    def graph(self, graph: Mapping[str, object], place: str, depth: int) -> None:
        """Look at every node of ``graph``."""
        nodes = graph.get("nodes")
        if not isinstance(nodes, list):
            raise ValueError(f"{place}.nodes: not a list")  # noqa: TRY004 - of a file
        if depth > DEEPEST:
            raise ValueError(f"{place}: graphs nested too deeply")
        scope = Scope(graph)
        for number, node in enumerate(nodes):
            here = f"{place}.nodes[{number}]"
            target = table(node).get("target")
            if not isinstance(target, str):
                raise ValueError(f"{here}.target: not a text")  # noqa: TRY004 - the same
            self._node(node, target, scope)
            for kind, value in arguments(node):
                if kind == "as_graph":
                    self.graph(table(table(value).get("graph")), here, depth + 1)

    def uses(self) -> Iterator[Use]:
        """Yield what was seen."""
        for (operator, dtypes), seen in self._seen.items():
            yield Use(
                operator=operator,
                phase=Phase.GRAPH,
                dtypes=dtypes,
                calls=seen.calls,
                module=seen.module,
                site=seen.site,
                samples=tuple(seen.samples),
            )

    def assumptions(self) -> Iterator[Assumption]:
        """Yield which ways through a program had to be guessed."""
        for (subject, said), count in self._paths.items():
            yield Assumption(kind="path", subject=subject, count=count, said=said)

    def _node(self, node: Mapping[str, object], target: str, scope: Scope) -> None:
        metadata = table(node.get("metadata"))
        modules = _modules(text(metadata.get("nn_module_stack")))
        if modules and not self.architecture:
            self.architecture = modules[0][1].rpartition(".")[2]
        module = modules[-1][0] if modules else ""
        site = innermost(text(metadata.get("stack_trace")))
        operator = operator_of(target)
        space, _, rest = operator.partition("::")
        if space == HIGHER:
            self._higher(rest.partition(".")[0], node, module, site)
        elif operator and rest.partition(".")[0] not in OF_SIZES:
            self._count(operator, module, site, scope.dtypes(node), scope.sample(node))
        elif not operator and not _PYTHON.match(target):
            # A library may teach torch.export to write what no dispatcher knows.
            self.gaps[f"what is called {target[:80]!a} was not looked at: no operator"] = None

    def _count(
        self,
        operator: str,
        module: str,
        site: str,
        dtypes: tuple[str, ...] = (),
        sample: str = "",
    ) -> None:
        key = operator, dtypes
        if key not in self._seen:
            self._seen[key] = _Seen(module=module, site=site)
        seen = self._seen[key]
        seen.calls += 1
        if sample and len(seen.samples) < SAMPLES:
            seen.samples[sample] = None

    def _higher(self, name: str, node: Mapping[str, object], module: str, site: str) -> None:
        """Count the operators that one is given, and say what is not known of it."""
        full = f"{HIGHER}::{name}"
        given = list(arguments(node))
        if name in TRITON:
            title = next((text(value) for kind, value in given if kind == "as_string"), name)
            kernel = Kernel(kind="triton", name=title, phase=Phase.GRAPH, module=module, site=site)
            self.kernels.append(kernel)
        elif name in CHOICES:
            self._paths[full, "both ways are counted, and a run takes one of them"] += 1
        elif name in LOOPS:
            self._paths[full, "its body is counted once, and runs as often as the data says"] += 1
        elif name not in WRAPPERS:
            self.gaps[f"what {full} calls is not in the graph"] = None
        for kind, value in given:
            if kind == "as_operator":
                inner = operator_of(text(value)) or operator_of(f"{PREFIX}{text(value)}")
                if inner:
                    self._count(inner, module, site)


def _modules(stack: str) -> list[tuple[str, str]]:
    """Return the modules in which a node lies, the outermost first: path and class of each."""
    found = []
    for entry in stack.split(";"):
        # Key, path, class; the path may have commas itself.
        _, _, rest = entry.partition(",")
        path, comma, kind = rest.rpartition(",")
        if comma and not path.startswith(NO_MODULE):
            found.append((path.removeprefix("L['self']").removeprefix("."), kind))
    return found
