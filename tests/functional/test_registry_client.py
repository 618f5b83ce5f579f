"""A registry that misbehaves costs attempts, then one clear line; it never gets a wrong byte in."""

from __future__ import annotations

import base64
import io
import json
import stat
import sys
from typing import TYPE_CHECKING

import pytest
from _layouts import OCI, sha256
from _misbehaving import BLOB, LAYER, MANIFEST, Answer, serving

from mxenv.errors import InvalidFile, LayoutError, MxenvError, RegistryError, UsageError
from mxenv.stores import Descriptor, _reference, registry
from mxenv.stores._client import Client
from mxenv.stores._credentials import Credentials, credentials
from mxenv.stores._words import pairs, retry_after
from mxenv.stores.description import describe as describe_image

if TYPE_CHECKING:
    from collections.abc import Iterator
    from http.server import BaseHTTPRequestHandler
    from pathlib import Path

    from _misbehaving import Server


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def read(source: registry.RegistrySource, descriptor: Descriptor = BLOB) -> bytes:
    with source.blob(descriptor) as stream:
        return stream.read()


class TestAReference:
    """An image is named with its registry, and nothing is assumed."""

    def test_a_login_in_it_is_refused_and_not_repeated(self) -> None:
        with pytest.raises(UsageError, match="holds a login") as raised:
            _reference.parse("me:secret@r.example/a:1")
        assert "secret" not in str(raised.value)
        assert "docker login" in raised.value.hint

    @pytest.mark.parametrize(
        ("text", "host", "repository", "tag", "digest"),
        [
            ("localhost/a", "localhost", "a", "", ""),
            ("127.0.0.1:5000/a/b:1.0", "127.0.0.1:5000", "a/b", "1.0", ""),
            ("[::1]:5000/a", "[::1]:5000", "a", "", ""),
            ("reg.example.com/x__y/z-1:T", "reg.example.com", "x__y/z-1", "T", ""),
            (
                f"r.example/a:1@{sha256(b'')}",
                "r.example",
                "a",
                "1",
                sha256(b""),
            ),
        ],
    )
    def test_is_taken_apart(
        self, text: str, host: str, repository: str, tag: str, digest: str
    ) -> None:
        found = _reference.parse(text)
        assert found == _reference.Reference(
            host=host, repository=repository, tag=tag, digest=digest
        )
        assert str(found) == text

    @pytest.mark.parametrize(
        "text",
        [
            *("", "debian", "debian:12", "team/image", "team/image:1", "/a", "https://r.example/a"),
            *("r.example/", "r.example/A", "r.example/a:", "r.example/a:b:c", "r.example/a b"),
            *("r.example:99999/a", "r.example:0/a", "r.example/a@sha256:12", "r.example/../a"),
            *("user@r.example/a", "r.example/a?x=1", "r.example/a#b", "r.example/" + "a" * 256),
        ],
    )
    def test_that_is_none_is_a_usage_error_with_a_hint(self, text: str) -> None:
        with pytest.raises(UsageError) as raised:
            _reference.parse(text)
        assert raised.value.hint


