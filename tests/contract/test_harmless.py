"""Nothing is run on any node, in any way, that is not on the list; and root is never needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mxenv import _plugins
from mxenv.api import nodes
from mxenv.facts import Unreadable
from mxenv.question import Command
from mxenv.transports import Terms
from mxenv.transports._commands import DIRECTORIES, permitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mxenv.probe import Host
    from mxenv.transports import Transport

MAIN = 'schema = "mxenv.recording/1"\nnode = "n"\ntaken_at = 2026-01-07T00:00:00Z\n'
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "csh", "fish", "busybox", "env", "xargs", "eval"}
INTERPRETERS = {"python", "python3", "perl", "ruby", "node", "lua", "awk", "sed", "find", "vi"}
POWERS = {"sudo", "su", "doas", "pkexec", "runuser", "nsenter", "chroot", "mount", "modprobe"}
CHANGES = {
    "rm",
    "mv",
    "cp",
    "dd",
    "tee",
    "kill",
    "reboot",
    "systemctl",
    "insmod",
    "rmmod",
    "setpci",
}
HOLE = re.compile(r"\{\w+\}")


def transports() -> dict[str, Transport]:
    return {name: _plugins.load("transports", name) for name in _plugins.names("transports")}


class TestTheList:
    def test_it_is_data_and_nothing_else(self) -> None:
        allowed = nodes.allowed()
        assert allowed
        assert all(type(entry) is tuple for entry in allowed)
        assert all(type(word) is str and word for entry in allowed for word in entry)

    def test_a_tool_is_named_or_lies_where_only_root_puts_one(self) -> None:
        paths = [entry[0] for entry in nodes.allowed() if "/" in entry[0]]
        assert [path for path in paths if not path.startswith(("/usr/", "/opt/"))] == []
        assert [path for path in paths if os.path.normpath(path) != path or HOLE.search(path)] == []

    def test_nothing_on_it_runs_something_else_or_gains_power(self) -> None:
        tools = {entry[0] for entry in nodes.allowed()}
        assert tools & (SHELLS | INTERPRETERS | POWERS | CHANGES) == set()

    def test_nothing_on_it_means_anything_to_a_shell(self) -> None:
        words = [HOLE.sub("", word) for entry in nodes.allowed() for word in entry]
        assert [word for word in words if re.search(r"[;&|`<>\n]|\$\(", word)] == []

    def test_every_question_of_a_probe_is_on_it(self) -> None:
        for probe in nodes.probes():
            for question in probe.questions:
                if isinstance(question, Command):
                    assert permitted(question.argv, nodes.allowed())


class TestTheInterpreterOfANode:
    """Only whoever asks for operators has one run, with one script, and that is mxenv's own."""

    def test_nobody_has_one_run_without_asking(self) -> None:
        for options in ({}, {"deep": "yes"}, {"python": "/opt/venv"}, {"load": "os"}):
            assert nodes.demanded(options) == frozenset()

    def test_what_is_demanded_is_one_script_and_what_it_is_to_import(self) -> None:
        options = {"operators": "yes", "python": "/opt/venv\n/b/bin/python3.11\nrelative\n/c/$(id)"}
        script = ("-I", "-B", "-c", "@operators")
        assert nodes.demanded({"operators": "yes"}) == {("{python}", *script)}
        assert nodes.demanded(options) == {
            ("/opt/venv/bin/python3", *script),
            ("/b/bin/python3.11", *script),
            ("/c/$(id)/bin/python3", *script),  # a folder of that name: no shell sees it
        }
        loaded = nodes.demanded({**options, "load": "flag_gems:enable\nos.system:(x)\n-c\n"})
        assert {argv[4:] for argv in loaded} == {("@operators", "flag_gems:enable")}

    def test_the_script_is_what_lies_in_the_package_and_no_other_text(self) -> None:
        from mxenv import _scripts  # noqa: PLC0415 - only here

        allowed = nodes.demanded({"operators": "yes"})
        for text in ("import os", _scripts.text("@operators"), "@other", "@operators "):
            assert not permitted(("/opt/venv/bin/python3", "-I", "-B", "-c", text), allowed)
        assert _scripts.filled(("-c", "@operators"))[1] == _scripts.text("@operators")
        assert _scripts.filled(("@other", "-c")) == ("@other", "-c")

    @pytest.mark.parametrize(
        "path",
        [
            "python3",
            "bin/python3",
            "/usr/bin/touch",
            "/opt/../mnt/bin/python3",
            "/mnt/bin/python3;id",
            "/opt/bin/python3.11.1",
            "/opt/bin/python3 -c",
            "/opt/x\n/bin/python3",
            "/opt/bin/python3\n",
            "{python}",
            "",
        ],
    )
    def test_what_is_no_interpreter_stands_for_none(self, path: str) -> None:
        assert not permitted((path, "-c"), frozenset({("{python}", "-c")}))

    def test_an_interpreter_by_its_whole_path_does(self) -> None:
        for path in ("/usr/bin/python3", "/opt/conda/bin/python", "/bin/python3.12"):
            assert permitted((path, "-c"), frozenset({("{python}", "-c")}))


words = st.sampled_from(
    [
        "mx-smi",
        "-i",
        "0",
        "12",
        "-1",
        "0;touch",
        "$(id)",
        "--flr",
        "",
        " ",
        "\n",
        "٣",
        "{index}",
        "*",
    ]
)


