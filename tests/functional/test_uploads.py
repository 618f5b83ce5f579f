"""A blob gets into a registry over a line that breaks, and never as another than it is."""

from __future__ import annotations

import io
import socket
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _layouts import sha256
from _misbehaving import BLOB, LAYER, Answer, serving

from mxenv.errors import LayoutError, RegistryError
from mxenv.stores import Descriptor, registry
from mxenv.stores._client import Client

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _misbehaving import Server

CHUNK = 100_000
"""Five of them are the blob."""
PLACE = "/v2/team/image/blobs/uploads/one"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


class Stream(io.RawIOBase):
    """A blob that comes from elsewhere: nobody can go back in it."""

    def __init__(self, content: bytes = LAYER) -> None:
        super().__init__()
        self.content = io.BytesIO(content)
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        taken = self.content.readinto(buffer)
        self.taken += taken
        return taken


class Opened:
    """Counts how often a blob is opened, and what is read of it."""

    def __init__(self, content: bytes = LAYER) -> None:
        self.content = content
        self.streams: list[Stream] = []

    def __call__(self) -> Stream:
        self.streams.append(Stream(self.content))
        return self.streams[-1]


def write(server: Server, content: bytes = LAYER) -> Opened:
    opened = Opened(content)
    replace(server.sink(), chunk=CHUNK).write(BLOB, opened)
    return opened


def asked(server: Server) -> str:
    return " ".join(method for method, _, _ in server.asked)


def ranges(server: Server) -> list[str]:
    return [h["Content-Range"] for method, _, h in server.asked if method == "PATCH"]


class TestPieces:
    """A large blob goes piece by piece, each once."""

    def test_all_of_them_are_put_together(self, server: Server) -> None:
        opened = write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert asked(server) == "POST PATCH PATCH PATCH PATCH PATCH PUT"
        assert ranges(server)[:2] == ["0-99999", "100000-199999"]
        assert [h.get("Content-Length") for m, _, h in server.asked if m == "PUT"] == ["0"]
        assert [stream.taken for stream in opened.streams] == [len(LAYER)]
        assert all(stream.closed for stream in opened.streams)

    def test_the_place_that_each_answer_names_is_the_next_one(self, server: Server) -> None:
        write(server)
        places = [path for method, path, _ in server.asked if method == "PATCH"]
        assert places[1:3] == [f"{PLACE}?at=100000", f"{PLACE}?at=200000"]

    def test_a_registry_may_want_larger_ones(self, server: Server) -> None:
        headers = {"Location": PLACE, "OCI-Chunk-Min-Length": "300000"}
        server.script = [Answer(202, headers=headers)]
        write(server)
        assert ranges(server) == ["0-299999", "300000-499999"]

    def test_a_registry_that_wants_very_large_ones_gets_all_at_once(self, server: Server) -> None:
        headers = {"Location": PLACE, "OCI-Chunk-Min-Length": "9" * 20}
        server.script = [Answer(202, headers=headers)]
        write(server)
        assert asked(server) == "POST DELETE POST PUT"
        assert server.stored[BLOB.digest] == LAYER

    @pytest.mark.parametrize("status", [400, 404, 405, 411, 413, 501])
    def test_a_registry_that_takes_none_gets_all_at_once(self, server: Server, status: int) -> None:
        server.script = [Answer(202, headers={"Location": PLACE}), Answer(status)]
        write(server)
        assert asked(server) == "POST PATCH DELETE POST PUT"
        assert server.stored[BLOB.digest] == LAYER

    def test_a_piece_that_is_half_taken_is_completed(self, server: Server) -> None:
        def half(_: object) -> Answer:
            server.pieces += LAYER[:50_000]
            return Answer(202, headers={"Location": PLACE, "Range": "0-49999"})

        server.script = [Answer(202, headers={"Location": PLACE}), half]
        opened = write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert ranges(server)[:3] == ["0-99999", "50000-99999", "100000-199999"]
        assert len(opened.streams) == 1


