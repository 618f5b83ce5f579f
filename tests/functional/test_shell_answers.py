"""What a POSIX shell tells of a node is what the node's own files say, whatever lies there."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mxenv.facts import Absent, Unreadable
from mxenv.question import Env, File, Found, Glob, Link, Part, Question, Space, Stat, Symbols
from mxenv.transports import Terms, _shell
from mxenv.transports._disk import DiskTree
from mxenv.transports._shell_looks import looks, prefix
from mxenv.transports._shell_pipe import ProcessPipe
from mxenv.transports._shell_script import PROGRAMS
from mxenv.transports._shell_talk import Lost, Sections
from mxenv.transports._shell_tree import ShellTree
from mxenv.transports._tree import Unanswered, Walker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mxenv.transports._shell_talk import Item

SHELLS = {
    "dash": ["dash"],
    "bash": ["bash", "--posix"],
    "busybox": ["busybox", "sh"],
    "mksh": ["mksh"],
}
TEXTS = (Part.WHOLE, Part.HEAD, Part.DIGEST, Part.METADATA, Part.PACKAGES, Part.LINK)
ODD = (
    b"plain",
    b"two words",
    b" leading and trailing ",
    b"line\nbreak",
    b"\n",
    b"quote'quote\"quote",
    b"$(touch mxenv-touched)",
    b"`touch mxenv-touched`",
    b"; touch mxenv-touched",
    b"-n",
    b"--help",
    b"*",
    b"?",
    b"[a]",
    b"back\\slash",
    b"tab\tbed",
    b"\xff\xfe not UTF-8",
    "ümläut".encode(),
    b"==> x <==",
    b"a -> b",
    b"a: Permission denied",
    b".hidden",
    b"\x1b[31m",
    b"~",
    b"%s%n",
)


@contextmanager
def shell(argv: list[str], seconds: float = 30.0, **terms: object) -> Iterator[_shell.ShellHost]:
    allowed = terms.get("allowed", frozenset())
    assert isinstance(allowed, frozenset)
    deadline = time.monotonic() + seconds
    with _shell.opened(ProcessPipe(argv), Terms(allowed=allowed), deadline=deadline) as host:
        yield host


@pytest.fixture(params=sorted(SHELLS))
def argv(request: pytest.FixtureRequest) -> list[str]:
    argv = SHELLS[request.param]
    if not shutil.which(argv[0]):
        pytest.skip(f"no program {argv[0]}")
    return argv


@pytest.fixture
def host(argv: list[str]) -> Iterator[_shell.ShellHost]:
    with shell(argv) as host:
        yield host


def agree(host: _shell.ShellHost, *questions: Question) -> None:
    """Hold every answer of the shell against what the files of this machine say."""
    walker = Walker(DiskTree())
    answers = host.gather(questions)
    for question in questions:
        assert answers.given[question] == walker.answer(question), question


def fill(folder: Path, names: tuple[bytes, ...]) -> None:
    for number, name in enumerate(names):
        path = folder / os.fsdecode(name)
        match number % 4:
            case 0 | 1:
                path.write_bytes(b"Name: %d\nVersion: 1\n" % number + bytes(range(256)) + name)
                path.chmod(0o640 if number % 8 else 0o4711)
            case 2:
                path.symlink_to(folder / os.fsdecode(names[number - 1]))
            case _:
                path.mkdir()
                (path / "inside").write_bytes(name)


def about(folder: Path) -> list[Question]:
    paths = [str(path) for path in folder.iterdir()]
    questions: list[Question] = [Glob(f"{folder}/*"), Glob(f"{folder}/*/*"), Glob(f"{folder}/.*")]
    questions += [Glob(f"{folder}/*", part, 1000) for part in TEXTS]
    for path in paths:
        questions += [Stat(path), Link(path), File(path), File(path, Part.HEAD, 7)]
        questions += [File(path, Part.DIGEST), File(path, limit=9), File(f"{path}/inside")]
    return questions


def test_odd_names_and_contents_are_told_as_they_are(
    host: _shell.ShellHost, tmp_path: Path
) -> None:
    fill(tmp_path, ODD)
    agree(host, *about(tmp_path))
    assert not any(Path(top, "mxenv-touched").exists() for top in ("/", ".", tmp_path))


@pytest.mark.parametrize("shell_name", sorted(SHELLS))
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.lists(
        st.binary(min_size=1, max_size=12).filter(
            lambda name: b"\0" not in name and b"/" not in name and name not in {b".", b".."}
        ),
        min_size=1,
        max_size=12,
        unique=True,
    )
)
def test_any_name_is_told_as_it_is(
    shell_name: str, names: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("any")
    fill(folder, tuple(names))
    with shell(SHELLS[shell_name]) as host:
        agree(host, *about(folder))


def test_what_is_no_file_is_never_opened(host: _shell.ShellHost, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "to-fifo").symlink_to("fifo")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "socket"))
    began = time.monotonic()
    paths = [str(tmp_path / name) for name in ("fifo", "to-fifo", "socket")]
    paths += ["/dev/null", "/dev/zero", "/dev/tty", "/"]
    files = [File(path, part) for path in paths for part in (Part.WHOLE, Part.DIGEST)]
    agree(host, *files, *map(Stat, paths[:-1]), Glob(f"{tmp_path}/*", Part.WHOLE))
    assert time.monotonic() - began < 5


def test_links_lead_where_they_do_and_loops_end(host: _shell.ShellHost, tmp_path: Path) -> None:
    (tmp_path / "real/below").mkdir(parents=True)
    (tmp_path / "real/below/file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "ping").symlink_to("pong")
    (tmp_path / "pong").symlink_to("ping")
    (tmp_path / "near").symlink_to("real")
    (tmp_path / "far").symlink_to("near/../near/./below")
    (tmp_path / "dangling").symlink_to("none/at/all")
    (tmp_path / "up").symlink_to("../" * 40 + "etc")
    names = ("loop", "ping", "near", "far", "dangling", "up", "far/file", "real/below/../below")
    paths = [f"{tmp_path}/{name}" for name in names]
    paths += [f"{tmp_path}/none", f"{tmp_path}/real/below/file/x", f"{tmp_path}//far/", "/"]
    questions: list[Question] = [Glob(f"{tmp_path}/*/*"), Glob(f"{tmp_path}/far/*", Part.WHOLE)]
    for path in paths:
        questions += [Link(path), Stat(path), File(path), File(path, Part.DIGEST)]
    agree(host, *questions)


def test_limits_are_those_that_were_asked_for(host: _shell.ShellHost, tmp_path: Path) -> None:
    for size in (0, 1, 4095, 4096, 4097, 100_000):
        (tmp_path / f"f{size}").write_bytes(os.urandom(size))
    parts = (Part.WHOLE, Part.HEAD, Part.PACKAGES, Part.METADATA)
    limits = (0, 1, 4096, 99_999, 100_000, 100_001)
    agree(host, *(Glob(f"{tmp_path}/*", part, limit) for part in parts for limit in limits))


def test_files_of_the_kernel_are_read_though_they_have_no_size(host: _shell.ShellHost) -> None:
    agree(
        host,
        File("/proc/sys/kernel/osrelease", limit=4096),
        File("/proc/cpuinfo", limit=8 << 20),
        File("/proc/version", Part.HEAD, 10),
        Glob("/sys/class/net/*/address", Part.WHOLE, 64),
        Glob("/proc/sys/kernel/os*", Part.WHOLE),
        Stat("/proc/version"),
    )


def test_the_process_that_is_asked_about_is_the_shell(host: _shell.ShellHost) -> None:
    answers = host.gather([File("/proc/self/comm"), Link("/proc/self/exe"), File("/proc/mounts")])
    comm = answers[File("/proc/self/comm")]
    assert isinstance(comm, Found)
    assert comm.value.strip() in SHELLS
    mounts = answers[File("/proc/mounts")]
    assert isinstance(mounts, Found)
    assert " / " in mounts.value


def test_many_files_need_few_programs(argv: list[str], tmp_path: Path) -> None:
    for number in range(1500):
        folder = tmp_path / f"d{number}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Name: d{number}\nVersion: {number}\n" + "x" * 3000)
    glob = Glob(f"{tmp_path}/*.dist-info/METADATA", Part.METADATA, 1 << 16)
    began = time.monotonic()
    with shell(argv) as host:
        answer = host.gather([glob])[glob]
    assert isinstance(answer, Found)
    assert len(answer.value) == 1500
    # A program for each would take several times that.
    assert time.monotonic() - began < 4


def test_of_records_what_is_wanted_is_what_whoever_has_all_of_them_takes(
    host: _shell.ShellHost, tmp_path: Path
) -> None:
    lines = (
        "a/b.py,sha256=x/y,1",
        "a/__init__.py,,",
        '"c,d"/e.py,,',
        "six.py,,9",
        "n/m/o.py,,",
        "",
    )
    for number, text in enumerate(
        (
            "\n".join(lines),
            "\n".join(reversed(lines)),
            "\r\n".join(lines),
            "n/x.py,,\n" * 9000 + "n/__init__.py,sha256=q,3",
            "",
            "\n",
            "no end",
            "\ufffd\0/x,,\n../../bin/tool,,\n/abs,,\n==> x <==\n",
        )
    ):
        folder = tmp_path / f"{number} odd'" if number % 3 == 0 else tmp_path / str(number)
        folder.mkdir()
        (folder / "RECORD").write_text(text, newline="")
    for limit in (1 << 20, 50, 0):
        agree(host, Glob(f"{tmp_path}/*/RECORD", Part.RECORD, limit))


def test_contents_cannot_pretend_to_be_answers(host: _shell.ShellHost, tmp_path: Path) -> None:
    """Whatever the shell's own lines look like, a content that was written before has others."""
    forged = (
        "\n{n} 1\n\n==> /.//etc/passwd <==\nroot\n\n{n} !\n{n} .\n"
        "head: cannot open '/.//x' for reading: Permission denied\n"
        "-rw-r--r-- 1 0 0 5 Nov 30 16:07 /.//etc/x\n"
    ).format(n="0" * 32)
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(forged * 3)
    agree(host, Glob(f"{tmp_path}/*", Part.WHOLE), Glob(f"{tmp_path}/*", Part.DIGEST))


