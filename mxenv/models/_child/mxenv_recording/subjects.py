"""What is walked through: a model of a configuration, or what a callable makes."""

from __future__ import annotations

from typing import Any

import torch

from mxenv_recording import architectures, inputs
from mxenv_recording.refusal import Refusal


class Made:
    """A model and what it is given, on one device; ``truly``: what that device does is wanted."""

    def __init__(
        self, model: Any, args: Any, given: dict[str, Any], device: str, *, truly: bool = False
    ) -> None:
        self.model, self.args, self.given, self.device = model, args, given, device
        self.truly = truly

    def __call__(self, given: dict[str, Any]) -> Any:
        """Return what the model returns."""
        return self.model(*self.args, **given)

    def named(self) -> dict[str, Any]:
        """Return what the model is given, by name; by number what has none."""
        return {**{str(place): one for place, one in enumerate(self.args)}, **self.given}


class OfConfig:
    """A model as a configuration describes it."""

    source = ""
    name = ""
    shrunk = False
    """Whether it was made smaller than it is."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.config = architectures.configuration(asked)
        self.dtype = architectures.dtype_of(self.config)
        self.notes: list[tuple[str, str, str]] = []
        self.model: Any = None
        self.architecture = ""

    def _note(self, *note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)  # type: ignore[arg-type]

    def _model(self, device: str, dtype: torch.dtype) -> Any:
        return architectures.model_of(
            self.config, self.asked, dtype=dtype, device=device, notes=self._note
        )

    def make(self, device: str, dtype: torch.dtype) -> Made:
        """Return the model and what it is given."""
        self.model = None  # two of them may be too many for a machine
        self.model = self._model(device, dtype)
        self.architecture = type(self.model).__name__
        first = inputs.given(self.model, device, dtype)
        if not first:
            takes = ", ".join(inputs.parameters(self.model)[:6])
            raise Refusal(
                f"nobody here knows what to give it: {takes}",
                hint="give a callable that makes it and its inputs, as module:callable",
            )
        if self.asked["train"]:
            first = inputs.labelled(self.model, first, device)
        return Made(self.model, (), first, device, truly="device" in self.asked)

    def small(self, largest: int, *, enough: int = 0) -> OfConfig:
        """Return a model of the same kind with few layers, narrow if it has to be.

        One that has no more than ``enough`` weights stays as it is.
        """
        self.model = None
        if enough and self._weights() <= enough:
            return self
        self.shrunk = True
        for narrow in (False, True):
            architectures.shrink(self.config, narrow=narrow)
            weights = self._weights()
            if weights <= largest:
                return self
        raise ValueError(f"a small instance would have {weights:,} weights")

    def _weights(self) -> int:
        return sum(one.numel() for one in self._model("meta", self.dtype).parameters())

    def leaves_out(self) -> str:
        """Return what of the model is not walked."""
        return inputs.leaves_out(self.model)


class OfCallable:
    """What a callable makes: a model, and what it is given."""

    shrunk = False

    def __init__(self, asked: dict[str, Any]) -> None:
        self.asked = asked
        self.notes: list[tuple[str, str, str]] = []
        self.model: Any = None
        self.dtype = torch.float32
        self.architecture = self.source = ""
        self.name = str(asked["callable"])
        made = self.make(asked.get("device", "meta"), None)
        self.dtype = next(
            (one.dtype for one in made.model.parameters() if one.is_floating_point()), self.dtype
        )

    def make(self, device: str, dtype: torch.dtype | None) -> Made:
        """Return the model and what it is given."""
        from mxenv_recording import factory  # noqa: PLC0415 - only callables need it

        with torch.device(device):
            model, args, given, self.source, self.name = factory.make(
                self.asked["callable"], self.asked["path"]
            )
        if dtype is not None:
            model = model.to(dtype)
        self.model, self.architecture = model, type(model).__name__
        args, given = torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda one: _fit(one, device, dtype), (args, given)
        )
        return Made(model, args, given, device, truly="device" in self.asked)

    def small(self, _largest: int, *, enough: int = 0) -> OfCallable:
        """Return what is made as it is: only its author can make it smaller."""
        del enough
        return self

    def leaves_out(self) -> str:
        """Return what of the model is not walked: nothing, as far as its author says."""
        return ""


def _fit(tensor: Any, device: str, dtype: torch.dtype | None) -> Any:
    """Return an input where the model is, and in its number format."""
    if dtype is not None and tensor.is_floating_point():
        tensor = tensor.to(dtype)
    return torch.empty_like(tensor, device="meta") if device == "meta" else tensor.to(device)


def of_config(asked: dict[str, Any]) -> OfConfig:
    """Return the subject that a configuration describes."""
    return OfConfig(asked)


def of_callable(asked: dict[str, Any]) -> OfCallable:
    """Return the subject that a callable makes."""
    return OfCallable(asked)
