"""A real registry over lines that break, that count, and that nobody can listen to."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import _archives
import _authority
import _registry
import pytest
from _layouts import describe, file, image, sha256, tar
from _line import line
from _peak import PEAK
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from mxenv.errors import InvalidFile, RegistryError
from mxenv.stores import OCI_MANIFEST, Descriptor, layout, registry
from mxenv.stores._client import Client
from mxenv.stores.description import describe as describe_image

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from _registry import Registry

MIB = 1 << 20
DATA = b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(20 * MIB // 32))
BLOB = Descriptor(media_type="x", digest=sha256(DATA), size=len(DATA))


def sink(reference: str, slept: list[float] | None = None, **environ: str) -> registry.RegistrySink:
    waits = [] if slept is None else slept
    client = Client(host=reference.partition("/")[0], environ=environ, sleep=waits.append)
    return registry.open_sink(reference, client=client)


def registry_source(reference: str, client: Client) -> registry.RegistrySource:
    return registry.open_source(reference, client=client)


def source(reference: str, **environ: str) -> registry.RegistrySource:
    client = Client(host=reference.partition("/")[0], environ=environ)
    return registry.open_source(reference, client=client)


def test_an_upload_goes_on_after_a_piece_that_did_not_arrive(registry: Registry) -> None:
    with line(registry.address) as broken:
        broken.refused = [2, 4, 5]
        slept: list[float] = []
        into = replace(sink(f"{broken.address}/faults/up:1", slept), chunk=4 * MIB)
        mark = registry.mark()
        into.write(BLOB, lambda: io.BytesIO(DATA))
        assert len(slept) == 3
        assert len(DATA) <= broken.sent < len(DATA) + MIB
    asked = [(request.method, request.status) for request in registry.requests(mark)]
    assert asked == [
        *(("POST", 202), ("PATCH", 202), ("GET", 204), ("PATCH", 202), ("GET", 204)),
        *(("GET", 204), ("PATCH", 202), ("PATCH", 202), ("PATCH", 202), ("PUT", 201)),
    ]
    with source(f"{registry.address}/faults/up:1").blob(BLOB) as stream:
        assert stream.read() == DATA


def test_an_upload_begins_anew_after_a_piece_that_half_arrived(registry: Registry) -> None:
    # This registry gives up an upload whose length is not what it has told its client.
    with line(registry.address) as broken:
        broken.cuts = [6 * MIB]
        slept: list[float] = []
        into = replace(sink(f"{broken.address}/faults/half:1", slept), chunk=4 * MIB)
        mark = registry.mark()
        into.write(BLOB, lambda: io.BytesIO(DATA))
        assert len(slept) == 1
        assert broken.sent < len(DATA) + 8 * MIB
    asked = [request.method for request in registry.requests(mark)]
    assert asked.count("POST") == 2
    with source(f"{registry.address}/faults/half:1").blob(BLOB) as stream:
        assert stream.read() == DATA


def test_a_line_that_always_breaks_at_the_same_place_ends_it(registry: Registry) -> None:
    with line(registry.address) as broken:
        broken.cuts = [9 * MIB] * 20
        slept: list[float] = []
        into = replace(sink(f"{broken.address}/faults/end:1", slept), chunk=4 * MIB)
        with pytest.raises(RegistryError, match="gave up after 4 attempts"):
            into.write(BLOB, lambda: io.BytesIO(DATA))
        assert len(broken.cuts) >= 15


def test_a_download_goes_on_where_the_line_broke(registry: Registry) -> None:
    sink(f"{registry.address}/faults/down:1").write(BLOB, lambda: io.BytesIO(DATA))
    with line(registry.address) as counted:
        client = Client(host=counted.address, environ={}, sleep=lambda _: None)
        there = registry_source(f"{counted.address}/faults/down:1", client)
        with there.blob(BLOB) as stream:
            content = stream.read(5 * MIB)
            counted.drop()
            content += stream.read()
        assert content == DATA
        assert counted.received < len(DATA) + 2 * MIB


STREAM = f"""
import resource, sys
{PEAK}
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
from mxenv.engines._output import Output
from mxenv.stores import places, registry
from mxenv.stores.description import describe
source = places.source_of(sys.argv[1])
image = describe(source, "linux/amd64")
output = Output(sink=registry.open_sink(sys.argv[2]), cache=None)
output.base(image.layers, source)
print(output.streamed, peak())
"""
"""Hands a base on in a process that can write no file; says how much it read, and its memory."""


def hand_on(start: str, target: str, tmp_path: Path) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", STREAM, start, target],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=tmp_path,
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "TMPDIR": str(tmp_path),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    read, memory = done.stdout.split()
    return int(read), int(memory)


@pytest.fixture(scope="module")
def other(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    assert registry
    with _registry.serve(tmp_path_factory.mktemp("other")) as running:
        yield running


@pytest.fixture(scope="module")
def base(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two layers, of 20 and of 40 MiB, that nothing makes smaller."""
    folder = tmp_path_factory.mktemp("base")
    one, two = folder / "one.tar", folder / "two.tar"
    one.write_bytes(tar([file("one", DATA)]))
    two.write_bytes(tar([file("two", DATA[::-1]), file("three", DATA[1:] + DATA[:1])]))
    return registry.push("bases/large", "1", (one, two), {}).partition("/")[2]


