"""The rule of the house: a singular module is core, a plural package is an edge."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "mxenv"
CORE = sorted(path.stem for path in PACKAGE.glob("[!_]*.py"))
FORBIDDEN_NAMES = {"utils", "helpers", "common", "core", "base", "manager", "misc", "types"}


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
