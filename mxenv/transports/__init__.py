"""Ways to put questions to a node: one file each, the address's scheme is the file's name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from mxenv.probe import Host


@dataclass(frozen=True, slots=True, kw_only=True)
class Transport:
    """How to reach a node; a plug-in file holds one as ``TRANSPORT``."""

    title: str
    address: str
    """What follows the scheme, for people: ``DIR``, ``[user@]host``; empty if nothing does."""
    open: Callable[[str], AbstractContextManager[Host]]
    """Open what the address names; raise `HostUnreachable`, `InvalidFile` or `UsageError`."""