class TestABase:
    """It goes from one registry to another once, through no disk; within one not at all."""

    def size(self, address: str) -> int:
        return sum(layer.size for layer in describe_image(source(address), "linux/amd64").layers)

    def test_is_streamed_once_to_another_registry_and_to_no_disk(
        self, registry: Registry, other: Registry, base: str, tmp_path: Path
    ) -> None:
        size = self.size(f"{registry.address}/{base}")
        with line(registry.address) as down, line(other.address) as up:
            read, memory = hand_on(
                f"{down.address}/{base}", f"{up.address}/copies/large:1", tmp_path
            )
            assert read == size
            assert size <= down.received < size + 64_000
            assert size <= up.sent < size + 64_000
            assert down.sent < 64_000
            assert up.received < 64_000
        assert memory < 200
        assert list(tmp_path.iterdir()) == []

    def test_is_read_once_even_if_the_line_to_the_other_breaks(
        self, registry: Registry, other: Registry, base: str, tmp_path: Path
    ) -> None:
        size = self.size(f"{registry.address}/{base}")
        with line(registry.address) as down, line(other.address) as up:
            up.cuts = [5 * MIB, 30 * MIB]
            hand_on(f"{down.address}/{base}", f"{up.address}/copies/broken:1", tmp_path)
            assert down.received < size + 64_000
            assert up.cuts == []

    def test_is_mounted_within_its_registry(
        self, registry: Registry, base: str, tmp_path: Path
    ) -> None:
        with line(registry.address) as both:
            read, _ = hand_on(f"{both.address}/{base}", f"{both.address}/copies/same:1", tmp_path)
            assert read == 0
            assert both.sent + both.received < 64_000
        large = describe_image(source(f"{registry.address}/{base}"), "linux/amd64").layers[1]
        assert source(f"{registry.address}/copies/same:1").has(large.digest)

    def test_is_streamed_from_a_folder_or_a_file_as_well(
        self, other: Registry, tmp_path: Path
    ) -> None:
        made = image(tmp_path / "layout", [file("a", DATA)])
        saved = [tar([file("b", DATA)]), tar([file("c", DATA)])]
        packed = _archives.write(tmp_path / "i.tar.gz", _archives.old(saved))
        for number, address in enumerate((f"oci:{made}", f"docker-archive:{packed}")):
            with line(other.address) as up:
                target = f"{up.address}/copies/files{number}:1"
                read, memory = hand_on(address, target, tmp_path)
                assert read >= len(DATA)
                assert read <= up.sent < read + 64_000
                assert memory < 200
        assert {path.name for path in tmp_path.iterdir()} == {"layout", "i.tar.gz"}


