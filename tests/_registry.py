"""A registry of the tests' own on loopback: starting it, filling it, reading what it was asked."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

PROGRAM = "docker-registry"
"""What Debian calls the reference registry."""
SECONDS = 20
"""How long it may take to start."""
REQUEST = re.compile(
    r'^\S+ - \S* ?\[[^]]*\] "(?P<method>[A-Z]+) (?P<path>\S+) [^"]*" (?P<status>\d+)'
)

OCI = "application/vnd.oci.image"
DOCKER = "application/vnd.docker.distribution.manifest"
ACCEPTED = ", ".join(
    (
        f"{OCI}.manifest.v1+json",
        f"{OCI}.index.v1+json",
        f"{DOCKER}.v2+json",
        f"{DOCKER}.list.v2+json",
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One line of the registry's access log."""

    method: str
    path: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """A registry that runs, at ``127.0.0.1:PORT``, over plain HTTP."""

    address: str
    log: Path
    scheme: str = "http"

    def mark(self) -> int:
        """Return where the access log ends now, for `requests`."""
        return self.log.stat().st_size

    def requests(self, since: int = 0) -> tuple[Request, ...]:
        """Return what was asked after the mark ``since``, in order."""
        with self.log.open("rb") as stream:
            stream.seek(since)
            lines = stream.read().decode().splitlines()
        return tuple(
            Request(method=match["method"], path=match["path"], status=int(match["status"]))
            for match in map(REQUEST.match, lines)
            if match
        )

    def manifest(self, name: str) -> tuple[str, dict]:
        """Return digest and content of the manifest of ``repository:tag``."""
        repository, _, tag = name.rpartition(":")
        answer = requests.get(
            f"http://{self.address}/v2/{repository}/manifests/{tag}",
            headers={"Accept": ACCEPTED},
            timeout=SECONDS,
        )
        answer.raise_for_status()
        return answer.headers["Docker-Content-Digest"], answer.json()

    def push_blob(self, repository: str, data: bytes) -> str:
        """Upload one blob; return its digest."""
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        url = f"http://{self.address}/v2/{repository}/blobs"
        started = requests.post(f"{url}/uploads/", timeout=SECONDS)
        started.raise_for_status()
        place = started.headers["Location"]
        joint = "&" if "?" in place else "?"
        requests.put(f"{place}{joint}digest={digest}", data=data, timeout=60).raise_for_status()
        return digest

    def push_manifest(self, repository: str, tag: str, document: Mapping[str, object]) -> str:
        """Upload a manifest or an index under ``tag`` (or under its digest, if empty)."""
        data = json.dumps(document).encode()
        digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
        requests.put(
            f"http://{self.address}/v2/{repository}/manifests/{tag or digest}",
            data=data,
            headers={"Content-Type": str(document["mediaType"])},
            timeout=SECONDS,
        ).raise_for_status()
        return digest

    def push(
        self, repository: str, tag: str, layers: Sequence[Path], config: Mapping[str, object]
    ) -> str:
        """Push an image of uncompressed tar files as an OCI index; return its reference."""
        blobs, diff_ids = [], []
        for layer in layers:
            tar = layer.read_bytes()
            packed = gzip.compress(tar, compresslevel=1, mtime=0)
            blobs.append(
                {
                    "mediaType": f"{OCI}.layer.v1.tar+gzip",
                    "digest": self.push_blob(repository, packed),
                    "size": len(packed),
                }
            )
            diff_ids.append(f"sha256:{hashlib.sha256(tar).hexdigest()}")
        platform = {"architecture": "amd64", "os": "linux"}
        rootfs = {"type": "layers", "diff_ids": diff_ids}
        described = json.dumps({**platform, "config": dict(config), "rootfs": rootfs}).encode()
        manifest = {
            "schemaVersion": 2,
            "mediaType": f"{OCI}.manifest.v1+json",
            "config": {
                "mediaType": f"{OCI}.config.v1+json",
                "digest": self.push_blob(repository, described),
                "size": len(described),
            },
            "layers": blobs,
        }
        entry = {
            "mediaType": manifest["mediaType"],
            "digest": self.push_manifest(repository, "", manifest),
            "size": len(json.dumps(manifest).encode()),
            "platform": platform,
        }
        index = {"schemaVersion": 2, "mediaType": f"{OCI}.index.v1+json", "manifests": [entry]}
        self.push_manifest(repository, tag, index)
        return f"{self.address}/{repository}:{tag}"


def missing() -> str:
    """Return why there can be no registry here, or nothing."""
    return "" if shutil.which(PROGRAM) else f"no program {PROGRAM} (Debian's docker-registry)"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def serve(
    folder: Path,
    *,
    auth: Mapping[str, object] | None = None,
    tls: tuple[Path, Path] | None = None,
) -> Iterator[Registry]:
    """Run a registry that stores in ``folder``, until the end of the block.

    ``auth`` is what its configuration says of logins, if it wants one; ``tls`` its certificate and
    its key.
    """
    address = f"127.0.0.1:{_free_port()}"
    settings = {
        "version": 0.1,
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "storage")}},
        "http": {"addr": address, "secret": "of-the-tests", **_certificate(tls)},
        **({"auth": auth} if auth else {}),
    }
    # JSON is YAML, which the registry reads.
    (folder / "registry.yml").write_text(json.dumps(settings))
    log = folder / "access.log"
    with (
        log.open("wb") as stream,
        subprocess.Popen(
            [PROGRAM, "serve", str(folder / "registry.yml")],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        ) as process,
    ):
        try:
            _wait(address, process, log, tls)
            yield Registry(address=address, log=log, scheme="https" if tls else "http")
        finally:
            process.terminate()


def _certificate(tls: tuple[Path, Path] | None) -> dict[str, object]:
    return {"tls": {"certificate": str(tls[0]), "key": str(tls[1])}} if tls else {}


def _wait(
    address: str,
    process: subprocess.Popen[bytes],
    log: Path,
    tls: tuple[Path, Path] | None,
) -> None:
    for _ in range(SECONDS * 10):
        if process.poll() is not None:
            break
        try:
            # It is the tests' own: whether a client trusts it is for them to say.
            if tls:
                socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), 1).close()
                return
            answer = requests.get(f"http://{address}/v2/", timeout=1)
            if answer.status_code != requests.codes.unauthorized:
                answer.raise_for_status()
        except (requests.RequestException, OSError):
            time.sleep(0.1)
        else:
            return
    msg = f"the registry at {address} does not answer:\n{log.read_text()[-2000:]}"
    raise RuntimeError(msg)
