"""What goes to a registry and comes back, counted byte by byte on its way."""

from __future__ import annotations

import socket
import threading
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 1 << 16


@dataclass
class Counted:
    """A door to a registry, and what passed it."""

    address: str
    up: int = 0
    down: int = 0

    def forget(self) -> None:
        """Count from nothing again."""
        self.up = self.down = 0


@contextmanager
def counting(registry: str) -> Iterator[Counted]:
    """Yield a door to the registry at ``host:port``; headers count as well."""
    host, _, port = registry.partition(":")
    ends: list[socket.socket] = []
    threads: list[threading.Thread] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as door:
        counted = Counted(address=f"127.0.0.1:{door.getsockname()[1]}")

        def serve() -> None:
            with suppress(OSError):
                while True:
                    caller, _ = door.accept()
                    inner = socket.create_connection((host, int(port)))
                    ends.extend((caller, inner))
                    for source, sink, name in ((caller, inner, "up"), (inner, caller, "down")):
                        thread = threading.Thread(target=_relay, args=(source, sink, counted, name))
                        thread.start()
                        threads.append(thread)

        server = threading.Thread(target=serve)
        server.start()
        try:
            yield counted
        finally:
            # Whoever waits for a caller, or for what one says, goes on.
            _shut(door)
            server.join()
            for end in ends:
                _shut(end)
            for thread in threads:
                thread.join()
            for end in ends:
                end.close()


def _relay(source: socket.socket, sink: socket.socket, counted: Counted, name: str) -> None:
    with suppress(OSError):
        while data := source.recv(PIECE):
            # One thread alone counts one way of one connection; builds are counted one by one.
            setattr(counted, name, getattr(counted, name) + len(data))
            sink.sendall(data)
    _shut(source)
    _shut(sink)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
