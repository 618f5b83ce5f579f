"""What a developer and CI run, with the tools of the project's own ``.venv``: ``nox -l``."""

from __future__ import annotations

import sys
from pathlib import Path

import nox

nox.options.sessions = ["lint", "tests"]
nox.options.default_venv_backend = "none"

BIN = Path(sys.executable).parent


def tool(session: nox.Session, name: str, *arguments: str) -> None:
    """Run a program that lies beside the interpreter that runs nox."""
    session.run(str(BIN / name), *arguments, external=True)


def render_files(session: nox.Session, mode: str) -> None:
    """Hold golden files and generated pages against what is rendered now, or write them anew."""
    tool(session, "python", "-m", "pytest", "-q", f"--render={mode}", "tests")


@nox.session
def lint(session: nox.Session) -> None:
    tool(session, "ruff", "format", "--check", ".")
    tool(session, "ruff", "check", ".")
    tool(session, "mypy")
    tool(session, "lint-imports", "--no-cache")
    tool(session, "python", ".ci/no_hosts.py")
    render_files(session, "check")


@nox.session
def tests(session: nox.Session) -> None:
    tool(session, "python", "-m", "pytest", "-n", "auto", "--dist", "loadgroup", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """Every branch of the core is taken by the tests that do no input or output."""
    suites = ("tests/unit", "tests/property")
    tool(session, "coverage", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider", *suites)
    core = ("--include=mxenv/*.py", "--omit=mxenv/_*.py,mxenv/*/*")
    tool(session, "coverage", "report", "--fail-under=100", *core)


@nox.session
def render(session: nox.Session) -> None:
    render_files(session, "check" if "--check" in session.posargs else "write")
