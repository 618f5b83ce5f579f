"""A server that misbehaves as it is told, and answers like a small registry otherwise."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

from _layouts import OCI, describe, sha256

from mxenv.stores import Descriptor, registry
from mxenv.stores._client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LAYER = b"0123456789" * 50_000
CONFIG = json.dumps(
    {
        "os": "linux",
        "architecture": "amd64",
        "rootfs": {"type": "layers", "diff_ids": [sha256(LAYER)]},
    }
).encode()
MANIFEST = json.dumps(
    {
        "schemaVersion": 2,
        "mediaType": f"{OCI}.manifest.v1+json",
        "config": describe(f"{OCI}.config.v1+json", CONFIG),
        "layers": [describe(f"{OCI}.layer.v1.tar", LAYER)],
    }
).encode()
BLOBS = {sha256(blob): blob for blob in (LAYER, CONFIG, MANIFEST)}
BLOB = Descriptor(media_type=f"{OCI}.layer.v1.tar", digest=sha256(LAYER), size=len(LAYER))


@dataclass
class Answer:
    """What the server says once; ``cut`` drops the connection after so many bytes."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    length: int | None = None


@dataclass
class Server:
    """A server that answers as told, then as a registry would."""

    address: str
    script: list[Answer | Callable[[BaseHTTPRequestHandler], Answer]] = field(default_factory=list)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    stored: dict[str, bytes] = field(default_factory=dict)
    gate: Callable[[BaseHTTPRequestHandler], Answer | None] = lambda _: None
    etags: bool = False
    """Whether a manifest is only written over the one that the writer has read."""
    before_put: Callable[[], None] | None = None
    """What happens once, right before a tag is written over."""
    alone: threading.Lock = field(default_factory=threading.Lock)
    pieces: bytearray = field(default_factory=bytearray)
    """What has arrived of the one upload that there is at a time."""
    cuts: list[int] = field(default_factory=list)
    """After how many bytes of the next pieces the connection is dropped; what came is kept."""

    def client(self, **environ: str) -> Client:
        return Client(host=self.address, environ=environ, sleep=self.slept.append)

    def source(self, name: str = "team/image:1", **environ: str) -> registry.RegistrySource:
        return registry.open_source(f"{self.address}/{name}", client=self.client(**environ))

    def sink(self, name: str = "team/image:1", **environ: str) -> registry.RegistrySink:
        return registry.open_sink(f"{self.address}/{name}", client=self.client(**environ))


def piece(server: Server, handler: BaseHTTPRequestHandler, body: bytes) -> Answer:
    """Take a piece that continues what is there, or say how much that is."""
    if handler.command == "PATCH":
        start = handler.headers["Content-Range"].partition("-")[0]
        if int(start) != len(server.pieces):
            return Answer(416)
        server.pieces += body
    headers = {
        "Location": f"/v2/team/image/blobs/uploads/one?at={len(server.pieces)}",
        "Range": f"0-{max(len(server.pieces) - 1, 0)}",
    }
    return Answer(202 if handler.command == "PATCH" else 204, headers=headers)


def stored(server: Server, handler: BaseHTTPRequestHandler, body: bytes) -> Answer:
    """Keep what is put, if it is what it is said to be."""
    path, _, query = handler.path.partition("?")
    name = path.rpartition("/")[2].replace("%3A", ":")
    digest = query.rpartition("digest=")[2].replace("%3A", ":")
    if digest and server.pieces:
        body = bytes(server.pieces)
    if digest and digest != sha256(body):
        said = {"errors": [{"code": "DIGEST_INVALID", "message": "is not\x1b[31m its digest"}]}
        return Answer(400, json.dumps(said).encode())
    condition = handler.headers.get("If-Match", "")
    if condition and server.before_put:
        server.before_put()
        server.before_put = None
    with server.alone:
        if server.etags and condition and condition != sha256(server.stored[name]):
            return Answer(412)
        server.stored[digest or name] = body
    return Answer(201)


def usual(server: Server, handler: BaseHTTPRequestHandler, body: bytes) -> Answer:
    """Answer as a small registry."""
    path = handler.path.partition("?")[0]
    name = path.rpartition("/")[2].replace("%3A", ":")
    if handler.command == "PATCH" or (handler.command == "GET" and "/uploads/" in path):
        return piece(server, handler, body)
    if handler.command == "POST":
        server.pieces.clear()
        return Answer(202, headers={"Location": "/v2/team/image/blobs/uploads/one?state=x"})
    if handler.command == "PUT":
        return stored(server, handler, body)
    if "/referrers/" in path:
        content, kind = None, {}
    elif "/manifests/" in path:
        content = MANIFEST if name in {"1", sha256(MANIFEST)} else server.stored.get(name)
        kind = {"Content-Type": f"{OCI}.manifest.v1+json"}
        if server.etags and content is not None:
            kind["ETag"] = sha256(content)
    else:
        content = BLOBS.get(name) or server.stored.get(name)
        kind = {}
    if content is None:
        return Answer(404, b'{"errors":[{"code":"BLOB_UNKNOWN","message":"unknown"}]}')
    start = handler.headers.get("Range", "").removeprefix("bytes=").removesuffix("-")
    if start:
        kind["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return Answer(206, content[int(start) :], kind)
    return Answer(200, content, kind)


@contextmanager
def serving() -> Iterator[Server]:  # noqa: C901 - a class that sees the server
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            server.asked.append((self.command, self.path, dict(self.headers)))
            length = int(self.headers.get("Content-Length", 0))
            if self.command == "PATCH" and server.cuts:
                server.pieces += self.rfile.read(server.cuts.pop(0))
                self.close_connection = True
                return
            body = self.rfile.read(length)
            refused = server.gate(self)
            if refused is not None:
                answer = refused
            elif server.script:
                step = server.script.pop(0)
                answer = step if isinstance(step, Answer) else step(self)
            else:
                answer = usual(server, self, body)
            self.say(answer)

        do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the library's names

        def say(self, answer: Answer) -> None:
            if answer.cut == 0:
                self.close_connection = True
                return
            self.send_response(answer.status)
            length = len(answer.body) if answer.length is None else answer.length
            for name, value in {"Content-Length": str(length), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(answer.body[: answer.cut])
            self.close_connection = answer.cut is not None

        def log_message(self, *_: object) -> None:
            pass

    class Listener(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of connections that a client gave up: tests make it."""

    listener = Listener(("127.0.0.1", 0), Handler)
    server = Server(address=f"127.0.0.1:{listener.server_port}")
    thread = threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