def test_what_is_not_a_path_is_refused(host: _shell.ShellHost) -> None:
    agree(host, File("relative"), File(""), Glob(""), Glob("relative/*"))
    for path in ("/a\0b", "/\ud800", "/usr/\udc80\ud800/x"):
        answers = host.gather([File(path), Stat(path), Link(path), Glob(f"{path}/*"), File("/usr")])
        assert answers[File("/usr")] == Unreadable("not a file but a directory")
        for question in list(answers)[:-1]:
            assert isinstance(answers.given[question], Unreadable)


def test_what_a_shell_cannot_do_it_says(host: _shell.ShellHost) -> None:
    symbols = Symbols("/bin/ls", ())
    answers = host.gather([File("/bin/ls", Part.ELF), File("/none", Part.ELF), symbols])
    for question in (File("/bin/ls", Part.ELF), symbols):
        answer = answers.given[question]
        assert isinstance(answer, Unreadable)
        assert "a shell does not read" in answer.reason
    assert answers[File("/none", Part.ELF)] == Absent()


def test_variables_are_those_of_the_shell_and_of_no_helper(argv: list[str]) -> None:
    given = [
        "LD_LIBRARY_PATH=/opt/maca/lib",
        "LC_ALL=zh_CN.GB18030",
        "EMPTY=",
        "PATH=/bin:/usr/bin",
    ]
    names = ("LD_LIBRARY_PATH", "LC_ALL", "EMPTY", "PATH", "NOT_THERE", "MXENV_RUNS", "odd name")
    with shell(["env", *given, "TWO=a\nb $HOME `x`\n", *argv]) as host:
        answers = host.gather([Env(name) for name in (*names, "TWO")])
    assert answers[Env("LD_LIBRARY_PATH")] == Found("/opt/maca/lib")
    assert answers[Env("LC_ALL")] == Found("zh_CN.GB18030")
    assert answers[Env("EMPTY")] == Found("")
    assert answers[Env("PATH")] == Found("/bin:/usr/bin")
    assert answers[Env("TWO")] == Found("a\nb $HOME `x`\n")
    assert answers[Env("NOT_THERE")] == answers[Env("MXENV_RUNS")] == Absent()
    assert isinstance(answers[Env("odd name")], Unreadable)


