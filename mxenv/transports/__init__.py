"""Ways to put questions to a node: one file each, the address's scheme is the file's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from datetime import datetime

    from mxenv.probe import Host

Allowed = frozenset[tuple[str, ...]]
"""Every argv that may be run; a part such as ``{index}`` stands for any number."""


@runtime_checkable
class Dated(Protocol):
    """A host that answers as of some time in the past, as a recording does."""

    @property
    def taken_at(self) -> datetime:
        """When its answers were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How to reach a node; a plug-in file holds one as ``TRANSPORT``."""

    title: str
    address: str
    """What follows the scheme, for people: ``DIR``, ``[user@]host``; empty if nothing does."""
    open: Callable[[str, Allowed], AbstractContextManager[Host]]
    """Open what the address names, with the commands that may be run there.

    Raise `HostUnreachable`, `InvalidFile` or `UsageError`. The host answers raw: what must not
    leave a node is masked in one place, after the last round (see `mxenv.redaction`).
    """
