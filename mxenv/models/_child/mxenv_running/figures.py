"""How far results of a device, and of the CPU, are from what is right, in a few numbers."""

from __future__ import annotations

from typing import Any

import torch


class Figures:
    """Of one result of an operator, over all that was drawn."""

    def __init__(self, dtype: Any, numbers: Any) -> None:
        self.dtype, self.numbers = dtype, numbers
        self.compared = self.finite = self.odd = self.nan = self.unequal = 0
        self.form = ""
        self.most = {"ref": 0.0, "cpu": 0.0, "dev": 0.0}
        self.squares = {"ref": 0.0, "cpu": 0.0, "dev": 0.0}

    def badness(self) -> Any:
        """Return what orders runs of one operator, the worst last."""
        return (bool(self.form), self.odd, self.unequal, self.most["dev"])

    def add(self, other: Any) -> None:
        """Take in another draw of the same result."""
        for name in ("numbers", "compared", "finite", "odd", "nan", "unequal"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.form = self.form or other.form
        for name in self.most:
            self.most[name] = max(self.most[name], other.most[name])
            self.squares[name] += other.squares[name]

    def told(self) -> Any:
        """Return them as the child answers."""
        count = max(self.finite, 1)
        told = {"dtype": self.dtype, "numbers": self.numbers, "compared": self.compared}
        told.update({"odd": self.odd, "nan": self.nan, "unequal": self.unequal, "form": self.form})
        told.update({"max_" + name: value for name, value in self.most.items()})
        told.update({"rms_" + name: (value / count) ** 0.5 for name, value in self.squares.items()})
        return told

    def take(self, low: Any, ref: Any, dev: Any) -> None:
        """Hold one result of a device against the CPU's in the same format, and the right one."""
        if dev.shape != low.shape:
            self.form = f"{list(dev.shape)} in place of {list(low.shape)}"
            return
        if dev.dtype is not low.dtype:
            self.form = f"{dev.dtype} in place of {low.dtype}"
            return
        if not (low.is_floating_point() or low.is_complex()):
            self.compared += low.numel()
            self.unequal += int((low != dev).sum())
            return
        self._floats(_wide(low), _wide(ref), _wide(dev))

    def _floats(self, low: Any, ref: Any, dev: Any) -> None:
        fine = torch.isfinite(low) & torch.isfinite(ref)
        lost = fine & ~torch.isfinite(dev)
        # Where nothing finite is right, the device has to see that; where only the CPU's format is
        # too narrow, it may do better.
        elsewhere = ~torch.isfinite(ref) & _same(low, ref)
        wrong = elsewhere & ~_same(dev, ref)
        self.odd += int(lost.sum()) + int(wrong.sum())
        self.nan += int((torch.isnan(dev) & fine).sum())
        seen = fine & ~lost
        self.finite += int(seen.sum())
        # That both have no number proves nothing: what computes none at all would be right.
        self.compared += int(seen.sum()) + int((elsewhere & ~torch.isnan(ref)).sum())
        none = torch.zeros((), dtype=torch.float64)
        for name, one in (("ref", ref), ("cpu", low - ref), ("dev", dev - ref)):
            size = torch.where(seen, one, none).abs()
            if size.numel():
                self.most[name] = max(self.most[name], float(size.max()))
                self.squares[name] += float(size.square().sum())


def _wide(one: Any) -> Any:
    if one.is_complex():
        one = torch.view_as_real(one.resolve_conj())
    return one.to(torch.float64)


def _same(one: Any, other: Any) -> Any:
    return (torch.isnan(one) & torch.isnan(other)) | (one == other)