class TestReading:
    """What was read to its end is what its digest says, or an error."""

    def test_an_image_is_described_by_manifest_and_configuration(self, server: Server) -> None:
        image = describe_image(server.source(), "linux/amd64")
        assert image.manifest.digest == sha256(MANIFEST)
        assert [layer.digest for layer in image.layers] == [BLOB.digest]
        assert image.diff_ids == (BLOB.digest,)
        assert not [path for _, path, _ in server.asked if BLOB.digest in path]

    def test_another_platform_is_refused_by_name(self, server: Server) -> None:
        with pytest.raises(LayoutError, match=r"linux/amd64, not for linux/arm64"):
            describe_image(server.source(), "linux/arm64")

    def test_a_blob_with_other_bytes_is_an_error(self, server: Server) -> None:
        server.script = [Answer(body=b"x" * len(LAYER))]
        with pytest.raises(RegistryError, match="hashes to"):
            read(server.source())

    @pytest.mark.parametrize("body", [LAYER + b"x", LAYER[:-1]])
    def test_a_blob_of_another_size_is_an_error(self, server: Server, body: bytes) -> None:
        server.script = [Answer(body=body)] * 10
        with pytest.raises(RegistryError):
            read(server.source())

    def test_a_manifest_that_is_not_the_one_asked_for_by_digest_is_an_error(
        self, server: Server
    ) -> None:
        other = MANIFEST.replace(b'"schemaVersion": 2', b'"schemaVersion":  2')
        server.script = [
            Answer(body=other, headers={"Content-Type": f"{OCI}.manifest.v1+json"})
        ] * 9
        with pytest.raises(RegistryError, match=rf"sent {sha256(other)} for {sha256(MANIFEST)}"):
            server.source(f"team/image@{sha256(MANIFEST)}").manifest("linux/amd64")

    def test_a_broken_download_goes_on_where_it_broke(self, server: Server) -> None:
        server.script = [Answer(body=LAYER, cut=300_000)]
        assert read(server.source()) == LAYER
        ranges = [headers.get("Range") for _, _, headers in server.asked]
        assert ranges[0] is None
        assert ranges[1] is not None
        assert 0 < int(ranges[1].removeprefix("bytes=").removesuffix("-")) <= 300_000

    def test_a_registry_without_ranges_is_read_again_from_the_start(self, server: Server) -> None:
        server.script = [Answer(body=LAYER, cut=300_000), Answer(body=LAYER)]
        assert read(server.source()) == LAYER

    def test_a_range_that_was_not_asked_for_is_refused(self, server: Server) -> None:
        wrong = Answer(206, LAYER, {"Content-Range": f"bytes 0-{len(LAYER) - 1}/{len(LAYER)}"})
        server.script = [Answer(body=LAYER, cut=300_000), wrong]
        with pytest.raises(RegistryError):
            read(server.source())

    def test_a_download_that_breaks_often_but_gets_on_is_finished(self, server: Server) -> None:
        large = LAYER * 60
        blob = Descriptor(media_type="x", digest=sha256(large), size=len(large))
        server.stored[blob.digest] = large

        def broken(handler: BaseHTTPRequestHandler) -> Answer:
            start = int(handler.headers.get("Range", "bytes=0-")[6:-1])
            headers = {"Content-Range": f"bytes {start}-{len(large) - 1}/{len(large)}"}
            return Answer(206 if start else 200, large[start:], headers, cut=5_000_000)

        server.script = [broken] * 5
        assert read(server.source(), blob) == large
        assert server.slept == [0.5] * 5

    def test_a_download_that_breaks_again_and_again_ends(self, server: Server) -> None:
        server.script = [Answer(body=b"", cut=1, length=len(LAYER))] * 20
        with pytest.raises(RegistryError, match="broke off 4 times"):
            read(server.source())

    def test_a_download_that_ends_early_is_said_in_words(self, server: Server) -> None:
        server.gate = lambda handler: (
            Answer(body=LAYER, cut=60) if "/blobs/" in handler.path else None
        )
        with pytest.raises(RegistryError, match="bytes were still to come") as raised:
            read(server.source())
        assert "IncompleteRead" not in str(raised.value)

    @pytest.mark.parametrize(
        "body",
        [
            *(b"", b"[]", b"{}", b"not json", b"[" * 100_000, b'{"schemaVersion": 1}'),
            json.dumps({"mediaType": f"{OCI}.manifest.v1+json", "config": 3}).encode(),
            json.dumps(
                {
                    "mediaType": f"{OCI}.manifest.v1+json",
                    "config": {"mediaType": "x", "digest": "sha256:../../x", "size": 1},
                    "layers": [],
                }
            ).encode(),
        ],
    )
    def test_a_manifest_that_is_none_is_one_clear_error(self, server: Server, body: bytes) -> None:
        server.script = [Answer(body=body, headers={"Content-Type": f"{OCI}.manifest.v1+json"})] * 9
        with pytest.raises(MxenvError) as raised:
            describe_image(server.source(), "linux/amd64")
        assert raised.value.exit_code in {5, 6}
        assert server.address in str(raised.value)

    def test_what_is_not_there_ends_with_the_word_of_the_registry(self, server: Server) -> None:
        with pytest.raises(RegistryError, match=r"404 Not Found, BLOB_UNKNOWN: unknown$"):
            server.source("team/image:2").manifest("linux/amd64")
        assert len(server.asked) == 1


