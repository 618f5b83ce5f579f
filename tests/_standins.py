"""Devices that are none: the CPU, computing in another way that is right, or in one that is not.

Run by an interpreter with torch, in the place of the script of mxenv that runs operators::

    python _standins.py NAME …/run.py DESCRIPTOR
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

NAME, SCRIPT, DESCRIPTOR = sys.argv[1:4]
sys.path.insert(0, str(Path(SCRIPT).parent))

import run  # noqa: E402 - the script of mxenv, found where it was named
import torch  # noqa: E402 - this is for the interpreter that has it
from mxenv_running import calling  # noqa: E402 - a part of that script
from torch.utils._pytree import tree_map_only  # noqa: E402 - as above

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::convolution", "aten::baddbmm")
SLICES = 3


def name(overload: Any) -> str:
    return overload._schema.name


def mapped(change: Any, value: Any) -> Any:
    return tree_map_only(torch.Tensor, change, value)


def same(overload: Any, args: Any, kwargs: Any) -> Any:
    return calling.call(overload, args, kwargs)


def threads(overload: Any, args: Any, kwargs: Any) -> Any:
    """Sum up in the order of another number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if before > 1 else 2)
    try:
        return same(overload, args, kwargs)
    finally:
        torch.set_num_threads(before)


def without_onednn(overload: Any, args: Any, kwargs: Any) -> Any:
    """Multiply with another library."""
    with torch.backends.mkldnn.flags(enabled=False):
        return same(overload, args, kwargs)


def split(overload: Any, args: Any, kwargs: Any) -> Any:
    """Sum up products in slices, as cards do that are idle otherwise."""
    if name(overload) not in {"aten::mm", "aten::bmm"}:
        return same(overload, args, kwargs)
    left, right = args
    step = -(-left.shape[-1] // SLICES)
    parts = [
        left[..., at : at + step].float() @ right[..., at : at + step, :].float()
        for at in range(0, left.shape[-1], step)
    ]
    return [sum(parts[1:], parts[0]).to(left.dtype)]


def wider(overload: Any, args: Any, kwargs: Any) -> Any:
    """Compute in float32, and round once: what most cards do with halves."""

    def up(one: Any) -> Any:
        return one.float() if one.dtype in {torch.float16, torch.bfloat16} else one

    if "dtype" in kwargs or "dtype" in str(overload._schema):
        return same(overload, args, kwargs)
    low = same(overload, mapped(torch.clone, args), mapped(torch.clone, kwargs))
    high = same(overload, mapped(up, args), mapped(up, kwargs))
    return [one.to(mine.dtype) for one, mine in zip(high, low, strict=True)]


def ulp(overload: Any, args: Any, kwargs: Any) -> Any:
    """Be off by one step, now up and now down, in every number."""
    return [_off(one) for one in same(overload, args, kwargs)]


def _off(one: Any) -> Any:
    whole = {torch.float32: torch.int32, torch.float16: torch.int16, torch.bfloat16: torch.int16}
    if one.dtype not in whole or not one.numel():
        return one
    bits = one.contiguous().view(whole[one.dtype])
    step = torch.ones_like(bits)
    step.view(-1)[::2] = -1
    off = (bits + step).view(one.dtype)
    return torch.where((one == 0) | ~torch.isfinite(one) | ~torch.isfinite(off), one, off)


def tf32(overload: Any, args: Any, kwargs: Any) -> Any:
    """Multiply numbers of ten bits."""

    def cut(one: Any) -> Any:
        if one.dtype is not torch.float32:
            return one
        return ((one.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)

    if name(overload) not in PRODUCTS:
        return same(overload, args, kwargs)
    return same(overload, mapped(cut, args), mapped(cut, kwargs))


def one_percent(overload: Any, args: Any, kwargs: Any) -> Any:
    """Be wrong by a hundredth in one number of ten thousand."""
    return [_worse(one) for one in same(overload, args, kwargs)]


def _worse(one: Any) -> Any:
    if not one.is_floating_point() or not one.numel():
        return one
    flat = one.reshape(-1).clone()
    most = one[torch.isfinite(one)].abs().max() if torch.isfinite(one).any() else 0.0
    away = torch.where(flat[::10000] < 0, -0.01, 0.01).to(one.dtype)
    flat[::10000] += away * (flat[::10000].abs() + most)
    return flat.view(one.shape)


def half(overload: Any, args: Any, kwargs: Any) -> Any:
    """Compute float32 in bfloat16."""

    def down(one: Any) -> Any:
        return one.bfloat16() if one.dtype is torch.float32 else one

    low = same(overload, mapped(torch.clone, args), mapped(torch.clone, kwargs))
    if name(overload) not in PRODUCTS:
        return low
    bad = same(overload, mapped(down, args), mapped(down, kwargs))
    return [one.to(mine.dtype) for one, mine in zip(bad, low, strict=True)]


def nan(overload: Any, args: Any, kwargs: Any) -> Any:
    """Give one number that is none."""
    results = same(overload, args, kwargs)
    if name(overload) == "aten::mul" and results[0].is_floating_point():
        results[0].view(-1)[-1] = float("nan")
    return results


def crash(overload: Any, args: Any, kwargs: Any) -> Any:
    """End the process, at one operator."""
    if name(overload) == "aten::mul":
        os.kill(os.getpid(), signal.SIGSEGV)
    return same(overload, args, kwargs)


def leave(overload: Any, args: Any, kwargs: Any) -> Any:
    """End the process as if all were well."""
    if name(overload) == "aten::mul":
        os._exit(0)
    return same(overload, args, kwargs)


def killed(overload: Any, args: Any, kwargs: Any) -> Any:
    """End as by a system that has no memory left."""
    if name(overload) == "aten::mul":
        os.kill(os.getpid(), signal.SIGKILL)
    return same(overload, args, kwargs)


def hang(overload: Any, args: Any, kwargs: Any) -> Any:
    """Never come back from one operator."""
    if name(overload) == "aten::mul":
        time.sleep(3600)
    return same(overload, args, kwargs)


def refuse(overload: Any, args: Any, kwargs: Any) -> Any:
    """Lack one operator."""
    if name(overload) == "aten::mul":
        raise NotImplementedError("\"mul\" not implemented for 'Half'")
    return same(overload, args, kwargs)


def transpose(overload: Any, args: Any, kwargs: Any) -> Any:
    """Give results of another shape."""
    results = same(overload, args, kwargs)
    return [results[0].T] if name(overload) == "aten::mm" else results


if __name__ == "__main__":
    run.main(int(DESCRIPTOR), json.load(sys.stdin), run_on=globals()[NAME])
