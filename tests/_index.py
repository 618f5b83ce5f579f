"""A folder of small wheels and sources that stands for an index, and an HTTP server for it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import ssl
import tarfile
import threading
import time
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
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


BACKEND = """\
import os, zipfile

MODULE, VERSION, TAG, NAME = {module!r}, {version!r}, {tag!r}, {name!r}
REQUIRES, EXTRA = {requires!r}, {extra!r}


def get_requires_for_build_wheel(config_settings=None):
    return {more!r}


def build_wheel(folder, config_settings=None, metadata_directory=None):
    needed = "".join(f"Requires-Dist: {{text}}\\n" for text in REQUIRES)
    info = f"{{MODULE}}-{{VERSION}}.dist-info"
    {code}
    members = {{
        f"{{MODULE}}.py": f"VERSION = {{VERSION!r}}\\n{{said}}",
        f"{{info}}/METADATA": (
            f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{VERSION}}\\n{{needed}}"
        ),
        f"{{info}}/WHEEL": f"Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: {{TAG}}\\n",
    }}
    record = "".join(f"{{member}},,\\n" for member in [*members, f"{{info}}/RECORD"])
    file = f"{{MODULE}}-{{VERSION}}-{{TAG}}.whl"
    with zipfile.ZipFile(os.path.join(folder, file), "w") as archive:
        for member, text in [*members.items(), (f"{{info}}/RECORD", record)]:
            archive.writestr(zipfile.ZipInfo(member), text)
        for source in EXTRA:
            archive.writestr(zipfile.ZipInfo(source), open(source, "rb").read())
    return file
"""


def sdist(  # noqa: PLR0913 - what a source distribution is made of
    folder: Path,
    name: str,
    version: str = "1.0",
    *,
    requires: Sequence[str] = (),
    build_requires: Sequence[str] = (),
    more: Sequence[str] = (),
    tag: str = "py3-none-any",
    code: str = "said = ''",
    files: Mapping[str, str] | None = None,
    extra: Sequence[str] = (),
) -> Path:
    """Write a source distribution that brings its own build backend; return its path.

    ``code`` is what the backend runs, and sets ``said``, which goes into the module.
    """
    folder.mkdir(parents=True, exist_ok=True)
    module = name.replace("-", "_")
    stem = f"{module}-{version}"
    needed = "".join(f"Requires-Dist: {text}\n" for text in requires)
    backend = BACKEND.format(
        module=module,
        version=version,
        tag=tag,
        name=name,
        requires=list(requires),
        more=list(more),
        code=code,
        extra=list(extra),
    )
    project = (
        f'[project]\nname = "{name}"\nversion = "{version}"\n'
        f"dependencies = {list(requires)!r}\n"
        f"[build-system]\nrequires = {list(build_requires)!r}\n"
        'build-backend = "backend"\nbackend-path = ["."]\n'
    )
    members = {
        "PKG-INFO": f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n{needed}",
        "pyproject.toml": project,
        "backend.py": backend,
        **(files or {}),
    }
    path = folder / f"{stem}.tar.gz"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for member, text in members.items():
            entry = tarfile.TarInfo(f"{stem}/{member}")
            entry.size, entry.mode = len(text.encode()), 0o644
            archive.addfile(entry, io.BytesIO(text.encode()))
    path.write_bytes(gzip.compress(content.getvalue(), mtime=0))
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
    ``other``, ``longer``, ``shifted``, ``stall``; ``429/2`` asks to come back in two seconds."""
    login: str = ""
    """What ``Authorization`` has to be, if anything."""
    page: tuple[int, str, str] | None = None
    """Status, content type and text of every page, whatever is there."""
    as_json: bool = False
    hashes: bool = True
    """False: its pages do not say them."""


@contextmanager
def serve(folder: Path, *, authority: Path | None = None) -> Iterator[Index]:
    """Serve the wheels in ``folder`` as a simple index (PEP 503) on loopback.

    With TLS if there is an ``authority``: a folder with the certificate and key of a server.
    """
    index = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(self, index, folder)

        do_HEAD = do_GET  # noqa: N815 - as http.server has it

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "https" if authority else "http"
    if authority:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority / "server.crt", authority / "server.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        # Who does not trust it hangs up, and that is no news.
        server.handle_error = lambda *_: None
    index.url = f"{scheme}://127.0.0.1:{server.server_port}/simple"
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
    if index.login and headers.get("Authorization", "") != index.login:
        _send(handler, 401, b"", "text/plain")
    elif path.startswith("/simple/"):
        _page(handler, index, folder, path.split("/")[2])
    else:
        _file(handler, index, folder / unquote(path.rpartition("/")[2]))


def _page(handler: BaseHTTPRequestHandler, index: Index, folder: Path, project: str) -> None:
    if index.page is not None:
        status, kind, text = index.page
        _send(handler, status, text.encode(), kind)
        return
    stem = project.replace("-", "_")
    found = [p for p in sorted(folder.glob("*-*")) if p.name.startswith(f"{stem}-")]
    if index.as_json:
        files = [
            {
                "filename": p.name,
                "url": f"/files/{p.name}",
                "hashes": {"sha256": sha256(p)} if index.hashes else {},
            }
            for p in found
        ]
        text = json.dumps({"meta": {"api-version": "1.0"}, "name": project, "files": files})
        kind = "application/vnd.pypi.simple.v1+json"
    else:
        text = "".join(
            f'<a href="/files/{p.name}{f"#sha256={sha256(p)}" if index.hashes else ""}">'
            f"{p.name}</a>\n"
            for p in found
        )
        kind = "text/html"
    _send(handler, 200 if found else 404, text.encode(), kind)


def _file(handler: BaseHTTPRequestHandler, index: Index, path: Path) -> None:
    content, headers = path.read_bytes(), handler.headers
    first = headers.get("Range", "bytes=0-").removeprefix("bytes=")
    start, _, last = first.partition("-")
    end = int(last) + 1 if last else len(content)
    # A resolver that looks into a wheel is served well: what is tested is who downloads it.
    meant = index.faults and not headers.get("User-Agent", "").startswith("uv/")
    fault = index.faults.pop(0) if meant else ""
    status, _, wish = fault.partition("/")
    if status.isdigit():
        _send(handler, int(status), b"", "text/plain", {"Retry-After": wish} if wish else {})
    elif fault in {"short", "slow", "stall"}:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        time.sleep({"short": 0, "slow": 2, "stall": 20}[fault])
        handler.close_connection = True
    elif fault == "shifted":
        _send(handler, 206, content, "application/octet-stream")
    elif fault == "longer":
        _send(handler, 200, content + b"more" * 100_000, "application/octet-stream")
    else:
        body = b"another file" if fault == "other" else content[int(start) : end]
        ranged = "Range" in headers
        more = {"Content-Range": f"bytes {start}-{end - 1}/{len(content)}"} if ranged else {}
        _send(handler, 206 if ranged else 200, body, "application/octet-stream", more)


def _send(
    handler: BaseHTTPRequestHandler,
    status: int,
    body: bytes,
    kind: str,
    more: Mapping[str, str] | None = None,
) -> None:
    handler.send_response(status)
    headers = {"Content-Type": kind, "Content-Length": str(len(body)), "Accept-Ranges": "bytes"}
    for name, value in {**headers, **(more or {})}.items():
        handler.send_header(name, value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)
