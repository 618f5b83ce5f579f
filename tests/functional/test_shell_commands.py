"""What is run through a shell on a node ends in time, all of it, and costs nothing but itself."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mxenv.facts import Unreadable
from mxenv.question import TIMED_OUT, Command, Completed, File, Found
from mxenv.transports import Terms, _shell
from mxenv.transports._outputs import OUTPUT_LIMIT
from mxenv.transports._shell_pipe import ProcessPipe
from mxenv.transports._shell_talk import Item, Lost

if TYPE_CHECKING:
    from collections.abc import Iterator

SHELLS = {
    "dash": ["dash"],
    "bash": ["bash", "--posix"],
    "busybox": ["busybox", "sh"],
    "mksh": ["mksh"],
}
PATIENCE = 10.0


@pytest.fixture(params=sorted(SHELLS))
def argv(request: pytest.FixtureRequest) -> list[str]:
    argv = SHELLS[request.param]
    if not shutil.which(argv[0]):
        pytest.skip(f"no program {argv[0]}")
    return argv


def tool(folder: Path, text: str, name: str = "tool") -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@contextmanager
def shell(argv: list[str], *commands: Command, seconds: float = 20.0) -> Iterator[_shell.ShellHost]:
    terms = Terms(allowed=frozenset(command.argv for command in commands))
    with _shell.opened(ProcessPipe(argv), terms, deadline=time.monotonic() + seconds) as host:
        yield host


def ran(argv: list[str], *commands: Command, seconds: float = 20.0) -> list[object]:
    with shell(argv, *commands, seconds=seconds) as host:
        answers = host.gather(commands)
    return [answers[command] for command in commands]


def processes(sign: str) -> list[int]:
    """Return the processes that have ``sign`` among their arguments or variables."""
    found = []
    for name in (path.name for path in Path("/proc").iterdir()):
        for what in ("cmdline", "environ") if name.isdigit() else ():
            try:
                if sign.encode() in Path(f"/proc/{name}/{what}").read_bytes():
                    found.append(int(name))
            except OSError:
                continue
    return [number for number in found if number != os.getpid()]


def nothing_is_left(sign: str) -> bool:
    deadline = time.monotonic() + PATIENCE
    while processes(sign) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes(sign)


def test_a_command_tells_its_status_and_both_its_outputs(argv: list[str], tmp_path: Path) -> None:
    path = tool(tmp_path, "printf 'out\\nput'; echo error >&2; exit 3")
    assert ran(argv, Command((path,))) == [Completed(3, "out\nput", "error\n")]


def test_arguments_arrive_as_they_are(argv: list[str], tmp_path: Path) -> None:
    path = tool(tmp_path, "printf '%s|' \"$@\"")
    arguments = ("a b", "$(touch x)", "'", '"', "\n", "*", "", "-n", "ümläut", "\\n")
    command = Command((path, *arguments))
    assert ran(argv, command) == [Completed(0, "".join(f"{one}|" for one in arguments))]


def test_bytes_that_are_no_text_are_replaced(argv: list[str], tmp_path: Path) -> None:
    path = tool(tmp_path, r"printf 'a\0b\377\n\001'")
    assert ran(argv, Command((path,))) == [Completed(0, "a\0b\ufffd\n\x01")]


def test_what_is_not_on_the_list_is_never_run(argv: list[str], tmp_path: Path) -> None:
    path = tool(tmp_path, f"touch {tmp_path}/ran")
    refused = Command((path, "x"))
    with shell(argv, Command((path,))) as host:
        assert isinstance(host.gather([refused])[refused], Unreadable)
    assert not (tmp_path / "ran").exists()


def test_a_tool_is_found_in_known_places_only(argv: list[str], tmp_path: Path) -> None:
    tool(tmp_path, "echo mine", "getconf")
    tool(tmp_path, "echo mine", "no-such-tool")
    given = ["env", f"PATH={tmp_path}:/usr/bin:/bin", *argv]
    known, unknown = Command(("getconf", "PATH")), Command(("no-such-tool",))
    answers = ran(given, known, unknown)
    assert answers[0] == Completed(0, "/bin:/usr/bin\n")
    assert answers[1] == Completed(127)


def test_what_cannot_be_run_is_no_tool_that_is_missing(argv: list[str], tmp_path: Path) -> None:
    (tmp_path / "text").write_text("x")
    (tmp_path / "text").chmod(0o755)
    (tmp_path / "closed").write_text("x")
    (tmp_path / "closed").chmod(0o644)
    (tmp_path / "lost").write_text("#!/none/such\n")
    (tmp_path / "lost").chmod(0o755)
    names = ("closed", "lost")
    answers = ran(argv, *(Command((str(tmp_path / name),)) for name in names))
    # Not for want of rights: root may not run it either.
    assert answers[0] == Unreadable("cannot be run: nobody may execute it")
    for answer in answers:
        assert isinstance(answer, Unreadable)
        assert answer.reason.startswith("cannot be run: ")
        assert not answer.passing


def test_the_environment_is_clean(argv: list[str]) -> None:
    given = [
        *("env", "LD_PRELOAD=/none.so", "PYTHONPATH=/x", "SECRET=1", "MACA_PATH=/opt/maca-3"),
        *("LD_LIBRARY_PATH=/home/x:/opt/maca/lib:/opt/maca/../../tmp", *argv),
    ]
    (answer,) = ran(given, Command(("env",)))
    assert isinstance(answer, Completed)
    variables = dict(line.split("=", 1) for line in answer.stdout.splitlines())
    assert variables.pop("MXENV_RUNS")
    assert variables.pop("PATH").startswith("/usr/local/sbin:")
    assert variables == {
        "LC_ALL": "C",
        "TERM": "dumb",
        "MACA_PATH": "/opt/maca-3",
        "LD_LIBRARY_PATH": "/opt/maca/lib",
    }


def test_several_run_at_once_and_none_waits_for_a_slow_one(argv: list[str], tmp_path: Path) -> None:
    slow = [Command((tool(tmp_path, "sleep 1; echo $0", f"slow{n}"),)) for n in range(6)]
    file = File("/etc/hostname")
    began = time.monotonic()
    with shell(argv, *slow) as host:
        answers = host.gather([*slow, file])
    assert time.monotonic() - began < 4
    assert isinstance(answers[file], Found)
    assert [answers[one] for one in slow] == [Completed(0, f"{one.argv[0]}\n") for one in slow]


def test_what_hangs_is_ended_with_all_it_started(argv: list[str], tmp_path: Path) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    path = tool(
        tmp_path,
        f"export {sign}=1; echo before; echo why >&2; (sleep 300 & sleep 301) & "
        f"setsid sleep 302 & env -i {sign}=1 sleep 303 & trap '' TERM; sleep 304",
    )
    good = Command((tool(tmp_path, "echo good", "good"),))
    began = time.monotonic()
    hanging, fine = ran(argv, Command((path,), seconds=1.0), good)
    assert hanging == Completed(TIMED_OUT, "before\n", "why\n")
    assert fine == Completed(0, "good\n")
    assert time.monotonic() - began < 6
    assert nothing_is_left(sign)


def test_what_a_command_leaves_behind_is_ended_too(argv: list[str], tmp_path: Path) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    path = tool(tmp_path, f"export {sign}=1; echo said; setsid sleep 300 &")
    assert ran(argv, Command((path,))) == [Completed(0, "said\n")]
    assert nothing_is_left(sign)


def test_a_flood_does_not_cross_the_wire(argv: list[str], tmp_path: Path) -> None:
    path = tool(tmp_path, "exec head -c 1073741824 /dev/zero")
    began = time.monotonic()
    (answer,) = ran(argv, Command((path,)))
    assert answer == Unreadable("it printed too much")
    assert time.monotonic() - began < 6


@pytest.mark.parametrize("size", [1, 15, 16, 17, 4096, 100_003, OUTPUT_LIMIT - 1, OUTPUT_LIMIT])
def test_an_output_arrives_whole(argv: list[str], tmp_path: Path, size: int) -> None:
    path = tool(tmp_path, f"head -c {size} /dev/zero | tr '\\0' x; head -c 99 /dev/zero >&2")
    others = [Command((tool(tmp_path, f"yes {n} | head -n 9999", f"n{n}"),)) for n in range(3)]
    answers = ran(argv, Command((path,)), *others)
    assert answers[0] == Completed(0, "x" * size, "\0" * 99)
    assert answers[1:] == [Completed(0, f"{n}\n" * 9999) for n in range(3)]


def test_what_is_not_through_when_time_is_over_is_unreadable_for_now(
    argv: list[str], tmp_path: Path
) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    hanging = Command((tool(tmp_path, f"export {sign}=1; sleep 300", "hang"),), seconds=60.0)
    good = Command((tool(tmp_path, "echo good", "good"),))
    began = time.monotonic()
    answers = ran(argv, hanging, good, seconds=3.0)
    assert time.monotonic() - began < 4.5
    assert answers == [Unreadable("not answered in time", passing=True), Completed(0, "good\n")]
    assert nothing_is_left(sign)


def test_nobody_waits_once_told_to_stop(argv: list[str], tmp_path: Path) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    hanging = Command((tool(tmp_path, f"export {sign}=1; sleep 300"),), seconds=60.0)
    terms = Terms(allowed=frozenset({hanging.argv}))
    began = time.monotonic()
    with _shell.opened(ProcessPipe(argv), terms, deadline=began + 30) as host:
        terms.stop.set()
        assert host.gather([hanging])[hanging] == Unreadable("not answered in time", passing=True)
    assert time.monotonic() - began < 3
    assert nothing_is_left(sign)


def test_a_second_round_goes_to_the_same_shell(argv: list[str], tmp_path: Path) -> None:
    path = tool(tmp_path, "echo $PPID")
    command = Command((path,))
    with shell(argv, command) as host:
        first = host.gather([File("/proc/self/stat")])[File("/proc/self/stat")]
        assert host.gather([command])[command].returncode == 0
        second = host.gather([File("/proc/self/stat")])[File("/proc/self/stat")]
    assert isinstance(first, Found)
    assert isinstance(second, Found)
    assert first.value.split()[0] == second.value.split()[0]


def test_a_shell_that_died_costs_what_was_not_answered_and_says_so(argv: list[str]) -> None:
    with shell(argv) as host:
        known = host.gather([File("/proc/self/stat")])[File("/proc/self/stat")]
        assert isinstance(known, Found)
        os.kill(int(known.value.split()[0]), signal.SIGKILL)
        answer = host.gather([File("/etc/passwd")])[File("/etc/passwd")]
    assert isinstance(answer, Unreadable)
    assert answer.passing
    assert "answers no more" in answer.reason


def test_a_node_that_nobody_tells_to_end_ends_by_itself(argv: list[str], tmp_path: Path) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    hanging = Command((tool(tmp_path, f"export {sign}=1; setsid sleep 300 & sleep 300"),), 60.0)
    with shell(argv, hanging, seconds=2.0) as host:
        known = host.gather([File("/proc/self/stat")])[File("/proc/self/stat")]
        assert isinstance(known, Found)
        assert isinstance(host.gather([hanging])[hanging], Unreadable)
        os.kill(int(known.value.split()[0]), signal.SIGKILL)
        assert processes(sign)
    assert nothing_is_left(sign)


def test_nothing_is_left_of_the_shell_itself(argv: list[str]) -> None:
    with shell(argv) as host:
        session = host.talk.session
        host.gather([File("/etc/passwd")])
    assert nothing_is_left(session)


@pytest.mark.parametrize("said", ["echo hello", "exit 3", "cat >/dev/null; exit 1"])
def test_what_is_no_shell_is_said_to_be_none(said: str) -> None:
    with pytest.raises(Lost), shell(["sh", "-c", said], seconds=2.0):
        pass


def test_noise_before_the_first_word_is_skipped(argv: list[str], tmp_path: Path) -> None:
    noise = "head -c 300000 /dev/urandom; echo; seq 5000; echo 'to error' >&2; exec \"$@\""
    with shell([tool(tmp_path, noise), *argv]) as host:
        assert isinstance(host.gather([File("/etc/passwd")])[File("/etc/passwd")], Found)


def test_what_hangs_while_files_are_looked_at_costs_no_others(argv: list[str]) -> None:
    sign = f"30{int.from_bytes(os.urandom(3), 'big')}"
    items = [
        Item("printf one"),
        Item(f"printf begun; sleep {sign}", silent=0.5),
        Item("printf three"),
        Item(f"sleep {sign}", silent=0.5),
        Item("printf five"),
    ]
    began = time.monotonic()
    with shell(argv) as host:
        came = list(host.talk.ask(items, ":"))
        assert isinstance(host.gather([File("/etc/passwd")])[File("/etc/passwd")], Found)
    assert time.monotonic() - began < 5
    texts = [None if sections is None else sections[""] for sections in came]
    assert texts == [b"one", None, b"three", None, b"five"]
    assert nothing_is_left(f"sleep\0{sign}")
