"""What a real torch says of its operators is what it does: on the CPU, and on one's own backend."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import _stand_ins
import pytest

from mxenv import operator_table
from mxenv.api import nodes
from mxenv.facts import Observed
from mxenv.operator_decision import Class, decide
from mxenv.operator_place import Basis, Platform
from mxenv.probes import _torch_said, operators
from mxenv.question import Command
from mxenv.redaction import clean
from mxenv.transports import Terms, _shell, local
from mxenv.transports._shell_pipe import ProcessPipe

if TYPE_CHECKING:
    from mxenv.facts import Snapshot
    from mxenv.operator_table import Table

NOW = datetime(2026, 1, 7, tzinfo=UTC)
ROOT = Path(__file__).parents[2]
ASK = ROOT / "mxenv/models/_child/ask.py"
TRUTH = ROOT / "tests/_truth.py"
PAGE = ROOT / "docs/explanation/operators.md"
AGREEING = 0.99
OVERLOADS = 1000
FITTING = 64 << 10


def table_of(snapshot: Snapshot) -> Table:
    (fact,) = snapshot.of("torch.operators")
    assert isinstance(fact.reading, Observed), fact.reading
    return operator_table.read(str(fact.reading.value))


def asked(env: Path | str, *load: str) -> Table:
    """Return what torch says through the transport of this machine, and nothing beside it."""
    program = str(env) if str(env).rpartition("/")[2].startswith("python") else f"{env}/bin/python3"
    command = Command((program, *operators.START, *load), operators.SECONDS)
    options = {"operators": "yes", "python": program, "load": "\n".join(load)}
    host = local.host(Terms(allowed=nodes.demanded(options), seconds=150.0), {})
    try:
        answers = host.gather([command])
    finally:
        host.end()
    reading = _torch_said.reading(answers[command], command.seconds)
    assert isinstance(reading, Observed), reading
    return operator_table.read(str(reading.value))


@pytest.fixture(scope="module")
def recorded(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Snapshot]:
    out = tmp_path_factory.mktemp("operators") / "recorded"
    wanted = nodes.Wanted(options={"operators": "yes", "python": torch_python})
    return out, nodes.record("local:", out, now=NOW, wanted=wanted)


@pytest.fixture(scope="module")
def table(recorded: tuple[Path, Snapshot]) -> Table:
    return table_of(recorded[1])


def test_a_recording_of_it_replays_to_the_same_snapshot(recorded: tuple[Path, Snapshot]) -> None:
    out, learned = recorded
    assert nodes.probe(f"recording:{out}", now=NOW) == learned


def test_the_table_is_small_and_nothing_of_it_is_masked(table: Table) -> None:
    text = operator_table.write(table)
    assert len(text) < FITTING
    assert len(table.entries) > 3000
    assert clean(text) == text


def test_nobody_but_torch_is_named_where_nothing_else_was_imported(table: Table) -> None:
    assert {entry.by for entry in table.entries.values()} == {""}


def test_through_a_shell_it_is_the_same_table(torch_python: str, table: Table) -> None:
    command = Command((torch_python, *operators.START), operators.SECONDS)
    terms = Terms(allowed=nodes.demanded({"operators": "yes", "python": torch_python}))
    with _shell.opened(ProcessPipe(["sh"]), terms, deadline=time.monotonic() + 150) as host:
        answers = host.gather([command])
    reading = _torch_said.reading(answers[command], command.seconds)
    assert reading == Observed(operator_table.write(table))


def truth(python: str) -> dict[str, list[str]]:
    done = subprocess.run(
        [python, TRUTH, ASK], capture_output=True, text=True, check=True, timeout=300
    )
    came: dict[str, list[str]] = json.loads(done.stdout.splitlines()[-1])
    return came


def test_what_it_says_is_what_running_every_operator_shows(torch_python: str, table: Table) -> None:
    """An operator that ran can be run; one that the dispatcher refused cannot."""
    platform = Platform(name="here", table=table, basis=Basis.TARGET)
    agreed: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    unknown = Counter[str]()
    for name, (what, of) in truth(torch_python).items():
        if what == "open":
            continue
        found = decide(name, (), platform).found
        if found is Class.UNKNOWN:
            unknown[what] += 1
        elif (found in {Class.SUPPORTED, Class.INDIRECT}) is (what == "ran"):
            agreed[f"{found} {what}"] += 1
        else:
            wrong[name] = f"{found}, and {what} {of}"
    total = agreed.total() + len(wrong)
    print(total, agreed, unknown, wrong)  # noqa: T201 - what docs/explanation/operators.md tells
    assert total >= OVERLOADS
    assert agreed.total() / total >= AGREEING
    listed = set(re.findall(r"`(aten::[\w.]+)`", PAGE.read_text(encoding="utf-8")))
    assert wrong.keys() <= listed


GEMS = """
import torch
LIBRARIES = []
def add(a, b, *, alpha=1):
    return torch.sub(a, b, alpha=-alpha)