class TestAFault:
    """It costs an attempt, and only what had not arrived."""

    def test_a_broken_piece_goes_on_where_it_broke(self, server: Server) -> None:
        server.cuts = [30_000]
        opened = write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert ranges(server)[:3] == ["0-99999", "30000-99999", "100000-199999"]
        assert asked(server).startswith("POST PATCH GET PATCH PATCH")
        # The piece was kept: nothing was read twice.
        assert [stream.taken for stream in opened.streams] == [len(LAYER)]
        assert server.slept == [0.5]

    def test_each_piece_may_break_a_few_times(self, server: Server) -> None:
        server.cuts = [10_000] * 3
        write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert server.slept == [0.5, 1.0, 2.0]

    def test_a_piece_that_always_breaks_ends_with_status_6(self, server: Server) -> None:
        server.cuts = [10] * 9
        with pytest.raises(RegistryError, match="gave up after 4 attempts: ") as raised:
            write(server)
        assert raised.value.exit_code == 6
        assert len(ranges(server)) == 4

    @pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
    def test_a_passing_refusal_of_a_piece_is_overcome(self, server: Server, status: int) -> None:
        place = Answer(202, headers={"Location": PLACE})
        server.script = [place, Answer(status, headers={"Retry-After": "3"})]
        write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert server.slept == [3.0]

    def test_a_lasting_one_ends_with_the_last_word(self, server: Server) -> None:
        said = b'{"errors":[{"code":"TOOMANYREQUESTS","message":"not now"}]}'
        place = Answer(202, headers={"Location": PLACE})
        server.script = [place, Answer(503), *[Answer(429, said)] * 9]
        with pytest.raises(RegistryError, match=r"4 attempts: 429 .*TOOMANYREQUESTS: not now$"):
            write(server)

    def test_a_registry_that_forgot_the_upload_gets_it_anew(self, server: Server) -> None:
        server.cuts = [30_000]
        gone = Answer(404, b'{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN","message":"unknown"}]}')
        place = Answer(202, headers={"Location": PLACE})
        server.script = [place, gone]
        opened = write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert asked(server).startswith("POST PATCH GET POST PATCH")
        assert len(opened.streams) == 1

    def test_a_registry_that_lost_what_it_had_gets_it_again(self, server: Server) -> None:
        def lose(_: object) -> Answer:
            del server.pieces[50_000:]
            return Answer(503)

        def begin(_: object) -> Answer:
            server.script = [take, take, lose]
            return Answer(202, headers={"Location": PLACE})

        def take(handler: object) -> Answer:
            at = len(server.pieces)
            server.pieces += LAYER[at : at + CHUNK]
            headers = {"Location": PLACE, "Range": f"0-{at + CHUNK - 1}"}
            assert handler
            return Answer(202, headers=headers)

        server.script = [begin]
        opened = write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert "50000-149999" in ranges(server)
        # What lies before the piece that was kept has to be read again.
        assert len(opened.streams) == 2

    @pytest.mark.parametrize("told", ["0-999999999", "7-99999", "rubbish", "0-", "0-" + "9" * 40])
    def test_a_registry_that_has_more_than_was_sent_gets_it_anew(
        self, server: Server, told: str
    ) -> None:
        place = Answer(202, headers={"Location": PLACE})
        server.script = [place, Answer(202, headers={"Location": PLACE, "Range": told})]
        write(server)
        assert server.stored[BLOB.digest] == LAYER

    def test_a_piece_at_another_place_than_the_registry_has_is_asked_about(
        self, server: Server
    ) -> None:
        def take(_: object) -> Answer:
            server.pieces += LAYER[:CHUNK]
            return Answer(416)

        server.script = [Answer(202, headers={"Location": PLACE}), take]
        write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert ranges(server)[:2] == ["0-99999", "100000-199999"]

    def test_an_end_whose_answer_is_lost_is_an_end_all_the_same(self, server: Server) -> None:
        def end(_: object) -> Answer:
            server.stored[BLOB.digest] = LAYER
            return Answer(cut=0)

        gone = Answer(404)
        server.gate = lambda h: (
            (end if not server.stored else lambda _: gone)(h) if h.command == "PUT" else None
        )
        write(server)
        assert asked(server).endswith("PUT GET PUT HEAD")

    def test_pieces_that_do_not_make_the_blob_are_sent_once_more(self, server: Server) -> None:
        def twisted(_: object) -> Answer:
            server.pieces[:4] = b"ABCD"
            return Answer(503)

        server.script = [
            Answer(202, headers={"Location": PLACE}),
            lambda h: twisted(h) if server.pieces.extend(LAYER[:CHUNK]) is None else Answer(),
        ]
        write(server)
        assert server.stored[BLOB.digest] == LAYER
        assert asked(server).count("POST") == 2

    def test_a_blob_that_is_another_is_refused_with_the_word_of_the_registry(
        self, server: Server
    ) -> None:
        with pytest.raises(RegistryError, match=r"did not take.*DIGEST_INVALID"):
            write(server, b"y" * len(LAYER))
        assert asked(server).count("POST") == 1

    @pytest.mark.parametrize("content", [LAYER[:-1], LAYER + b"!", b""])
    def test_a_blob_of_another_size_is_an_error_and_is_not_waited_for(
        self, server: Server, content: bytes
    ) -> None:
        with pytest.raises(LayoutError, match=r"has .* bytes"):
            write(server, content)
        with pytest.raises(LayoutError, match=r"has .* bytes"):
            server.sink().write(BLOB, lambda: io.BytesIO(content))
        assert BLOB.digest not in server.stored

    @pytest.mark.parametrize("content", [LAYER[:-1], LAYER + b"!", b""])
    def test_nor_is_it_where_all_goes_at_once(self, server: Server, content: bytes) -> None:
        headers = {"Location": PLACE, "OCI-Chunk-Min-Length": "9" * 20}
        server.script = [Answer(202, headers=headers)]
        with pytest.raises(LayoutError, match=r"has .* bytes"):
            write(server, content)
        assert BLOB.digest not in server.stored

    def test_a_registry_that_stores_another_digest_is_not_believed(self, server: Server) -> None:
        wrong = Answer(201, headers={"Docker-Content-Digest": sha256(b"another")})
        for size in (CHUNK, len(LAYER)):
            server.gate = lambda h: wrong if h.command == "PUT" else None
            with pytest.raises(RegistryError, match=rf"stored {sha256(b'another')} for"):
                replace(server.sink(), chunk=size).write(BLOB, lambda: io.BytesIO(LAYER))

    def test_a_refusal_of_a_piece_says_how_to_log_in(self, server: Server) -> None:
        server.script = [Answer(202, headers={"Location": PLACE}), Answer(403)]
        with pytest.raises(RegistryError, match="403 Forbidden") as raised:
            write(server)
        assert "docker login" in raised.value.hint


