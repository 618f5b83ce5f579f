"""The serving image, locked on a stand-in for the vendor's base, which no test can reach."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import _metax_base
import pytest
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from _chain import Run

pytestmark = pytest.mark.xdist_group("e2e")
SERVING = Path(__file__).parent.parent.parent / "images" / "llm-serving"
LOCK = "lockfiles/pylock.llm-serving.toml"


def on_base(base: str, folder: Path) -> Path:
    """Copy the image's description into ``folder``, with another base; return its path."""
    copy = shutil.copytree(SERVING, folder / "images" / "llm-serving") / "image.toml"
    text, replaced = re.subn(r'(?m)^base = ".*"$', f'base = "{base}"', copy.read_text())
    assert replaced == 1
    copy.write_text(text)
    (folder / "lockfiles").mkdir()
    return copy


@pytest.fixture(scope="module")
def locked(mxenv: Run, metax_base: str, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The lock of the serving image on the stand-in."""
    folder = tmp_path_factory.mktemp("serving")
    on_base(metax_base, folder)
    done = mxenv("lock", "images/llm-serving/image.toml", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return tomllib.loads((folder / LOCK).read_text())


def test_what_the_base_provides_is_recorded_as_it_is(locked: dict) -> None:
    provided = locked["tool"]["mxenv"]["provided"]
    brought = _metax_base.release()["packages"]
    assert provided.items() >= {canonicalize_name(n): v for n, v in brought.items()}.items()


def test_what_the_base_provides_is_never_installed(locked: dict) -> None:
    brought = {canonicalize_name(name) for name in _metax_base.release()["packages"]}
    assert not brought & {package["name"] for package in locked["packages"]}


def test_the_sdk_of_the_base_is_recorded(locked: dict) -> None:
    assert _metax_base.release()["sdk"] in str(locked["tool"]["mxenv"])


def test_a_registry_that_cannot_be_reached_is_one_line_and_status_6(
    mxenv: Run, tmp_path: Path
) -> None:
    described = on_base("127.0.0.1:1/metax/vllm:0.17.0", tmp_path)
    done = mxenv("lock", described, cwd=tmp_path)
    assert done.returncode == 6, done.stdout + done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "127.0.0.1:1" in errors[0]
    assert "Traceback" not in done.stderr
    assert not list((tmp_path / "lockfiles").iterdir())
