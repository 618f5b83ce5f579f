"""What a shell sees: streams, signals, locales, terminals, and how long it takes to start."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mxenv import __version__

PROGRAM = Path(sys.executable).with_name("mxenv")
RECORDINGS = Path(__file__).parents[1] / "recordings"
NODE = f"recording:{RECORDINGS / 'c500-8cards'}"


def mxenv(
    *arguments: str | Path, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [PROGRAM, *arguments],
        capture_output=True,
        check=False,
        cwd=cwd,
        timeout=60,
        env={**os.environ, **variables},
    )


def on_a_terminal(*arguments: str, columns: int = 80, **variables: str) -> tuple[int, str]:
    """Run `mxenv` with a terminal as its stdout."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [PROGRAM, *arguments],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": str(columns), "TERM": "xterm-256color", **variables},
    ) as process:
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 1 << 16):
                text += chunk
        except OSError:
            pass  # what a terminal says when the other side is gone
        finally:
            os.close(ours)
    return process.returncode, text.decode().replace("\r\n", "\n")


def test_the_version_is_one_line() -> None:
    done = mxenv("--version")
    assert (done.returncode, done.stdout.decode(), done.stderr) == (
        0,
        f"mxenv {__version__}\n",
        b"",
    )


def test_the_version_is_the_same_whichever_way_it_is_asked_for() -> None:
    assert mxenv("-q", "--version").stdout == mxenv("--version").stdout


def test_asking_for_the_version_imports_no_click() -> None:
    code = "import sys; sys.argv = ['mxenv', '--version']; from mxenv.cli import main; main()"
    check = "; assert 'click' not in sys.modules"
    subprocess.run([sys.executable, "-c", code + check], check=True, stdout=subprocess.DEVNULL)


@pytest.mark.parametrize("arguments", [(), ("check",), ("gate",), ("matrix", "show")])
def test_help_imports_nothing_slow(arguments: tuple[str, ...]) -> None:
    slow = ("requests", "rich", "tomlkit", "packaging", "psutil", "installer", "mxenv.api.nodes")
    code = (
        "import sys, click\n"
        "from mxenv.cli._front import FRONT\n"
        "try:\n"
        f"    FRONT.main([*{arguments!r}, '--help'], prog_name='mxenv')\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        f"assert not [name for name in {slow!r} if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_a_result_goes_to_stdout_and_a_note_to_stderr(tmp_path: Path) -> None:
    done = mxenv("probe", "--on", NODE, "--out", tmp_path / "node.json")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.startswith(b"wrote ")
    quiet = mxenv("-q", "probe", "--on", NODE, "--out", tmp_path / "node.json")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")


def test_a_reader_that_goes_away_is_no_error() -> None:
    with subprocess.Popen(
        [PROGRAM, "probe", "-v", "--on", NODE], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_a_full_disk_is_said_plainly() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [PROGRAM, "probe", "--on", NODE], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 6
    assert done.stderr.decode().startswith("error: the system refused: No space left on device")


@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("--version", 0),
        (f"check --on {NODE}", 0),
        ("check --on recording:nowhere", 2),
        ("explain MX110", 0),
    ],
)
def test_the_status_is_right_whichever_stream_is_closed(
    arguments: str, status: int, redirection: str
) -> None:
    done = subprocess.run(
        ["sh", "-c", f"{PROGRAM} {arguments} {redirection}"], capture_output=True, check=False
    )
    assert done.returncode == status
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [("check --on recording:nowhere", 2), ("probe --on {node} --out {out}", 0), ("chek", 2)],
)
def test_the_status_is_right_where_nothing_more_can_be_said(
    tmp_path: Path, arguments: str, status: int
) -> None:
    words = arguments.format(node=NODE, out=tmp_path / "out.json").split()
    with Path("/dev/full").open("wb") as full:
        assert subprocess.run([PROGRAM, *words], stderr=full, check=False).returncode == status


