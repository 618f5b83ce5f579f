"""What a command prints, heard while it runs; of a flood no more is held than is kept."""

from __future__ import annotations

import os
import select
import time
from contextlib import contextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING

from mxenv.frozen import slotted

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterable, Iterator

OUTPUT_LIMIT = 1 << 20
FLOOD = 8 * OUTPUT_LIMIT
"""Bytes of output at which a command is stopped; what is kept of it ends earlier."""
PIECE = 1 << 16


@slotted
class Output:
    """One stream of a command; whoever still holds its other end is not waited for."""

    number: int
    size: int = 0
    """Bytes that came."""
    over: bool = False
    """True once nothing more can come."""
    _kept: bytearray = field(default_factory=bytearray)

    @property
    def text(self) -> str:
        """Return the beginning of what came."""
        return self._kept.decode(errors="replace")

    def take(self) -> bool:
        """Take what is there; return whether there was anything."""
        try:
            piece = os.read(self.number, PIECE)
        except BlockingIOError:
            return False
        self.over = not piece
        self.size += len(piece)
        self._kept += piece[: OUTPUT_LIMIT - len(self._kept)]
        return bool(piece)

    def rest(self) -> None:
        """Take what its writer left, which has ended."""
        while not self.over and self.size <= FLOOD and self.take():
            pass


@contextmanager
def heard(process: subprocess.Popen[bytes]) -> Iterator[tuple[Output, Output]]:
    """Yield both outputs of a command that was started with pipes, and close them."""
    assert process.stdout  # noqa: S101 - for the type checker: they are pipes
    assert process.stderr  # noqa: S101
    with process.stdout as stdout, process.stderr as stderr:
        for stream in (stdout, stderr):
            os.set_blocking(stream.fileno(), False)
        yield Output(stdout.fileno()), Output(stderr.fileno())


def listen(outputs: Iterable[Output], seconds: float) -> None:
    """Take what comes within some time, once."""
    open_ones = {output.number: output for output in outputs if not output.over}
    if not open_ones:
        time.sleep(seconds)
        return
    poll = select.poll()
    for number in open_ones:
        poll.register(number, select.POLLIN)
    with suppress(InterruptedError):
        for number, _ in poll.poll(seconds * 1000):
            open_ones[number].take()
