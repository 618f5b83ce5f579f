"""A container answers through its shell, or through the engine if it has none or does not run."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import _busybox
import pytest

from mxenv.errors import HostUnreachable, UsageError
from mxenv.facts import Absent, Unreadable, View
from mxenv.question import (
    TIMED_OUT,
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
)
from mxenv.transports import Terms, docker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mxenv.question import Answers

NOW = datetime(2026, 1, 7, tzinfo=UTC)
FILES = {
    "etc/os-release": b'ID=tiny\nVERSION_ID="1"\n',
    "opt/odd/two words": b"1",
    "opt/odd/line\nbreak": b"\xff\0x",
    "opt/odd/-n": b"",
    "opt/big": b"x" * 3_000_000,
}
VARIABLES = ("MACA_PATH=/opt/maca", "EMPTY=", "ODD=a b'c")
UNAME, SLEEP = Command(("uname", "-s")), Command(("sleep", "1234"), seconds=0.5)
TERMS = Terms(allowed=frozenset({UNAME.argv, SLEEP.argv}))
ASKED: tuple[Question, ...] = (
    File("/etc/os-release"),
    File("/none"),
    File("/opt"),
    File("/bin/none/x"),
    File("/opt/big"),
    File("/opt/big", Part.HEAD, 10),
    File("/opt/big", Part.DIGEST),
    Glob("/opt/odd/*"),
    Glob("/opt/odd/*", Part.WHOLE),
    Glob("/opt/none/*"),
    Link("/opt/../bin/busybox"),
    Stat("/bin/busybox"),
    Stat("/opt/odd/-n"),
    Stat("/none"),
    Env("MACA_PATH"),
    Env("EMPTY"),
    Env("ODD"),
    Env("NOT_THERE"),
)


def call(*argv: str) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def images(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    if reason := _busybox.missing():
        pytest.fail(reason, pytrace=False)
    folder = tmp_path_factory.mktemp("images")
    made = {}
    for name, shell in (("shell", True), ("bare", False)):
        path = folder / f"{name}.tar"
        _busybox.write(path, FILES, shell=shell)
        changes = [part for line in VARIABLES for part in ("--change", f"ENV {quoted(line)}")]
        made[name] = call(engine, "import", *changes, str(path))
    yield made
    call(engine, "rmi", "--force", *made.values())


def quoted(line: str) -> str:
    name, _, value = line.partition("=")
    return f'{name}="{value}"'


@pytest.fixture
def containers(engine: str, images: dict[str, str]) -> Iterator[dict[str, str]]:
    mark = os.urandom(4).hex()
    command = ("/bin/busybox", "sleep", "600")
    names = {name: f"mxenv-{name}-{mark}" for name in ("shell", "bare", "stopped", "paused")}
    options = ("--network", "none", "--init=false")
    try:
        for name in ("shell", "bare"):
            call(engine, "run", "-d", *options, "--name", names[name], images[name], *command)
        call(engine, "create", *options, "--name", names["stopped"], images["shell"], *command)
        call(engine, "run", "-d", *options, "--name", names["paused"], images["shell"], *command)
        call(engine, "pause", names["paused"])
        yield names
    finally:
        subprocess.run([engine, "rm", "-f", *names.values()], capture_output=True, check=False)


def ask(name: str, *questions: Question) -> Answers:
    with docker.TRANSPORT.open(name, TERMS) as host:
        assert host.view is View.CONTAINER
        assert host.name == name
        return host.gather(questions)


@pytest.mark.parametrize("kind", ["shell", "bare", "stopped", "paused"])
def test_files_and_variables_are_told_whatever_the_container_can(
    containers: dict[str, str], kind: str
) -> None:
    answers = ask(containers[kind], *ASKED)
    assert answers[File("/etc/os-release")] == Found('ID=tiny\nVERSION_ID="1"\n')
    assert answers[File("/none")] == answers[File("/bin/none/x")] == Absent()
    assert answers[File("/opt")] == Unreadable("not a file but a directory")
    assert answers[File("/opt/big")] == Unreadable("larger than 1048576 bytes")
    assert answers[File("/opt/big", Part.HEAD, 10)] == Found("x" * 10)
    odd = ("/opt/odd/-n", "/opt/odd/line\nbreak", "/opt/odd/two words")
    assert answers[Glob("/opt/odd/*")] == Found(tuple((path, Found("")) for path in odd))
    contents = ("", "\ufffd\0x", "1")
    assert answers[Glob("/opt/odd/*", Part.WHOLE)] == Found(
        tuple((path, Found(text)) for path, text in zip(odd, contents, strict=True))
    )
    assert answers[Glob("/opt/none/*")] == Absent()
    assert answers[Link("/opt/../bin/busybox")] == Found("/bin/busybox")
    program = answers[Stat("/bin/busybox")]
    assert isinstance(program, Found)
    assert (program.value.kind, program.value.mode) == ("file", 0o755)
    assert answers[Stat("/opt/odd/-n")] == Found(Status("file", 0, 0o644))
    assert answers[Env("MACA_PATH")] == Found("/opt/maca")
    assert answers[Env("EMPTY")] == Found("")
    assert answers[Env("ODD")] == Found("a b'c")
    assert answers[Env("NOT_THERE")] == Absent()


def test_a_container_that_runs_runs_commands_and_ends_them(
    engine: str, containers: dict[str, str]
) -> None:
    answers = ask(containers["shell"], UNAME, SLEEP, Space("/"), File("/proc/self/comm"))
    assert answers[UNAME] == Completed(0, "Linux\n")
    assert answers[SLEEP] == Completed(TIMED_OUT)
    assert isinstance(answers[Space("/")], Found)
    assert answers[File("/proc/self/comm")] == Found("sh\n")
    deadline = time.monotonic() + 5
    while len(running(engine, containers["shell"])) > 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert running(engine, containers["shell"]) == ["/bin/busybox sleep 600"]


def running(engine: str, name: str) -> list[str]:
    told = call(engine, "top", name, "-o", "pid,args").splitlines()[1:]
    return [line.split(maxsplit=1)[1] for line in told]


@pytest.mark.parametrize(
    ("kind", "why"),
    [("bare", "has no shell"), ("stopped", "does not run"), ("paused", "is paused")],
)
def test_what_only_a_shell_could_tell_is_unreadable_and_says_so(
    containers: dict[str, str], kind: str, why: str
) -> None:
    answers = ask(containers[kind], UNAME, Space("/"), File("/proc/version"), Stat("/sys/bus"))
    for question in answers:
        answer = answers.given[question]
        assert isinstance(answer, Unreadable)
        assert why in answer.reason


def test_a_shared_object_is_read_where_its_bytes_are_handed_out(
    containers: dict[str, str],
) -> None:
    question = File("/bin/busybox", Part.ELF)
    answer = ask(containers["stopped"], question)[question]
    assert isinstance(answer, Found)
    assert "needed" in answer.value
    assert isinstance(ask(containers["shell"], question)[question], Unreadable)


def test_a_running_and_a_stopped_container_of_one_image_have_the_same_files(
    containers: dict[str, str],
) -> None:
    links = Glob("/bin/[a-m]*", Part.LINK)
    running, stopped = (ask(containers[kind], *ASKED, links) for kind in ("shell", "stopped"))
    assert running == stopped


def test_a_container_that_is_not_there_cannot_be_asked(engine: str) -> None:
    del engine
    with pytest.raises(HostUnreachable, match="no such container") as caught:
        ask("mxenv-none-such")
    assert "docker-archive:" in caught.value.hint
    with pytest.raises(UsageError):
        ask("")


def test_a_container_that_is_removed_meanwhile_is_no_bug(
    engine: str, containers: dict[str, str]
) -> None:
    def late(argv: str) -> None:
        call(engine, "rm", "-f", argv)

    for pause in (0.0, 0.05, 0.1, 0.2):
        name = f"{containers['shell']}-{pause}"
        call(engine, "run", "-d", "--network", "none", "--name", name, *made(engine, containers))
        remover = threading.Timer(pause, late, [name])
        remover.start()
        with suppress(HostUnreachable):
            ask(name, *ASKED)
        remover.join()


def made(engine: str, containers: dict[str, str]) -> tuple[str, ...]:
    image = call(engine, "inspect", "-f", "{{.Image}}", containers["shell"])
    return (image, "/bin/busybox", "sleep", "600")


def test_an_engine_that_does_not_answer_is_no_container_that_is_missing(
    mxenv: object, tmp_path: Path
) -> None:
    assert callable(mxenv)
    given = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = mxenv("probe", "--on", "docker:x", env=given)
    assert done.returncode == 4
    assert "no container engine answers" in done.stderr
    assert "DOCKER_HOST" in done.stderr
    assert "Traceback" not in done.stderr