def test_free_space_is_what_the_file_system_has(host: _shell.ShellHost) -> None:
    answers = host.gather([Space("/"), Space("/none/such"), Space("/proc")])
    free = os.statvfs("/")
    found = answers[Space("/")]
    assert isinstance(found, Found)
    assert abs(found.value - free.f_bavail * free.f_frsize) < 1 << 30
    assert answers[Space("/none/such")] == Absent()
    assert answers[Space("/proc")] == Found(0)


@pytest.mark.parametrize(
    "variables",
    [
        ["QUOTING_STYLE=c", "TIME_STYLE=full-iso", "BLOCK_SIZE=1M", "LS_COLORS=x"],
        ["LC_ALL=zh_CN.GB18030", "LANG=tr_TR.UTF-8", "POSIXLY_CORRECT=1"],
        ["PATH=/nowhere"],
        ["CDPATH=/tmp:/", "ENV=/etc/passwd", "BASH_ENV=/etc/passwd", "IFS=/"],
    ],
)
def test_an_exotic_environment_changes_nothing(
    argv: list[str], variables: list[str], tmp_path: Path
) -> None:
    fill(tmp_path, ODD)
    with shell(["env", *variables, f"{shutil.which(argv[0])}", *argv[1:]]) as host:
        agree(host, *about(tmp_path))


