"""A line to a registry that counts what passes, and breaks when it is told to."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PIECE = 1 << 16


@dataclass
class Line:
    """Forwards every connection to one address; it may be a proxy for ``CONNECT`` as well."""

    to: tuple[str, int]
    listener: socket.socket
    sent: int = 0
    """Bytes towards the registry, over all connections."""
    received: int = 0
    cuts: list[int] = field(default_factory=list)
    """After how many more bytes towards the registry the connection that they come on breaks."""
    refused: list[int] = field(default_factory=list)
    """Which of the pieces of uploads do not arrive: the connection breaks before they do."""
    pieces: int = 0
    ends: list[socket.socket] = field(default_factory=list)
    connections: int = 0
    tunnels: bool = False
    """Whether a client first says with whom it wants to speak; it gets ``to``, whoever that is."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.forward, args=(client,), daemon=True).start()

    def forward(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if self.tunnels:
                asked = b""
                while not asked.endswith(b"\r\n\r\n"):
                    asked += client.recv(1)
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            with socket.create_connection(self.to, 10) as registry:
                self.ends += [client, registry]
                back = threading.Thread(target=self.back, args=(registry, client), daemon=True)
                back.start()
                self.there(client, registry)
                back.join()

    def there(self, client: socket.socket, registry: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(PIECE):
                with self.lock:
                    self.sent += len(data)
                    if self.cuts:
                        self.cuts[0] -= len(data)
                    cut = bool(self.cuts) and self.cuts[0] <= 0
                    if cut:
                        self.cuts.pop(0)
                    if data.startswith(b"PATCH "):
                        self.pieces += 1
                        cut |= self.pieces in self.refused
                if cut:
                    break
                registry.sendall(data)
        for end in (client, registry):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def drop(self) -> None:
        """Break all connections that there are."""
        for end in self.ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def back(self, registry: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := registry.recv(PIECE):
                self.received += len(data)
                client.sendall(data)
        with suppress(OSError):
            client.shutdown(socket.SHUT_WR)


@contextmanager
def line(address: str, *, tunnels: bool = False) -> Iterator[Line]:
    """Have a line to ``address`` until the end of the block."""
    host, _, port = address.rpartition(":")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Line(to=(host, int(port)), listener=listener, tunnels=tunnels)
        thread = threading.Thread(target=made.serve, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
