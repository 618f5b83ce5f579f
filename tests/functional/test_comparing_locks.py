"""What `mxenv diff` says of locks, among themselves and beside images and nodes."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from _locked import scratch_lock, write_lock

from mxenv import lock as locks
from mxenv.api import building, lock_files, nodes
from mxenv.api.project import read_lock
from mxenv.facts import Fact, Snapshot, Unreadable, View
from mxenv.lock import Lock, Package, Provided

MXENV = Path(sys.executable).with_name("mxenv")


def diff(folder: Path, *words: str, status: int) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [MXENV, "diff", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    found = scratch_lock(tmp_path)
    write_lock(tmp_path, found)
    return found


def newer(package: Package, version: str) -> Package:
    name = f"{package.name}-{version}-py3-none-any.whl"
    return replace(package, version=version, wheel=replace(package.wheel, name=name))


@pytest.fixture
def other(tmp_path: Path, lock: Lock) -> Lock:
    alpha, _ = lock.packages
    found = replace(
        lock,
        packages=(newer(alpha, "1.1"), newer(replace(alpha, name="delta"), "4.0")),
        host=("os.id == debian",),
        provided=(Provided(name="gamma", version="0.3"),),
    )
    (tmp_path / "pylock.other.toml").write_text(locks.render(found))
    return found


A, B = "lockfiles/pylock.small.toml", "pylock.other.toml"
EXPECTED = """\
packages.alpha  1.0 → 1.1
packages.beta  2.0+metax3.5.3 → nothing
packages.delta  nothing → 4.0
provided.gamma  nothing → 0.3
host.os.id == debian  nothing → os.id == debian
"""


@pytest.mark.usefixtures("other")
class TestTwoLocks:
    def test_each_difference_has_a_line(self, tmp_path: Path) -> None:
        done = diff(tmp_path, A, B, status=1)
        assert done.stdout == EXPECTED
        assert done.stderr == f"5 differences between {A} and {B}\n"

    def test_that_are_equal_do_not_differ(self, tmp_path: Path) -> None:
        done = diff(tmp_path, A, A, status=0)
        assert (done.stdout, done.stderr) == ("", f"no differences between {A} and {A}\n")

    def test_programs_get_what_and_how(self, tmp_path: Path) -> None:
        said = json.loads(diff(tmp_path, A, B, "--format", "json", status=1).stdout)
        assert (said["schema"], said["before"], said["after"]) == ("mxenv.lockdiff/1", A, B)
        assert said["changes"][1] == {
            "part": "packages",
            "name": "beta",
            "kind": "removed",
            "before": "2.0+metax3.5.3",
            "after": None,
        }

    def test_a_page_has_a_table(self, tmp_path: Path) -> None:
        page = diff(tmp_path, A, B, "--format", "html", status=1).stdout
        assert "<caption>5 differences</caption>" in page
        assert '<th scope="row">packages.delta</th><td>nothing</td><td>4.0</td>' in page
        assert "do not differ" in diff(tmp_path, A, A, "--format", "html", status=0).stdout

    def test_may_come_from_pipes_as_git_gives_them(self, tmp_path: Path) -> None:
        script = f'{MXENV} diff <(cat {A}) "{B}"'
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (1, EXPECTED)

    def test_one_that_is_damaged_is_refused_with_its_place(self, tmp_path: Path) -> None:
        text = (tmp_path / B).read_text()
        (tmp_path / B).write_text(text.replace('version = "1.1"', "version = 1.1"))
        done = diff(tmp_path, A, B, status=5)
        assert f"{B}: packages[0].version: a number where a string belongs" in done.stderr

    def test_an_image_that_was_built_since_is_a_difference(self, tmp_path: Path) -> None:
        before = (tmp_path / A).read_text()
        building.build(tmp_path / A, out=tmp_path / "dist", cache=tmp_path / "cache")
        (tmp_path / "pylock.before.toml").write_text(before)
        done = diff(tmp_path, "pylock.before.toml", A, status=1)
        config = read_lock(tmp_path / A).built
        assert config is not None
        assert f"image.config  nothing → {config.config}" in done.stdout


class TestALockBesideWhatIsThere:
    def test_an_image_that_was_built_from_it_does_not_differ(
        self, tmp_path: Path, lock: Lock
    ) -> None:
        del lock
        building.build(tmp_path / A, out=tmp_path / "dist", cache=tmp_path / "cache")
        assert diff(tmp_path, A, "oci:dist", status=0).stdout == ""

    def test_an_image_of_another_lock_differs_by_its_packages(
        self, tmp_path: Path, other: Lock
    ) -> None:
        building.build(tmp_path / A, out=tmp_path / "dist", cache=tmp_path / "cache")
        assert [p.name for p in other.packages] == ["alpha", "delta"]
        told = diff(tmp_path, B, "oci:dist", status=1).stdout
        for name in ("alpha", "beta", "delta"):
            assert f"python.package[/opt/mxenv/{name}]" in told
        back = diff(tmp_path, "oci:dist", B, "--format", "html", status=1).stdout
        assert "python.package[/opt/mxenv/delta]" in back

    def test_what_could_not_be_read_is_not_said_to_be_missing(self, lock: Lock) -> None:
        """As in an image whose base lies elsewhere: nobody knows what its layers hold."""
        reading = Unreadable("a layer is not there")
        fact = Fact(key="python.package", reading=reading, source="image", view=View.IMAGE)
        image = Snapshot(
            node="image",
            view=View.IMAGE,
            taken_at=datetime(2026, 11, 30, tzinfo=UTC),
            facts=(fact,),
        )
        told = nodes.diff(*lock_files.as_nodes(lock, image))
        packages = [d for d in told if d.key == "python.package" and d.instance]
        assert [d.instance for d in packages] == ["/opt/mxenv/alpha", "/opt/mxenv/beta"]
        assert {d.after for d in packages} == {(reading,)}

    def test_a_node_is_compared_in_what_the_lock_speaks_of(
        self, tmp_path: Path, lock: Lock
    ) -> None:
        del lock
        recording = Path(__file__).parents[1] / "recordings" / "plain-debian12"
        told = diff(tmp_path, A, f"recording:{recording}", status=1).stdout
        assert "alpha" in told
        assert "kernel" not in told