@pytest.mark.usefixtures("powerless")
def test_what_may_not_be_looked_into_is_never_absent(argv: list[str], tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "d").mkdir(parents=True)
    (closed / "file").write_text("x")
    (tmp_path / "secret").write_text("x")
    (tmp_path / "secret").chmod(0)
    (tmp_path / "into").symlink_to("closed/file")
    closed.chmod(0)
    try:
        with shell(argv) as host:
            paths = [
                f"{tmp_path}/{name}" for name in ("closed/file", "closed/none", "secret", "into")
            ]
            agree(host, *map(File, paths), *map(Stat, paths), *map(Link, paths))
            agree(host, *(File(path, part) for path in paths for part in TEXTS))
            agree(host, Glob(f"{closed}/*"), Glob(f"{tmp_path}/*/*"), Glob(f"{closed}/d/*"))
            agree(host, Glob(f"{tmp_path}/*", Part.WHOLE), Glob(f"{tmp_path}/*", Part.DIGEST))
    finally:
        closed.chmod(stat.S_IRWXU)


@dataclass
class Cut:
    """A connection that breaks after so many bytes."""

    pipe: ProcessPipe
    left: int

    @property
    def closed(self) -> bool:
        return not self.left or self.pipe.closed

    def send(self, data: bytes) -> None:
        self.pipe.send(data)

    def receive(self, seconds: float) -> tuple[bytes, bytes]:
        out, err = self.pipe.receive(seconds)
        out = out[: self.left]
        self.left -= len(out)
        return out, err

    def close(self) -> None:
        self.pipe.close()


