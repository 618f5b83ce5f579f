"""Ways to put questions to a node: one file each, the address's scheme is the file's name."""

from __future__ import annotations

from dataclasses import field
from threading import Event
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from mxenv.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from mxenv.probe import Host

    Allowed = Iterable[tuple[str, ...]]
    """Every argv that may be run, each time it is looked through; a part such as ``{index}`` stands
    for any number."""


@frozen
class Terms:
    """On what terms a node is asked."""

    allowed: Allowed = frozenset()
    """The commands that may be run there; it may take a while to look through them at first, which
    a transport does best while it waits for a connection."""
    seconds: float | None = None
    """How long all of it may take, from the opening on; `None`: as the transport thinks.

    A transport keeps some of that free: its answers have to be understood as well.

    What is not answered by then is unreadable, for a passing reason.
    """
    stop: Event = field(default_factory=Event, compare=False)
    """Set when nobody waits for the answers any more: whatever was started is to be ended then."""


@runtime_checkable
class Dated(Protocol):
    """A host that answers as of some time in the past, as a recording does."""

    @property
    def taken_at(self) -> datetime:
        """When its answers were given."""


@runtime_checkable
class Timed(Protocol):
    """A host that may take only so long, what understands its answers included."""

    @property
    def deadline(self) -> float:
        """When all has to be over, as `time.monotonic` has it."""


@runtime_checkable
class Replayed(Protocol):
    """A host that was asked before, with options of its own."""

    @property
    def options(self) -> Mapping[str, str]:
        """What was wanted then beyond the usual, by the names that `Option` has."""


@frozen
class Transport:
    """How to reach a node; a plug-in file holds one as ``TRANSPORT``."""

    title: str
    address: str
    """What follows the scheme, for people: ``DIR``, ``[user@]host``; empty if nothing does."""
    open: Callable[[str, Terms], AbstractContextManager[Host]]
    """Open what the address names, to be asked on these terms.

    Raise `HostUnreachable`, `InvalidFile` or `UsageError`. The host answers raw: what must not
    leave a node is masked in one place, after the last round (see `mxenv.redaction`).
    """