class TestTryingAgain:
    """A failure that may pass is tried again, a few times, as long as the registry says."""

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_a_passing_failure_is_overcome(self, server: Server, status: int) -> None:
        server.script = [Answer(status), Answer(status)]
        assert server.source().manifest("linux/amd64")[1] == MANIFEST
        assert server.slept == [0.5, 1.0]

    def test_a_reset_is_overcome(self, server: Server) -> None:
        server.script = [Answer(cut=0), Answer(body=MANIFEST, cut=10)]
        assert server.source().manifest("linux/amd64")[1] == MANIFEST
        assert len(server.slept) == 2

    def test_a_lasting_failure_ends_with_its_last_word_and_status_6(self, server: Server) -> None:
        body = b'{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}'
        server.script = [Answer(429, body)] * 9
        with pytest.raises(RegistryError) as raised:
            server.source().manifest("linux/amd64")
        assert raised.value.exit_code == 6
        assert str(raised.value).endswith("429 Too Many Requests, TOOMANYREQUESTS: slow down")
        assert len(server.asked) == 4

    def test_the_registry_is_left_alone_as_long_as_it_asks(self, server: Server) -> None:
        server.script = [Answer(429, headers={"Retry-After": "7"})]
        server.source().manifest("linux/amd64")
        assert server.slept == [7.0]

    def test_a_registry_that_asks_for_an_hour_has_refused(self, server: Server) -> None:
        server.script = [Answer(503, headers={"Retry-After": "3600"})]
        with pytest.raises(RegistryError, match=r"after 1 attempt: 503 .*, asks for 3600 s"):
            server.source().manifest("linux/amd64")
        assert server.slept == []

    def test_a_date_to_wait_for_is_understood_and_rubbish_is_not(self) -> None:
        assert retry_after("Thu, 01 Jan 1970 00:00:00 GMT") == 0.0
        assert retry_after("soon") is None
        assert retry_after("") is None

    def test_a_registry_that_cannot_be_reached_is_one_line_and_no_second_attempt(self) -> None:
        slept: list[float] = []
        client = Client(host="127.0.0.1:1", environ={}, sleep=slept.append)
        with pytest.raises(RegistryError) as raised:
            registry.open_source("127.0.0.1:1/a", client=client).manifest("linux/amd64")
        assert str(raised.value) == "127.0.0.1:1: cannot be reached: Connection refused"
        assert slept == []

    def test_a_port_that_speaks_no_tls_is_named_as_that(self, server: Server) -> None:
        # Not loopback by name, so TLS is expected of it.
        host = server.address.replace("127.0.0.1", "ip6-localhost.invalid")
        client = Client(host=host, environ={}, sleep=server.slept.append)
        with pytest.raises(RegistryError, match="cannot be reached"):
            registry.open_source(f"{host}/a", client=client).manifest("linux/amd64")


class TestWriting:
    """A blob is uploaded whole, as often as it takes."""

    def test_a_blob_and_a_manifest_are_stored(self, server: Server) -> None:
        sink = server.sink()
        sink.write(BLOB, lambda: io.BytesIO(LAYER))
        assert server.stored[BLOB.digest] == LAYER
        assert sink.tag(MANIFEST, f"{OCI}.manifest.v1+json", "2") == sha256(MANIFEST)
        assert server.stored["2"] == MANIFEST
        assert sink.tag(MANIFEST, f"{OCI}.manifest.v1+json", "") == sha256(MANIFEST)
        lengths = [h.get("Content-Length") for method, _, h in server.asked if method == "PUT"]
        assert lengths[0] == str(len(LAYER))

    def test_a_failed_upload_begins_anew(self, server: Server) -> None:
        started = Answer(202, headers={"Location": "/v2/team/image/blobs/uploads/zero"})
        server.script = [Answer(503), started, Answer(500), started, Answer(cut=0)]
        opened: list[io.BytesIO] = []

        def open_blob() -> io.BytesIO:
            opened.append(io.BytesIO(LAYER))
            return opened[-1]

        server.sink().write(BLOB, open_blob)
        assert server.stored[BLOB.digest] == LAYER
        # What is small is kept meanwhile: it may come from another registry.
        assert len(opened) == 1
        assert all(stream.closed for stream in opened)

    def test_what_the_registry_refuses_ends_with_its_word_and_moves_no_terminal(
        self, server: Server
    ) -> None:
        with pytest.raises(RegistryError, match=r"DIGEST_INVALID") as raised:
            server.sink().write(BLOB, lambda: io.BytesIO(b"y" * len(LAYER)))
        assert "\x1b" not in str(raised.value)

    def test_a_link_that_the_registry_reads_while_another_writes_it_passes(
        self, server: Server
    ) -> None:
        half = Answer(400, b'{"errors":[{"code":"DIGEST_INVALID","message":"not its digest"}]}')
        server.script = [half, half]
        server.sink().tag(MANIFEST, f"{OCI}.manifest.v1+json", "2")
        assert server.stored["2"] == MANIFEST
        assert server.slept == [0.5, 1.0]

    def test_a_manifest_that_stays_refused_ends_with_the_word_of_the_registry(
        self, server: Server
    ) -> None:
        said = b'{"errors":[{"code":"DIGEST_INVALID","message":"not its digest"}]}'
        server.script = [Answer(400, said)] * 4
        with pytest.raises(RegistryError, match=r"4 attempts: .*the manifest: .*DIGEST_INVALID"):
            server.sink().tag(MANIFEST, f"{OCI}.manifest.v1+json", "2")
        server.script = [Answer(412)]
        with pytest.raises(RegistryError, match=r"did not take the manifest: 412"):
            server.sink().tag(MANIFEST, f"{OCI}.manifest.v1+json", "2")

    def test_a_mount_that_the_registry_does_not_do_is_no_error(self, server: Server) -> None:
        assert not server.sink("other/image:1").mount(BLOB, server.source())
        assert server.asked[-1][0] == "DELETE"

    def test_nothing_is_mounted_from_another_registry(self, server: Server) -> None:
        elsewhere = registry.open_source("r.example/team/image:1")
        assert not server.sink().mount(BLOB, elsewhere)
        assert server.asked == []