class TestASlowRegistry:
    """It has time, as long as something moves."""

    def test_one_that_says_nothing_costs_attempts_and_ends(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            host = f"127.0.0.1:{listener.getsockname()[1]}"
            slept: list[float] = []
            client = Client(host=host, environ={}, sleep=slept.append, stall=0.05)
            sink = registry.open_sink(f"{host}/a", client=client)
            with pytest.raises(RegistryError, match=r"4 attempts: no answer within 0\.05 s"):
                sink.write(BLOB, lambda: io.BytesIO(LAYER))
            assert len(slept) == 3

    def test_a_blob_that_takes_long_but_never_stops_arrives(self) -> None:
        data = b"x" * 10
        blob = Descriptor(media_type="x", digest=sha256(data), size=len(data))
        with socket.create_server(("127.0.0.1", 0)) as listener:
            thread = threading.Thread(target=_drip, args=(listener, data), daemon=True)
            thread.start()
            host = f"127.0.0.1:{listener.getsockname()[1]}"
            client = Client(host=host, environ={}, stall=1.0)
            with registry.open_source(f"{host}/a", client=client).blob(blob) as stream:
                assert stream.read() == data
            thread.join()


def _drip(listener: socket.socket, data: bytes) -> None:
    """Answer one request, one byte after another: in all longer than a stall may last."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(data)}\r\n\r\n".encode())
        wait = threading.Event()
        for byte in data:
            wait.wait(0.15)
            connection.sendall(bytes([byte]))
