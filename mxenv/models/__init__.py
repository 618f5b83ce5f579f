"""Ways to learn what a model needs: one file each, as ``READER``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.inventory import Inventory


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be read, and how."""

    target: str
    """A path, or ``module:callable``."""
    python: str | None = None
    """The interpreter whose torch is used, where one is; `None`: the one that runs mxenv."""
    train: bool = False
    """With the backward pass and the optimiser."""
    trust_remote_code: bool = False
    """Whether code that comes with the model may be run."""
    seconds: float = 120.0
    """How long a child process may take."""
    record_on: str = ""
    """The device on which a small instance is run, as torch calls it; empty: nothing is run."""

    @property
    def device(self) -> dict[str, str]:
        """What a recorder is told of the device."""
        return {"device": self.record_on} if self.record_on else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """A way to read models; a plug-in file holds one as ``READER``."""

    title: str
    claims: Callable[[str], bool]
    """Whether a target looks like one that it reads; of several the first by name reads it."""
    read: Callable[[Request], Inventory]
    """Return the inventory; raise `ModelError` for a target that is damaged or not known."""
    needs: tuple[str, ...] = ()
    """Modules without which it reads nothing, where the interpreter that it asks lacks them."""
    runs: bool = False
    """Whether it can run what it reads on a device."""