def basic(handler: BaseHTTPRequestHandler) -> Answer | None:
    if handler.headers.get("Authorization") == Credentials(user="me", password="p:w").basic:  # noqa: S106 - of this test
        return None
    return Answer(401, headers={"WWW-Authenticate": 'Basic realm="here"'})


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".docker").mkdir()
    return tmp_path


def log_in(home: Path, address: str, **entry: object) -> None:
    entry = entry or {"auth": base64.b64encode(b"me:p:w").decode()}
    document = {"auths": {address: entry}}
    (home / ".docker" / "config.json").write_text(json.dumps(document))


class TestCredentials:
    """They come from the Docker configuration, and go to the registry they are for."""

    def test_basic_authentication_is_answered(self, server: Server, home: Path) -> None:
        server.gate = basic
        log_in(home, server.address)
        assert server.source(HOME=str(home)).manifest("linux/amd64")[1] == MANIFEST
        server.sink(HOME=str(home)).write(BLOB, lambda: io.BytesIO(LAYER))

    def test_without_any_the_refusal_says_how_to_log_in(self, server: Server, home: Path) -> None:
        server.gate = basic
        with pytest.raises(RegistryError, match="401") as raised:
            server.source(HOME=str(home)).manifest("linux/amd64")
        assert raised.value.hint.startswith(f"`docker login {server.address}`")

    def test_wrong_ones_are_tried_once(self, server: Server, home: Path) -> None:
        server.gate = basic
        log_in(home, server.address, username="me", password="wrong")  # noqa: S106 - of this test
        with pytest.raises(RegistryError, match="401"):
            server.source(HOME=str(home)).manifest("linux/amd64")
        assert len(server.asked) == 2

    def test_a_token_is_fetched_used_and_renewed(self, server: Server, home: Path) -> None:
        log_in(home, server.address)
        given: list[str] = []
        challenge = (
            f'Bearer realm="http://{server.address}/token",service="the,one",'
            'scope="repository:team/image:pull repository:b:pull"'
        )

        def gate(handler: BaseHTTPRequestHandler) -> Answer | None:
            if handler.path.startswith("/token"):
                assert handler.headers["Authorization"].startswith("Basic ")
                given.append(handler.path)
                return Answer(body=json.dumps({"token": f"t{len(given)}"}).encode())
            if given and handler.headers.get("Authorization") == f"Bearer t{len(given)}":
                return None
            return Answer(401, headers={"WWW-Authenticate": challenge})

        server.gate = gate
        source = server.source(HOME=str(home))
        assert source.manifest("linux/amd64")[1] == MANIFEST
        assert read(source) == LAYER
        assert len(given) == 1
        assert "service=the%2Cone" in given[0]
        assert given[0].count("scope=") == 2
        given.append("as if the first had run out")
        assert read(source) == LAYER
        assert len(given) == 3

    def test_an_identity_token_is_exchanged(self, server: Server, home: Path) -> None:
        log_in(home, server.address, identitytoken="mine")
        seen: list[str] = []

        def gate(handler: BaseHTTPRequestHandler) -> Answer | None:
            if handler.path == "/token":
                seen.append(handler.command)
                return Answer(body=b'{"access_token": "yours"}')
            if handler.headers.get("Authorization") == "Bearer yours":
                return None
            realm = f'Bearer realm="http://{server.address}/token"'
            return Answer(401, headers={"WWW-Authenticate": realm})

        server.gate = gate
        assert read(server.source(HOME=str(home))) == LAYER
        assert seen == ["POST"]

    def test_credentials_are_never_sent_to_another_host_by_a_redirect(
        self, server: Server, home: Path
    ) -> None:
        log_in(home, server.address)
        server.gate = lambda h: (
            basic(h)
            or (
                Answer(307, headers={"Location": f"http://{other.address}{h.path}"})
                if "/blobs/" in h.path
                else None
            )
        )
        with serving() as other:
            assert read(server.source(HOME=str(home))) == LAYER
            assert len(other.asked) == 1
            assert "Authorization" not in other.asked[0][2]
        assert any("Authorization" in headers for _, _, headers in server.asked)

    def test_credentials_are_not_sent_along_when_an_upload_goes_elsewhere(
        self, server: Server, home: Path
    ) -> None:
        log_in(home, server.address)
        with serving() as other:
            place = f"http://{other.address}/v2/team/image/blobs/uploads/one"
            server.gate = lambda h: basic(h) or Answer(202, headers={"Location": place})
            server.sink(HOME=str(home)).write(BLOB, lambda: io.BytesIO(LAYER))
            assert other.stored[BLOB.digest] == LAYER
            assert "Authorization" not in other.asked[0][2]

    def test_a_netrc_is_never_sent(
        self, server: Server, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        netrc = home / "netrc"
        netrc.write_text("machine 127.0.0.1 login me password p:w\n")
        # The library that would send it asks nobody but the environment.
        monkeypatch.setenv("NETRC", str(netrc))
        server.gate = basic
        with pytest.raises(RegistryError, match="401"):
            server.source(HOME=str(home)).manifest("linux/amd64")
        assert not any("Authorization" in headers for _, _, headers in server.asked)

    @pytest.mark.parametrize(
        "location",
        ["http://r.example/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "//:0"],
    )
    def test_a_redirect_to_where_nothing_may_go_is_refused(
        self, server: Server, location: str
    ) -> None:
        server.script = [Answer(307, headers={"Location": location})]
        with pytest.raises(RegistryError, match="leads to"):
            read(server.source())

    @pytest.mark.parametrize("place", ["http://[", "http://r.example/x", "http://127.0.0.1:99999/"])
    def test_an_upload_to_where_nothing_may_go_is_refused(self, server: Server, place: str) -> None:
        server.script = [Answer(202, headers={"Location": place})]
        with pytest.raises(RegistryError, match="leads to"):
            server.sink().write(BLOB, lambda: io.BytesIO(LAYER))

    def test_redirects_without_end_are_refused(self, server: Server) -> None:
        server.script = [Answer(307, headers={"Location": "/v2/a"})] * 20
        with pytest.raises(RegistryError, match="redirects more than 5 times"):
            read(server.source())

    def test_a_token_server_without_encryption_gets_no_password(
        self, server: Server, home: Path
    ) -> None:
        log_in(home, server.address)
        realm = 'Bearer realm="http://tokens.example/token"'
        server.script = [Answer(401, headers={"WWW-Authenticate": realm})]
        with pytest.raises(RegistryError, match="leads to"):
            read(server.source(HOME=str(home)))

    def test_a_helper_is_asked_as_docker_asks_it(self, home: Path) -> None:
        helper = home / "docker-credential-mine"
        helper.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            "assert sys.argv[1:] == ['get'] and sys.stdin.read() == 'r.example'\n"
            "print(json.dumps({'Username': 'me', 'Secret': 's'}))\n"
        )
        helper.chmod(helper.stat().st_mode | stat.S_IXUSR)
        (home / ".docker" / "config.json").write_text('{"credHelpers": {"r.example": "mine"}}')
        found = credentials("r.example", {"HOME": str(home), "PATH": str(home)})
        assert found == Credentials(user="me", password="s")  # noqa: S106 - of this test
        assert credentials("s.example", {"HOME": str(home), "PATH": str(home)}) is None

    @pytest.mark.parametrize(
        ("script", "word"),
        [
            ("echo locked >&2; exit 1", "locked"),
            ("echo rubbish", "no credentials"),
            ("exit 3", "exit status 3"),
        ],
    )
    def test_a_helper_that_fails_is_named(self, home: Path, script: str, word: str) -> None:
        helper = home / "docker-credential-mine"
        helper.write_text(f"#!/bin/sh\n{script}\n")
        helper.chmod(0o755)
        (home / ".docker" / "config.json").write_text('{"credsStore": "mine"}')
        environ = {"HOME": str(home), "PATH": f"{home}:/usr/bin:/bin"}
        with pytest.raises(RegistryError, match=word) as raised:
            credentials("r.example", environ)
        assert "docker-credential-mine" in str(raised.value)

    def test_a_helper_that_knows_nobody_is_no_error(self, home: Path) -> None:
        helper = home / "docker-credential-mine"
        helper.write_text("#!/bin/sh\necho credentials not found in native keychain\nexit 1\n")
        helper.chmod(0o755)
        (home / ".docker" / "config.json").write_text('{"credsStore": "mine"}')
        assert credentials("r.example", {"HOME": str(home), "PATH": f"{home}:/bin"}) is None

    @pytest.mark.parametrize(
        "text",
        [
            *("{", "[]", '{"auths": {"r.example": {"auth": "!"}}}', '{"credsStore": "../x"}'),
            '{"auths": {"r.example": {"auth": "bm8gY29sb24="}}}',
        ],
    )
    def test_a_broken_configuration_is_named_with_its_path(self, home: Path, text: str) -> None:
        (home / ".docker" / "config.json").write_text(text)
        with pytest.raises(InvalidFile, match=r"config\.json"):
            credentials("r.example", {"HOME": str(home), "PATH": str(home)})

    def test_a_folder_of_ones_own_goes_before_the_home(self, home: Path) -> None:
        log_in(home, "r.example")
        found = credentials("r.example", {"DOCKER_CONFIG": str(home / ".docker")})
        assert found == Credentials(user="me", password="p:w")  # noqa: S106 - of this test
        assert credentials("r.example", {}) is None

    def test_a_password_stands_in_no_log(self) -> None:
        assert "p:w" not in repr(Credentials(user="me", password="p:w"))  # noqa: S106 - of this test


def test_plain_http_is_for_loopback_and_for_hosts_that_are_named() -> None:
    def origin(host: str, named: str = "") -> str:
        return Client(host=host, environ={"MXENV_INSECURE_REGISTRIES": named}).origin

    assert origin("localhost:5000") == "http://localhost:5000"
    assert origin("127.0.0.1") == "http://127.0.0.1"
    assert origin("[::1]:5000") == "http://[::1]:5000"
    assert origin("r.example:5000") == "https://r.example:5000"
    assert origin("localhost.r.example") == "https://localhost.r.example"
    assert origin("r.example:5000", "a, r.example") == "http://r.example:5000"
    assert origin("r.example:5000", "r.example:5000") == "http://r.example:5000"
    assert origin("r.example:5000", "r.example:5001") == "https://r.example:5000"


@pytest.mark.parametrize("host", ["localhost:5000", "127.0.0.1:5000"])
def test_loopback_that_has_a_certificate_is_spoken_to_in_tls(tmp_path: Path, host: str) -> None:
    def origin(**named: str) -> str:
        return Client(host=host, environ={"MXENV_CERTS": str(tmp_path), **named}).origin

    assert origin() == f"http://{host}"
    (tmp_path / host).mkdir()
    assert origin() == f"https://{host}"
    assert origin(MXENV_INSECURE_REGISTRIES=host) == f"http://{host}", "said in so many words"


def test_a_server_that_may_want_tls_leads_to_where_its_authority_goes(server: Server) -> None:
    server.script += [Answer(400)]
    with pytest.raises(RegistryError, match="400 Bad Request") as raised:
        server.source().manifest("linux/amd64")
    assert raised.value.hint.endswith(f"certs.d/{server.address}/ca.crt")


def test_the_parameters_of_a_challenge_may_hold_commas_and_quotes() -> None:
    assert pairs(r'realm="http://x/y",scope="a:b,c d:e", error="say \"no\"", bare=1') == {
        "realm": "http://x/y",
        "scope": "a:b,c d:e",
        "error": 'say "no"',
        "bare": "1",
    }
