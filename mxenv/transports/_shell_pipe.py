"""The two streams that come from a shell on a node, and the one that goes to it."""

from __future__ import annotations

import os
import selectors
import subprocess
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

CHUNK = 1 << 16
PATIENCE = 0.5
"""Seconds for a shell that was told to end, until whatever carries it is ended."""


class Pipe(Protocol):
    """What carries text to a shell and bytes from it; nothing in it blocks for longer than told."""

    @property
    def closed(self) -> bool:
        """True once nothing more will come."""

    def send(self, data: bytes) -> None:
        """Put ``data`` behind what waits to be sent; it is sent while one receives."""

    def receive(self, seconds: float) -> tuple[bytes, bytes]:
        """Return what has come on standard output and error, waiting for some at most so long."""

    def close(self) -> None:
        """Say that nothing more will be asked, and let go."""


class ProcessPipe:
    """A program of this machine that carries a shell: ``ssh``, or the shell itself."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Start it; raise `OSError` if that cannot be done."""
        self._process = subprocess.Popen(  # noqa: S603 - an argv list of our own
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            # Ctrl-C is for us: we tell the node to end, and the program then ends by itself.
            start_new_session=True,
        )
        assert self._process.stdin  # noqa: S101 - for the type checker: they are pipes
        assert self._process.stdout  # noqa: S101
        assert self._process.stderr  # noqa: S101
        self._stdin = self._process.stdin
        self._outputs = (self._process.stdout, self._process.stderr)
        self._waiting = bytearray()
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdin, *self._outputs):
            os.set_blocking(stream.fileno(), False)
        for stream in self._outputs:
            self._selector.register(stream, selectors.EVENT_READ)
        self._writes = False

    @property
    def closed(self) -> bool:
        """True once standard output has ended, or the program has."""
        return self._outputs[0].closed or (
            self._process.poll() is not None and not self._selector.get_map()
        )

    @property
    def returncode(self) -> int | None:
        """What the program ended with."""
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(PATIENCE)
        return None

    def send(self, data: bytes) -> None:
        """Put ``data`` behind what waits to be sent."""
        self._waiting += data
        self._write()

    def receive(self, seconds: float) -> tuple[bytes, bytes]:
        """Return what has come on standard output and error."""
        came = dict.fromkeys(self._outputs, b"")
        for key, _ in self._selector.select(max(0.0, seconds)):
            if key.fileobj is self._stdin:
                self._write()
                continue
            stream = self._outputs[0] if key.fileobj is self._outputs[0] else self._outputs[1]
            with suppress(BlockingIOError):
                data = os.read(key.fd, CHUNK)
                came[stream] = data
                if not data:
                    self._selector.unregister(stream)
                    if stream is self._outputs[0]:
                        stream.close()
        return came[self._outputs[0]], came[self._outputs[1]]

    def _write(self) -> None:
        try:
            while self._waiting:
                sent = os.write(self._stdin.fileno(), self._waiting[:CHUNK])
                del self._waiting[:sent]
        except BlockingIOError:
            pass
        except (OSError, ValueError):
            self._waiting.clear()  # it reads no more, which standard output will say as well
        if bool(self._waiting) != self._writes:
            self._writes = bool(self._waiting)
            if self._writes:
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            else:
                self._selector.unregister(self._stdin)

    def close(self) -> None:
        """Close standard input, by which the shell ends; then end the program."""
        if self._writes:
            self._selector.unregister(self._stdin)
        with suppress(OSError):
            self._stdin.close()
        self._selector.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
            self._process.kill()
            self._process.wait()
        for stream in self._outputs:
            stream.close()
