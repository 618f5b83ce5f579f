"""The rule of the house: a singular module is core, a plural package is an edge."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

from mxenv.codes import CODES

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "mxenv"
CORE = sorted(path.stem for path in PACKAGE.glob("[!_]*.py"))
FORBIDDEN_NAMES = {"utils", "helpers", "common", "core", "base", "manager", "misc", "types"}
POSSESSIVE_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{[0-9,]+\})\+|\(\?>")


def contract(name: str) -> dict:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    return next(c for c in tools["importlinter"]["contracts"] if c["name"].startswith(name))


def test_the_linter_knows_every_module_of_the_core() -> None:
    listed = contract("The core")["source_modules"]
    assert sorted(listed) == [f"mxenv.{name}" for name in CORE]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_a_module_is_named_for_what_it_knows_and_says_so_first(path: Path) -> None:
    assert path.stem.lstrip("_") not in FORBIDDEN_NAMES
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), "no sentence opens it"


@pytest.mark.parametrize("module", CORE)
def test_a_module_of_the_core_loads_without_anything_that_does_io(module: str) -> None:
    code = (
        f"import sys; import mxenv.{module};"
        "print(sorted({'click', 'docker', 'psutil', 'requests', 'rich', 'uv'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_code_is_explained_exactly_if_something_says_it() -> None:
    paths = set(PACKAGE.rglob("*.py")) - {PACKAGE / "codes.py"}
    said = {code for path in paths for code in re.findall(r"\bMX\d{3}\b", path.read_text())}
    assert said == CODES.keys()


def test_no_two_files_of_tests_have_one_name() -> None:
    # pytest would collect but one of them in a run, and refuse the other.
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_no_pattern_makes_a_group_possessive(path: Path) -> None:
    # Python 3.11.0 to 3.11.4 (Debian 12 has one) then ends the groups around it too late.
    texts = [n.value for n in ast.walk(ast.parse(path.read_text("utf-8"))) if is_text(n)]
    assert not [text for text in texts if POSSESSIVE_GROUP.search(text)]


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
