"""How one operator is called, and how its results are taken home."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten

from mxenv_running import arguments


def call(overload: Any, args: Any, kwargs: Any) -> Any:
    """Call an operator; return its results, and the arguments that it has written to."""
    with torch.no_grad():
        out = overload(*args, **kwargs)
    named = arguments.by_name(overload, args, kwargs)
    written = [
        named[one.name]
        for one in overload._schema.arguments
        if one.alias_info is not None and one.alias_info.is_write and one.name in named
    ]
    return [_tensor(one) for one in tree_flatten((out, written))[0] if one is not None]


def _tensor(one: Any) -> Any:
    """Return a result as a tensor: numbers are results as well."""
    if isinstance(one, torch.Tensor):
        return one
    if isinstance(one, (bool, int, float, complex)):
        wide = {bool: torch.bool, int: torch.int64, float: torch.float64}
        return torch.tensor(one, dtype=wide.get(type(one), torch.complex128))
    said = f"it gives a {type(one).__name__}, which is not compared"
    raise TypeError(said)


def home(one: Any) -> Any:
    """Return an argument or a result on the CPU."""
    return one.detach().cpu() if isinstance(one, torch.Tensor) else one


def wait(device: str) -> None:
    """Wait until a device has done what it was told."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def answers(device: str) -> bool:
    """Return whether a device still computes: what a kernel has broken there stays broken."""
    try:
        return bool((torch.ones(2, device=device) + 1).cpu().tolist() == [2.0, 2.0])
    except Exception:  # noqa: BLE001 - whatever it is, it does not compute
        return False


def rounded(one: Any) -> bool:
    """Return whether a tensor holds numbers that are rounded."""
    return bool(one.is_floating_point() or one.is_complex())


def equal(some: Any, others: Any) -> bool:
    """Return whether results are the same, bit by bit but for numbers that are none."""
    return len(some) == len(others) and all(_equal(a, b) for a, b in zip(some, others))


def _equal(one: Any, other: Any) -> bool:
    if one.shape != other.shape or one.dtype is not other.dtype:
        return False
    same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124 - so is what is no number
    return bool(same.all())
