"""A backend of one's own, in Python, with a few kernels: for tests of what torch says of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map_only
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

if TYPE_CHECKING:
    from collections.abc import Callable

KERNELS = (
    "_softmax.default",
    "add.out",
    "addmm.default",
    "as_strided.default",
    "index_select.default",
    "mm.default",
    "mul.Tensor",
    "native_layer_norm.default",
    "relu.default",
    "t.default",
    "view.default",
)
KEPT = []
CALLED = []


class Held(torch.Tensor):
    """A tensor of the backend, whose numbers lie in one of the CPU."""

    @staticmethod
    def __new__(cls: Any, raw: torch.Tensor) -> Any:
        held = torch._C._acc.create_empty_tensor(list(raw.shape), raw.dtype)
        held.__class__ = cls
        return held

    def __init__(self, raw: torch.Tensor) -> None:
        self.raw = raw


def lowered(values: Any) -> Any:
    return tree_map_only(Held, lambda tensor: tensor.raw, values)


def kernel(name: str) -> Callable[..., Any]:
    packet, overload = name.split(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload)

    def run(*args: Any, **named: Any) -> Any:
        out = named.get("out")
        args, named = lowered((args, named))
        result = operator(*args, **{n: v for n, v in named.items() if n != "device"})
        return out if out is not None else tree_map_only(torch.Tensor, Held, result)

    return run


def empty(size: Any, dtype: Any = None, **_: Any) -> Held:
    return Held(torch.empty(size, dtype=dtype))


def empty_strided(size: Any, stride: Any, dtype: Any = None, **_: Any) -> Held:
    return Held(torch.empty_strided(size, stride, dtype=dtype))


def alone() -> None:
    """Set the backend up with its own kernels and nothing else."""
    _setup_privateuseone_for_python_backend("own")
    library = torch.library.Library("aten", "IMPL")
    for name in KERNELS:
        library.impl(name.replace(".default", ""), kernel(name), "PrivateUse1")
    library.impl("empty.memory_format", empty, "PrivateUse1")
    library.impl("empty_strided", empty_strided, "PrivateUse1")
    KEPT.append(library)


def fall_back(operator: Any, *args: Any, **named: Any) -> Any:
    CALLED.append(operator.name())
    out = [value for value in named.values() if isinstance(value, Held)]
    args, named = lowered((args, named))
    result = operator(*args, **named)
    if out:
        return out[0] if len(out) == 1 else tuple(out)
    return tree_map_only(torch.Tensor, Held, result)


def with_fallback() -> None:
    """Set it up, and let the CPU do all else."""
    alone()
    library = torch.library.Library("_", "IMPL")
    library.fallback(fall_back, "PrivateUse1")
    KEPT.append(library)


def calls() -> dict[str, Callable[[], object]]:
    aten = torch.ops.aten

    def of(*shape: int) -> Held:
        return Held(torch.randn(*shape))

    ids = Held(torch.tensor([0, 1]))
    return {
        "_softmax.default": lambda: aten._softmax(of(2, 3), -1, False),
        "abs.default": lambda: aten.abs(of(2)),
        "addmm.default": lambda: aten.addmm(of(2), of(2, 3), of(3, 2)),
        "add.Tensor": lambda: aten.add(of(2, 2), of(2, 2)),
        "argmax.default": lambda: aten.argmax(of(3)),
        "bmm.default": lambda: aten.bmm(of(1, 2, 3), of(1, 3, 2)),
        "cumsum.default": lambda: aten.cumsum(of(3), 0),
        "embedding.default": lambda: aten.embedding(of(5, 3), ids),
        "erf.default": lambda: aten.erf(of(2)),
        "exp.default": lambda: aten.exp(of(2)),
        "index_select.default": lambda: aten.index_select(of(3, 2), 0, ids),
        "layer_norm.default": lambda: aten.layer_norm(of(2, 3), [3]),
        "linear.default": lambda: aten.linear(of(2, 3), of(4, 3), of(4)),
        "log.default": lambda: aten.log(of(2)),
        "mm.default": lambda: aten.mm(of(2, 3), of(3, 2)),
        "mul.Scalar": lambda: aten.mul.Scalar(of(2, 2), 2.0),
        "mul.Tensor": lambda: aten.mul(of(2, 2), of(2, 2)),
        "native_layer_norm.default": lambda: aten.native_layer_norm(
            of(2, 3), [3], None, None, 1e-5
        ),
        "neg.default": lambda: aten.neg(of(2)),
        "nonzero.default": lambda: aten.nonzero(of(3)),
        "relu.default": lambda: aten.relu(of(3)),
        "select.int": lambda: aten.select(of(2, 2), 0, 0),
        "sigmoid.default": lambda: aten.sigmoid(of(2)),
        "sin.default": lambda: aten.sin(of(2)),
        "softmax.int": lambda: aten.softmax(of(2, 3), -1),
        "sum.dim_IntList": lambda: aten.sum(of(2, 2), [0]),
        "t.default": lambda: aten.t(of(2, 3)),
        "tanh.default": lambda: aten.tanh(of(2)),
        "topk.default": lambda: aten.topk(of(3), 1),
        "view.default": lambda: aten.view(of(2, 3), [6]),
    }


def tell() -> None:
    """Print what comes of calling each operator."""
    came = {}
    for name, call in calls().items():
        CALLED.clear()
        try:
            with torch.no_grad():
                call()
        except NotImplementedError as error:
            came[f"aten::{name}"] = "refused" if "Could not run" in str(error) else str(error)
        else:
            came[f"aten::{name}"] = "fell back" if CALLED else "ran"
    print(json.dumps(came))  # noqa: T201 - a script