@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["explain", "MX101"]])
def test_what_cannot_be_written_is_no_success(arguments: list[str], *, buffered: bool) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [PROGRAM, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONUNBUFFERED": "" if buffered else "1"},
        )
    assert (done.returncode, done.stderr.count(b"\n")) == (6, 1)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_an_interrupted_command_ends_at_once_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with subprocess.Popen(
        [PROGRAM, "diff", "/dev/stdin", "/dev/stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: once all of it is written, the command reads, and waits for more.
        process.stdin.write(b" " * (1 << 17))
        process.stdin.flush()
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=10)
    assert (process.returncode, stdout) == (status, b"")
    assert stderr.strip() == (b"error: interrupted" if number == signal.SIGINT else b"")
    assert list(tmp_path.iterdir()) == []


def test_who_hangs_up_on_nohup_ends_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(
        ["nohup", PROGRAM, "diff", "/dev/stdin", "/dev/stdin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    ) as process:
        assert process.stdin is not None
        process.stdin.write(b" " * (1 << 17))
        process.stdin.flush()
        process.send_signal(signal.SIGHUP)
        process.communicate(timeout=30)
    assert process.returncode == 5


@pytest.mark.parametrize(
    "variables",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_no_locale_breaks_the_output(tmp_path: Path, variables: dict[str, str]) -> None:
    mxenv("probe", "--on", NODE, "--out", tmp_path / "node.json")
    text = (tmp_path / "node.json").read_text(encoding="utf-8")
    named = text.replace('"node": "c500-8cards"', '"node": "沐曦-é"')
    assert named != text
    (tmp_path / "node.json").write_text(named, encoding="utf-8")
    done = mxenv("check", "node.json", "--format", "json", cwd=tmp_path, **variables)
    encoding = variables.get("PYTHONIOENCODING", "utf-8")
    assert json.loads(done.stdout.decode(encoding))["verdicts"][0]["subject"] == "沐曦-é"
    wrong = mxenv("check", "沐曦.json", cwd=tmp_path, **variables)
    assert (wrong.returncode, wrong.stdout) == (2, b"")


def test_a_name_that_the_locale_lacks_is_no_bug(tmp_path: Path) -> None:
    """Python takes UTF-8 for the C locale, unless it is told not to; other locales it believes."""
    (tmp_path / "image.toml").write_text(
        'schema = "mxenv.image/1"\nname = "a"\nbase = "scratch"\naccelerator = "none"\n'
        '[python]\nversion = "3.11"\n[[files]]\nsource = "é.txt"\ntarget = "/opt/e.txt"\n',
        encoding="utf-8",
    )
    (tmp_path / "é.txt").write_text("x", encoding="utf-8")
    told = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = mxenv("lock", "image.toml", "--check", cwd=tmp_path, **told)
    said, hint = done.stderr.decode().splitlines()
    assert done.returncode == 5
    assert said.endswith(".txt: the locale has no such name for a file (ascii)")
    assert "LC_ALL=C.UTF-8" in hint


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_signs_that_a_terminal_lacks_have_words(tmp_path: Path, encoding: str) -> None:
    mxenv("probe", "--on", NODE, "--out", tmp_path / "node.json")
    text = (tmp_path / "node.json").read_text(encoding="utf-8")
    named = text.replace('"node": "c500-8cards"', '"node": "8 \N{MULTIPLICATION SIGN} C500 → é"')
    (tmp_path / "node.json").write_text(named, encoding="utf-8")
    done = mxenv("check", "node.json", cwd=tmp_path, PYTHONIOENCODING=encoding)
    last = done.stdout.splitlines()[-1]
    spelt = (
        "8 x C500 -> \\u00e9: " if encoding == "ascii" else "8 \N{MULTIPLICATION SIGN} C500 → é: "
    )
    assert last.decode(encoding).startswith(spelt)
    whole = mxenv("check", "node.json", "--format", "json", cwd=tmp_path, PYTHONIOENCODING=encoding)
    assert (
        json.loads(whole.stdout.decode(encoding))["verdicts"][0]["subject"]
        == "8 \N{MULTIPLICATION SIGN} C500 → é"
    )


def test_a_terminal_gets_colours_and_a_pipe_does_not() -> None:
    _, shown = on_a_terminal("check", "--on", NODE)
    assert "\x1b[" in shown
    assert b"\x1b[" not in mxenv("check", "--on", NODE).stdout


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_had_off(variables: dict[str, str]) -> None:
    _, shown = on_a_terminal("check", "--on", NODE, **variables)
    assert shown
    assert "\x1b[" not in shown


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_what_is_shown_on_a_terminal_fits_it(columns: int) -> None:
    for command in ("probe", "check"):
        _, shown = on_a_terminal(command, "-v", "--on", NODE, columns=columns, NO_COLOR="1")
        wide = [line for line in shown.splitlines() if len(line) > columns]
        # Only a word that cannot be split, a link or a digest, may stand out.
        assert [line for line in wide if len(line.split()) > 2] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_completion(shell: str) -> None:
    done = mxenv("completion", shell)
    assert done.returncode == 0
    assert b"_MXENV_COMPLETE" in done.stdout


def test_bash_completes_commands() -> None:
    done = mxenv(_MXENV_COMPLETE="bash_complete", COMP_WORDS="mxenv che", COMP_CWORD="1")
    assert done.stdout == b"plain,check\n"


def test_a_bug_is_one_line_and_its_traceback_can_be_had() -> None:
    code = (
        "from mxenv.cli._front import FRONT\n"
        "import click\n"
        "def broken(ctx, name): raise ZeroDivisionError('by\\nzero')\n"
        "FRONT.get_command = broken\n"
        "FRONT.main(['x'], prog_name='mxenv')\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert told.returncode == 70
    assert told.stderr.decode().splitlines() == [
        "error: a bug in mxenv: ZeroDivisionError: by zero",
        " hint: run it again with MXENV_DEBUG=1 for the traceback, and report it with that",
    ]
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        env={**os.environ, "MXENV_DEBUG": "1"},
    )
    assert b"Traceback" in shown.stderr
