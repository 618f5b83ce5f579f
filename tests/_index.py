"""A folder of small wheels that stands for a package index, and an HTTP server for it."""

from __future__ import annotations

import hashlib
import threading
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


def wheel(  # noqa: PLR0913 - what a wheel is made of
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    requires: Sequence[str] = (),
    tag: str = "py3-none-any",
    script: str = "",
    filler: int = 0,
) -> Path:
    """Write a wheel with one module, the same bytes every time; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {text}\n" for text in requires)
    members = {
        f"{module}.py": f"VERSION = {version!r}\n\n\ndef main():\n    print(VERSION)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    if filler:
        members[f"{module}.dat"] = "x" * filler
    if script:
        members[f"{info}/entry_points.txt"] = f"[console_scripts]\n{script} = {module}:main\n"
    record = "".join(f"{member},,\n" for member in (*members, f"{info}/RECORD"))
    path = folder / f"{module}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(member), text)
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(kw_only=True)
class Index:
    """What the server was asked, and how it is to misbehave."""

    url: str = ""
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    """Path, Range, Authorization."""
    faults: list[str] = field(default_factory=list)
    """What is done to the next requests for files: ``500``, ``404``, ``short``, ``slow``,
    ``other``."""


@contextmanager
def serve(folder: Path) -> Iterator[Index]:
    """Serve the wheels in ``folder`` as a simple index (PEP 503) on loopback."""
    index = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, index, folder)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.url = f"http://127.0.0.1:{server.server_port}/simple"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield index
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _answer(handler: BaseHTTPRequestHandler, index: Index, folder: Path) -> None:
    path, headers = handler.path, handler.headers
    index.asked.append((path, headers.get("Range", ""), headers.get("Authorization", "")))
    if path.startswith("/simple/"):
        name = path.split("/")[2].replace("-", "_")
        found = [p for p in sorted(folder.glob("*.whl")) if p.name.startswith(f"{name}-")]
        links = "".join(
            f'<a href="/files/{p.name}#sha256={sha256(p)}">{p.name}</a>\n' for p in found
        )
        _send(handler, 200 if found else 404, links.encode(), "text/html")
        return
    content = (folder / path.rpartition("/")[2]).read_bytes()
    start = int(headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
    # A resolver that looks into a wheel is served well: what is tested is who downloads it.
    meant = index.faults and not headers.get("User-Agent", "").startswith("uv/")
    fault = index.faults.pop(0) if meant else ""
    if fault.isdigit():
        _send(handler, int(fault), b"", "text/plain")
    elif fault in {"short", "slow"}:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        time.sleep(2 if fault == "slow" else 0)
        handler.close_connection = True
    else:
        body = b"another file" if fault == "other" else content[start:]
        _send(handler, 206 if start else 200, body, "application/octet-stream")


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
