"""On Debian /lib and /usr/local/man are links: an image leaves them so, or is not locked at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import _locked
import pytest
from _chain import MXENV, Run, run, succeed

if TYPE_CHECKING:
    from pathlib import Path

    from _registry import Registry

IMAGE = """\
schema = "mxenv.image/1"
name = "linked"
base = "{base}"
accelerator = "none"

[python]
requires = ["manual"]

[[files]]
source = "a.txt"
target = "{target}"
"""


@pytest.fixture
def described(tmp_path: Path, debian_base: str) -> Path:
    """A project whose one wheel has a page for /usr/local/man; it is not locked yet."""
    folder = tmp_path / "images" / "linked"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("a\n")
    (folder / "image.toml").write_text(IMAGE.format(base=debian_base, target="/lib/linked/a.txt"))
    page = {"manual.py": "", "manual-1.0.data/data/man/man1/manual.1": "a page\n"}
    _locked.wheel(tmp_path / "lockfiles" / "wheelhouse", "manual", "1.0", page)
    return tmp_path


def lock(mxenv: Run, project: Path) -> str:
    """Lock; return what was said if it was refused."""
    house = project / "lockfiles" / "wheelhouse"
    done = mxenv("lock", "images/linked/image.toml", "--find-links", house, cwd=project)
    assert done.returncode in {0, 1}
    return done.stderr if done.returncode else ""


def test_a_file_below_a_link_is_refused_and_the_right_place_named(
    mxenv: Run, described: Path
) -> None:
    said = lock(mxenv, described)
    assert "files[0].target: '/lib/linked/a.txt' leads through a link of the base" in said
    assert "write '/usr/lib/linked/a.txt'" in said


def test_no_link_of_the_base_is_covered(
    engine: str, mxenv: Run, described: Path, registry: Registry
) -> None:
    image = described / "images" / "linked" / "image.toml"
    image.write_text(image.read_text().replace('"/lib/', '"/usr/lib/'))
    assert not lock(mxenv, described)
    reference = f"{registry.address}/team/linked:1"
    path = described / "lockfiles" / "pylock.linked.toml"
    succeed(MXENV, "build", path, "--push", reference, cwd=described)
    succeed(engine, "pull", "--quiet", reference)
    command = "cat /lib/linked/a.txt /usr/local/man/man1/manual.1 && readlink /lib /usr/local/man"
    done = run(engine, "run", "--rm", "--network", "none", reference, "sh", "-c", command)
    assert done.stdout.split("\n") == ["a", "a page", "usr/lib", "share/man", ""], done.stderr
    assert mxenv("verify", path, "--on", f"image:{reference}", cwd=described).returncode == 0
