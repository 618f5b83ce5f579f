"""Locks that were killed, cut, mangled, or written where nothing can be: none is believed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import _index
import pytest
from _locked import SCRATCH

from mxenv import lock as locks
from mxenv.api import checking, locking
from mxenv.api.project import read_lock
from mxenv.errors import LockError, UsageError
from mxenv.lock import Base, Lock, Package, Wheel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mxenv.api.locking import LockResult

MXENV = Path(sys.executable).with_name("mxenv")
KILLS = int(os.environ.get("MXENV_TEST_KILLS", "8"))
"""How often a whole `mxenv lock` is killed: each takes a second; 100 before a release."""
WRITES = 100
"""How often somebody is killed who does nothing but write locks."""
IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
[python]
version = "3.11"
requires = ["mx-app"]
"""
LARGE = Lock(
    name="small",
    inputs="sha256:" + "1" * 64,
    accelerator="none",
    base=Base(reference="scratch"),
    target=SCRATCH,
    packages=tuple(
        Package(
            name=f"p{number}",
            version="1",
            wheel=Wheel(name=f"p{number}-1-py3-none-any.whl", sha256="a" * 64),
        )
        for number in range(200)
    ),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    links = tmp_path / "links"
    _index.wheel(links, "mx-app", requires=["mx-lib"])
    _index.wheel(links, "mx-lib")
    image = tmp_path / "images" / "small"
    image.mkdir(parents=True)
    (image / "image.toml").write_text(IMAGE)
    return tmp_path


def lock(project: Path) -> LockResult:
    return locking.lock(
        project / "images" / "small" / "image.toml",
        matrix=checking.load_matrix(),
        today=date(2026, 11, 30),
        options=locking.Options(find_links=(str(project / "links"),), no_index=True),
    )


def command(project: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [MXENV, "lock", "images/small/image.toml", "--find-links", "links", *words],
        cwd=project,
        env={**os.environ, "UV_NO_INDEX": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(process: subprocess.Popen[str], status: int = 0) -> str:
    stdout, stderr = process.communicate(timeout=120)
    assert process.returncode == status, stdout + stderr
    assert "Traceback" not in stderr
    return stdout + stderr


class TestKilled:
    def test_whenever_it_is_the_lock_is_the_old_one_or_the_new_one(self, project: Path) -> None:
        """Each time the description is another, so that each run has something to write."""
        image = project / "images" / "small" / "image.toml"
        wishes = [IMAGE, IMAGE.replace('"mx-app"', '"mx-lib"')]
        texts = []
        for wish in wishes:
            image.write_text(wish)
            began = time.monotonic()
            path = lock(project).path
            seconds = time.monotonic() - began
            texts.append(path.read_text())
        chance = random.Random(751)  # noqa: S311 - moments, no secrets
        for number in range(KILLS):
            image.write_text(wishes[number % 2])
            process = command(project)
            # Up to when it would have ended by itself, on a machine that has more to do.
            time.sleep(chance.uniform(0, 2 * seconds + 0.4))
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            assert path.read_text() in texts
            fresh = locking.stale(image, path) == ()
            assert fresh == (path.read_text() == texts[number % 2])
        image.write_text(wishes[0])
        ended(command(project))
        assert path.read_text() == texts[0]

    def test_in_the_middle_of_writing_what_was_there_stays(self, tmp_path: Path) -> None:
        """A process that does nothing but write two large locks in turn is killed at any moment."""
        one = locks.render(LARGE)
        other = one.replace("1" * 64, "2" * 64)
        (tmp_path / "one").write_text(one)
        (tmp_path / "other").write_text(other)
        script = (
            "import sys\nfrom pathlib import Path\nfrom mxenv._files import write_atomically\n"
            "texts = [Path(name).read_text() for name in ('one', 'other')]\n"
            "print(flush=True)\n"
            "while True:\n for text in texts:\n  write_atomically(Path('pylock.x.toml'), text)\n"
        )
        chance = random.Random(751)  # noqa: S311 - moments, no secrets
        seen = set()
        for _ in range(WRITES):
            with subprocess.Popen(
                [sys.executable, "-S", "-c", script],
                cwd=tmp_path,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                stdout=subprocess.PIPE,
            ) as process:
                assert process.stdout is not None
                process.stdout.readline()
                time.sleep(chance.uniform(0.002, 0.02))
                process.kill()
            with suppress(FileNotFoundError):
                text = (tmp_path / "pylock.x.toml").read_text()
                assert text in {one, other}
                seen.add(text)
        assert seen == {one, other}

    def test_what_a_killed_one_left_beside_it_is_no_lock_and_in_nobodys_way(
        self, project: Path
    ) -> None:
        path = lock(project).path
        left = path.with_name(".0123456789abcdef.tmp")
        left.write_text(path.read_text()[:100])
        assert not lock(project).changed
        assert [p.name for p in path.parent.glob("pylock.*")] == [path.name]


def test_two_at_once_both_make_the_same_lock(project: Path) -> None:
    expected = lock(project).path.read_text()
    (project / "lockfiles" / "pylock.small.toml").unlink()
    both = [command(project) for _ in range(2)]
    for process in both:
        ended(process)
    assert (project / "lockfiles" / "pylock.small.toml").read_text() == expected


def test_whoever_reads_while_others_write_reads_a_whole_lock(tmp_path: Path) -> None:
    from mxenv._files import write_atomically  # noqa: PLC0415 - the part that is tested

    path = tmp_path / "pylock.x.toml"
    one = locks.render(LARGE)
    texts = [one, one.replace("1" * 64, "2" * 64)]
    write_atomically(path, one)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for text in texts:
                write_atomically(path, text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert all(path.read_text() in texts for _ in range(300))
    finally:
        stop.set()
        writer.join()


@contextmanager
def mounted(place: Path, *options: str) -> Iterator[Path]:
    """Mount a small disk, or skip where that is not allowed."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "mxenv-test", place]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this process may mount nothing")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_full_disk_is_said_and_the_lock_that_was_there_stays(project: Path) -> None:
    with mounted(project / "lockfiles", "size=64k"):
        path = lock(project).path
        before = path.read_bytes()
        with suppress(OSError):
            (path.parent / "filler").write_bytes(b"x" * (1 << 20))
        image = project / "images" / "small" / "image.toml"
        image.write_text(IMAGE.replace('"mx-app"', '"mx-lib"'))
        said = ended(command(project), 6)
        assert "pylock.small.toml: the system refused: No space left on device" in said
        assert " hint: free some space there, or name another place" in said
        assert path.read_bytes() == before
        assert not list(path.parent.glob(".*"))


def test_a_disk_that_cannot_be_written_is_said(project: Path) -> None:
    with mounted(project / "lockfiles", "size=64k") as disk:
        before = lock(project).path.read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        image = project / "images" / "small" / "image.toml"
        image.write_text(IMAGE.replace('"mx-app"', '"mx-lib"'))
        said = ended(command(project), 2)
        assert "pylock.small.toml: cannot be written: read-only file system" in said
        assert (disk / "pylock.small.toml").read_bytes() == before


@pytest.mark.usefixtures("powerless")
def test_a_folder_that_one_may_not_write_is_said(project: Path) -> None:
    folder = project / "lockfiles"
    folder.mkdir(mode=0o555)
    with pytest.raises(UsageError, match="cannot be written: permission denied"):
        lock(project)
    assert list(folder.iterdir()) == []


class TestMangled:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "pylock.small.toml"
        path.write_text(locks.render(LARGE))
        return path

    def refused(self, path: Path, content: bytes) -> str:
        path.write_bytes(content)
        with pytest.raises(LockError) as caught:
            read_lock(path)
        assert str(caught.value).startswith(f"{path}: ")
        return str(caught.value)

    def test_lines_that_end_as_on_windows_are_the_same_lock(self, path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        assert read_lock(path) == LARGE

    def test_lines_that_end_as_on_no_machine_any_more(self, path: Path) -> None:
        assert "(at line 1," in self.refused(path, path.read_bytes().replace(b"\n", b"\r"))

    def test_a_byte_order_mark(self, path: Path) -> None:
        content = b"\xef\xbb\xbf" + path.read_bytes()
        assert "begins with a byte order mark" in self.refused(path, content)

    def test_another_encoding(self, path: Path) -> None:
        content = path.read_text().encode("utf-16")
        assert "not UTF-8 at byte 0" in self.refused(path, content)

    @pytest.mark.parametrize("place", ["begin", "middle", "end"])
    def test_a_nul(self, path: Path, place: str) -> None:
        content = path.read_bytes()
        at = {"begin": 0, "middle": len(content) // 2, "end": len(content)}[place]
        said = self.refused(path, content[:at] + b"\0" + content[at:])
        assert "not TOML: " in said
        assert "(at line " in said or "(at end of document)" in said

    def test_a_hundred_megabytes(self, path: Path) -> None:
        with path.open("ab") as file:
            file.truncate(100 << 20)
        with pytest.raises(LockError, match="larger than 16 MiB"):
            read_lock(path)

    @pytest.mark.parametrize("signs", ["[", '{"a"=', "a = [["])
    def test_what_is_nested_deeper_than_anybody_writes(self, path: Path, signs: str) -> None:
        text = f"a = {signs * 20_000}".encode()
        assert "not TOML" in self.refused(path, path.read_bytes() + b"\n" + text)

    def test_wherever_it_was_cut(self, path: Path) -> None:
        content = path.read_bytes()
        for end in range(0, len(content) - 1, len(content) // 50):
            path.write_bytes(content[:end])
            with pytest.raises(LockError):
                read_lock(path)

    def test_a_folder(self, path: Path) -> None:
        path.unlink()
        path.mkdir()
        with pytest.raises(LockError, match="cannot be read"):
            read_lock(path)


class TestOfALaterMxenv:
    """What this one does not know it does not drop: not when reading, nor when locking anew."""

    @pytest.mark.parametrize(
        ("before", "after", "said"),
        [
            ("mxenv.lock/1", "mxenv.lock/2", "'mxenv.lock/2' is not a schema of this mxenv"),
            ("[tool.mxenv]", "[tool.mxenv]\nlater = 1", "tool.mxenv.later: unknown field"),
            ("[tool.mxenv]", "[tool.uv]\na = 1\n\n[tool.mxenv]", "tool.uv: unknown field"),
            ('name = "mx-lib"', 'name = "mx-lib"\nlater = 1', "packages[1].later: unknown field"),
        ],
    )
    def test_it_is_refused_and_stays(
        self, project: Path, before: str, after: str, said: str
    ) -> None:
        path = lock(project).path
        text = path.read_text().replace(before, after, 1)
        tomllib.loads(text)
        path.write_text(text)
        with pytest.raises(LockError) as caught:
            read_lock(path)
        assert said in str(caught.value)
        assert said in ended(command(project), 5)
        assert said in ended(command(project, "--check"), 5)
        assert path.read_text() == text

    def test_what_was_damaged_is_made_anew_and_that_is_said(self, project: Path) -> None:
        path = lock(project).path
        good = path.read_text()
        path.write_text(good[: len(good) * 9 // 10])
        assert "was damaged, and counts for nothing" in ended(command(project))
        assert path.read_text() == good