def enable():
    library = torch.library.Library("aten", "IMPL")
    library.impl("add.Tensor", add, "CPU")
    library.impl("silu", lambda x: x * torch.sigmoid(x), "AutogradCPU")
    LIBRARIES.append(library)
"""
OWN = """
import torch
LIBRARY = torch.library.Library("mine", "DEF")
LIBRARY.define("twice(Tensor x) -> Tensor")
LIBRARY.impl("twice", lambda x: x + x, "CPU")
LIBRARY.define("nowhere(Tensor x) -> Tensor")
@torch.library.custom_op("mine::made", mutates_args=())
def made(x: torch.Tensor) -> torch.Tensor:
    return x + x
"""


def test_who_replaced_an_operator_is_told(torch_python: str, table: Table, tmp_path: Path) -> None:
    modules = {"flag_gems": GEMS, "mine": OWN}
    env = _stand_ins.environment(tmp_path / "venv", modules, of=torch_python)
    after = asked(env, "flag_gems:enable", "mine")
    changed = {n: e for n, e in after.entries.items() if table.entries.get(n) != e}
    assert {name: entry.by for name, entry in changed.items()} == {
        "aten::add.Tensor": "flag_gems",
        "aten::silu.default": "flag_gems",
        "mine::twice.default": "mine",
        "mine::nowhere.default": "",
        "mine::made.default": "mine",
    }
    hows = {name: entry.how.value for name, entry in changed.items()}
    assert hows.pop("mine::nowhere.default") == "missing"
    assert hows.pop("mine::made.default") == "composite"
    assert set(hows.values()) == {"native"}


BACKEND = (ROOT / "tests/_backend.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("fallback", [False, True])
def test_on_a_backend_of_one_s_own_what_it_says_is_what_happens(
    fallback: bool,  # noqa: FBT001 - a parameter of the test
    torch_python: str,
    tmp_path: Path,
) -> None:
    env = _stand_ins.environment(tmp_path / "venv", {"own_backend": BACKEND}, of=torch_python)
    enable = "with_fallback" if fallback else "alone"
    table = asked(env, f"own_backend:{enable}")
    assert table.key == "PrivateUse1"
    done = subprocess.run(
        [
            env / "bin/python3",
            "-c",
            f"import own_backend; own_backend.{enable}(); own_backend.tell()",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    came: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    assert len(came) >= 25
    platform = Platform(name="own", table=table, basis=Basis.TARGET)
    found = {name: decide(name, (), platform).found for name in came}
    expected = {
        "ran": {Class.SUPPORTED, Class.INDIRECT},
        "fell back": {Class.FALLBACK},
        "refused": {Class.UNSUPPORTED},
    }
    wrong = {n: (found[n], came[n]) for n in came if found[n] not in expected[came[n]]}
    print(wrong)  # noqa: T201 - told where it fails
    assert not {n for n in wrong if found[n] is not Class.UNKNOWN}
    assert len(wrong) <= 2
    assert Counter(came.values())["refused"] == 0 if fallback else "fell back" not in came.values()
    assert table.entries["aten::mm.default"].by == "own_backend"
