"""One lock is one image, whoever builds it, where, when, and with which Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import _pythons
import pytest
import uv
from _wheels import Made, lock_of

from mxenv import lock as locks

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parent.parent.parent
BUILD = """\
import os, sys
from mxenv.cli import main
sys.argv = ["mxenv", "build", sys.argv[1], "--out", "image"]
main()
"""
ANOTHER_USER = ("unshare", "--user", "--map-user=1234", "--map-group=1234")
PLACES: dict[str, tuple[int, dict[str, str]]] = {
    "a": (0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}),
    "b/c/d e": (0o077, {"TZ": "Asia/Shanghai", "LC_ALL": "C", "PYTHONHASHSEED": "2"}),
    "f": (0o000, {"TZ": "America/St_Johns", "LC_ALL": "POSIX", "PYTHONHASHSEED": "0"}),
}


def project(root: Path) -> Path:
    """Lay out a lock and its wheels, with what has several spellings or orders."""
    house = root / "lockfiles" / "wheelhouse"
    house.mkdir(parents=True)
    scripts = "[console_scripts]\none = one:main\nuno = one:main\n"
    accented = unicodedata.normalize("NFC", "one/données.txt")
    one = Made(
        name="one",
        files={
            "one/__init__.py": b"1\n" * 999,
            accented: b"x",
            "one-1.0.data/scripts/s": b"#!python",
        },
        entry_points=scripts,
    )
    others = [
        Made(
            name=f"n{n}",
            files={f"n{n}/__init__.py": bytes([n]) * 99 * n, f"n{n}/big": bytes(99999)},
        )
        for n in range(40)
    ]
    packages = [made.write(house) for made in (one, *others)]
    path = root / "lockfiles" / "pylock.demo.toml"
    path.write_text(locks.render(lock_of(*packages)), encoding="utf-8")
    return path


def image(folder: Path) -> dict[str, bytes]:
    """Return every file of a layout."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def build(
    folder: Path, umask: int, variables: Mapping[str, str], *command: str
) -> tuple[str, bytes, dict[str, bytes]]:
    """Build in a folder of its own; return what was said, the lock and the layout."""
    lock = project(folder)
    done = subprocess.run(
        [*command, "-c", BUILD, str(lock.relative_to(folder))],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        umask=umask,
        cwd=folder,
        env={**os.environ, **variables, "MXENV_CACHE_DIR": str(folder / "cache")},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, lock.read_bytes(), image(folder / "image")


def test_folder_umask_zone_language_and_hash_seed_make_no_difference(tmp_path: Path) -> None:
    said = [
        build(tmp_path / name, umask, variables, sys.executable)
        for name, (umask, variables) in PLACES.items()
    ]
    assert said[0] == said[1] == said[2]
    assert "sha256:" in said[0][0]


def test_another_user_makes_no_difference(tmp_path: Path) -> None:
    asked = subprocess.run([*ANOTHER_USER, "id", "-u"], capture_output=True, text=True, check=False)
    if asked.stdout != "1234\n":
        pytest.skip(f"this machine lets nobody be another user: {asked.stderr.strip()}")
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    environment = {"HOME": "/nonexistent", "USER": "somebody"}
    one = build(tmp_path / "one", 0o022, {}, sys.executable)
    other = build(tmp_path / "other", 0o022, environment, *ANOTHER_USER, sys.executable)
    assert one == other


@pytest.fixture(scope="module")
def another_python(
    package_index: None,  # noqa: ARG001 - it has to be there
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Another version of Python, with mxenv installed in an environment of its own."""
    mine = "{}.{}".format(*sys.version_info[:2])
    others = {v: path for v, path in _pythons.found().items() if v not in {mine, "3.10"}}
    if not others:
        pytest.skip("no other Python that mxenv runs on")
    folder = tmp_path_factory.mktemp("another")
    find = uv.find_uv_bin()
    # A copy, since to build it writes into the folder.
    shutil.copytree(
        ROOT / "mxenv", folder / "source" / "mxenv", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / "source")
    python = folder / "env" / "bin" / "python"
    for arguments in (
        ("venv", "--python", others[max(others, key=lambda v: int(v.partition(".")[2]))]),
        ("pip", "install", "--python", str(python), str(folder / "source")),
    ):
        where = (str(folder / "env"),) if arguments[0] == "venv" else ()
        subprocess.run([find, "--quiet", *arguments, *where], check=True)
    return python


def test_another_version_of_python_makes_no_difference(
    tmp_path: Path, another_python: Path
) -> None:
    asked = [str(another_python), "-c", "import sys, mxenv; print(sys.version_info[:2], mxenv)"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert str(sys.version_info[:2]) not in said
    assert str(ROOT) not in said
    one = build(tmp_path / "one", 0o022, {}, sys.executable)
    other = build(tmp_path / "other", 0o077, PLACES["b/c/d e"][1], str(another_python))
    assert one == other


def test_without_the_faster_decoder_the_bytes_are_the_same(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    (hidden / "isal").mkdir(parents=True)
    (hidden / "isal" / "__init__.py").write_text("raise ImportError('hidden')\n")
    one = build(tmp_path / "one", 0o022, {}, sys.executable)
    other = build(tmp_path / "other", 0o022, {"PYTHONPATH": str(hidden)}, sys.executable)
    assert one == other
