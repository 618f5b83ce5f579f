"""This machine, asked for what may hang, flood, escape or never end."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import psutil
import pytest

from mxenv.api import nodes
from mxenv.errors import UsageError
from mxenv.facts import Absent, Unreadable
from mxenv.question import (
    NOT_FOUND,
    TIMED_OUT,
    Answers,
    Command,
    Completed,
    Env,
    File,
    Found,
    Given,
    Glob,
    Link,
    Part,
    Question,
    Space,
    Stat,
    Status,
)
from mxenv.transports import Terms, _commands, _outputs
from mxenv.transports._disk import DiskTree
from mxenv.transports._tree import Walker
from mxenv.transports._watched import WatchedTree
from mxenv.transports.local import TRANSPORT, host

if TYPE_CHECKING:
    from mxenv.fingerprint import Fingerprint

NOW = datetime(2026, 1, 7, tzinfo=UTC)
ENV = Terms(allowed=frozenset({("env",)}))
LATE = Unreadable("not answered in time", passing=True)


def ask(*questions: Question, allowed: set[tuple[str, ...]] | None = None) -> Answers:
    with TRANSPORT.open("", Terms(allowed=frozenset(allowed or ()), seconds=60)) as machine:
        return machine.gather(questions)


def run(script: str, seconds: float = 20.0) -> Given:
    command = Command(("bash", "-c", script), seconds)
    return ask(command, allowed={command.argv})[command]


def run_tool(*directories: str) -> Given:
    runner = _commands.Runner(frozenset({("tool",)}), {}, directories)
    return runner.run(Command(("tool",)), 20.0, threading.Event())


def in_memory(file: Path) -> int:
    """Return how many bytes a file of this process takes that lies in memory only."""
    with suppress(OSError):
        if "memfd:" in str(file.readlink()):
            return file.stat().st_blocks * 512
    return 0


def living(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if mark in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


class TestFilesThatAreNone:
    def test_a_fifo_a_socket_and_a_device_are_not_opened(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "fifo")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "socket"))
            (tmp_path / "link").symlink_to("fifo")
            for name, kind in [("fifo", "fifo"), ("socket", "socket"), ("link", "fifo")]:
                question = File(str(tmp_path / name))
                assert ask(question)[question] == Unreadable(f"not a file but a {kind}")
        assert ask(File("/dev/zero"))[File("/dev/zero")] == Unreadable("not a file but a char")

    def test_a_pattern_passes_them_too(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a")
        (tmp_path / "b").write_text("text")
        glob = Glob(f"{tmp_path}/*", Part.WHOLE)
        fifo = (f"{tmp_path}/a", Unreadable("not a file but a fifo"))
        assert ask(glob)[glob] == Found((fifo, (f"{tmp_path}/b", Found("text"))))

    def test_what_is_no_text_is_read_all_the_same(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"\xff\x00caf\xc3\xa9")
        question = File(str(tmp_path / "x"))
        assert ask(question)[question] == Found("\ufffd\0caf\xe9")

    def test_a_name_that_is_no_text_neither_stops_nor_is_lost(self, tmp_path: Path) -> None:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt")).write_text("x")
        glob = Glob(f"{tmp_path}/*.txt", Part.WHOLE)
        assert ask(glob)[glob] == Found(((f"{tmp_path}/\udcff.txt", Found("x")),))

    @pytest.mark.usefixtures("powerless")
    def test_what_may_not_be_read_says_so(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_text("x")
        (tmp_path / "x").chmod(0)
        question = File(str(tmp_path / "x"))
        assert ask(question)[question] == Unreadable("permission denied")

    def test_the_digest_of_a_file_is_its_sha256(self, tmp_path: Path) -> None:
        (tmp_path / "x").write_bytes(b"abc")
        question = File(str(tmp_path / "x"), Part.DIGEST)
        digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        assert ask(question)[question] == Found(digest)


class TestFilesThatAreThere:
    def test_what_the_kernel_tells_is_read_though_it_has_no_size(self) -> None:
        question = File("/proc/sys/kernel/osrelease")
        assert ask(question)[question] == Found(f"{os.uname().release}\n")

    def test_a_link_is_followed_to_its_end(self, tmp_path: Path) -> None:
        (tmp_path / "maca-3.5.3").mkdir()
        (tmp_path / "maca").symlink_to(tmp_path / "maca-3.5.3")
        (tmp_path / "b").symlink_to("maca")
        (tmp_path / "dangling").symlink_to("none")
        answers = ask(Link(f"{tmp_path}/b"), Link(f"{tmp_path}/dangling"))
        assert answers[Link(f"{tmp_path}/b")] == Found(f"{tmp_path}/maca-3.5.3")
        assert answers[Link(f"{tmp_path}/dangling")] == Found(f"{tmp_path}/none")

    def test_a_pattern_matches_as_a_shell_would(self, tmp_path: Path) -> None:
        for name in ("a1", "a2", "b1", ".a3"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "f").touch()
        glob = Glob(f"{tmp_path}/[ab]?/f")
        paths = tuple((f"{tmp_path}/{name}/f", Found("")) for name in ("a1", "a2", "b1"))
        assert ask(glob)[glob] == Found(paths)

    def test_a_pattern_without_a_match_is_absent(self, tmp_path: Path) -> None:
        for pattern in (f"{tmp_path}/x*", f"{tmp_path}/none/*", f"{tmp_path}/x/*/y"):
            assert ask(Glob(pattern))[Glob(pattern)] == Absent()

    def test_the_kind_of_a_link_is_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "x").symlink_to("/")
        answer = ask(Stat(f"{tmp_path}/x"))[Stat(f"{tmp_path}/x")]
        assert isinstance(answer, Found)
        assert answer.value.kind == "link"
        assert ask(Stat("/dev/null"))[Stat("/dev/null")] == Found(Status("char", 0, 0o666))

    def test_free_space_is_told(self) -> None:
        answer = ask(Space("/"))[Space("/")]
        assert isinstance(answer, Found)
        assert answer.value > 0

    def test_a_variable_is_told_and_one_not_set_is_absent(self) -> None:
        answers = host(Terms(), {"A": "1"}).gather([Env("A"), Env("B")])
        assert (answers[Env("A")], answers[Env("B")]) == (Found("1"), Absent())


class TestCommands:
    def test_a_command_answers_with_status_and_both_outputs(self) -> None:
        assert run("echo out; echo err >&2; exit 3") == Completed(3, "out\n", "err\n")

    def test_one_that_is_not_there_is_not_found(self) -> None:
        command = Command(("mxenv-has-no-such-tool",))
        assert ask(command, allowed={command.argv})[command] == Completed(127)

    def test_one_ended_by_a_signal_answers_as_in_a_shell(self) -> None:
        assert run("kill -9 $$") == Completed(137)

    def test_one_that_hangs_is_ended_with_all_that_it_started(self) -> None:
        mark = "98765.4321"
        started = time.monotonic()
        script = (
            f"sleep {mark} & setsid sleep {mark} & (sleep {mark} & sleep {mark}) & "
            f"(setsid sleep {mark} &) ; wait"
        )
        answer = run(f"echo begun; {script}", 0.5)
        assert answer == Completed(TIMED_OUT, "begun\n")
        assert time.monotonic() - started < 10
        time.sleep(0.2)
        assert living(mark) == []

    def test_what_one_that_is_through_has_left_behind_is_ended(self) -> None:
        mark = "76543.2109"
        script = f"sleep {mark} & setsid sleep {mark} & (setsid sleep {mark} &)"
        assert run(f"{script} ; env -i setsid sleep {mark} & echo done") == Completed(0, "done\n")
        assert living(mark) == []

    def test_one_whose_child_keeps_its_output_open_does_not_hold_us(self) -> None:
        started = time.monotonic()
        assert run("sleep 5 & echo done") == Completed(0, "done\n")
        assert time.monotonic() - started < 4

    def test_one_that_prints_for_ever_is_stopped_and_is_no_answer(self) -> None:
        assert run("yes") == Unreadable("it printed too much")

    def test_of_one_that_prints_more_than_is_kept_the_beginning_is(self) -> None:
        answer = run(f"head -c {_outputs.OUTPUT_LIMIT + 9} /dev/zero")
        assert answer == Completed(0, "\0" * _outputs.OUTPUT_LIMIT)

    def test_what_one_prints_that_writes_as_fast_as_it_can_is_not_held(self) -> None:
        held = [0]
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                held.append(sum(map(in_memory, Path("/proc/self/fd").iterdir())))
                time.sleep(0.002)

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert run("cat /dev/zero >&2") == Unreadable("it printed too much")
        done.set()
        watcher.join()
        assert max(held) <= _outputs.FLOOD

    def test_one_that_opens_its_output_once_more_is_heard(self) -> None:
        assert run("echo one >/dev/stdout") == Completed(0, "one\n")
        assert run("echo one; echo two >>/dev/stderr") == Completed(0, "one\n", "two\n")

    def test_one_that_leaves_in_silence_is_ended(self) -> None:
        mark = "65432.1098"
        silent = f"env -i setsid -f sleep {mark} </dev/null >/dev/null 2>&1"
        assert run(f"{silent}; echo done") == Completed(0, "done\n")
        assert run(f"{silent}; sleep {mark}", 0.5).returncode == TIMED_OUT
        assert living(mark) == []

    def test_one_that_asks_is_answered_by_nothing(self) -> None:
        assert run("cat; echo end") == Completed(0, "end\n")

    def test_a_slow_one_holds_up_no_other(self) -> None:
        slow = [Command(("bash", "-c", f"sleep 0.{n}9; echo {n}")) for n in range(4, 9)]
        started = time.monotonic()
        answers = ask(*slow, File("/etc/os-release"), allowed={c.argv for c in slow})
        assert time.monotonic() - started < 2.5
        assert [answers[command] for command in slow] == [
            Completed(0, f"{n}\n") for n in range(4, 9)
        ]

    def test_nothing_of_the_callers_environment_is_loaded(self) -> None:
        environment = {
            "PATH": "/evil",
            "LD_PRELOAD": "/evil.so",
            "PYTHONPATH": "/evil",
            "LC_ALL": "de_DE.UTF-8",
            "LD_LIBRARY_PATH": "/evil:/opt/maca/lib::/opt/maca-3.5.3/lib:/opt/maca/../../evil:.",
            "MACA_PATH": "/evil",
            "HF_TOKEN": "x",
        }
        command = Command(("env",))
        answer = host(ENV, environment).gather([command])[command]
        assert isinstance(answer, Completed)
        told = dict(line.split("=", 1) for line in answer.stdout.splitlines())
        assert "/evil" not in answer.stdout
        assert told.keys() == {"PATH", "LC_ALL", "TERM", "LD_LIBRARY_PATH", "MXENV_RUNS"}
        assert told["LD_LIBRARY_PATH"] == "/opt/maca/lib:/opt/maca-3.5.3/lib"

    def test_the_vendors_own_directory_is_told(self) -> None:
        command = Command(("env",))
        answer = host(ENV, {"MACA_PATH": "/opt/maca"}).gather([command])[command]
        assert isinstance(answer, Completed)
        assert "MACA_PATH=/opt/maca\n" in answer.stdout

    def test_a_tool_that_may_not_be_run_is_not_missing(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "tool").touch(mode=0o600)
        answer = run_tool(f"{tmp_path}/sub", str(tmp_path))
        # Not for want of rights: root may not run it either.
        assert answer == Unreadable("cannot be run: nobody may execute it")
        (tmp_path / "sub/tool").write_text("#!/bin/sh\necho it runs\n", encoding="utf-8")
        (tmp_path / "sub/tool").chmod(0o700)
        answer = run_tool(str(tmp_path), f"{tmp_path}/sub")
        assert answer == Completed(0, "it runs\n")

    def test_a_folder_of_the_tools_name_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "tool").mkdir()
        answer = run_tool(str(tmp_path))
        assert answer == Completed(NOT_FOUND)

    def test_a_file_that_is_no_program_cannot_be_run(self, tmp_path: Path) -> None:
        (tmp_path / "tool").write_text("no program")
        (tmp_path / "tool").chmod(0o755)
        answer = run_tool(str(tmp_path))
        assert answer == Unreadable("cannot be run: exec format error")

    @pytest.mark.parametrize(
        ("argv", "may"),
        [
            (("mx-smi", "-i", "0"), True),
            (("mx-smi", "-i", "12"), True),
            (("mx-smi", "-i", "0;reboot"), False),
            (("mx-smi", "-i", "-1"), False),
            (("mx-smi", "-i", "\u0663"), False),
            (("mx-smi", "-i"), False),
            (("mx-smi", "-i", "0", "--flr"), False),
        ],
    )
    def test_a_hole_in_an_argv_takes_a_number_and_nothing_else(
        self, argv: tuple[str, ...], *, may: bool
    ) -> None:
        assert _commands.permitted(argv, frozenset({("mx-smi", "-i", "{index}")})) is may

    def test_what_runs_is_ended_when_nobody_waits_for_it(self) -> None:
        mark = "87654.3210"
        command = Command(("sleep", mark), seconds=60)
        terms = Terms(allowed=frozenset({command.argv}))
        thread = threading.Thread(target=host(terms, {}).gather, args=([command],))
        thread.start()
        while not living(mark):
            time.sleep(0.02)
        terms.stop.set()
        thread.join(5)
        assert not thread.is_alive()
        assert living(mark) == []


class Stuck(DiskTree):
    """Some of its files answer never."""

    def lstat(self, path: str) -> Status | None:
        if path.startswith("/stuck"):
            time.sleep(20)
        return super().lstat(path)


class TestAQuestionThatHangs:
    def test_it_costs_itself_only(self) -> None:
        stuck = [File(f"/stuck/{n}") for n in range(6)]
        fine = [Stat(f"/none/{n}") for n in range(6)]
        machine = replace(host(Terms(seconds=6), {}), walker=Walker(Stuck()))
        started = time.monotonic()
        answers = machine.gather([*stuck, *fine])
        assert time.monotonic() - started < 6
        assert [answers[question] for question in stuck] == [LATE] * 6
        assert [answers[question] for question in fine] == [Absent()] * 6

    def test_it_leaves_time_for_what_is_asked_next(self) -> None:
        machine = replace(host(Terms(seconds=4), {}), walker=Walker(Stuck()))
        machine.gather([File("/stuck")])
        assert machine.gather([Stat("/none")])[Stat("/none")] == Absent()

    def test_commands_that_hang_leave_time_for_others(self) -> None:
        hanging = [Command(("sleep", f"7{n}"), seconds=60) for n in range(9)]
        fine = Command(("uname", "-s"))
        terms = Terms(allowed=frozenset(c.argv for c in (*hanging, fine)), seconds=6)
        machine = host(terms, {})
        started = time.monotonic()
        answers = machine.gather([*hanging, fine])
        machine.end()
        assert time.monotonic() - started < 6
        assert [answers[command] for command in hanging] == [LATE] * 9
        assert answers[fine] == Completed(0, "Linux\n")

    def test_once_time_is_over_nothing_is_begun(self) -> None:
        question, command = File("/etc/os-release"), Command(("env",))
        machine = host(Terms(allowed=ENV.allowed, seconds=0), {})
        answers = machine.gather([question, command])
        assert (answers[question], answers[command]) == (LATE, LATE)

    def test_a_file_without_an_end_ends_with_the_time(self) -> None:
        class Endless(DiskTree):
            def open(self, path: str) -> BinaryIO:  # noqa: ARG002 - the signature is the tree's
                return Path("/dev/zero").open("rb")

        question = File("/etc/os-release", Part.DIGEST)
        machine = host(Terms(seconds=1), {})
        walker = Walker(WatchedTree(Endless(), machine.watch))
        before = threading.active_count()
        assert replace(machine, walker=walker).gather([question])[question] == LATE
        time.sleep(0.7)
        assert threading.active_count() == before

    def test_one_that_breaks_us_costs_itself_only(self) -> None:
        class Broken(DiskTree):
            def lstat(self, path: str) -> Status | None:
                raise RuntimeError(path)

        machine = replace(host(Terms(), {}), walker=Walker(Broken()))
        answers = machine.gather([File("/a"), Env("A")])
        assert isinstance(answers[File("/a")], Unreadable)
        assert answers[Env("A")] == Absent()


def test_nothing_follows_the_address_of_this_machine() -> None:
    with pytest.raises(UsageError, match="nothing follows it"), TRANSPORT.open("x", Terms()):
        pass


def test_one_machine_probed_twice_has_one_fingerprint() -> None:
    def digests() -> Fingerprint:
        return nodes.fingerprint_of(nodes.probe(now=NOW))

    # A busy machine may not answer in time; then there is no digest, and it is asked again.
    told = [found for found in (digests() for _ in range(6)) if found.stack is not None]
    assert len(told) > 1
    assert len(set(told)) == 1
