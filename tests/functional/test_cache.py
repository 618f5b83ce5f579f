"""Layers that are kept: believed only if whole, shared by builds, bounded, never half there."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
import warnings
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, BinaryIO

import pytest
from _wheels import Made, lock_of
from hypothesis import given
from hypothesis import strategies as st

from mxenv import lock as locks
from mxenv._files import write_atomically
from mxenv.api import building, caching, doctoring
from mxenv.api.project import read_lock
from mxenv.engines import _cache_use
from mxenv.engines._blob import Blob, listed
from mxenv.engines._cache import PASSED, REMEMBERED, STALE, Cache
from mxenv.errors import EngineError, UsageError
from mxenv.layers import Entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MXENV = Path(sys.executable).with_name("mxenv")
KILLS = 100
HOLDER = """
import sys, time
from pathlib import Path
from mxenv.engines._cache import Cache
cache = Cache(root=Path(sys.argv[1]))
with cache.using():
    assert cache.find(sys.argv[2])
    print("held", flush=True)
    time.sleep(600)
"""


def content_of(key: str) -> bytes:
    return (key * 50).encode()


def keep(cache: Cache, key: str, content: bytes | None = None) -> Blob:
    """Make a layer; its bytes depend on its key alone."""
    data = content_of(key) if content is None else content
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    entry = Entry(path=f"/{key}", sha256=digest, size=len(data), mode=0o644)
    blob = Blob(diff_id=digest, digest=digest, size=len(data), listed=listed([entry]))

    def write(file: BinaryIO) -> bytes:
        file.write(data)
        return data

    def check(file: BinaryIO, written: bytes) -> Blob:
        assert file.read() == written
        return blob

    return cache.make(key, write, check=check)


def age(cache: Cache, key: str, seconds: int) -> None:
    """Let a layer have been used that long ago."""
    then = time.time_ns() - seconds * 10**9
    os.utime(cache.root / "layers" / key, ns=(then, then))


def blob_path(cache: Cache, blob: Blob) -> Path:
    return cache.root / "blobs" / blob.digest.removeprefix("sha256:")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(root=tmp_path / "cache")


class TestWhatIsBelieved:
    def test_what_was_made_is_found_with_all_that_is_in_it(self, cache: Cache) -> None:
        blob = keep(cache, "a")
        assert cache.find("a") == blob
        with cache.open(blob) as file:
            assert file.read() == content_of("a")

    def test_what_was_not_made_is_not_found(self, cache: Cache) -> None:
        assert cache.find("a") is None
        assert not cache.root.exists() or not list(cache.root.glob("layers/*"))

    @pytest.mark.parametrize("at", [0, 10, 66, 200, -1])
    def test_a_record_with_one_wrong_byte_is_none(self, cache: Cache, at: int) -> None:
        keep(cache, "a")
        path = cache.root / "layers" / "a"
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)
        assert cache.find("a") is None

    @pytest.mark.parametrize(
        "body", [b"[]", b"{}", b'{"stamp": 1}', b"{", b'{"stamp":1,"entries":[[]]}']
    )
    def test_a_record_of_another_version_is_none(self, cache: Cache, body: bytes) -> None:
        keep(cache, "a")
        line = hashlib.sha256(body).hexdigest().encode()
        (cache.root / "layers" / "a").write_bytes(line + b"\n" + body)
        assert cache.find("a") is None

    def test_a_layer_without_its_bytes_is_none(self, cache: Cache) -> None:
        blob_path(cache, keep(cache, "a")).unlink()
        assert cache.find("a") is None

    def test_bytes_of_another_length_are_none(self, cache: Cache) -> None:
        with blob_path(cache, keep(cache, "a")).open("ab") as file:
            file.write(b"x")
        assert cache.find("a") is None

    def test_bytes_that_were_written_since_are_read_and_wrong_ones_are_none(
        self, cache: Cache
    ) -> None:
        blob = keep(cache, "a")
        blob_path(cache, blob).write_bytes(b"b" * blob.size)
        assert cache.find("a") is None
        assert not (cache.root / "layers" / "a").exists()

    def test_bytes_that_were_written_since_and_are_the_same_are_believed(
        self, cache: Cache
    ) -> None:
        blob = keep(cache, "a")
        copied = Cache(root=cache.root.with_name("copy"))
        shutil.copytree(cache.root, copied.root, copy_function=shutil.copyfile)
        before = (copied.root / "layers" / "a").read_bytes()
        assert copied.find("a") == blob
        assert (copied.root / "layers" / "a").read_bytes() != before

    def test_what_a_disk_changed_is_found_when_all_is_read(self, cache: Cache) -> None:
        blob = keep(cache, "a")
        keep(cache, "b")
        path = blob_path(cache, blob)
        status = path.stat()
        path.write_bytes(b"b" * blob.size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        assert not cache.is_whole(blob)
        (damaged,) = caching.verify(cache.root)
        assert damaged.key == "a"
        assert cache.find("a") is None
        assert cache.find("b") is not None
        assert caching.verify(cache.root) == ()

    def test_a_build_sends_no_bytes_that_a_disk_changed(self, tmp_path: Path) -> None:
        lock = project(tmp_path / "project")
        root = tmp_path / "cache"
        right = building.build(lock, out=tmp_path / "one", cache=root)
        for path in (root / "blobs").iterdir():
            status = path.stat()
            path.write_bytes(bytes(status.st_size))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        again = building.build(lock, out=tmp_path / "two", cache=root)
        assert again.manifest == right.manifest
        for path in (tmp_path / "two" / "blobs" / "sha256").iterdir():
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
        assert caching.verify(root) == ()


class TestRoom:
    def test_what_was_not_used_for_longest_goes_first(self, cache: Cache) -> None:
        for number, key in enumerate("abcd"):
            keep(cache, key)
            age(cache, key, 100 - number)
        cache.find("a")
        size = caching.show(cache.root).bytes
        each = size // 4
        freed = caching.prune(cache.root, size - each)
        assert freed.layers == 1
        assert [bool(cache.find(key)) for key in "abcd"] == [True, False, True, True]
        assert freed.left == caching.show(cache.root).bytes <= size - each

    def test_nothing_goes_while_there_is_room(self, cache: Cache) -> None:
        keep(cache, "a")
        assert caching.prune(cache.root, 1 << 20).layers == 0
        assert cache.find("a")

    def test_bytes_that_two_layers_have_stay_while_one_does(self, cache: Cache) -> None:
        blob = keep(cache, "a", b"same")
        keep(cache, "b", b"same")
        age(cache, "a", 100)
        size = caching.show(cache.root).bytes
        assert caching.prune(cache.root, size - 1).layers == 1
        assert cache.find("a") is None
        assert cache.find("b") is not None
        assert cache.is_whole(blob)
        assert caching.prune(cache.root, 0).left == 0
        assert not blob_path(cache, blob).exists()

    def test_what_killed_builds_left_goes(self, cache: Cache) -> None:
        keep(cache, "a")
        (cache.root / "blobs" / ("0" * 64)).write_bytes(b"nobody's")
        (cache.root / "blobs" / ".1234.tmp").write_bytes(b"half")
        assert caching.show(cache.root).stray == 2
        caching.prune(cache.root, 1 << 30)
        assert caching.show(cache.root).stray == 0
        assert cache.find("a")

    def test_old_unfinished_files_go_with_the_next_build(self, cache: Cache) -> None:
        keep(cache, "a")
        left = cache.root / "blobs" / ".1234.tmp"
        left.write_bytes(b"half")
        cache.tidy()
        assert left.exists()
        cache.tidy(now=time.time() + STALE + 60)
        assert not left.exists()

    def test_what_a_running_build_uses_stays_until_it_ends_even_by_a_kill(
        self, cache: Cache
    ) -> None:
        keep(cache, "a")
        keep(cache, "b")
        age(cache, "a", 100)
        age(cache, "b", 100)
        command = [sys.executable, "-c", HOLDER, cache.root, "a"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            half = cache.root / "blobs" / ".1234.tmp"
            half.write_bytes(b"being written")
            freed = caching.prune(cache.root, 0)
            assert (freed.layers, freed.in_use) == (1, 1)
            assert half.exists()
            assert cache.find("a")
            holder.kill()
        age(cache, "a", 100)
        assert caching.prune(cache.root, 0).layers == 1
        assert not half.exists()
        assert not list((cache.root / "running").iterdir())

    def test_a_build_keeps_no_more_than_it_is_told_and_says_so(self, tmp_path: Path) -> None:
        lock = project(tmp_path / "project")
        root = tmp_path / "cache"
        first = building.build(lock, out=tmp_path / "one", cache=root, cache_size=0)
        assert any("layers were removed from the cache" in note for note in first.notes)
        assert caching.show(root).bytes == 0
        again = building.build(lock, out=tmp_path / "two", cache=root)
        assert again.manifest == first.manifest
        assert not any("removed from the cache" in note for note in again.notes)

    @given(
        st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 10_000)), max_size=6),
        st.integers(0, 8000),
    )
    def test_what_is_left_fits_and_is_what_was_used_last(
        self, layers: list[tuple[int, int]], size: int
    ) -> None:
        with TemporaryDirectory() as folder:
            cache = Cache(root=Path(folder))
            used = {}
            for number, (length, seconds) in enumerate(layers):
                key = f"k{number}"
                keep(cache, key, f"{number}:".encode() + b"x" * length)
                used[key] = seconds
            for key, seconds in used.items():
                age(cache, key, seconds)
            caching.prune(cache.root, size)
            left = {layer.key for layer in caching.show(cache.root).layers}
            total = sum(
                p.stat().st_size for n in ("blobs", "layers") for p in (cache.root / n).glob("*")
            )
            assert total <= size
            gone = used.keys() - left
            assert all(used[one] >= used[other] for one in gone for other in left)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("7", 7),
        ("2k", 2048),
        ("1.5M", 3 << 19),
        ("20G", 20 << 30),
        (" 1 TiB ", 1 << 40),
        ("3gb", 3 << 30),
    ],
)
def test_a_size_has_a_unit_or_none(text: str, size: int) -> None:
    assert caching.size_of(text) == size
    assert caching.limit({"MXENV_CACHE_SIZE": text}) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "2X", "1e3", "ten"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        caching.size_of(text)


def project(root: Path, *, packages: int = 4, size: int = 5000) -> Path:
    """A project of some wheels; return its lock."""
    house = root / "lockfiles" / "wheelhouse"
    house.mkdir(parents=True)
    source = random.Random(size)  # noqa: S311 - the same each time
    made = [
        Made(name=f"p{number}", files={f"p{number}/data.bin": source.randbytes(size)}).write(house)
        for number in range(packages)
    ]
    path = root / "lockfiles" / "pylock.demo.toml"
    path.write_text(locks.render(lock_of(*made)))
    return path


def fork() -> int:
    with warnings.catch_warnings():
        # Python warns where there are other threads, as those of a test runner; none is needed.
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def forked(call: Callable[[], object]) -> int:
    """Call it in a process of its own, and return which: all that is imported is there already."""
    child = fork()
    if child == 0:
        status = 70
        try:
            call()
            status = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the reader of the test is to know
            traceback.print_exc()
        finally:
            os._exit(status)
    return child


def build_and_forget(lock: Path, text: str, root: Path, seed: int) -> None:
    """Build again and again, each time with something missing, until killed."""
    source = random.Random(seed)  # noqa: S311 - the same each time
    cache = Cache(root=root)
    lock.with_name(f"begun{seed}").touch()
    while True:
        write_atomically(lock, text)
        building.build(
            lock,
            out=lock.parent / f"out{seed}",
            cache=root,
            cache_size=source.choice([0, 9000, None]),
        )
        shutil.rmtree(lock.parent / f"out{seed}")
        for layer in caching.show(root).layers:
            if source.random() < 0.5:
                cache.drop(layer.key)


def test_a_hundred_builds_that_were_killed_leave_nothing_that_is_believed(tmp_path: Path) -> None:
    lock = project(tmp_path / "project", size=200_000)
    right = building.build(lock, out=tmp_path / "right", cache=tmp_path / "other")
    whole, cache = lock.read_text(), Cache(root=tmp_path / "cache")
    text = locks.render(locks.without_image(read_lock(lock)))
    source = random.Random(1)  # noqa: S311 - the same each time
    believed = 0
    for number in range(KILLS):
        child = forked(lambda number=number: build_and_forget(lock, text, cache.root, number))
        while not lock.with_name(f"begun{number}").exists():
            time.sleep(0.001)
        time.sleep(source.uniform(0, 0.15))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        for layer in caching.show(cache.root).layers:
            blob = cache.find(layer.key)
            if blob is not None:
                believed += 1
                assert cache.is_whole(blob)
        assert read_lock(lock).built in {
            None,
            read_lock(tmp_path / "project/lockfiles/pylock.demo.toml").built,
        }
        out = lock.parent / f"out{number}"
        if (out / "index.json").exists():
            named = json.loads((out / "index.json").read_text())["manifests"]
            images = [entry["digest"] for entry in named if "artifactType" not in entry]
            assert images == [right.manifest]
    assert believed > KILLS
    lock.write_text(text)
    done = building.build(lock, out=tmp_path / "out", cache=cache.root)
    assert done.manifest == right.manifest
    assert lock.read_text() == whole
    caching.prune(cache.root, 1 << 30)
    assert (caching.show(cache.root).stray, caching.verify(cache.root)) == (0, ())


def build_once(lock: Path, out: Path, root: Path, size: int | None) -> None:
    done = building.build(lock, out=out, cache=root, cache_size=size)
    Path(f"{out}.said").write_text(done.manifest)


def test_builds_at_once_that_leave_no_room_take_nothing_from_one_another(tmp_path: Path) -> None:
    lock = project(tmp_path / "project", size=100_000)
    right = building.build(lock, out=tmp_path / "right", cache=tmp_path / "other")
    for turn in range(4):
        names = [tmp_path / f"out{turn}{number}" for number in range(4)]
        sizes = [0, None, 0, 300_000]
        children = [
            forked(lambda name=name, size=size: build_once(lock, name, tmp_path / "cache", size))
            for name, size in zip(names, sizes, strict=True)
        ]
        for child in children:
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert {Path(f"{name}.said").read_text() for name in names} == {right.manifest}
    assert caching.verify(tmp_path / "cache") == ()


@contextmanager
def mounted(place: Path, size: str) -> Iterator[Path]:
    """Mount a small disk, or skip where that is not allowed."""
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "mxenv-test", place],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("this process may mount nothing")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_said_and_nothing_is_damaged(tmp_path: Path) -> None:
    lock = project(tmp_path / "project", size=300_000)
    with mounted(tmp_path / "disk", "1m") as disk:
        with pytest.raises(EngineError, match="No space left on device") as caught:
            building.build(lock, out=tmp_path / "out", cache=disk / "cache")
        assert caught.value.context == str(disk / "cache")
        assert "mxenv cache prune" in caught.value.hint
        assert not (tmp_path / "out" / "index.json").exists()
        assert not list(disk.glob("cache/*/.*.tmp"))
        assert caching.verify(disk / "cache") == ()
        caching.prune(disk / "cache", 0)
        small = project(tmp_path / "small", size=30_000)
        assert building.build(small, out=tmp_path / "other", cache=disk / "cache").manifest


def test_a_cache_on_a_disk_that_is_not_to_be_written_is_read(tmp_path: Path) -> None:
    lock = project(tmp_path / "project")
    with mounted(tmp_path / "disk", "8m") as disk:
        root = disk / "cache"
        right = building.build(lock, out=tmp_path / "one", cache=root)
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        again = building.build(lock, out=tmp_path / "two", cache=root, cache_size=0)
        assert again.manifest == right.manifest
        assert all(layer.cached for layer in again.layers)
        other = project(tmp_path / "other", packages=5)
        with pytest.raises(EngineError, match="the cache cannot be written: Read-only file system"):
            building.build(other, out=tmp_path / "three", cache=root)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)


@pytest.mark.usefixtures("powerless")
def test_a_folder_that_may_not_be_written_is_said(tmp_path: Path) -> None:
    lock = project(tmp_path / "project")
    root = tmp_path / "cache"
    root.mkdir(mode=0o500)
    with pytest.raises(EngineError, match="the cache cannot be written: Permission denied"):
        building.build(lock, out=tmp_path / "out", cache=root)


def test_a_file_where_the_folder_should_be_is_said(tmp_path: Path) -> None:
    lock = project(tmp_path / "project")
    (tmp_path / "cache").write_text("")
    with pytest.raises(EngineError, match="the cache cannot be written"):
        building.build(lock, out=tmp_path / "out", cache=tmp_path / "cache")


def as_nobody(call: Callable[[], object]) -> str:
    """Return what ``call`` returns, or its error, where it is run by nobody's number."""
    if os.geteuid() != 0:
        pytest.skip("only root runs things as somebody else")
    read, write = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
            said = str(call())
        except EngineError as error:
            said = f"{error.message}; {error.hint}"
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent is to know
            said = repr(error)
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as stream:
        return stream.read()