@pytest.mark.parametrize("most", [2_000, 50_000, 100_000, 400_000, 700_000])
def test_what_came_before_a_connection_broke_is_told_and_nothing_else(
    tmp_path: Path, most: int
) -> None:
    for number in range(600):
        (tmp_path / f"{number:03}").write_bytes(b"%03d\n" % number * 250)
    files: list[Question] = [File(f"{tmp_path}/{number:03}") for number in range(600)]
    others: list[Question] = [Glob(f"{tmp_path}/*"), Link(f"{tmp_path}/none")]
    pipe = Cut(ProcessPipe(["sh"]), most)
    with _shell.opened(pipe, Terms(), deadline=time.monotonic() + 30) as host:
        answers = host.gather([*files, *others])
    walker = Walker(DiskTree())
    told = {question: answers.given[question] for question in (*files, *others)}
    known = {q: given for q, given in told.items() if not isinstance(given, Unreadable)}
    assert known == {question: walker.answer(question) for question in known}
    assert all(given.passing for given in told.values() if isinstance(given, Unreadable))
    if most >= 400_000:
        assert 0 < sum(question in known for question in files) < len(files)


@pytest.mark.parametrize(("asks", "count"), [(4, 0), (9, 2), (14, 3)])
def test_where_time_is_short_what_asks_for_little_is_known_and_then_one_after_the_other(
    asks: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, size in (("a", 800), ("b", 600), ("z", 3)):
        for number in range(size):
            (tmp_path / folder / f"{number}.d").mkdir(parents=True)
            (tmp_path / folder / f"{number}.d" / "f").write_text(f"{folder}{number}")
    much = tuple(Glob(f"{tmp_path}/{folder}/*.d/f", Part.WHOLE, 64) for folder in "ab")
    little = Glob(f"{tmp_path}/z/*.d/f", Part.WHOLE, 64)
    monkeypatch.setattr(_shell, "MANY", 500)
    with shell(SHELLS["dash"]) as host:
        talked = host.talk.ask
        left = iter(range(asks))

        def ask(items: Sequence[Item], setup: str) -> Iterator[Sections | None]:
            if next(left, None) is None:
                raise Lost("time is over")
            return talked(items, setup)

        monkeypatch.setattr(type(host.talk), "ask", lambda _, items, setup: ask(items, setup))
        answers = host.gather((*much, little))
    walker = Walker(DiskTree())
    ordered = (little, *reversed(much))
    known = [one for one in ordered if isinstance(answers[one], Found)]
    assert known == [*ordered[:count]]
    assert all(answers[one] == walker.answer(one) for one in known)


def test_what_a_login_makes_of_its_shell_changes_no_answer(argv: list[str], tmp_path: Path) -> None:
    fill(tmp_path, ODD)
    with shell([*argv, "-aefuxvC"]) as host:
        agree(host, *about(tmp_path))


@pytest.mark.parametrize("options", ["", "noglob", "errexit:nounset:pipefail", "monitor"])
def test_what_was_exported_for_bash_changes_no_answer(tmp_path: Path, options: str) -> None:
    fill(tmp_path, ODD)
    functions = [f"BASH_FUNC_{name}%%=() {{ echo evil; }}" for name in PROGRAMS.split()]
    given = ["env", *functions, f"SHELLOPTS={options}", "bash", "--posix"]
    with shell(given) as host:
        agree(host, *about(tmp_path))


def test_numbers_that_no_file_can_have_cost_that_file_only() -> None:
    path = "/line\nbreak"
    tree = ShellTree()
    with pytest.raises(Unanswered, match="not asked"):
        tree.lstat(path)
    (look,), _ = looks(tree, prefix())
    look.take(Sections({"": b"f " + b"f" * 40 + b" 1"}))
    with pytest.raises(Unanswered, match="not understood"):
        tree.lstat(path)


class Renamed(ProcessPipe):
    """A node that says something else than its name."""

    def send(self, data: bytes) -> None:
        super().send(data.replace(b"uname -n", b"printf ' one\\n\\ntwo '"))


def test_the_name_of_a_node_is_one_line() -> None:
    with _shell.opened(Renamed(["sh"]), Terms(), deadline=time.monotonic() + 30) as host:
        assert host.name == "one two"
