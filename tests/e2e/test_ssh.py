"""A node behind a real sshd is seen as it sees itself; one that cannot be reached says why."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import _sshd
import pytest

from mxenv.facts import Unreadable
from mxenv.question import TIMED_OUT, Command, Completed, Env, File, Found
from mxenv.transports import Terms, _shell, ssh
from mxenv.transports._shell_pipe import ProcessPipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from subprocess import CompletedProcess

    from _chain import Run
    from _sshd import Sshd

NOW = datetime(2026, 1, 7, tzinfo=UTC)
BINARY = ("elf.", "python.package.altered")
"""What a shell does not read."""
HOSTNAME = File("/proc/sys/kernel/hostname")


@contextmanager
def opened(server: Sshd, config: Path | None = None, **terms: object) -> Iterator[_shell.ShellHost]:
    """Open the node as the transport does, with a configuration of our own."""
    seconds = terms.get("seconds", 15.0)
    allowed = terms.get("allowed", frozenset())
    assert isinstance(seconds, float)
    assert isinstance(allowed, frozenset)
    argv = ssh.command(ssh.parse("node"), seconds, server.environment(config))
    asked = Terms(allowed=allowed, seconds=seconds)
    deadline = time.monotonic() + seconds
    with _shell.opened(ProcessPipe(argv), asked, deadline=deadline) as host:
        yield host


@pytest.fixture
def probe(mxenv: Run, sshd: Sshd) -> Callable[..., CompletedProcess[str]]:
    def run(*arguments: str, config: Path | None = None) -> CompletedProcess[str]:
        return mxenv(*arguments, env=sshd.environment(config))

    return run


def stable(snapshot: dict[str, object], keys: dict[str, object]) -> dict[str, list[str]]:
    """Return the facts that do not change by themselves, without what a shell cannot read."""
    facts: dict[str, list[str]] = {}
    listed = snapshot["facts"]
    assert isinstance(listed, list)
    for fact in listed:
        name = fact["key"]
        if not name.startswith(BINARY) and keys.get(name) and not fact.get("volatile"):
            place = f"{name}[{fact.get('instance', '')}]"
            facts.setdefault(place, []).append(json.dumps(fact, sort_keys=True))
    return {place: sorted(told) for place, told in facts.items()}


def lasting() -> dict[str, object]:
    """Return the names of facts that do not change by themselves."""
    from mxenv.api import nodes  # noqa: PLC0415 - loads every probe

    return {key.name: not key.volatile for key in nodes.keys().values()}


def test_a_node_is_the_same_through_ssh_as_on_itself(
    probe: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    keys = lasting()
    told = []
    for number, address in enumerate(("local:", "ssh:node", "local:")):
        path = tmp_path / f"{number}.json"
        done = probe("probe", "--on", address, "--timeout", "60", "--out", str(path))
        assert done.returncode == 0, done.stderr
        told.append(json.loads(path.read_text()))
    assert told[0]["node"] == told[1]["node"]
    before, there, after = (stable(snapshot, keys) for snapshot in told)
    # Other programs of this machine come and go meanwhile.
    same = {place: facts for place, facts in before.items() if after.get(place) == facts}
    assert len(same) > 20
    assert {place: there.get(place) for place in same} == same
    assert {place for place in there if place not in before and place not in after} == set()


def test_a_recording_over_ssh_replays_to_the_same_snapshot(
    probe: Callable[..., CompletedProcess[str]], tmp_path: Path
) -> None:
    recorded = tmp_path / "recorded"
    done = probe("record", "--on", "ssh:node", "--out", str(recorded), "--format", "json")
    assert done.returncode == 0, done.stderr
    texts = []
    for name in ("first.json", "second.json"):
        path = tmp_path / name
        done = probe("probe", "--on", f"recording:{recorded}", "--out", str(path))
        assert done.returncode == 0, done.stderr
        texts.append(path.read_text())
    assert texts[0] == texts[1]
    assert len(json.loads(texts[0])["facts"]) > 20


@pytest.mark.parametrize(
    ("address", "changes", "says"),
    [
        ("ssh:nobody@node", {}, ("Permission denied", "add a key")),
        ("ssh:node", {"UserKnownHostsFile": "/dev/null"}, ("verification failed", "connect once")),
        ("ssh:127.0.0.1:1", {}, ("Connection refused", "running there")),
        ("ssh:none.invalid", {}, ("none.invalid", "is the name right")),
        ("ssh:node", {"ProxyCommand": "false"}, ("onnection closed", "try it with ssh")),
        ("ssh:node", {"NoSuchOption": "yes"}, ("configuration option", "mend the configuration")),
    ],
)
def test_a_node_that_cannot_be_reached_says_why_and_what_to_do(
    probe: Callable[..., CompletedProcess[str]],
    sshd: Sshd,
    address: str,
    changes: dict[str, str],
    says: tuple[str, str],
) -> None:
    done = probe("probe", "--on", address, config=sshd.variant("changed", **changes))
    assert done.returncode == 4
    assert [text for text in says if text not in done.stderr] == []
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "address", ["ssh:", "ssh:-oProxyCommand=touch x", "ssh:-v", "ssh:-l@node", "ssh:a b", "ssh:::1"]
)
def test_an_address_that_ssh_would_misunderstand_is_refused(
    probe: Callable[..., CompletedProcess[str]], address: str
) -> None:
    done = probe("probe", "--on", address)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_login_that_says_much_is_listened_to_from_the_first_word_of_the_shell(
    tmp_path: Path, sshd: Sshd
) -> None:
    del sshd  # it is required where this one is
    banner = tmp_path / "banner"
    banner.write_text("Unauthorised access is\nwelcome here\n" * 50)
    login = tmp_path / "login"
    login.write_text(
        "#!/bin/bash\nseq 20000; head -c 100000 /dev/urandom; echo oops >&2\n"
        'eval "$SSH_ORIGINAL_COMMAND"\n'
    )
    login.chmod(0o755)
    folder = tmp_path / "server"
    folder.mkdir()
    server = _sshd.serve(folder, f"Banner {banner}", f"ForceCommand {login}")
    with server as noisy, opened(noisy) as host:
        assert isinstance(host.gather([HOSTNAME])[HOSTNAME], Found)


@pytest.mark.parametrize(
    ("login", "says"),
    [
        ("echo This account is not available; exit 1", "This account is not available"),
        ("sleep 20", "no answer within 2."),
        ("cat >/dev/null", "no answer within 2."),
    ],
)
def test_a_node_whose_login_leads_to_no_shell_cannot_be_asked(
    mxenv: Run, sshd: Sshd, tmp_path: Path, login: str, says: str
) -> None:
    del sshd
    folder = tmp_path / "server"
    folder.mkdir()
    began = time.monotonic()
    with _sshd.serve(folder, f"ForceCommand {login}") as other:
        done = mxenv("probe", "--on", "ssh:node", "--timeout", "3", env=other.environment())
    assert done.returncode == 4
    assert says in done.stderr
    assert time.monotonic() - began < 8


def test_a_connection_that_others_share_is_used_and_left_alone(sshd: Sshd) -> None:
    config = sshd.variant(
        "shared", ControlMaster="auto", ControlPath=f"{sshd.folder}/control", ControlPersist="60"
    )
    try:
        for _ in range(2):
            began = time.monotonic()
            with opened(sshd, config) as host:
                assert isinstance(host.gather([HOSTNAME])[HOSTNAME], Found)
            assert time.monotonic() - began < 6
            assert (sshd.folder / "control").exists()
    finally:
        end = ["ssh", "-F", str(config), "-O", "exit", "node"]
        subprocess.run(end, capture_output=True, check=False)


def test_what_a_login_sets_is_what_is_told_of_the_environment(sshd: Sshd) -> None:
    with opened(sshd) as host:
        answer = host.gather([Env("SSH_CONNECTION")])[Env("SSH_CONNECTION")]
    assert isinstance(answer, Found)
    assert answer.value.startswith("127.0.0.1 ")


def processes(sign: str) -> list[str]:
    found = []
    for path in Path("/proc").iterdir():
        for name in ("environ", "cmdline") if path.name.isdigit() else ():
            try:
                if sign.encode() in (path / name).read_bytes() and path.name != str(os.getpid()):
                    found.append(path.name)
            except OSError:
                continue
    return found


def nothing_is_left(sign: str) -> bool:
    deadline = time.monotonic() + 10
    while processes(sign) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not processes(sign)


def hanging(folder: Path, sign: str) -> Command:
    path = folder / "hang"
    path.write_text(f"#!/bin/sh\nexport {sign}=1\nsetsid sleep 300 & sleep 301\n")
    path.chmod(0o755)
    return Command((str(path),), seconds=1.0)


def test_no_process_is_left_on_the_node_after_a_time_limit(sshd: Sshd, tmp_path: Path) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    command = hanging(tmp_path, sign)
    with opened(sshd, allowed=frozenset({command.argv})) as host:
        assert host.gather([command])[command] == Completed(TIMED_OUT)
        session = host.talk.session
    assert nothing_is_left(sign)
    assert nothing_is_left(session)


@pytest.mark.parametrize("whose", ["client", "server"])
def test_a_connection_that_breaks_costs_what_is_missing_and_leaves_nothing(
    sshd: Sshd, tmp_path: Path, whose: str
) -> None:
    sign = f"MXENV_TEST_{os.urandom(6).hex()}"
    command = Command(hanging(tmp_path, sign).argv, seconds=60.0)

    def cut(end: int) -> None:
        while not processes(sign):
            time.sleep(0.02)
        os.kill(end, signal.SIGKILL)

    with opened(sshd, allowed=frozenset({command.argv})) as host:
        known = host.gather([HOSTNAME])
        assert isinstance(host.talk.pipe, ProcessPipe)
        end = host.talk.pipe._process.pid if whose == "client" else session_of(host)
        cutter = threading.Thread(target=cut, args=(end,))
        cutter.start()
        began = time.monotonic()
        answers = host.gather([command])
        cutter.join()
        after = host.gather([File("/etc/passwd")])[File("/etc/passwd")]
    assert time.monotonic() - began < 5
    assert isinstance(known[HOSTNAME], Found)
    for answer in (answers[command], after):
        assert isinstance(answer, Unreadable)
        assert answer.passing
        assert "answers no more" in answer.reason
    assert nothing_is_left(sign)


def session_of(host: _shell.ShellHost) -> int:
    """Return the process of sshd that serves the connection: the parent of the shell."""
    known = host.gather([File("/proc/self/stat")])[File("/proc/self/stat")]
    assert isinstance(known, Found)
    return int(known.value.rpartition(")")[2].split()[1])


@pytest.mark.parametrize("login", ["tcsh", "fish", "bash", "dash", "mksh"])
def test_any_login_shell_leads_to_a_posix_one(login: str) -> None:
    if not shutil.which(login):
        pytest.skip(f"no program {login}")
    pipe = ProcessPipe([login, "-c", ssh.SHELL])
    with _shell.opened(pipe, Terms(), deadline=time.monotonic() + 10) as host:
        assert isinstance(host.gather([HOSTNAME])[HOSTNAME], Found)
