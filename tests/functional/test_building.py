"""From a lock on a disk to an image, by `mxenv.api.building`, as the command line calls it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _wheels import Made, lock_of

from mxenv import lock as locks
from mxenv.api.building import build
from mxenv.api.project import read_lock
from mxenv.api.verifying import verify
from mxenv.errors import Incompatible, LayoutError, LockError, RegistryError
from mxenv.image import AddedFile
from mxenv.layers import BUCKETS
from mxenv.stores import layout
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from pathlib import Path

SCRIPT = """
import sys
from pathlib import Path
from mxenv.api.building import build
done = build(Path(sys.argv[1]), out=Path(sys.argv[2]), cache=Path(sys.argv[3]))
print(done.config, done.manifest)
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A lock of two wheels in a project, its wheelhouse filled."""
    return project(tmp_path / "project")


def project(root: Path) -> Path:
    house = root / "lockfiles" / "wheelhouse"
    house.mkdir(parents=True)
    scripts = "[console_scripts]\none = one:main\n"
    one = Made(name="one", files={"one/__init__.py": b"1\n" * 999}, entry_points=scripts)
    two = Made(name="two", files={"two/__init__.py": b"2\n" * 999})
    path = root / "lockfiles" / "pylock.demo.toml"
    path.write_text(locks.render(lock_of(one.write(house), two.write(house))))
    return path


def test_the_image_is_a_layout_and_its_digests_are_in_the_lock(lock: Path, tmp_path: Path) -> None:
    done = build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    assert done.changed
    built = read_lock(lock).built
    assert built is not None
    assert (built.config, built.manifest) == (done.config, done.manifest)
    assert built.layers == tuple(layer.made.diff_id for layer in done.layers)
    index = json.loads((tmp_path / "out" / "index.json").read_text())
    images = [entry for entry in index["manifests"] if "artifactType" not in entry]
    assert [entry["digest"] for entry in images] == [done.manifest]
    assert done.name == f"oci:{tmp_path / 'out'}:demo"
    assert (tmp_path / "out" / "oci-layout").exists()


def test_a_second_build_changes_nothing_at_all(lock: Path, tmp_path: Path) -> None:
    first = build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.toml")}
    text = lock.read_bytes()
    second = build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    assert not second.changed
    assert (first.config, first.manifest) == (second.config, second.manifest)
    assert lock.read_bytes() == text
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.toml")}


def test_the_recorded_digests_do_not_change_the_image(lock: Path, tmp_path: Path) -> None:
    first = build(lock, out=tmp_path / "a", cache=tmp_path / "one", record=False)
    assert read_lock(lock).built is None
    build(lock, out=tmp_path / "b", cache=tmp_path / "two")
    third = build(lock, out=tmp_path / "c", cache=tmp_path / "three")
    assert first.manifest == third.manifest


def test_a_check_passes_without_writing_anything(lock: Path, tmp_path: Path) -> None:
    build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    before = sorted(tmp_path.rglob("*"))
    done = build(lock, check=True, cache=tmp_path / "another")
    assert done.name == ""
    assert sorted(tmp_path.rglob("*")) == before


def test_a_check_of_a_lock_without_an_image_says_to_build(lock: Path) -> None:
    with pytest.raises(Incompatible, match="does not say which image"):
        build(lock, check=True)


@pytest.mark.parametrize(
    ("run", "hint"),
    [((), "it needs no engine"), (("true",), "run `mxenv build --engine docker` once")],
)
def test_a_check_for_an_engine_says_what_helps_this_lock(
    lock: Path, run: tuple[str, ...], hint: str
) -> None:
    lock.write_text(locks.render(replace(read_lock(lock), run=run)))
    with pytest.raises(Incompatible, match="does not say what an engine is given") as caught:
        build(lock, engine="docker", check=True)
    assert hint in caught.value.hint


def test_a_check_names_the_layer_that_is_not_the_lock_s(lock: Path, tmp_path: Path) -> None:
    build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    value = read_lock(lock)
    assert value.built is not None
    wrong = (value.built.layers[0], "sha256:" + "0" * 64, value.built.layers[2])
    lock.write_text(locks.render(replace(value, built=replace(value.built, layers=wrong))))
    with pytest.raises(Incompatible, match=r"layer two==1\.0"):
        build(lock, check=True)


def test_another_image_than_the_lock_had_is_not_written_down_in_silence(
    lock: Path, tmp_path: Path
) -> None:
    first = build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    assert not [note for note in first.notes if "the lock had" in note]
    other = f"sha256:{'0' * 64}"
    lock.write_text(lock.read_text().replace(first.config, other))
    again = build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    (note,) = (note for note in again.notes if "the lock had" in note)
    assert note.endswith(f"configuration {first.config}, not {other}")
    assert again.changed


def test_a_check_does_not_trust_the_cache(lock: Path, tmp_path: Path) -> None:
    build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    next((lock.parent / "wheelhouse").glob("one*")).unlink()
    with pytest.raises(Exception, match="not in the wheelhouse"):
        build(lock, check=True, cache=tmp_path / "cache")


def test_by_default_the_layout_goes_to_dist(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = build(lock, cache=tmp_path / "cache")
    assert done.name == "oci:dist/demo:demo"
    assert (tmp_path / "dist" / "demo" / "index.json").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(lock: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("years of work")
    with pytest.raises(LayoutError):
        build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["thesis.txt"]


def test_a_lock_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="cannot be read"):
        build(tmp_path / "pylock.demo.toml")


def test_a_registry_that_cannot_be_reached_is_one_clear_error(lock: Path, tmp_path: Path) -> None:
    with pytest.raises(RegistryError):
        build(lock, push="127.0.0.1:9/out:1", cache=tmp_path / "cache")


def test_added_files_are_taken_from_the_image_s_folder(lock: Path, tmp_path: Path) -> None:
    folder = lock.parent.parent / "images" / "demo"
    folder.mkdir(parents=True)
    (folder / "motd").write_text("good day")
    file = AddedFile(source="motd", target="/etc/motd")
    sha256 = hashlib.sha256(b"good day").hexdigest()
    lock.write_text(locks.render(replace(read_lock(lock), files=((file, sha256),))))
    build(lock, out=tmp_path / "out", cache=tmp_path / "cache")
    (folder / "motd").write_text("good evening")
    with pytest.raises(LockError, match="motd: has the SHA-256"):
        build(lock, out=tmp_path / "out", cache=tmp_path / "cache")


class TestOneFileOfManyWheels:
    """More small wheels than layers for them: some of these share one."""

    @staticmethod
    def project(root: Path, *, equal: bool) -> Path:
        house = root / "wheelhouse"
        house.mkdir(parents=True)
        wheels = []
        for number in range(BUCKETS + 1):
            shared = b"" if equal else b"%d" % number
            made = Made(name=f"p{number}", files={"space/__init__.py": shared})
            wheels.append(made.write(house))
        path = root / "pylock.demo.toml"
        path.write_text(locks.render(lock_of(*wheels)))
        return path

    def test_is_there_once_if_it_is_the_same(self, tmp_path: Path) -> None:
        path = self.project(tmp_path, equal=True)
        build(path, out=tmp_path / "out", cache=tmp_path / "cache")
        assert verify(path, f"oci:{tmp_path / 'out'}").outcome is Outcome.COMPATIBLE

    def test_is_refused_if_it_is_not_and_two_are_named(self, tmp_path: Path) -> None:
        path = self.project(tmp_path, equal=False)
        with pytest.raises(Incompatible, match=r"p\d+==1\.0 and p\d+==1\.0 both bring it"):
            build(path, out=tmp_path / "out", cache=tmp_path / "cache")


def test_a_layout_is_a_base_wherever_the_project_lies(tmp_path: Path) -> None:
    lock = project(tmp_path / "project")
    below = build(lock, out=tmp_path / "project" / "bases" / "one", cache=tmp_path / "cache")
    value = replace(
        read_lock(lock),
        name="upper",
        packages=(),
        base=locks.Base(reference="oci:bases/one:demo", digest=below.manifest),
        built=None,
    )
    upper = lock.with_name("pylock.upper.toml")
    upper.write_text(locks.render(value))
    done = build(upper, out=tmp_path / "out", cache=tmp_path / "cache", with_base=True)
    source = layout.open_source(str(tmp_path / "out"))
    document = json.loads(source.manifest("linux/amd64")[1])
    assert len(document["layers"]) == 4
    assert all(source.has(layer["digest"]) for layer in document["layers"])
    assert [note[:38] for note in done.notes] == ["which files the base holds is not know"]


def test_folder_umask_zone_language_and_hash_seed_make_no_difference(tmp_path: Path) -> None:
    said = []
    for name, umask, environment in (
        ("a", 0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}),
        ("b/c/d", 0o077, {"TZ": "Asia/Shanghai", "LC_ALL": "C", "PYTHONHASHSEED": "2"}),
    ):
        folder = tmp_path / name
        lock = project(folder)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, lock, folder / "out", folder / "cache"],
            capture_output=True,
            text=True,
            check=True,
            umask=umask,
            cwd=folder,
            env={**os.environ, **environment},
        )
        said.append((done.stdout, (folder / "out" / "index.json").read_bytes(), lock.read_bytes()))
    assert said[0] == said[1]


def test_a_build_that_was_killed_leaves_nothing_that_the_next_one_believes(tmp_path: Path) -> None:
    lock = project(tmp_path / "right")
    right = build(lock, out=tmp_path / "right" / "out", cache=tmp_path / "right" / "cache")
    lock = project(tmp_path / "killed")
    out, cache = tmp_path / "killed" / "out", tmp_path / "killed" / "cache"
    killed = 0
    for wait in (0.15, 0.2, 0.25, 0.3, 0.35, 0.4):
        child = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, lock, out, cache], stdout=subprocess.DEVNULL
        )
        time.sleep(wait)
        child.send_signal(signal.SIGKILL)
        killed += child.wait() == -signal.SIGKILL
        if (out / "index.json").exists():
            named = json.loads((out / "index.json").read_text())["manifests"]
            images = [entry["digest"] for entry in named if "artifactType" not in entry]
            assert images == [right.manifest]
    assert killed
    assert build(lock, out=out, cache=cache).manifest == right.manifest
    assert lock.read_bytes() == (tmp_path / "right/lockfiles/pylock.demo.toml").read_bytes()


def test_two_builds_at_once_share_a_cache_and_a_layout(lock: Path, tmp_path: Path) -> None:
    out, cache = tmp_path / "out", tmp_path / "cache"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, lock, out, cache], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    said = {child.communicate()[0] for child in children}
    assert len(said) == 1
    assert said.pop().startswith("sha256:")


def test_with_zstd_the_lock_keeps_the_digest_of_the_image_with_gzip(
    lock: Path, tmp_path: Path
) -> None:
    usual = build(lock, out=tmp_path / "usual", cache=tmp_path / "cache")
    text = lock.read_bytes()
    done = build(lock, out=tmp_path / "zstd", cache=tmp_path / "other", compression="zstd")
    assert not done.changed
    assert lock.read_bytes() == text
    assert done.config == usual.config
    assert done.manifest != usual.manifest
    index = json.loads((tmp_path / "zstd" / "index.json").read_text())
    assert done.manifest in {entry["digest"] for entry in index["manifests"]}


def test_where_nothing_changed_nothing_is_imported_that_makes_something(
    lock: Path, tmp_path: Path
) -> None:
    script = (
        "import sys; from pathlib import Path; from mxenv.api.building import build;"
        "build(Path(sys.argv[1]), out=Path(sys.argv[2]), cache=Path(sys.argv[3]));"
        "print(*sys.modules)"
    )
    words = [sys.executable, "-c", script, str(lock), str(tmp_path / "out"), str(tmp_path / "c")]
    first, again = (
        subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
        for _ in range(2)
    )
    makers = {"mxenv.engines._wheel", "mxenv.engines._inside", "mxenv.sbom", "mxenv.deflation"}
    assert makers <= set(first)
    slow = {"tomlkit", "cyclonedx", "installer", "requests", "mxenv.api.verifying"}
    assert not (makers | slow) & set(again)
    assert not slow & set(first)
