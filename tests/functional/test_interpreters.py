"""How a script runs under an interpreter of the user's: its answers, its limits, its end."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from mxenv.errors import ModelError, UsageError
from mxenv.models import _interpreter
from mxenv.models._interpreter import answers, run_child

Writer = Callable[[str], str]
HEAD = """
import json, os, sys
asked = json.load(sys.stdin)
pipe = os.fdopen(int(sys.argv[1]), "w")
def say(**told):
    pipe.write(json.dumps(told) + "\\n")
    pipe.flush()
"""


@pytest.fixture
def script(tmp_path: Path) -> Writer:
    def written(body: str) -> str:
        path = tmp_path / "child.py"
        path.write_text(HEAD + textwrap.dedent(body))
        return str(path)

    return written


def run(
    script: str, *, seconds: float = 30, python: str | None = None, **request: object
) -> dict[str, object]:
    return run_child(script, request, python=python, seconds=seconds)


def test_what_is_printed_is_no_answer(script: Writer) -> None:
    assert run(script("print('{}'); say(got=asked)"), a=1) == {"got": {"a": 1}}


def test_answers_come_one_by_one_and_the_last_counts(script: Writer) -> None:
    path = script("say(n=1); say(n=2)")
    assert [one["n"] for one in answers(path, {}, python=None, seconds=30)] == [1, 2]
    assert run(path) == {"n": 2}


def test_what_came_before_a_crash_is_not_lost(script: Writer) -> None:
    talk = answers(script("say(n=1); os.abort()"), {}, python=None, seconds=30)
    assert next(talk) == {"n": 1}
    with pytest.raises(ModelError, match="SIGABRT"):
        next(talk)


def test_a_child_that_fails_is_quoted_by_its_last_line(script: Writer) -> None:
    with pytest.raises(ModelError) as caught:
        run(script("print('\\x1b[31mtold', file=sys.stderr); raise ValueError('why\\x1b[0m')"))
    assert caught.value.message == "ended with status 1: ValueError: why"


def test_a_child_that_says_nothing_has_not_succeeded(script: Writer) -> None:
    with pytest.raises(ModelError, match="without an answer"):
        run(script(""))


def test_a_child_that_hangs_is_ended_with_all_that_it_started(
    script: Writer, tmp_path: Path
) -> None:
    body = f"""
    import subprocess, time
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open({str(tmp_path / "pid")!r}, "w").write(str(child.pid))
    time.sleep(60)
    """
    began = time.monotonic()
    with pytest.raises(ModelError, match="in 2 seconds") as caught:
        run(script(body), seconds=2)
    assert "--seconds" in caught.value.hint
    assert time.monotonic() - began < 20
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 10
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(pid)


@pytest.mark.parametrize("last", ["say(n=1)", "say(n=1); os._exit(3)", "time.sleep(60)"])
def test_what_has_a_session_of_its_own_is_ended_however_the_child_ends(
    script: Writer, tmp_path: Path, last: str
) -> None:
    body = f"""
    import time
    pipe.flush()
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
        time.sleep(60)
    while not os.path.exists({str(tmp_path / "pid")!r}):
        time.sleep(0.01)
    {last}
    """
    with suppress(ModelError):
        run(script(body), seconds=3)
    pid = int((tmp_path / "pid").read_text())
    until = time.monotonic() + 10
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_whose_own_child_holds_the_pipes_open_is_not_waited_for(script: Writer) -> None:
    body = """
    import subprocess
    subprocess.Popen(["sleep", "60"], pass_fds=(int(sys.argv[1]),))
    say(n=1)
    """
    began = time.monotonic()
    assert run(script(body)) == {"n": 1}
    assert time.monotonic() - began < 20


def test_a_missing_module_is_told_with_what_to_install(script: Writer) -> None:
    with pytest.raises(ModelError) as caught:
        run(script("say(missing='torch')"), python=sys.executable)
    assert str(caught.value) == f"{sys.executable}: torch is not installed there"
    assert f"{sys.executable} -m pip install torch" in caught.value.hint


def test_mxenv_s_own_interpreter_gets_an_extra(script: Writer) -> None:
    with pytest.raises(ModelError) as caught:
        run(script("say(missing='transformers')"))
    assert "mxenv[huggingface]" in caught.value.hint


def test_a_refusal_keeps_its_place_and_its_hint(script: Writer) -> None:
    with pytest.raises(ModelError) as caught:
        run(script("say(failed='no\\nsuch', where='config.json', hint='another')"))
    assert (str(caught.value), caught.value.hint) == ("config.json: no such", "another")


@pytest.mark.parametrize("line", ["nonsense", "[1]", "[" * 100_000])
def test_an_answer_that_makes_no_sense_is_refused(script: Writer, line: str) -> None:
    with pytest.raises(ModelError, match="answered with"):
        run(script(f"pipe.write({line!r} + '\\n'); pipe.flush()"))


def test_a_flood_of_words_is_not_kept(script: Writer) -> None:
    body = """
    for _ in range(200):
        sys.stderr.write('x' * 100_000)
    print(file=sys.stderr)
    sys.exit('end')
    """
    with pytest.raises(ModelError, match=r"status 1: end$"):
        run(script(body))


def test_too_much_memory_ends_a_child(script: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_interpreter, "SHARE", 0.004)
    with pytest.raises(ModelError, match="memory"):
        run(script("import time; held = b'x' * (400 << 20); time.sleep(60)"), seconds=50)


def test_an_interpreter_that_is_not_there_is_the_user_s_mistake(
    script: Writer, tmp_path: Path
) -> None:
    (tmp_path / "python").write_text("")
    for python in ("no-such-python", str(tmp_path), str(tmp_path / "python")):
        with pytest.raises(UsageError):
            run(script(""), python=python)


def test_a_program_that_is_no_interpreter_is_told(script: Writer, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x7fELF nothing")
    odd.chmod(0o755)
    with pytest.raises(UsageError):
        run(script(""), python=str(odd))


def test_who_stops_listening_ends_the_child(script: Writer, tmp_path: Path) -> None:
    body = f"""
    import time
    open({str(tmp_path / "pid")!r}, "w").write(str(os.getpid()))
    say(n=1)
    time.sleep(60)
    """
    path = script(body)
    talk = answers(path, {}, python=None, seconds=60)
    next(talk)
    talk.close()
    assert not alive(int((tmp_path / "pid").read_text()))


def test_nothing_is_left_open(script: Writer) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run(script("say(n=1)"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