class TestWhatSpeaksOfAnImage:
    """The registry here keeps no list of it: the tag does."""

    @pytest.fixture
    def subject(self, registry: Registry, tmp_path: Path) -> Descriptor:
        """An image of its own for each test."""
        from test_registry_and_layout import copy  # noqa: PLC0415 - of the tests beside this

        made = image(tmp_path / "layout", [file("a", str(tmp_path))])
        there = layout.open_source(str(made))
        copy(there, sink(f"{registry.address}/referrers:1"), "1")
        return there.manifest("linux/amd64")[0]

    def speaking(self, subject: Descriptor, number: int) -> bytes:
        empty = describe("application/vnd.oci.empty.v1+json", b"{}")
        return json.dumps(
            {
                "schemaVersion": 2,
                "mediaType": OCI_MANIFEST,
                "artifactType": f"application/x-{number}",
                "config": empty,
                "layers": [empty],
                "subject": {
                    "mediaType": OCI_MANIFEST,
                    "digest": subject.digest,
                    "size": subject.size,
                },
            }
        ).encode()

    def attach(self, registry: Registry, subject: Descriptor, *numbers: int) -> None:
        client = Client(host=registry.address, environ={})
        into = registry_sink(f"{registry.address}/referrers:1", client)
        empty = Descriptor(media_type="x", digest=sha256(b"{}"), size=2)
        into.write(empty, lambda: io.BytesIO(b"{}"))
        for number in numbers:
            into.attach(self.speaking(subject, number), subject)

    def test_is_listed_and_read(self, registry: Registry, subject: Descriptor) -> None:
        self.attach(registry, subject, 1, 2)
        there = source(f"{registry.address}/referrers:1")
        found = there.referrers(subject.digest)
        assert {one.artifact_type for one in found} == {"application/x-1", "application/x-2"}
        assert {there.manifest_of(one.digest) for one in found} == {
            self.speaking(subject, 1),
            self.speaking(subject, 2),
        }

    def test_is_lost_by_nobody_who_attaches_at_the_same_time(
        self, registry: Registry, subject: Descriptor
    ) -> None:
        failed: list[Exception] = []

        def attach(number: int) -> None:
            try:
                self.attach(registry, subject, number, number + 1, number + 2)
            except RegistryError as error:
                failed.append(error)

        threads = [threading.Thread(target=attach, args=(n,)) for n in (10, 20, 30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failed == []
        found = source(f"{registry.address}/referrers:1").referrers(subject.digest)
        assert len(found) == 9

    def test_is_deleted_by_nobody_who_copies_the_image(
        self, registry: Registry, subject: Descriptor
    ) -> None:
        self.attach(registry, subject, 7)
        tag = subject.digest.replace(":", "-")
        assert registry.manifest(f"referrers:{tag}")[1]["manifests"][0]["artifactType"]


def registry_sink(reference: str, client: Client) -> registry.RegistrySink:
    return registry.open_sink(reference, client=client)


NAME = "registry.example.com"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority of our own, and what it signed for a server."""
    return _authority.signed(tmp_path_factory.mktemp("tls"), NAME)


LOGIN = "me:$2y$05$2.iYQfqn01Yi5AzOrRGZq.GAOTRwZ6fuP6vI3nzAeIMQcaJVQiHlO"
"""What ``htpasswd -Bbn me secret`` prints."""
PUSH = """
import io, json, sys
from mxenv.errors import MxenvError
from mxenv.stores import Descriptor, registry
data = b"x" * 1000
import hashlib
blob = Descriptor(media_type="x", digest="sha256:" + hashlib.sha256(data).hexdigest(), size=1000)
try:
    registry.open_sink(sys.argv[1]).write(blob, lambda: io.BytesIO(data))
    with registry.open_source(sys.argv[1]).blob(blob) as stream:
        print(len(stream.read()))
except MxenvError as error:
    print(error, "hint:", error.hint)
"""


@pytest.fixture(scope="module")
def guarded(
    registry: Registry, authority: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Registry]:
    assert registry
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "htpasswd").write_text(f"{LOGIN}\n")
    auth = {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}}
    tls = (authority / "server.crt", authority / "server.key")
    with _registry.serve(folder, auth=auth, tls=tls) as running:
        yield running


class TestTls:
    """A registry with a certificate of the site's own, and a login."""

    def push(self, guarded: Registry, home: Path, **environ: str) -> str:
        """Push and pull in a process of its own, through a proxy that leads to the registry."""
        (home / ".docker").mkdir(exist_ok=True)
        auths = {NAME: {"auth": "bWU6c2VjcmV0"}}
        (home / ".docker" / "config.json").write_text(json.dumps({"auths": auths}))
        with line(guarded.address, tunnels=True) as proxy:
            done = subprocess.run(
                [sys.executable, "-c", PUSH, f"{NAME}/team/image:1"],
                capture_output=True,
                text=True,
                check=False,
                timeout=120,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(home),
                    "HTTPS_PROXY": f"http://{proxy.address}",
                    **environ,
                },
            )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def test_is_not_spoken_to_if_nobody_vouches_for_it(
        self, guarded: Registry, tmp_path: Path
    ) -> None:
        said = self.push(guarded, tmp_path)
        assert said.startswith(f"{NAME}: TLS failed: ")
        assert f"certs.d/{NAME}/ca.crt" in said

    @pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
    def test_is_trusted_if_a_variable_names_its_authority(
        self, guarded: Registry, authority: Path, tmp_path: Path, variable: str
    ) -> None:
        assert self.push(guarded, tmp_path, **{variable: str(authority / "ca.crt")}) == "1000"

    def test_is_trusted_if_its_authority_lies_where_podman_looks(
        self, guarded: Registry, authority: Path, tmp_path: Path
    ) -> None:
        folder = tmp_path / ".config" / "containers" / "certs.d" / NAME
        folder.mkdir(parents=True)
        (folder / "ca.crt").write_bytes((authority / "ca.crt").read_bytes())
        assert self.push(guarded, tmp_path) == "1000"

    def test_a_certificate_that_is_none_is_named(self, guarded: Registry, tmp_path: Path) -> None:
        folder = tmp_path / "certs" / NAME
        folder.mkdir(parents=True)
        (folder / "ca.crt").write_text("rubbish")
        said = self.push(guarded, tmp_path, MXENV_CERTS=str(tmp_path / "certs"))
        assert said.startswith(f"{folder / 'ca.crt'}: cannot be used as a certificate: ")


def test_a_client_may_show_a_certificate_of_its_own(authority: Path, tmp_path: Path) -> None:
    from mxenv.stores import _certificates  # noqa: PLC0415 - only here

    folder = tmp_path / "r.example:5000"
    folder.mkdir()
    for end, there in (("cert", "server.crt"), ("key", "server.key")):
        (folder / f"client.{end}").write_bytes((authority / there).read_bytes())
    made = _certificates.context("r.example:5000", {"MXENV_CERTS": str(tmp_path)})
    assert made.verify_mode.name == "CERT_REQUIRED"
    (folder / "client.key").unlink()
    with pytest.raises(InvalidFile, match=r"client\.cert: cannot be used as a certificate"):
        _certificates.context("r.example:5000", {"MXENV_CERTS": str(tmp_path)})


class Tokens(BaseHTTPRequestHandler):
    """Gives whoever knows the password what they ask for, for a few seconds."""

    folder: Path
    given: list[str]

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        if self.headers.get("Authorization") != "Basic bWU6c2VjcmV0":
            self.send_error(401)
            return
        access = []
        for scope in asked.get("scope", []):
            kind, name, actions = scope.split(":")
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        self.given.extend(asked.get("scope", []))
        now = int(datetime.now(UTC).timestamp())
        claims = {
            "iss": "tests",
            "sub": "me",
            "aud": asked["service"][0],
            "access": access,
            "exp": now + 3600,
            "nbf": now - 60,
            "iat": now,
            "jti": str(len(self.given)),
        }
        body = json.dumps({"token": self.signed(claims)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def signed(self, claims: object) -> str:
        certificate = x509.load_pem_x509_certificate((self.folder / "server.crt").read_bytes())
        whole = base64.b64encode(certificate.public_bytes(serialization.Encoding.DER)).decode()
        head = {"typ": "JWT", "alg": "ES256", "x5c": [whole]}
        text = ".".join(_unpadded(json.dumps(part).encode()) for part in (head, claims))
        key = serialization.load_pem_private_key((self.folder / "server.key").read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        r, s = decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_unpadded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def log_message(self, *_: object) -> None:
        pass


def _unpadded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def leave(scope: str) -> tuple[str, set[str]]:
    """Of which repository, and to do what."""
    _, name, actions = scope.split(":")
    return name, set(actions.split(","))


class TestTokens:
    """A registry that sends its clients to somebody else for leave."""

    @pytest.fixture
    def tokens(self, authority: Path) -> Iterator[tuple[str, list[str]]]:
        given: list[str] = []
        handler = type("Ours", (Tokens,), {"folder": authority, "given": given})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token", given
        server.shutdown()
        server.server_close()
        thread.join()

    @pytest.fixture
    def strict(
        self,
        registry: Registry,
        authority: Path,
        tokens: tuple[str, list[str]],
        tmp_path: Path,
    ) -> Iterator[Registry]:
        assert registry
        auth = {
            "token": {
                "realm": tokens[0],
                "service": "tests",
                "issuer": "tests",
                "rootcertbundle": str(authority / "ca.crt"),
            }
        }
        with _registry.serve(tmp_path, auth=auth) as running:
            yield running

    def test_are_asked_for_once_for_each_kind_of_leave(
        self, strict: Registry, tokens: tuple[str, list[str]], tmp_path: Path
    ) -> None:
        auths = {"auths": {strict.address: {"auth": "bWU6c2VjcmV0"}}}
        (tmp_path / "config.json").write_text(json.dumps(auths))
        environ = {"DOCKER_CONFIG": str(tmp_path)}
        into = replace(sink(f"{strict.address}/a/b:1", **environ), chunk=MIB)
        into.write(BLOB, lambda: io.BytesIO(DATA))
        there = source(f"{strict.address}/a/b:1", **environ)
        with there.blob(BLOB) as stream:
            assert stream.read() == DATA
        assert [leave(scope) for scope in tokens[1]] == [
            ("a/b", {"pull", "push"}),
            ("a/b", {"pull"}),
        ]
        # Both repositories at once: what a mount needs.
        onto = sink(f"{strict.address}/c/d:1", **environ)
        assert onto.mount(BLOB, there)
        assert onto.has(BLOB.digest)
        asked = [leave(scope) for scope in tokens[1][2:]]
        # In whichever order the registry names them.
        assert sorted(asked[:2]) == [("a/b", {"pull"}), ("c/d", {"pull", "push"})]

    def test_are_not_given_to_whoever_does_not_know_the_password(self, strict: Registry) -> None:
        with pytest.raises(RegistryError, match="no token: 401") as raised:
            sink(f"{strict.address}/a/b:1").write(BLOB, lambda: io.BytesIO(DATA))
        assert "docker login" in raised.value.hint