def open_to_all(folder: Path) -> None:
    below = [path for path in folder.parents if path.is_relative_to(gettempdir())]
    for path in (folder, *below[:-1]):
        path.chmod(path.stat().st_mode | 0o055)


def test_a_cache_of_another_user_is_shared(cache: Cache, tmp_path: Path) -> None:
    keep(cache, "a")
    open_to_all(tmp_path)

    def found() -> bool:
        with cache.using():
            return cache.find("a") is not None

    assert as_nobody(found) == "True"
    said = as_nobody(lambda: keep(cache, "b"))
    assert said.startswith("the cache cannot be written: Permission denied; ")
    assert "set MXENV_CACHE_DIR" in said


def test_what_may_not_be_removed_is_not_said_to_be_gone(cache: Cache, tmp_path: Path) -> None:
    keep(cache, "a")
    open_to_all(tmp_path)
    said = as_nobody(lambda: caching.prune(cache.root, 0))
    assert said.startswith("what is kept cannot be removed: Permission denied; ")
    noted = as_nobody(lambda: caching.pruned(cache.root, 0))
    assert noted.endswith("more than 0, and Permission denied")
    assert cache.find("a")
    blob = next((cache.root / "blobs").iterdir())
    blob.write_bytes(b"rubbish")
    said = as_nobody(lambda: caching.verify(cache.root))
    assert said.startswith(f"damaged, and cannot be removed: {blob.name}: Permission denied; ")


