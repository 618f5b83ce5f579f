from __future__ import annotations

import gc
import inspect
import time
from typing import TYPE_CHECKING

import pytest

from mxenv import _plugins
from mxenv.errors import HostUnreachable, MxenvError
from mxenv.facts import Absent, Unreadable, View
from mxenv.question import (
    Command,
    Completed,
    Env,
    File,
    Found,
    Glob,
    Link,
    Part,
    Question,
    Space,
    Stat,
    Status,
    Symbols,
)
from mxenv.transports import Terms, _shell
from mxenv.transports._shell_pipe import ProcessPipe

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mxenv.probe import Host
    from mxenv.transports import Transport

MAIN = 'schema = "mxenv.recording/1"\nnode = "n"\ntaken_at = 2026-01-07T00:00:00Z\n'
FORBIDDEN = Command(("rm", "-rf", "/nowhere"))
ALL: tuple[Question, ...] = (
    File("/etc/os-release"),
    File("/none"),
    File("/fifo"),
    File("/etc"),
    File("/loop"),
    File("relative"),
    File("/nul\0nul"),
    File("/etc/os-release", Part.ELF),
    Symbols("/etc/os-release", ("/none",)),
    Glob("/none/*"),
    Glob("/loop/*"),
    Link("/loop"),
    Stat("/none"),
    Space("/none"),
    Env("MXENV_NOT_THERE"),
    FORBIDDEN,
)


def transports() -> dict[str, Transport]:
    return {name: _plugins.load("transports", name) for name in _plugins.names("transports")}


@pytest.fixture(params=sorted(transports()))
def transport(request: pytest.FixtureRequest) -> Transport:
    return transports()[request.param]


@pytest.fixture(params=["local", "recording", "root", "shell"])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Host]:
    if request.param == "shell":
        # What ssh and docker reach, without either.
        pipe = ProcessPipe(["sh"])
        with _shell.opened(pipe, Terms(), deadline=time.monotonic() + 20) as host:
            yield host
        return
    root = tmp_path / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc/os-release").write_text("ID=debian\n")
    (root / "loop").symlink_to("loop")
    (tmp_path / "recording.toml").write_text(MAIN)
    rest = {"local": "", "recording": str(tmp_path), "root": str(root)}[request.param]
    with transports()[request.param].open(rest, Terms()) as host:
        yield host


def test_a_transport_says_what_it_reaches_and_how(transport: Transport) -> None:
    assert transport.title
    assert list(inspect.signature(transport.open).parameters) == ["rest", "terms"]


def test_an_address_that_cannot_be_is_an_error_that_says_so(transport: Transport) -> None:
    with pytest.raises(MxenvError) as raised, transport.open("/none/such\x07", Terms()):
        pass
    assert raised.value.message


def test_every_question_has_an_answer_whatever_it_is(host: Host) -> None:
    answers = host.gather(ALL)
    assert list(answers) == list(ALL)
    assert host.name
    assert host.view in View


def test_what_is_not_on_the_list_is_never_run(host: Host) -> None:
    assert isinstance(host.gather([FORBIDDEN])[FORBIDDEN], Unreadable)


def test_a_loop_of_links_ends(host: Host) -> None:
    answers = host.gather([File("/loop"), Link("/loop")])
    for question in answers:
        assert not isinstance(answers[question], Found | Completed)


def test_asking_nothing_is_answered_by_nothing(host: Host) -> None:
    assert list(host.gather([])) == []


def test_asking_twice_gives_the_same_answer(host: Host) -> None:
    stable = [question for question in ALL if not isinstance(question, Space)]
    assert host.gather(stable) == host.gather(stable)


def test_the_content_of_a_file_is_the_answer(host: Host) -> None:
    question = File("/etc/os-release")
    answer = host.gather([question])[question]
    assert isinstance(answer, Found)
    assert "ID=debian" in answer.value


def test_a_directory_is_one(host: Host) -> None:
    answer = host.gather([Stat("/etc")])[Stat("/etc")]
    assert isinstance(answer, Found)
    assert answer.value == Status("directory", answer.value.size, answer.value.mode)


def test_what_is_not_there_is_never_found(host: Host) -> None:
    answers = host.gather([File("/none"), Stat("/none"), Link("/none"), Glob("/none/*")])
    for question in answers:
        assert isinstance(answers[question], Absent | Unreadable)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_a_file_larger_than_wanted_is_cut_or_refused_as_asked(host: Host, limit: int) -> None:
    head, whole = (File("/etc/os-release", part, limit) for part in (Part.HEAD, Part.WHOLE))
    answers = host.gather([head, whole])
    found = answers[head]
    assert isinstance(found, Found)
    assert len(found.value) == limit
    assert answers[whole] == Unreadable(f"larger than {limit} bytes")


def test_an_engine_that_does_not_listen_is_unreachable_and_leaves_no_socket_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/engine.sock")
    with (
        pytest.raises(HostUnreachable, match="no container engine answers"),
        transports()["docker"].open("x", Terms()),
    ):
        pass
    gc.collect()  # warns of what was left open, and a warning is an error
