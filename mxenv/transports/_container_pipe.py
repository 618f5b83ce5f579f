"""The three streams of a program in a container, over one connection to the engine."""

from __future__ import annotations

import select
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from docker import APIClient

CHUNK = 1 << 16
HEADER = 8
"""Bytes before each piece: the number of its stream, three zeros, its length (Docker's API)."""
STDOUT, STDERR = 1, 2


class ContainerPipe:
    """A shell that the engine runs in a container."""

    def __init__(self, api: APIClient, container: str, argv: tuple[str, ...]) -> None:
        """Start it; raise what the SDK raises if the engine refuses."""
        self._api = api
        self._exec: str = api.exec_create(container, list(argv), stdin=True)["Id"]
        answer = api.exec_start(self._exec, socket=True)
        # The SDK gives a reader that keeps bytes for itself; what it reads from is what we want.
        self._reader = answer
        self._socket: socket.socket = getattr(answer, "_sock", answer)
        self._socket.setblocking(False)
        self._waiting = bytearray()
        self._came = bytearray()
        self._ended = False

    @property
    def closed(self) -> bool:
        """True once the engine has closed the connection."""
        return self._ended

    def refused(self) -> bool:
        """Return whether the program could not be started at all."""
        state = self._api.exec_inspect(self._exec)
        return not state.get("Running") and state.get("ExitCode") in {126, 127}

    def send(self, data: bytes) -> None:
        """Put ``data`` behind what waits to be sent."""
        self._waiting += data
        self._write()

    def receive(self, seconds: float) -> tuple[bytes, bytes]:
        """Return what has come on standard output and error."""
        writes = [self._socket] if self._waiting else []
        readable, writable, _ = select.select([self._socket], writes, [], max(0.0, seconds))
        if writable:
            self._write()
        if readable and not self._ended:
            self._read()
        return self._pieces()

    def _write(self) -> None:
        try:
            while self._waiting:
                sent = self._socket.send(self._waiting[:CHUNK])
                del self._waiting[:sent]
        except BlockingIOError:
            pass
        except OSError:
            self._waiting.clear()  # nobody reads any more, which reading will say as well

    def _read(self) -> None:
        try:
            data = self._socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self._came += data
        self._ended = not data

    def _pieces(self) -> tuple[bytes, bytes]:
        streams = {STDOUT: bytearray(), STDERR: bytearray()}
        at = 0
        while len(self._came) - at >= HEADER:
            length = int.from_bytes(self._came[at + 4 : at + HEADER], "big")
            end = at + HEADER + length
            if len(self._came) < end:
                break
            streams.get(self._came[at], bytearray()).extend(self._came[at + HEADER : end])
            at = end
        del self._came[:at]
        return bytes(streams[STDOUT]), bytes(streams[STDERR])

    def close(self) -> None:
        """Close the connection, by which the shell's standard input ends, and then the shell."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        with suppress(OSError):
            self._reader.close()
        with suppress(OSError):
            self._socket.close()