class TestWhereItLies:
    def test_the_environment_says(self) -> None:
        assert caching.cache_root({"MXENV_CACHE_DIR": "/x", "XDG_CACHE_HOME": "/y"}) == Path("/x")
        assert caching.cache_root({"XDG_CACHE_HOME": "/y"}) == Path("/y/mxenv")

    def test_a_relative_cache_home_means_nothing(self) -> None:
        assert caching.cache_root({"XDG_CACHE_HOME": "y"}) == Path.home() / ".cache" / "mxenv"

    def test_a_user_without_a_home_is_told_what_to_set(self) -> None:
        def homeless() -> Path:
            del os.environ["HOME"]
            return caching.cache_root({})

        said = as_nobody(homeless)
        assert said == (
            "there is no home folder to keep layers in; set MXENV_CACHE_DIR to a folder"
        )

    def test_doctor_says_of_an_engine_in_a_closed_folder_that_it_may_not_be_used(
        self, tmp_path: Path
    ) -> None:
        def asked() -> str:
            environ = {"HOME": "/", "DOCKER_HOST": f"unix://{tmp_path}/closed/docker.sock"}
            found = doctoring.examine(environ).findings
            return next(finding.found for finding in found if finding.code == "MX505")

        (tmp_path / "closed").mkdir(mode=0o700)
        assert as_nobody(asked).startswith("one that you may not use at ")

    def test_doctor_says_so_too(self) -> None:
        def homeless() -> str:
            del os.environ["HOME"]
            return doctoring.examine({}).findings[1].found

        assert as_nobody(homeless) == "there is no home folder to keep layers in"

    def test_a_user_whose_home_is_no_path_is_told_the_same(self) -> None:
        def lost() -> Path:
            os.environ["HOME"] = "somewhere"
            return caching.cache_root({})

        assert "there is no home folder" in as_nobody(lost)


