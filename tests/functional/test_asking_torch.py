"""A torch is asked only by whoever wants it, and one that misbehaves costs its own fact only."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import _layouts
import _pythons
import _stand_ins
import psutil
import pytest
from click.testing import CliRunner

from mxenv import _scripts, operator_table
from mxenv.api import nodes
from mxenv.cli._front import FRONT
from mxenv.facts import Observed, Unreadable
from mxenv.probes import operators
from mxenv.question import Answers, Command, Completed, Found
from mxenv.redaction import clean_answers
from mxenv.transports import Terms, _shell
from mxenv.transports._shell_pipe import ProcessPipe

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from mxenv.facts import Snapshot
    from mxenv.question import Given, Question

NOW = datetime(2026, 1, 7, tzinfo=UTC)
KEY = "torch.operators"
SAID = {
    "torch": "2.8.0+metax3.5.3.9",
    "dispatch": "CUDA",
    "operators": [
        "aten::_a_token.default n",
        "aten::add.Tensor g aten::add.out",
        "aten::add.out n @flag_gems",
        "aten::odd.default c aten::_a_token.default aten::add.Tensor",
        "mine::op.default m",
    ],
}


def line(said: object = SAID) -> str:
    text = json.dumps(said)
    return f"mxenv.asked/1 sha256:{hashlib.sha256(text.encode()).hexdigest()} {text}"


def answering(folder: Path, *lines: str) -> Path:
    """Return an environment whose Python says what it was told to say."""
    body = "\n".join(lines)
    return _stand_ins.speaking(folder, f"cat <<'WORDS'\n{body}\nWORDS")


def options(env: Path, **more: str) -> Mapping[str, str]:
    return {"operators": "yes", "python": str(env), **more}


def probed(env: Path, seconds: float = 40.0, **more: str) -> Snapshot:
    wanted = nodes.Wanted(options=options(env, **more), seconds=seconds)
    return nodes.probe("local:", now=NOW, wanted=wanted)


def reading(snapshot: Snapshot, env: Path) -> object:
    return snapshot.reading(KEY, str(env))


def test_what_torch_said_is_one_digested_fact(tmp_path: Path) -> None:
    env = answering(tmp_path / "venv", "junk before", line(), "junk behind")
    found = reading(probed(env), env)
    assert isinstance(found, Observed)
    table = operator_table.read(str(found.value))
    assert (table.torch, table.key, len(table.entries)) == ("2.8.0+metax3.5.3.9", "CUDA", 5)
    assert table.entries["aten::add.out"].by == "flag_gems"
    assert table.entries["aten::odd.default"].via == ("aten::_a_token.default", "aten::add.Tensor")


def test_it_enters_no_fingerprint_and_no_page_shows_all_of_it(tmp_path: Path) -> None:
    env = answering(tmp_path / "venv", line())
    with_it = probed(env)
    without = nodes.probe(
        "local:", now=NOW, wanted=nodes.Wanted(options={"python": str(env)}, seconds=40)
    )
    assert not [one for one in nodes.diff(with_it, without) if one.key == KEY]
    typed = ["probe", "--operators", "--python", str(env)]
    page = CliRunner().invoke(FRONT, typed).stdout
    assert "torch 2.8.0+metax3.5.3.9 for CUDA: 5 operators" in " ".join(page.split())
    assert "some by flag_gems" in " ".join(page.split())
    assert operator_table.SCHEMA not in page


def test_a_recording_replays_to_the_same_snapshot(tmp_path: Path) -> None:
    env = answering(tmp_path / "venv", line())
    wanted = nodes.Wanted(options=options(env, load="flag_gems:enable"), seconds=40)
    learned = nodes.record("local:", tmp_path / "recorded", now=NOW, wanted=wanted)
    replayed = nodes.probe(f"recording:{tmp_path}/recorded", now=NOW)
    assert replayed == learned
    assert isinstance(reading(replayed, env), Observed)
    commands = (tmp_path / "recorded/commands.json").read_text(encoding="utf-8")
    assert '"@operators"' in commands
    assert "import hashlib" not in commands


def test_a_home_is_masked_and_its_answer_found_again() -> None:
    """The name of whoever owns the environment stays on the node."""
    asked: dict[Question, Given] = {
        operators.WANTED: Found("yes"),
        operators.NAMED: Found("/home/somebody/venv"),
    }
    (command,) = operators.PROBE.more(Answers(asked))
    assert isinstance(command, Command)
    assert command.argv[0] == "/home/somebody/venv/bin/python3"
    kept = clean_answers(Answers({**asked, command: Completed(0, line())}))
    (fact,) = operators.PROBE.read(kept)
    assert isinstance(fact.reading, Observed)
    assert "somebody" not in f"{fact} {kept}"


def test_without_being_asked_for_no_python_is_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    env = _stand_ins.speaking(tmp_path / "venv", f"touch {witness}")
    wanted = nodes.Wanted(options={"python": str(env)}, seconds=40)
    snapshot = nodes.probe("local:", now=NOW, wanted=wanted)
    assert not witness.exists()
    (fact,) = snapshot.of(KEY)
    assert fact.reading == Unreadable("looked at only if it is asked for (--operators)")


STUBS = {
    "is missing": ({}, "there is no torch in it"),
    "lacks a library": (
        {"torch": "raise ImportError('libmcruntime.so: cannot open shared object file')"},
        "its torch cannot be imported: ImportError: libmcruntime.so: cannot open",
    ),
    "lacks a module": (
        {"torch": "import nowhere"},
        "its torch cannot be imported: ModuleNotFoundError: No module named 'nowhere'",
    ),
    "tells a secret": (
        {"torch": "raise ImportError('no card; token=0123456789abcdef0123')"},
        "its torch cannot be imported: ImportError: no card; token=",
    ),
    "crashes": ({"torch": "import os; os.abort()"}, "its Python was ended by signal 6"),
    "crashes with words": (
        {"torch": "import os, sys; print('no card', file=sys.stderr, flush=True); os.abort()"},
        "its Python was ended by signal 6: no card",
    ),
    "gives up": (
        {"torch": "import os; os._exit(3)"},
        "its Python ended with status 3 and without an answer",
    ),
    "is none": (
        {"torch": "__version__ = '1'; print('x' * 100000)\ndef set_num_threads(n): pass"},
        "its torch does not answer as torch does: AttributeError:",
    ),
    "floods": ({"torch": "while True: print('x' * 10000)"}, "it printed too much"),
}


@pytest.mark.parametrize("fault", STUBS)
def test_a_torch_that_is_none_costs_its_own_fact(fault: str, tmp_path: Path) -> None:
    modules, reason = STUBS[fault]
    env = _stand_ins.environment(tmp_path / "venv", {"other": "", **modules}, torch="9.9")
    snapshot = probed(env)
    found = reading(snapshot, env)
    assert isinstance(found, Unreadable)
    assert found.reason.startswith(reason)
    assert "0123456789abcdef" not in found.reason
    assert isinstance(snapshot.reading("os.id"), Observed)
    assert snapshot.reading("python.package", f"{env}/torch") == Observed("9.9")


def test_a_torch_that_hangs_costs_its_own_fact_and_is_ended(tmp_path: Path) -> None:
    text = "import os, time\nos.fork()\nwhile True: time.sleep(0.1)"
    env = _stand_ins.environment(tmp_path / "venv", {"torch": text}, torch="9.9")
    began = time.monotonic()
    snapshot = probed(env, seconds=6.0)
    assert time.monotonic() - began < 15
    found = reading(snapshot, env)
    assert isinstance(found, Unreadable)
    assert found.passing
    assert isinstance(snapshot.reading("os.id"), Observed)
    assert nodes.fingerprint_of(snapshot).stack is not None
    left = [p for p in psutil.process_iter(["cmdline"]) if str(env) in str(p.info["cmdline"])]
    assert left == []


ANSWERS = {
    "cut": (line()[:-9], "what torch said did not arrive whole"),
    "no digest": ("mxenv.asked/1 {}", "what torch said did not arrive whole"),
    "cut in a reason": (line({"error": "no card"})[:-9], "what torch said is not understood"),
    "a list": (line([1]), "what torch said is not understood"),
    "nothing": (line({}), "what torch said is not understood"),
    "no operators": (line({**SAID, "operators": []}), "what torch said is not understood"),
    "odd version": (line({**SAID, "torch": "\x1b[2J"}), "what torch said is not understood"),
    "odd key": (line({**SAID, "dispatch": "a b"}), "what torch said is not understood"),
    "odd operator": (line({**SAID, "operators": ["x n"]}), "what torch said is not"),
    "odd code": (line({**SAID, "operators": ["a::x.y n a::b.c"]}), "what torch said is"),
    "odd letter": (line({**SAID, "operators": ["a::x.y z"]}), "what torch said is not"),
    "odd via": (line({**SAID, "operators": ["a::x.y c b"]}), "what torch said is not"),
    "odd by": (line({**SAID, "operators": ["a::x.y n @a/b"]}), "what torch said is not"),
    "no letter": (line({**SAID, "operators": ["a::x.y"]}), "what torch said is not understood"),
    "no text": (line({**SAID, "operators": [7]}), "what torch said is not understood"),
    "silence": ("", "its Python ended with status 0 and without an answer"),
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_that_is_none_is_never_believed(kind: str, tmp_path: Path) -> None:
    words, reason = ANSWERS[kind]
    env = answering(tmp_path / "venv", words)
    found = reading(probed(env), env)
    assert isinstance(found, Unreadable)
    assert found.reason.startswith(reason)


def test_no_interpreter_is_there(tmp_path: Path) -> None:
    (tmp_path / "venv/bin").mkdir(parents=True)
    (tmp_path / "venv/bin/python3.11").write_text("")
    snapshot = probed(tmp_path / "venv")
    assert reading(snapshot, tmp_path / "venv") == Unreadable("there is no such interpreter")


@pytest.mark.parametrize("version", sorted(_pythons.found()))
def test_any_python_that_a_torch_may_be_installed_for_runs_it(version: str) -> None:
    text = _scripts.text("@operators")
    ast.parse(text, feature_version=(3, 8))
    argv = [_pythons.found()[version], "-I", "-S", "-B", "-c", text]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].endswith('{"error":"there is no torch in it"}')


def test_through_a_shell_the_same_script_runs(tmp_path: Path) -> None:
    env = _stand_ins.environment(tmp_path / "venv", {"other": ""}, torch="9.9")
    wanted = nodes.Wanted(options=options(env))
    terms = Terms(allowed=nodes.demanded(wanted.options))
    deadline = time.monotonic() + 60
    with _shell.opened(ProcessPipe(["sh"]), terms, deadline=deadline) as host:
        snapshot = nodes.look(host, now=NOW, wanted=wanted)
    assert reading(snapshot, env) == Unreadable("there is no torch in it")


@pytest.mark.parametrize("way", ["root", "report", "oci"])
def test_where_nothing_can_be_run_it_is_said(way: str, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    program = f"#!/bin/sh\ntouch {witness}\n"
    (tmp_path / "root/venv/bin").mkdir(parents=True)
    (tmp_path / "root/venv/bin/python3").write_text(program)
    (tmp_path / "root/venv/bin/python3").chmod(0o755)
    (tmp_path / "report").write_text("$ uname -a\nLinux n 5.15.0 x86_64\n", encoding="utf-8")
    _layouts.image(tmp_path / "oci", [_layouts.file("venv/bin/python3", program, mode=0o755)])
    wanted = nodes.Wanted(options={"operators": "yes", "python": "/venv"})
    snapshot = nodes.probe(f"{way}:{tmp_path}/{way}", now=NOW, wanted=wanted)
    found = snapshot.reading(KEY, "/venv")
    assert isinstance(found, Unreadable)
    assert "command" in found.reason or "report" in found.reason
    assert not witness.exists()


def test_modules_that_are_to_be_loaded_are_names(tmp_path: Path) -> None:
    env = _stand_ins.environment(
        tmp_path / "venv",
        {"torch": "", "noisy": "print('hello')\ndef enable(): raise ValueError('no card')"},
        torch="9.9",
    )
    found = reading(probed(env, load="noisy:enable"), env)
    assert found == Unreadable("noisy:enable cannot be loaded: ValueError: no card")
    for typed in (["--load", "os;x"], ["--load", "a:b:c"], ["--load", ""]):
        done = CliRunner().invoke(FRONT, ["probe", "--operators", *typed])
        assert done.exit_code == 2
    assert CliRunner().invoke(FRONT, ["probe", "--load", "os"]).exit_code == 2
