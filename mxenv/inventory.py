"""What a model asks of a platform: operators, its own kernels, number formats, places in code."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SCHEMA = "mxenv.inventory/1"
SAMPLES = 5
"""Examples of arguments that are kept of one `Use`, at most."""


class Phase(StrEnum):
    """In which part of a model's work an operator is called."""

    FORWARD = "forward"
    """Of a model that knows no other: everything at once."""
    PREFILL = "prefill"
    DECODE = "decode"
    BACKWARD = "backward"
    OPTIMISER = "optimiser"
    GRAPH = "graph"
    """It stands in a file of operators, which says nothing of when they run."""


class Change(StrEnum):
    """What a port has to do at a place in the source; a later one costs more."""

    NONE = "none"
    """The vendor's tools, or its build of torch, cover it."""
    CONFIGURATION = "configuration"
    EDIT = "edit"
    REWRITE = "rewrite"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Use:
    """An operator as one phase calls it, with one set of number formats."""

    operator: str
    """``namespace::name.overload``, the overload ``default`` if it has no name.

    Without one where a file does not say which (TorchScript), or there is none (ONNX, whose
    namespaces are its domains).
    """
    phase: Phase
    dtypes: tuple[str, ...] = ()
    """Of its tensor arguments, in order: ``bf16``, ``f32``, ``i64``; empty if that is not known."""
    calls: int = 1
    module: str = ""
    """The path, inside the model, of the module that calls it first: ``model.layers.0.mlp``."""
    site: str = ""
    """``file:line`` of the first call; the file is relative to where packages are installed."""
    one_of: tuple[str, ...] = ()
    """The operators of which a device runs one here, this one among them; empty: always this."""
    samples: tuple[str, ...] = ()
    """Arguments of some calls, each a JSON list; no more than `SAMPLES`."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Kernel:
    """A kernel that is launched past the dispatcher, which knows nothing of it."""

    kind: str
    """``triton``, ``native`` (a compiled module that no dispatcher knows)."""
    name: str
    phase: Phase
    calls: int = 1
    module: str = ""
    site: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Assumption:
    """What had to be guessed to look at a model without running it."""

    kind: str
    """``value``, ``shape``, ``attention``, ``autocast``, ``foreach``, ``device``, ``size`` …"""
    subject: str
    """The operator or the part of the model that it is about."""
    site: str = ""
    count: int = 1
    said: str = ""
    """What was assumed, in words."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Stored:
    """Weights in one number format."""

    scheme: str
    """``plain``, or how they are packed: ``gptq``, ``awq``, ``fp8-block``; ``unknown``."""
    weights: str
    """What one element is: ``bf16``, ``int4``, ``fp8_e4m3``."""
    activations: str = ""
    """What it is multiplied with; empty if nothing says."""
    tensors: int = 0
    bytes: int = 0
    note: str = ""
    """What else decides whether it runs: a group size, a scheme of activations."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Hit:
    """A place in source code that a port has to look at."""

    file: str
    """Relative to the tree that was scanned."""
    line: int
    kind: str
    """A kind that `mxenv.porting` knows."""
    name: str = ""
    """Of the kernel, the operator, the module."""
    area: str = "main"
    """``main``, ``test``, ``vendored`` or ``other platform``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """Everything that is known of what a model needs; equal models give equal inventories."""

    name: str
    reader: str
    """What read it: ``huggingface``, ``exported``, ``onnx``, ``source``, ``torch``."""
    source: str
    """``sha256:…`` of what was read."""
    architecture: str = ""
    mode: str = "inference"
    """``inference`` or ``training``."""
    dtype: str = ""
    """The number format that it computes in, if one is named."""
    inputs: tuple[tuple[str, str], ...] = ()
    """What it was given: ``("input_ids", "i64 1x64")``."""
    tools: tuple[tuple[str, str], ...] = ()
    """What read it, with versions: ``("torch", "2.8.0")``; they decide which operators appear."""
    packages: tuple[tuple[str, str], ...] = ()
    """Optional packages that the model would use, each with its version, empty if not there."""
    uses: tuple[Use, ...] = ()
    kernels: tuple[Kernel, ...] = ()
    formats: tuple[Stored, ...] = ()
    hits: tuple[Hit, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    gaps: tuple[str, ...] = ()
    """Why it is not known to be whole; an inventory with a gap proves nothing to be enough."""

    def __post_init__(self) -> None:
        """Sort what has no order of its own, count one thing once, and keep what can be written."""
        for name in self.__dataclass_fields__:
            if not _plain(value := getattr(self, name)):
                object.__setattr__(self, name, _writable(value))
        for name in ("inputs", "tools", "packages", "formats", "hits", "gaps"):
            object.__setattr__(self, name, tuple(sorted(set(getattr(self, name)))))
        object.__setattr__(self, "uses", tuple(_merged(self.uses)))
        object.__setattr__(self, "kernels", tuple(sorted(self.kernels)))
        object.__setattr__(self, "assumptions", tuple(sorted(self.assumptions)))

    @property
    def operators(self) -> tuple[str, ...]:
        """Return the names of all operators, sorted."""
        return tuple(sorted({use.operator for use in self.uses}))

    @property
    def calls(self) -> int:
        """Return how many calls there are in one run of every phase."""
        return sum(use.calls for use in self.uses)

    @property
    def digest(self) -> str:
        """Return ``sha256:…`` of the canonical form."""
        canonical = json.dumps(
            document(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
        return f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


def _plain(value: object) -> bool:
    """Return whether ``value`` has no character that might not be written: nearly none has."""
    if isinstance(value, str):
        return value.isascii()
    if isinstance(value, tuple):
        return all(map(_plain, value))
    names = getattr(value, "__dataclass_fields__", ())
    return all(_plain(getattr(value, name)) for name in names)


def _writable(value: object) -> object:
    """Return ``value`` with ``?`` for half characters, which JSON may have and UTF-8 has not."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="replace").decode()
    if isinstance(value, tuple):
        return tuple(map(_writable, value))
    if not isinstance(value, Use | Kernel | Assumption | Stored | Hit):
        return value
    kept = {name: _writable(getattr(value, name)) for name in value.__dataclass_fields__}
    return type(value)(**kept)  # type: ignore[arg-type] # of the types that they had


def _merged(uses: Iterable[Use]) -> list[Use]:
    """Return the uses sorted; what is told twice with one phase and format is one, and counted."""
    found: dict[tuple[object, ...], Use] = {}
    for use in uses:
        key = (use.operator, use.phase, use.dtypes, use.one_of)
        before = found.get(key)
        if before is None:
            found[key] = use
            continue
        samples = tuple(dict.fromkeys((*before.samples, *use.samples)))[:SAMPLES]
        found[key] = replace(before, calls=before.calls + use.calls, samples=samples)
    return sorted(found.values())


def document(inventory: Inventory) -> dict[str, object]:
    """Return what a file holds of ``inventory``; what is empty is left out."""
    root: dict[str, object] = {"schema": SCHEMA}
    root |= _fields(inventory, "name", "reader", "source", "architecture", "mode", "dtype")
    root |= {
        name: dict(pairs)
        for name in ("inputs", "tools", "packages")
        if (pairs := getattr(inventory, name))
    }
    lists = ("uses", "kernels", "formats", "hits", "assumptions")
    root |= {
        name: [_fields(entry, *entry.__dataclass_fields__) for entry in entries]
        for name in lists
        if (entries := getattr(inventory, name))
    }
    return root | _fields(inventory, "gaps")


def _fields(value: object, *names: str) -> dict[str, object]:
    """Return the fields of ``value`` that are not what is empty of their kind."""
    found = {}
    for name in names:
        field = getattr(value, name)
        if field not in ("", (), 0):
            found[name] = list(field) if isinstance(field, tuple) else field
    return found