class TestTheCommand:
    def mxenv(
        self, root: Path, *arguments: str, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [MXENV, "cache", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "MXENV_CACHE_DIR": str(root), "MXENV_CONFIG": "", **environment},
        )

    def test_show_says_what_is_there(self, cache: Cache) -> None:
        blob = keep(cache, "a")
        done = self.mxenv(cache.root, "show")
        assert done.returncode == 0
        lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
        assert (lines["layers"], lines["stray"]) == ("1", "0")
        assert lines["folder"] == str(cache.root)
        assert blob.digest[7:] in self.mxenv(cache.root, "show", "-v").stdout
        said = json.loads(self.mxenv(cache.root, "show", "--format", "json").stdout)
        assert said["schema"] == "mxenv.cache/1"
        assert [one["layer"] for one in said["used"]] == [blob.digest[7:]]

    def test_a_cache_that_is_not_there_is_empty(self, tmp_path: Path) -> None:
        for command in ("show", "verify", "prune", "clear"):
            assert self.mxenv(tmp_path / "none", command).returncode == 0
        assert not (tmp_path / "none").exists()

    def test_verify_names_what_is_damaged_with_status_1(self, cache: Cache) -> None:
        blob_path(cache, keep(cache, "a")).write_bytes(b"")
        done = self.mxenv(cache.root, "verify", "--format", "json")
        assert done.returncode == 1
        assert len(json.loads(done.stdout)["damaged"]) == 1
        assert self.mxenv(cache.root, "verify").returncode == 0

    def test_prune_takes_its_size_from_the_option_or_the_environment(self, cache: Cache) -> None:
        keep(cache, "a")
        assert (
            json.loads(self.mxenv(cache.root, "prune", "--format", "json").stdout)["removed"] == 0
        )
        said = self.mxenv(cache.root, "prune", "--format", "json", MXENV_CACHE_SIZE="1")
        assert json.loads(said.stdout)["removed"] == 1
        keep(cache, "b")
        said = self.mxenv(cache.root, "prune", "--size", "0", "--format", "json")
        assert json.loads(said.stdout)["removed"] == 1

    def test_what_is_no_size_is_one_line_and_status_2(self, cache: Cache) -> None:
        done = self.mxenv(cache.root, "prune", "--size", "much")
        assert (done.returncode, "'much' is no size" in done.stderr) == (2, True)
        done = self.mxenv(cache.root, "show", MXENV_CACHE_SIZE="much")
        assert (done.returncode, "'much' is no size" in done.stderr) == (2, True)

    def test_clear_leaves_nothing(self, cache: Cache) -> None:
        keep(cache, "a")
        keep(cache, "b")
        assert self.mxenv(cache.root, "clear").returncode == 0
        assert caching.show(cache.root).layers == ()
        assert caching.show(cache.root).bytes == 0


