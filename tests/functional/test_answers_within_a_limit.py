"""Files and images take as long as they take, unless somebody says how long that may be."""

from __future__ import annotations

import socketserver
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event
from typing import TYPE_CHECKING, BinaryIO

import _layouts
import pytest

from mxenv.api import nodes
from mxenv.errors import HostUnreachable
from mxenv.facts import Observed, Unreadable
from mxenv.question import File, Found
from mxenv.stores import layout
from mxenv.transports import Terms, _layers

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from mxenv.stores import Descriptor, Source

NOW = datetime(2026, 1, 7, tzinfo=UTC)
NOTHING = nodes.Wanted(seconds=1e-9)
ENOUGH = nodes.Wanted(seconds=60.0)


def test_a_root_that_is_given_no_time_is_not_known_for_a_passing_reason(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\n")
    late = nodes.probe(f"root:{tmp_path}", now=NOW, wanted=NOTHING)
    assert late.reading("os.id") == Unreadable("not answered in time", passing=True)
    assert nodes.fingerprint_of(late).stack is None
    for wanted in (nodes.USUAL, ENOUGH):
        fine = nodes.probe(f"root:{tmp_path}", now=NOW, wanted=wanted)
        assert fine.reading("os.id") == Observed("debian")


def test_an_image_of_which_only_a_part_could_be_read_is_not_known_at_all(tmp_path: Path) -> None:
    layout = _layouts.image(tmp_path / "x", [_layouts.file("etc/os-release", "ID=debian\n")])
    with pytest.raises(HostUnreachable, match="not be read in time"):
        nodes.probe(f"oci:{layout}", now=NOW, wanted=NOTHING)
    for wanted in (nodes.USUAL, ENOUGH):
        fine = nodes.probe(f"oci:{layout}", now=NOW, wanted=wanted)
        assert fine.reading("os.id") == Observed("debian")


@dataclass
class Stopping:
    """An image for which nobody waits any more once blobs were opened for the last time."""

    source: Source
    stop: Event
    blobs: int

    @property
    def name(self) -> str:
        return self.source.name

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        return self.source.manifest(platform)

    def has(self, digest: str) -> bool:
        return self.source.has(digest)

    def blob(self, descriptor: Descriptor) -> AbstractContextManager[BinaryIO]:
        if not self.blobs:
            self.stop.set()
        self.blobs -= 1
        return self.source.blob(descriptor)


def stopping(path: Path, entry: _layouts.Entry, *, after: int) -> tuple[Stopping, Terms]:
    made = _layouts.image(path, [entry])
    terms = Terms(stop=Event())
    # The configuration is a blob as well.
    return Stopping(layout.open_source(str(made)), terms.stop, after + 1), terms


def test_a_layer_without_a_single_file_ends_in_time_as_well(tmp_path: Path) -> None:
    source, terms = stopping(tmp_path / "x", _layouts.folder("etc"), after=0)
    with _layers.opened(source, terms) as host, pytest.raises(HostUnreachable, match="in time"):
        host.gather([File("/etc/os-release")])


def test_reading_layers_again_ends_in_time_as_well(tmp_path: Path) -> None:
    source, terms = stopping(tmp_path / "x", _layouts.file("etc/os-release", "x"), after=1)
    with _layers.opened(source, terms) as host:
        host.gather([File("/etc/other")])
        with pytest.raises(HostUnreachable, match="in time"):
            host.gather([File("/etc/os-release")])


def test_layers_may_be_read_again_as_long_as_there_is_time(tmp_path: Path) -> None:
    source, terms = stopping(tmp_path / "x", _layouts.file("etc/os-release", "x"), after=2)
    question = File("/etc/os-release")
    with _layers.opened(source, terms) as host:
        host.gather([File("/etc/other")])
        assert host.gather([question])[question] == Found("x")


@pytest.mark.parametrize("silent", [True, False])
def test_a_registry_that_says_nothing_and_one_that_never_ends_are_left_in_time(
    *, silent: bool
) -> None:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Silent if silent else Dripping) as one:
        one.daemon_threads = True
        threading.Thread(target=one.serve_forever, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(HostUnreachable, match="in time"):
            nodes.probe(
                f"image:127.0.0.1:{one.server_address[1]}/x:1",
                now=NOW,
                wanted=nodes.Wanted(seconds=0.5),
            )
        assert time.monotonic() - began < 3
        one.shutdown()


class Silent(socketserver.BaseRequestHandler):
    """A server that takes a question and never says a word."""

    said = b""
    then = b""

    def handle(self) -> None:
        self.request.recv(1 << 16)
        self.request.sendall(self.said)
        with suppress(OSError):
            for _ in range(100):
                self.request.sendall(self.then)
                time.sleep(0.1)


class Dripping(Silent):
    """One that goes on saying a little."""

    said = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
    then = b"{"
