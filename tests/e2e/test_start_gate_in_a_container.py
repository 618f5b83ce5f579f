"""The start gate of the image, run by the engine, on what recorded nodes answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _chain import Run

pytestmark = pytest.mark.xdist_group("e2e")
RECORDINGS = Path(__file__).parent.parent / "recordings"
REFUSED = 78


def replayed(recording: str, path: Path) -> Path:
    """Write a program that answers as ``mx-smi`` did when ``recording`` was made."""
    commands = json.loads((RECORDINGS / recording / "commands.json").read_text())
    cases = [
        f'{json.dumps(" ".join(argv[1:]))})\ncat <<"END-OF-ANSWER"\n{command["stdout"].rstrip()}\n'
        f"END-OF-ANSWER\nexit {command['returncode']} ;;"
        for command in commands
        if (argv := command["argv"])[0] == "mx-smi"
    ]
    path.write_text('#!/bin/sh\ncase "$*" in\n' + "\n".join(cases) + "\n*) exit 1 ;;\nesac\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def old_driver(tmp_path: Path) -> Path:
    """What a node with the driver 2.16.0 says; the image asks for 3.8."""
    return replayed("c500-torch-overwritten", tmp_path / "mx-smi")


@pytest.fixture
def new_driver(tmp_path: Path) -> Path:
    """What a node with the driver 3.8.30 says."""
    return replayed("c500-8cards", tmp_path / "mx-smi")


def test_a_driver_that_the_lock_refuses_stops_the_start(contained: Run, old_driver: Path) -> None:
    done = contained("echo", "started", mx_smi=old_driver)
    assert done.returncode == REFUSED
    assert done.stdout == ""
    assert "2.16.0" in done.stderr
    assert "metax.kmd" in done.stderr


def test_a_driver_that_the_lock_takes_lets_it_start(contained: Run, new_driver: Path) -> None:
    done = contained("echo", "started", mx_smi=new_driver)
    assert (done.returncode, done.stdout) == (0, "started\n"), done.stderr


def test_a_driver_that_cannot_be_read_is_unknown_and_does_not_start(contained: Run) -> None:
    done = contained("echo", "started")
    assert done.returncode == REFUSED
    assert "unknown" in done.stderr


def test_warn_says_it_and_starts(contained: Run, old_driver: Path) -> None:
    done = contained("echo", "started", gate="warn", mx_smi=old_driver)
    assert (done.returncode, done.stdout) == (0, "started\n")
    assert "2.16.0" in done.stderr


def test_off_starts_and_says_nothing(contained: Run, old_driver: Path) -> None:
    done = contained("echo", "started", gate="off", mx_smi=old_driver)
    assert (done.returncode, done.stdout, done.stderr) == (0, "started\n", "")


def test_the_status_of_the_program_is_the_container_s(contained: Run, new_driver: Path) -> None:
    assert contained("sh", "-c", "exit 9", mx_smi=new_driver).returncode == 9