@given(st.lists(words, min_size=1, max_size=4).map(tuple))
def test_an_argv_is_permitted_only_word_by_word(argv: tuple[str, ...]) -> None:
    allowed = frozenset({("mx-smi",), ("mx-smi", "-i", "{index}")})
    number = len(argv) == 3 and argv[2].isascii() and argv[2].isdigit()
    assert permitted(argv, allowed) is (
        argv == ("mx-smi",) or (argv[:2] == ("mx-smi", "-i") and number)
    )


@contextmanager
def shell(folder: Path, terms: Terms) -> Iterator[Host]:
    """What ssh: and docker: talk to, without either of them."""
    del folder
    from mxenv.transports import _shell, _shell_pipe  # noqa: PLC0415 - where there is one

    pipe = _shell_pipe.ProcessPipe(["sh"])
    with _shell.opened(pipe, terms, deadline=time.monotonic() + 60) as host:
        yield host


def opened(scheme: str) -> Callable[[Path, Terms], object]:
    def open_(folder: Path, terms: Terms) -> object:
        rest = {
            "local": "",
            "recording": str(folder / "recorded"),
            "root": str(folder / "root"),
            "report": str(folder / "report.md"),
        }[scheme]
        return transports()[scheme].open(rest, terms)

    return open_


WAYS: dict[str, Callable[[Path, Terms], object]] = {
    **{name: opened(name) for name in ("local", "recording", "root", "report")},
    "shell": shell,
}


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("harmless")
    (folder / "root/etc").mkdir(parents=True)
    (folder / "recorded").mkdir()
    (folder / "recorded/recording.toml").write_text(MAIN, encoding="utf-8")
    (folder / "report.md").write_text("$ uname -a\nLinux n 5.15.0 x86_64\n", encoding="utf-8")
    return folder


def forbidden(witness: Path) -> list[tuple[str, ...]]:
    """Return what would leave a trace if it were run, in every disguise."""
    return [
        ("touch", str(witness)),
        ("/usr/bin/touch", str(witness)),
        ("../../usr/bin/touch", str(witness)),
        ("sh", "-c", f"touch {witness}"),
        (f"touch {witness}",),
        ("uname", f"-s; touch {witness}"),
        ("uname", "-s", ";", "touch", str(witness)),
        ("uname", f"$(touch {witness})"),
        ("uname", f"`touch {witness}`"),
        ("uname", "-s\ntouch", str(witness)),
        ("uname", f"'; touch {witness} #"),
        ("uname", "{index}"),
        ("mx-smi", "-i", "0", "--flr"),
        ("env", "touch", str(witness)),
        ("/usr/bin/python3", "-c", f"open('{witness}', 'w')"),
        ("/usr/bin/python3", "-I", "-B", "-c", "@operators"),
        ("uname",),
        ("",),
        (),
    ]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_outside_the_list_is_run_by_any_transport(
    way: str, places: Path, tmp_path: Path
) -> None:
    witness = tmp_path / "witness"
    asked = [Command(argv, 5.0) for argv in forbidden(witness)]
    terms = Terms(allowed=frozenset({("uname", "-s"), ("mx-smi", "-i", "{index}")}))
    with ExitStack() as stack:
        host = stack.enter_context(WAYS[way](places, terms))  # type: ignore[arg-type]
        answers = host.gather(asked)
    assert [command.argv for command in asked if not unreadable(answers[command])] == []
    assert not witness.exists()


def unreadable(answer: object) -> bool:
    return isinstance(answer, Unreadable)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_without_a_list_nothing_at_all_is_run(way: str, places: Path, words: list[str]) -> None:
    command = Command(tuple(words), 5.0)
    with ExitStack() as stack:
        host = stack.enter_context(WAYS[way](places, Terms()))  # type: ignore[arg-type]
        assert unreadable(host.gather([command])[command])


def test_every_way_to_a_node_is_covered_here() -> None:
    silent = {"image", "oci", "docker-archive"}  # which have no running node at all
    covered = {"local", "recording", "root", "report"} | {"ssh", "docker"}  # by the shell
    assert set(transports()) <= silent | covered


WATCHED = """
import json, os, sys
started = []
def hook(event, arguments):
    if event == "subprocess.Popen":
        started.append(list(map(os.fspath, arguments[1])))
    elif event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"):
        started.append([event])
    elif event == "open" and isinstance(arguments[0], str) and arguments[0] != os.devnull:
      if arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        started.append(["writes", str(arguments[0])])
sys.addaudithook(hook)
from datetime import datetime, UTC
from mxenv.api import nodes
snapshot = nodes.probe("local:", now=datetime.now(UTC))
print(json.dumps(started))
print(len(snapshot.facts))
"""
"""A probe of this machine under the eyes of Python itself."""


def test_a_probe_of_this_machine_starts_what_is_on_the_list_and_writes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-B", "-c", WATCHED],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    started, count = map(json.loads, done.stdout.splitlines())
    assert count
    for tool, *options in started:
        folder, _, name = tool.rpartition("/")
        known = folder in DIRECTORIES and permitted((name, *options), nodes.allowed())
        assert known or permitted((tool, *options), nodes.allowed())


@pytest.mark.usefixtures("powerless")
def test_root_is_never_needed() -> None:
    """Whoever has no rights at all gets an answer to everything, and is told what needs more."""
    command = [sys.executable, "-m", "mxenv", "probe", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    reasons = [fact.get("reason", "") for fact in json.loads(done.stdout)["facts"]]
    denied = [reason for reason in reasons if "permission denied" in reason]
    assert [reason for reason in denied if "needs root" not in reason] == []
