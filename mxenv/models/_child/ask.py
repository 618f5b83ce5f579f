"""What a build of torch says of its operators: for its own dispatch key, without any device.

Run by the Python that the build is installed for, so it takes Python 3.8 and torch 2.4 or newer.
It is one file, since it goes to a node as one argument of that Python: nothing is written there.
Its own arguments are modules to import before (``flag_gems:enable`` calls a function of one). One
line comes out, whatever torch, or what is imported, may print besides::

    mxenv.asked/1 sha256:… {"torch": "2.8.0", "dispatch": "CUDA", "operators": ["aten::add.out n"]}

Of each operator it has name and overload, a letter (native, generated, composite, fallback,
missing, unknown), then who does the work, then ``@`` and who registered it, if that is not torch.
No name has a colon or an equals sign behind it: one that ends in ``token`` would be taken for a
secret on its way.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import signal
import sys
import time
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import ModuleType
    from typing import Protocol

    class Alias(Protocol):
        """What is said of memory that is shared."""

        is_write: bool

    class Argument(Protocol):
        """An argument, or a result, as a schema has it."""

        name: str
        type: object
        kwarg_only: bool
        alias_info: Alias | None
        default_value: object

        def has_default_value(self) -> bool:
            """Return whether it may be left out."""

    class Schema(Protocol):
        """What an operator takes and gives."""

        arguments: Sequence[Argument]
        returns: Sequence[Argument]

    class Watch(AbstractContextManager["Watch"], Protocol):
        """A mode that notes what is called."""

        leaves: set[str]

    Form = tuple[int, int, str, bool]
    Decided = tuple[str, Sequence[str], str]
    """The letter, who does the work, who registered it."""
    Traced = Mapping[str, Sequence[str]]

SCHEMA = "mxenv.asked/1"
DEVICES = ("CUDA", "PrivateUse1", "XPU", "HPU", "MPS", "MTIA", "XLA")
"""Dispatch keys of accelerators; a build has at most one of them to speak of."""
EMPTY = "aten::empty.memory_format"
"""What every backend has to have: without memory there is nothing."""
EXPLICIT = "CompositeExplicitAutograd"
STRUCTURED = "CompositeExplicitAutogradNonFunctional"
IMPLICIT = "CompositeImplicitAutograd"
CHOSEN = {
    "aten::convolution.default": {
        "CPU": ("aten::_slow_conv2d_forward.default", "aten::slow_conv3d_forward.default"),
        "CUDA": ("aten::_slow_conv2d_forward.default", "aten::cudnn_convolution.default"),
        "": ("aten::convolution_overrideable.default",),
    },
    "aten::convolution_backward.default": {
        "CPU": ("aten::_slow_conv2d_backward.output_mask",),
        "CUDA": ("aten::_slow_conv2d_backward.output_mask",),
        "": ("aten::convolution_backward_overrideable.default",),
    },
}
"""What looks at the device to choose who does the work (``ConvBackend`` in ATen's Convolution.cpp),
so that a trace without a device would show the wrong one."""
FORMS = (
    *((rank, rank, "float32", False) for rank in (2, 4, 3)),
    (2, 2, "int64", False),
    (4, 4, "float32", True),
    (4, 1, "float32", True),
    (2, 2, "complex64", False),
    (2, 2, "bool", False),
    (2, 1, "float32", False),
    (2, 0, "float32", False),
    *((rank, rank, "float32", False) for rank in (1, 5)),
    *((rank, 1, "float32", False) for rank in (4, 3)),
    (0, 0, "float32", False),
    *((rank, rank, "int64", False) for rank in (1, 3)),
    *((rank, rank, "float32", True) for rank in (2, 3, 1, 5)),
    *((rank, 1, "float32", True) for rank in (2, 3)),
    *((2, 2, dtype, False) for dtype in ("float64", "int32")),
)
"""What arguments may look like: dimensions of the first tensor and of the others, what they hold,
whether what may be left out is given; the likeliest first, then what differs most from it."""
ALIKE = 10
"""Refusals in the same words, from the first form on, after which no other form is tried."""
INSIDE = ("CPU", "CUDA")
"""Keys whose tables of kernels torch itself fills below the dispatcher (``DispatchStub``)."""
SECONDS = 5.0
"""Of the processor, for one operator, and `SLEEPING` of the clock; what hangs costs itself only."""
SLEEPING = 20.0
PATIENCE = 50.0
"""Seconds for all traces; what is not traced by then is not known."""
WORKERS = 2
SOURCES = re.compile(r"(?:^|/)(?:aten/src/ATen|torch/csrc|c10|caffe2|pytorch)(?:/|$)")
"""Where torch's own kernels are written, wherever it was built."""
DECORATOR = "_library/custom_ops.py"
"""What registers, in torch's own name, functions that others have decorated."""
OWN = ("aten::", "prim::", "prims::", "_test::")
"""Names of torch's own operators, the last of those that it tests itself with."""
INSTALLED = re.compile(r"/(?:site|dist)-packages/([^/]+?)(?:\.py)?(?:/|$)")
REGISTERED = re.compile(r"registered at (.*?):\d+")
UNSAID = re.compile(r"with Meta tensors|cannot be called on meta|register_meta|of meta tensor")
"""What is said where there is no kernel for the meta device, or where it would need numbers."""
UNFIT = re.compile(r"[^A-Za-z0-9_.+-]")
BUILT = ("", ".", "..", "csrc", "src", "build", "aten", "include")
"""Folders that do not tell whose a source file is."""
LONGEST = 60
"""Characters of a name."""
INDICES = re.compile(r"ind(?:ex|ices)|offsets|lengths|target|bucket|sorter|^idx|batch_sizes")
ROWS = re.compile(r"offsets|lengths|^index$|batch_sizes")
MASKS = re.compile(r"mask|condition")
PER_CHANNEL = re.compile(r"^(?:bias|running_|save_|mean|invstd|rstd|scale|zero_point)")
ORDERS = re.compile(r"dims?(?:_self|_other)?$|axes|^source$|^destination$|layout$")
SCALARS = re.compile(r"^(?:lengths|scalars)$")
"""What is read by the CPU, whatever else lies elsewhere."""
NOUGHT = re.compile(r"dim1?$|axis|offset|start|storage|reduction|padding_idx|num_batch|mode|^low$")
TWO = re.compile(r"^(?:N|C|HxW|size|end|steps|num_classes|n|high)$")


class Build:
    """An imported torch, and what its dispatcher says."""

    def __init__(self, torch: ModuleType) -> None:
        """Look at all operators that have a schema."""
        self.torch = torch
        self.c = torch._C
        self.home = os.path.dirname(os.path.abspath(torch.__file__ or "/torch"))  # noqa: PTH100, PTH120 - text
        names = self.c._dispatch_get_all_op_names()
        self.raw: dict[str, str] = {whole(name): name for name in names if "::" in name}
        self.schemas: dict[str, Schema] = {}
        for name in self.raw:
            try:
                self.schemas[name] = self.c._get_schema(*parts(name))
            except RuntimeError:  # noqa: PERF203 - most have one
                continue  # a kernel was registered for it, and nobody ever defined it
        self.groups: dict[str, list[str]] = {}
        for name in self.schemas:
            self.groups.setdefault(name.rpartition(".")[0], []).append(name)
        self.key: str = next((key for key in DEVICES if self.has(EMPTY, key)), "CPU")
        self.fallback = self._fallback()

    def has(self, name: str, key: str) -> bool:
        """Return whether somebody registered a kernel for exactly this key."""
        try:
            return bool(self.c._dispatch_has_kernel_for_dispatch_key(self.raw[name], key))
        except (RuntimeError, KeyError):
            return False

    def passes(self, name: str, key: str) -> bool:
        """Return whether the kernel for this key only hands on to the next one."""
        told = self.c._dispatch_kernel_for_dispatch_key_is_fallthrough
        return bool(told(self.raw[name], key))

    def _fallback(self) -> bool:
        """Return whether somebody takes whatever has no kernel for the key."""
        try:
            key = getattr(self.c.DispatchKey, self.key)
            return bool(self.c._dispatch_has_backend_fallback(key))
        except (AttributeError, RuntimeError):
            return False

    def by(self, name: str, key: str) -> str:
        """Return who registered the kernel that counts for ``key``; empty if it is torch."""
        for line in self.c._dispatch_dump(self.raw[name]).splitlines():
            head, _, said = line.partition(": ")
            if head in (key, f"{key}[alias]"):
                found = REGISTERED.search(said)
                return self.registrar(name, found.group(1) if found else "")
        return ""

    def registrar(self, name: str, path: str) -> str:
        """Return whose a source file is; empty if it is torch's."""
        if path == f"{self.home}/{DECORATOR}":
            return decorated(name)
        if path.startswith(f"{self.home}/") or SOURCES.search(path):
            return ""
        folders, _, file = path.rpartition("/")
        package = INSTALLED.search(path)
        if package:
            found = "" if package.group(1) in ("torch", "torchgen") else package.group(1)
        elif not name.startswith(OWN):
            found = name.partition("::")[0]
        elif file.endswith(".py") and file != "__init__.py":
            found = file[: -len(".py")]
        else:
            found = next((f for f in reversed(folders.split("/")) if f not in BUILT), "")
            found = "" if path.startswith("/dev/") else found or file
        return UNFIT.sub("_", found)[:LONGEST]


def decorated(name: str) -> str:
    """Return whose function ``torch.library.custom_op`` made an operator of; empty if torch's."""
    made = getattr(sys.modules.get("torch._library.custom_ops"), "OPDEFS", {})
    function = getattr(made.get(name.rpartition(".")[0]), "_init_fn", None)
    package = str(getattr(function, "__module__", "torch")).partition(".")[0]
    return "" if package == "torch" else UNFIT.sub("_", package)[:LONGEST]


def whole(name: str) -> str:
    """Return a name with its overload, which torch leaves out where it has none."""
    return name if "." in name.partition("::")[2] else f"{name}.default"


def parts(name: str) -> tuple[str, str]:
    """Return name and overload as torch wants them."""
    base, _, overload = name.rpartition(".")
    return base, "" if overload == "default" else overload


def written(argument: Argument) -> bool:
    """Return whether an argument is one that the operator writes to."""
    return argument.alias_info is not None and argument.alias_info.is_write


def out(argument: Argument) -> bool:
    """Return whether an argument is where the result goes."""
    return argument.kwarg_only and written(argument)


def shape(schema: Schema) -> list[tuple[str, str]]:
    """Return what two overloads have in common that do the same for other places."""
    return [(a.name, str(a.type)) for a in schema.arguments if not out(a)]


def twin(build: Build, name: str, groups: Iterable[str], *, into: bool) -> str | None:
    """Return the overload in ``groups`` that does the same, with ``out`` arguments or without."""
    wanted = shape(build.schemas[name])
    for other in (other for group in groups for other in build.groups.get(group, ())):
        schema = build.schemas[other]
        fits = other != name and any(map(out, schema.arguments)) is into
        if fits and shape(schema) == wanted:
            return other
    return None


def structured(build: Build, name: str) -> str | None:
    """Return what does the work of one that torchgen wrapped: of a copy what is copied."""
    base = name.rpartition(".")[0]
    if base.endswith("_copy"):
        return wrapped(build, name)
    in_place = base.endswith("_") and not base.endswith("__")
    return twin(build, name, [base, base[:-1]] if in_place else [base], into=True)


def wrapped(build: Build, name: str) -> str | None:
    """Return the operator that one which torchgen made calls: ``X.out``, ``X_copy``, ``X``."""
    base = name.rpartition(".")[0]
    if any(map(out, build.schemas[name].arguments)):
        return twin(build, name, [base, f"{base}_"], into=False)
    if base.endswith("_copy"):
        return twin(build, name, [base[: -len("_copy")]], into=False)
    return None if base.endswith("_") else twin(build, name, [f"{base}_"], into=False)


def views(schema: Schema) -> bool:
    """Return whether a result is another look at an argument, and nothing is written."""
    aliases = any(r.alias_info is not None for r in schema.returns)
    return aliases and not any(map(written, schema.arguments))


def decide(build: Build, name: str, traces: Traced) -> Decided:
    """Return the letter of an operator, who does its work, and who registered it."""
    key = build.key
    if build.has(name, f"Autograd{key}"):
        other = build.by(name, f"Autograd{key}")
        if other:
            return "n", (), other
    if build.has(name, key):
        return ("m" if build.passes(name, key) else "n"), (), build.by(name, key)
    if name in CHOSEN and build.has(name, EXPLICIT):
        return "c", CHOSEN[name].get(key, CHOSEN[name][""]), build.by(name, EXPLICIT)
    if build.has(name, STRUCTURED):
        does = structured(build, name) or wrapped(build, name)
        if does:
            return "g", (does,), build.by(name, STRUCTURED)
    for alias in (STRUCTURED, EXPLICIT, IMPLICIT):
        if build.has(name, alias):
            return composed(build, name, traces, alias)
    return ("f" if build.fallback else "m"), (), ""


def composed(build: Build, name: str, traces: Traced, alias: str) -> Decided:
    """Return how an operator is done whose one kernel is for all devices."""
    by = build.by(name, alias)
    leaves = traces.get(name)
    if leaves:
        return "c", leaves, by
    if leaves is not None:
        # Nothing is called: what it does, it does itself, on every device that torch knows inside.
        inside = build.key in INSIDE or views(build.schemas[name])
        return ("n" if inside else "u"), (), by
    does = wrapped(build, name) if alias == EXPLICIT else None
    return ("g", (does,), by) if does else ("c", (), by)


def untraced(build: Build) -> Iterator[str]:
    """Yield the operators of which only a trace tells what they are made of."""
    for name in sorted(build.schemas):
        # What others have added may do anything when it is called, and is not called.
        if not name.startswith("aten::") or build.has(name, build.key) or name in CHOSEN:
            continue
        if build.has(name, STRUCTURED) and (structured(build, name) or wrapped(build, name)):
            continue
        if any(build.has(name, alias) for alias in (STRUCTURED, EXPLICIT, IMPLICIT)):
            yield name


class Values:
    """Arguments made up from a schema, of one rank and one kind of numbers."""

    def __init__(self, torch: ModuleType, device: str, form: Form) -> None:
        """Make tensors up, every dimension two long."""
        self.torch = torch
        self.device = device
        self.rank, self.later, dtype, self.full = form
        self.dtype = getattr(torch, dtype)
        self.tensors_made = 0

    def of(self, schema: Schema) -> tuple[list[object], dict[str, object]]:
        """Return positional and named arguments."""
        self.tensors_made = 0
        positional = [self.value(a) for a in schema.arguments if not a.kwarg_only]
        return positional, {a.name: self.value(a) for a in schema.arguments if a.kwarg_only}

    def tensor(self, name: str) -> object:
        """Return a tensor that may well be what ``name`` asks for."""
        dtype, rank = self.dtype, self.rank if not self.tensors_made else self.later
        self.tensors_made += 1
        if INDICES.search(name):
            dtype = self.torch.int64
            rank = min(rank, 1) if ROWS.search(name) else rank
        elif MASKS.search(name):
            dtype = self.torch.bool
        elif PER_CHANNEL.search(name):
            rank = min(rank, 1)
        device = "cpu" if SCALARS.search(name) or not rank else self.device
        return self.torch.ones((2,) * rank, dtype=dtype, device=device)

    def value(self, argument: Argument) -> object:
        """Return what may be given for one argument."""
        kind, name = str(argument.type), argument.name
        optional = kind.startswith("Optional[")
        kind = kind[len("Optional[") : -1] if optional else kind
        if "Tensor" in kind and (self.full or not optional):
            return self.tensors(kind, name)
        if optional or argument.has_default_value():
            size = name == "output_size" and self.full
            told = argument.default_value if argument.has_default_value() else None
            return [2] * (self.rank - 2) if size else told
        if kind in ("List[int]", "List[SymInt]"):
            return self.integers(name, getattr(argument, "N", None) or 0)
        if kind.startswith("List["):
            return {"float": [1.0, 1.0], "bool": [True, True, True]}.get(kind[5:-1], [1, 1])
        return {
            "int": self.dtype if name.endswith("dtype") else self.integer(name),
            "SymInt": self.integer(name),
            "number": 1,
            "Scalar": 1,
            "float": 0.5,
            "bool": self.full,
            "str": "ij,jk->ik" if name == "equation" else "mean",
            "Device": self.torch.device(self.device),
        }.get(kind)

    def tensors(self, kind: str, name: str) -> object:
        """Return a tensor, or a list of them."""
        if kind == "List[Optional[Tensor]]":
            return [self.torch.ones((2,), dtype=self.torch.int64, device=self.device)]
        one = self.tensor(name)
        return [one, self.tensor(name)] if kind.startswith("List[") else one

    def integer(self, name: str) -> int:
        """Return a number that may be what ``name`` asks for."""
        if NOUGHT.search(name):
            return 0
        return 2 if TWO.search(name) else 1

    def integers(self, name: str, size: int) -> list[int]:
        """Return numbers that may be what ``name`` asks for."""
        if ORDERS.search(name):
            return list(range(self.rank if name.endswith("layout") else min(self.rank, size or 1)))
        if re.search(r"size|shape|repeats", name) and "kernel" not in name:
            return [2] * (size or max(self.rank, 1))
        if "pad" in name:
            return [0] * (size or 2)
        if name == "stride" and not size:
            return [2**n for n in reversed(range(self.rank))]
        return [1] * (size or max(self.rank, 1))


def attempts(torch: ModuleType, device: str) -> list[Values]:
    """Return the ways to make arguments up, the likeliest first."""
    return [Values(torch, device, form) for form in FORMS]


def tracer() -> Callable[[str], Watch]:
    """Return a mode that notes what is called, and lets it be done."""
    modes = importlib.import_module("torch.utils._python_dispatch")

    class Tracer(modes.TorchDispatchMode):  # type: ignore[misc, name-defined] # imported by name
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name
            self.leaves: set[str] = set()

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN204 - torch's own signature
            called = whole(func.name())
            if called == self.name:
                with self:
                    result = func.decompose(*args, **(kwargs or {}))
                if result is not NotImplemented:
                    return result
            elif not called.startswith(("prim::", "prims::")):
                self.leaves.add(called)
            return done(func, args, kwargs or {})

    return Tracer


def done(func, args, kwargs):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201 - torch's own
    """Return what an operator gives; where the meta device cannot tell, something of that kind."""
    torch = importlib.import_module("torch")
    schema = func._schema.arguments
    # A number that stands for a tensor comes as a number, and is not taken as one.
    given = [
        torch.scalar_tensor(value) if str(a.type) == "Tensor" and is_number(value) else value
        for a, value in zip(schema, args)
    ]
    try:
        return func(*given, *args[len(given) :], **kwargs)
    except (NotImplementedError, RuntimeError):
        first_one = next((v for v in given if isinstance(v, torch.Tensor)), None)
        kinds = [str(r.type) for r in func._schema.returns]
        if first_one is None or not set(kinds) <= {"Tensor", "number"}:
            raise
        if func.name() == "aten::nonzero":
            like = torch.ones((2, first_one.dim()), dtype=torch.int64, device=first_one.device)
        elif not unsaid(sys.exc_info()[1]):
            raise
        else:
            like = torch.empty_like(first_one)
        made = [1 if kind == "number" else like for kind in kinds]
        return made[0] if len(made) == 1 else tuple(made)


def is_number(value: object) -> bool:
    """Return whether a value is a plain number."""
    return isinstance(value, (bool, int, float, complex))


def unsaid(error: BaseException | None) -> bool:
    """Return whether an operator failed only since the meta device holds no numbers."""
    return bool(UNSAID.search(str(error)))


def traced(
    build: Build, name: str, mode: Callable[[str], Watch], ways: Iterable[Values]
) -> list[str] | None:
    """Return what an operator calls; `None` if no arguments could be made up that it takes."""
    base, overload = parts(name)
    space, _, word = base.partition("::")
    func = getattr(getattr(getattr(build.torch.ops, space), word), overload or "default")
    alias = next((a for a in (STRUCTURED, EXPLICIT) if build.has(name, a)), None)
    seen: list[str] = []
    refusals: set[str] = set()
    for values in ways:
        if len(seen) >= ALIKE and len(refusals) == 1:
            return None
        watch = mode(name)
        try:
            positional, named = values.of(build.schemas[name])
            told = repr((positional, named))
            if told in seen:
                continue
            seen.append(told)
            with build.torch.no_grad(), watch:
                if alias:
                    key = getattr(build.c.DispatchKey, alias)
                    func._op_dk(key, *positional, **named)
                else:
                    func(*positional, **named)
        except Exception as error:  # noqa: BLE001 - made-up arguments are refused in every way
            refusals.add(first(error))
            continue
        return sorted(watch.leaves)
    return None


def without_compiler(torch: ModuleType) -> None:
    """Put something small in the place of what compiles, which takes seconds to be imported.

    Parts of torch that are not to be compiled import it to say so, when they are called first.
    """
    if "torch._dynamo" not in sys.modules:
        small = type(sys)("torch._dynamo")
        small.disable = lambda function=None, *_, **__: function  # type: ignore[attr-defined]
        sys.modules["torch._dynamo"] = small
        torch._dynamo = small


def work(build: Build, names: Iterable[str], pipe: int, deadline: float) -> None:
    """Trace ``names`` one after the other, and tell what came of each."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    mode = tracer()
    ways = attempts(build.torch, "meta")
    with os.fdopen(pipe, "w") as told:
        for name in names:
            if time.monotonic() > deadline:
                return
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.setitimer(signal.ITIMER_REAL, SLEEPING)
            leaves = traced(build, name, mode, ways)
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            told.write(f"{json.dumps([name, leaves])}\n")
            told.flush()


def trace(build: Build, names: Sequence[str]) -> Traced:
    """Return what each of ``names`` calls, traced in children: one that crashes costs itself."""
    found: dict[str, Sequence[str]] = {}
    # What the first trace of all has to import is imported once, and not by every child.
    without_compiler(build.torch)
    traced(build, "aten::__and__.Tensor", tracer(), attempts(build.torch, "meta")[:1])
    waiting = [names[n::WORKERS] for n in range(WORKERS)]
    running: list[tuple[Sequence[str], int, int]] = []
    deadline = time.monotonic() + PATIENCE
    while waiting or running:
        if time.monotonic() < deadline:
            running += [(share, *start(build, share, deadline)) for share in waiting if share]
        waiting = []
        if running:
            share, pid, pipe = running.pop(0)
            with os.fdopen(pipe) as told:
                lines = told.read().split("\n")[:-1]  # what it could not end says nothing
            os.waitpid(pid, 0)
            got = [json.loads(line) for line in lines]
            found.update((name, leaves) for name, leaves in got if leaves is not None)
            waiting = [share[len(got) + 1 :]]
    return found


def start(build: Build, names: Sequence[str], deadline: float) -> tuple[int, int]:
    """Start a child that traces ``names``; return its process id, and where it tells."""
    end, told = os.pipe()
    pid = os.fork()
    if pid:
        os.close(told)
        return pid, end
    try:
        os.close(end)
        for number in (signal.SIGALRM, signal.SIGPROF):
            signal.signal(number, signal.SIG_DFL)
        work(build, names, told, deadline)
    finally:
        os._exit(0)


def version(torch: ModuleType) -> str:
    """Return the version of the distribution, as its metadata has it."""
    metadata = importlib.import_module("importlib.metadata")
    try:
        return str(metadata.version("torch"))
    except metadata.PackageNotFoundError:
        return str(torch.__version__)


def imported(modules: Iterable[str]) -> ModuleType:
    """Import torch, then ``modules``; return it, or raise `ImportError` with what to tell."""
    try:
        torch = importlib.import_module("torch")
    except Exception as error:  # noqa: BLE001 - it may be anything
        missing = isinstance(error, ModuleNotFoundError) and error.name == "torch"
        said = f"its torch cannot be imported: {first(error)}"
        raise ImportError("there is no torch in it" if missing else said) from None
    for one in modules:
        module, _, function = one.partition(":")
        try:
            loaded = importlib.import_module(module)
            if function:
                getattr(loaded, function)()
        except Exception as error:  # noqa: BLE001 - it may be anything
            raise ImportError(f"{one} cannot be loaded: {first(error)}") from None
    return torch


def first(error: BaseException) -> str:
    """Return in one line what went wrong."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]


def asked(modules: Iterable[str]) -> Mapping[str, object]:
    """Return all that is to be told."""
    try:
        torch = imported(modules)
    except ImportError as error:
        return {"error": str(error)}
    try:
        torch.set_num_threads(1)
        build = Build(torch)
        traces = trace(build, list(untraced(build)))
        operators = []
        for name in sorted(build.schemas):
            letter, does, by = decide(build, name, traces)
            operators.append(" ".join([name, letter, *does, *([f"@{by}"] if by else [])]))
    except Exception as error:  # noqa: BLE001 - a torch that is none, or one of another age
        return {"error": f"its torch does not answer as torch does: {first(error)}"}
    return {"torch": version(torch), "dispatch": build.key, "operators": operators}


def main() -> None:
    """Tell it, on the output that was there at first: what is imported may print there as well."""
    told = os.dup(1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    text = json.dumps(asked(sys.argv[1:]), separators=(",", ":"))
    digest = hashlib.sha256(text.encode()).hexdigest()
    with os.fdopen(told, "w") as pipe:
        pipe.write(f"\n{SCHEMA} sha256:{digest} {text}\n")
        pipe.flush()
    # What torch does when it is unloaded is of no interest, and may take its time, or crash.
    os._exit(0)


if __name__ == "__main__":
    main()
