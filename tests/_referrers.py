"""The referrers API in front of a registry that has none: Debian's is older than that interface."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator

INDEX = "application/vnd.oci.image.index.v1+json"
PASSED_ON = ("Content-Type", "Location", "Docker-Content-Digest", "Range", "Docker-Upload-UUID")


def described(manifest: bytes) -> dict[str, object]:
    """What the list of a registry says of a manifest (OCI distribution specification 1.1)."""
    document = json.loads(manifest)
    return {
        "mediaType": document["mediaType"],
        "digest": f"sha256:{hashlib.sha256(manifest).hexdigest()}",
        "size": len(manifest),
        "artifactType": document.get("artifactType", document["config"]["mediaType"]),
        "annotations": document.get("annotations", {}),
    }


@contextmanager
def in_front_of(address: str) -> Iterator[str]:  # noqa: C901 - a small server
    """Serve what the registry at ``address`` has, and lists of referrers; yield the address."""
    lists: dict[str, dict[str, dict[str, object]]] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if "/referrers/" in self.path and self.command == "GET":
                self.listed(self.path.partition("?")[0].rpartition("/")[2].replace("%3A", ":"))
                return
            told = requests.request(
                self.command,
                f"http://{address}{self.path}",
                data=body,
                headers={k: v for k, v in self.headers.items() if k.lower() != "host"},
                timeout=20,
                allow_redirects=False,
            )
            headers = {name: told.headers[name] for name in PASSED_ON if name in told.headers}
            if "Location" in headers:
                headers["Location"] = headers["Location"].replace(address, own)
            if self.command == "PUT" and "/manifests/" in self.path and told.status_code == 201:
                subject = json.loads(body).get("subject", {}).get("digest")
                if subject:
                    entry = described(body)
                    lists.setdefault(subject, {})[str(entry["digest"])] = entry
                    headers["OCI-Subject"] = subject
            length = told.headers.get("Content-Length") if self.command == "HEAD" else None
            self.say(told.status_code, told.content, headers, length)

        do_GET = do_HEAD = do_PUT = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - as above

        def listed(self, digest: str) -> None:
            entries = list(lists.get(digest, {}).values())
            document = {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}
            self.say(200, json.dumps(document).encode(), {"Content-Type": INDEX}, None)

        def say(
            self, status: int, body: bytes, headers: dict[str, str], length: str | None
        ) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    own = f"127.0.0.1:{listener.server_port}"
    thread = threading.Thread(target=listener.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield own
    finally:
        listener.shutdown()
        listener.server_close()
        thread.join()