def test_whoever_removes_waits_for_whoever_looks(cache: Cache) -> None:
    keep(cache, "a")
    age(cache, "a", 100)
    with _cache_use.shared(cache.root):
        child = subprocess.Popen(
            [MXENV, "cache", "clear"],
            env={**os.environ, "MXENV_CACHE_DIR": str(cache.root)},
            stdout=subprocess.DEVNULL,
        )
        time.sleep(1)
        assert child.poll() is None
        assert cache.find("a")
    assert child.wait() == 0


class TestAPassedCheck:
    """It is not run again for the same inputs, and a failed one each time."""

    def test_is_run_once_for_the_same_inputs(self, tmp_path: Path) -> None:
        ran: list[int] = []
        for number in (1, 1, 2, 1):
            Cache(root=tmp_path).passed(["a", number], partial(ran.append, number))
        assert ran == [1, 2]

    def test_that_fails_is_run_each_time(self, tmp_path: Path) -> None:
        for _ in range(2):
            with pytest.raises(ZeroDivisionError):
                Cache(root=tmp_path).passed("a", lambda: 1 // 0)

    @pytest.mark.parametrize("content", [b"", b"x", b"\0" * 64])
    def test_counts_for_nothing_if_what_is_kept_of_it_is_damaged(
        self, tmp_path: Path, content: bytes
    ) -> None:
        ran: list[int] = []
        for _ in range(2):
            Cache(root=tmp_path).passed("a", partial(ran.append, 1))
            (kept,) = (tmp_path / PASSED).iterdir()
            kept.write_bytes(content)
        assert ran == [1, 1]

    def test_is_run_where_nothing_can_be_kept(self, tmp_path: Path) -> None:
        (tmp_path / PASSED).write_text("a file")
        ran: list[int] = []
        for _ in range(2):
            Cache(root=tmp_path).passed("a", partial(ran.append, 1))
        assert ran == [1, 1]

    def test_is_forgotten_in_time(self, tmp_path: Path) -> None:
        folder = tmp_path / PASSED
        folder.mkdir()
        for number in range(REMEMBERED + 20):
            (folder / f"old-{number}").touch()
            os.utime(folder / f"old-{number}", (number, number))
        Cache(root=tmp_path).passed("a", lambda: None)
        names = {path.name for path in folder.iterdir()}
        assert len(names) == REMEMBERED
        assert "old-20" not in names
        assert f"old-{REMEMBERED + 19}" in names
