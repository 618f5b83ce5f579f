"""Waiting for what may never end, no longer than anybody cares for it."""

from __future__ import annotations

from threading import Event, Thread
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.errors import MxenvError
    from mxenv.transports._watched import Watch

T = TypeVar("T")
TICK = 0.1
"""Seconds between two looks whether anybody waits still."""


def awaited(act: Callable[[], T], watch: Watch, late: MxenvError) -> T:
    """Return what ``act`` returns; raise ``late`` once nobody waits any more.

    A server may keep a connection alive without an end. What waits for it then notices at some
    time that nobody does any more, or ends with the process.
    """
    told: list[T] = []
    failed: list[BaseException] = []
    over = Event()

    def run() -> None:
        try:
            told.append(act())
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            failed.append(error)
        over.set()

    Thread(target=run, daemon=True).start()
    while not over.wait(min(watch.left(), TICK)):
        if not watch.left():
            raise late
    for error in failed:
        raise error
    return told[0]
