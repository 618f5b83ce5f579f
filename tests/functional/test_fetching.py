"""Wheelhouses filled from an index that behaves, and from one that does not."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import _index
import pytest
import requests
import uv

from mxenv import _download, _lines
from mxenv import lock as locks
from mxenv._download import Line, Wanted
from mxenv.api import checking, fetching, locking
from mxenv.api.fetching import From, How
from mxenv.api.project import read_lock
from mxenv.errors import IndexFailed, LockError, UsageError, WheelError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _index import Index

ROOT = Path(__file__).parent.parent.parent
IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
[python]
version = "3.11"
requires = ["mx-app", "mx-vendor"]
"""
APP, LIB = "mx_app-1.0-py3-none-any.whl", "mx_lib-1.0-py3-none-any.whl"
VENDOR = "mx_vendor-2.8.0+metax3.5.3.9-cp311-cp311-linux_x86_64.whl"


@pytest.fixture(autouse=True)
def no_other_index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a test does not name, this machine has no index: whatever it is told of."""
    if "package_index" not in request.fixturenames:
        monkeypatch.setenv("UV_DEFAULT_INDEX", Path(__file__).parent.as_uri())


@pytest.fixture
def links(tmp_path: Path) -> Path:
    folder = tmp_path / "links"
    _index.wheel(folder, "mx-app", requires=["mx-lib"], script="mx-app", filler=600_000)
    _index.wheel(folder, "mx-lib")
    _index.wheel(folder, "mx-vendor", "2.8.0+metax3.5.3.9", tag="cp311-cp311-linux_x86_64")
    return folder


@pytest.fixture
def lock(tmp_path: Path, links: Path) -> Path:
    """A lock of three wheels, its wheelhouse empty."""
    image = tmp_path / "images" / "small" / "image.toml"
    image.parent.mkdir(parents=True)
    image.write_text(IMAGE)
    options = locking.Options(find_links=(str(links),), no_index=True)
    matrix, today = checking.load_matrix(), date(2026, 11, 30)
    return locking.lock(image, matrix=matrix, today=today, options=options).path


@pytest.fixture
def index(links: Path) -> Iterator[Index]:
    with _index.serve(links) as running:
        yield running


def here(index: Index) -> From:
    return From(index=(index.url,))


def only(*indexes: Index) -> From:
    """Ask these; what they are asked for, no other index of this machine has."""
    return From(index=tuple(index.url for index in indexes))


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an empty environment, with the Python that the locks are for."""
    find = (uv.find_uv_bin(), "python", "find", "--no-python-downloads", "3.11")
    found = subprocess.run(find, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("no Python 3.11 here, and the locks are for no other")
    run(uv.find_uv_bin(), "venv", "--python", found.stdout.strip(), str(tmp_path / "venv"))
    return tmp_path / "venv" / "bin" / "python"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestAWheelhouse:
    def test_is_filled_from_an_index(self, lock: Path, index: Index, links: Path) -> None:
        fetched = fetching.fetch(lock, where=here(index))
        assert fetched.wheelhouse == lock.parent / "wheelhouse"
        assert fetched.wheels == ((APP, How.FETCHED), (LIB, How.FETCHED), (VENDOR, How.FETCHED))
        assert names(fetched.wheelhouse) == names(links)

    def test_is_filled_from_a_folder(self, lock: Path, links: Path) -> None:
        where = From(find_links=(str(links),), no_index=True)
        fetched = fetching.fetch(lock, where=where)
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
        assert not (fetched.wheelhouse / APP).samefile(links / APP)

    def test_is_not_whole_if_the_lock_is_wrong_about_a_size(self, lock: Path, links: Path) -> None:
        """No index says so, and uv refuses the wheel once there is no network to get another."""
        locked = read_lock(lock)
        first = locked.packages[0]
        wrong = replace(first, wheel=replace(first.wheel, size=first.wheel.size + 1))
        lock.write_text(locks.render(replace(locked, packages=(wrong, *locked.packages[1:]))))
        place = r"pylock\.small\.toml: packages\[0\]\.wheels\[0\]\.size: "
        for _ in ("fetched", "kept"):
            with pytest.raises(LockError, match=place):
                fetching.fetch(lock, where=From(find_links=(str(links),), no_index=True))

    def test_may_lie_elsewhere(self, lock: Path, index: Index, tmp_path: Path) -> None:
        fetched = fetching.fetch(lock, wheelhouse=tmp_path / "a" / "b", where=here(index))
        assert names(tmp_path / "a" / "b") == [APP, LIB, VENDOR]
        assert fetched.wheelhouse == tmp_path / "a" / "b"

    def test_that_is_full_needs_no_index(self, lock: Path, index: Index) -> None:
        fetching.fetch(lock, where=here(index))
        index.asked.clear()
        fetched = fetching.fetch(lock, where=From(index=("http://127.0.0.1:1/simple",)))
        assert {how for _, how in fetched.wheels} == {How.KEPT}
        assert index.asked == []

    def test_gets_what_is_missing_and_nothing_else(self, lock: Path, index: Index) -> None:
        house = fetching.fetch(lock, where=here(index)).wheelhouse
        (house / LIB).unlink()
        index.asked.clear()
        fetched = dict(fetching.fetch(lock, where=here(index)).wheels)
        assert fetched == {APP: How.KEPT, LIB: How.FETCHED, VENDOR: How.KEPT}
        assert [path for path, _, _ in index.asked if path.startswith("/files")] == [
            f"/files/{LIB}"
        ]

    def test_with_a_damaged_wheel_gets_it_anew_and_says_so(self, lock: Path, index: Index) -> None:
        house = fetching.fetch(lock, where=here(index)).wheelhouse
        good = (house / LIB).read_bytes()
        (house / LIB).write_bytes(good[:-1] + b"!")
        assert dict(fetching.fetch(lock, where=here(index)).wheels)[LIB] is How.REPLACED
        assert (house / LIB).read_bytes() == good

    def test_of_a_lock_without_packages_is_not_even_made(self, lock: Path) -> None:
        empty = replace(read_lock(lock), packages=(), requires=())
        lock.write_text(locks.render(empty))
        assert fetching.fetch(lock).wheels == ()
        assert not (lock.parent / "wheelhouse").exists()

    def test_whose_folder_is_a_file_is_refused(self, lock: Path, index: Index) -> None:
        (lock.parent / "wheelhouse").write_text("")
        with pytest.raises(UsageError, match="cannot be made"):
            fetching.fetch(lock, where=here(index))

    def test_progress_ends_at_the_whole(self, lock: Path, index: Index) -> None:
        told: list[tuple[int, int]] = []
        fetching.fetch(lock, where=here(index), progress=lambda *said: told.append(said))
        size = sum(package.wheel.size for package in read_lock(lock).packages)
        assert told[-1] == (size, size)


class TestAnIndexThatMisbehaves:
    def test_is_asked_again_after_a_passing_failure(self, lock: Path, index: Index) -> None:
        index.faults += ["503", "429", "500"]
        fetched = fetching.fetch(lock, where=here(index))
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]

    def test_a_connection_that_broke_goes_on_where_it_ended(self, lock: Path, index: Index) -> None:
        index.faults += ["short"] * 3
        fetched = fetching.fetch(lock, where=here(index))
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
        assert any(asked for path, asked, _ in index.asked if path.startswith("/files"))

    def test_a_file_that_is_refused_is_named_and_nothing_is_left(
        self, lock: Path, index: Index
    ) -> None:
        index.faults += ["404", "404", "404"]
        with pytest.raises(IndexFailed, match=r"mx_\w+-.*\.whl: HTTP 404"):
            fetching.fetch(lock, where=here(index))
        assert not [n for n in names(lock.parent / "wheelhouse") if n.endswith(".part")]

    def test_a_file_with_another_content_is_refused_and_not_kept(
        self, lock: Path, index: Index
    ) -> None:
        index.faults += ["other", "other", "other"]
        with pytest.raises(WheelError, match="what came has the sha256"):
            fetching.fetch(lock, where=here(index))
        assert names(lock.parent / "wheelhouse") == []

    def test_a_wheel_with_another_hash_is_refused_before_it_is_loaded(
        self, lock: Path, index: Index
    ) -> None:
        text = lock.read_text()
        wheel = read_lock(lock).packages[0].wheel
        lock.write_text(text.replace(wheel.sha256, "0" * 64))
        with pytest.raises(WheelError, match=f"has {APP} with sha256 {wheel.sha256}; locked is"):
            fetching.fetch(lock, where=here(index))
        assert f"/files/{APP}" not in {path for path, _, _ in index.asked}

    def test_a_wheel_that_it_does_not_have_is_named(
        self, lock: Path, index: Index, links: Path
    ) -> None:
        (links / LIB).rename(links / "mx_lib-1.0-1-py3-none-any.whl")
        with pytest.raises(IndexFailed, match=f"no index has {LIB}"):
            fetching.fetch(lock, where=here(index))

    def test_a_login_goes_with_the_files_of_the_same_host(self, lock: Path, index: Index) -> None:
        url = index.url.replace("://", "://user:pass@")
        fetching.fetch(lock, where=From(index=(url,)))
        sent = {login for path, _, login in index.asked if path.startswith("/files")}
        assert sent == {requests.auth._basic_auth_str("user", "pass")}

    def test_a_login_does_not_stand_in_the_lock_or_an_error(self, lock: Path, index: Index) -> None:
        index.faults += ["404"] * 3
        url = index.url.replace("://", "://user:hidden@")
        with pytest.raises(IndexFailed) as caught:
            fetching.fetch(lock, where=From(index=(url,)))
        assert "hidden" not in f"{caught.value} {caught.value.hint}"

    def test_that_asks_to_wait_is_obeyed(self, lock: Path, index: Index) -> None:
        index.faults += ["429/1", "503/1"]
        start = time.monotonic()
        fetched = fetching.fetch(lock, where=here(index))
        assert time.monotonic() - start > 1
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]

    def test_that_asks_to_wait_for_too_long_is_taken_at_its_word(
        self, lock: Path, index: Index
    ) -> None:
        index.faults += ["429/3600"] * 3
        with pytest.raises(IndexFailed, match=r"HTTP 429 .* \(Retry-After: 3600\)") as caught:
            fetching.fetch(lock, where=here(index))
        assert "run `mxenv fetch` again" in caught.value.hint

    def test_that_goes_on_at_another_place_is_asked_for_the_whole(
        self, wanted_alone: Path, index: Index
    ) -> None:
        index.faults += ["short", "shifted"]
        assert names(fetching.fetch(wanted_alone, where=here(index)).wheelhouse) == [APP]

    def test_that_always_does_is_given_up(self, wanted_alone: Path, index: Index) -> None:
        index.faults += ["short", "shifted"] * 50
        with pytest.raises(WheelError, match="what came has the sha256"):
            fetching.fetch(wanted_alone, where=here(index))

    def test_that_does_not_stop_sending_is_cut_short(self, lock: Path, index: Index) -> None:
        index.faults += ["longer"] * 3
        with pytest.raises(WheelError, match="what came has the sha256"):
            fetching.fetch(lock, where=here(index))
        left = names(lock.parent / "wheelhouse")
        # What others had of theirs when the first one failed is kept, to go on with.
        assert [name for name in left if not name.endswith(".part")] == []

    def test_that_answers_with_no_page_is_named(self, lock: Path, index: Index) -> None:
        index.page = (200, "text/plain", "It works!")
        with pytest.raises(IndexFailed, match=r"127\.0\.0\.1:\d+: what answers is no package ind"):
            fetching.fetch(lock, where=only(index))

    def test_that_is_down_for_one_file_is_not_asked_for_the_others(self, lock: Path) -> None:
        start = time.monotonic()
        with pytest.raises(IndexFailed, match="Connection refused"):
            fetching.fetch(lock, where=From(index=("http://127.0.0.1:1/simple",), offline=False))
        assert time.monotonic() - start < 30

    def test_that_says_no_hashes_is_believed_only_after_a_look(
        self, lock: Path, index: Index, links: Path
    ) -> None:
        index.hashes = False
        _index.wheel(links, "mx-lib", filler=1)
        with pytest.raises(WheelError, match="what came has the sha256"):
            fetching.fetch(lock, where=only(index))

    def test_that_speaks_json_is_understood(self, lock: Path, index: Index) -> None:
        index.as_json = True
        assert names(fetching.fetch(lock, where=here(index)).wheelhouse) == [APP, LIB, VENDOR]


@pytest.fixture
def wanted_alone(lock: Path) -> Path:
    """A lock of one wheel."""
    locked = read_lock(lock)
    one = replace(locked, packages=locked.packages[:1], requires=())
    lock.write_text(locks.render(one))
    return lock


class TestMirrors:
    """Places that are asked in order, for a file of that name and hash."""

    @pytest.fixture
    def mirror(self, tmp_path: Path, links: Path) -> Iterator[Index]:
        shutil.copytree(links, tmp_path / "mirror")
        with _index.serve(tmp_path / "mirror") as running:
            yield running

    def both(self, index: Index, mirror: Index) -> From:
        return From(index=(index.url, mirror.url))

    @pytest.mark.parametrize("fault", ["404", "other", "503", "short"])
    def test_a_fault_of_the_first_one_is_made_good_by_the_second_and_said(
        self, lock: Path, index: Index, mirror: Index, fault: str
    ) -> None:
        index.faults += [fault] * 99
        fetched = fetching.fetch(lock, where=self.both(index, mirror))
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
        assert len(fetched.notes) == 3
        assert all(f": taken from {mirror.url.split('/')[2]}; " in n for n in fetched.notes)

    def test_one_that_has_another_file_of_that_name_is_passed_over_and_said(
        self, lock: Path, index: Index, mirror: Index, links: Path
    ) -> None:
        _index.wheel(links, "mx-lib", filler=1)
        fetched = fetching.fetch(lock, where=self.both(index, mirror))
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
        (note,) = fetched.notes
        assert f"the index has {LIB} with sha256" in note

    def test_one_that_is_down_does_not_matter(self, lock: Path, mirror: Index) -> None:
        where = From(index=("http://127.0.0.1:1/simple", mirror.url))
        fetched = fetching.fetch(lock, where=where)
        assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
        (note,) = fetched.notes
        assert note.startswith(f"{APP}, {LIB}, {VENDOR}: taken from ")
        assert note.endswith("Connection refused")

    def test_a_folder_is_asked_first(self, lock: Path, index: Index, links: Path) -> None:
        where = From(find_links=(str(links),), index=(index.url,))
        fetching.fetch(lock, where=where)
        assert index.asked == []

    def test_when_all_fail_each_is_named(self, lock: Path, index: Index, mirror: Index) -> None:
        index.faults += ["404"] * 9
        mirror.faults += ["other"] * 9
        with pytest.raises(WheelError, match=r"cannot be had: .*HTTP 404.*what came has the"):
            fetching.fetch(lock, where=only(index, mirror))


KILLED = """
import sys
from pathlib import Path
from mxenv.api import fetching
fetching.fetch(Path(sys.argv[1]), where=fetching.From(index=(sys.argv[2],)))
"""


def test_killed_at_any_moment_it_leaves_no_wheel_that_is_not_whole(
    lock: Path, index: Index, links: Path
) -> None:
    house = lock.parent / "wheelhouse"
    index.faults += ["slow", "short"] * 40
    for moment in range(8):
        with subprocess.Popen([sys.executable, "-c", KILLED, str(lock), index.url]) as process:
            time.sleep(0.25 + moment * 0.12)
            process.kill()
        for path in house.glob("*.whl") if house.exists() else ():
            assert _index.sha256(path) == _index.sha256(links / path.name)
    index.faults.clear()
    fetched = fetching.fetch(lock, where=here(index))
    assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
    assert all(_index.sha256(house / name) == _index.sha256(links / name) for name in names(house))


@pytest.fixture
def line() -> Iterator[Line]:
    with requests.Session() as session:
        yield Line(
            session=session,
            logins={},
            stop=threading.Event(),
            progress=lambda _: None,
            pause=0.01,
        )


class TestOneFile:
    @pytest.fixture
    def wanted(self, index: Index, links: Path) -> Wanted:
        location = f"{index.url.removesuffix('/simple')}/files/{APP}"
        return Wanted(name=APP, sha256=_index.sha256(links / APP), location=location)

    @pytest.fixture
    def house(self, tmp_path: Path) -> Path:
        folder = tmp_path / "house"
        folder.mkdir()
        return folder

    def part(self, house: Path, wanted: Wanted) -> Path:
        return house / f".{wanted.sha256[:32]}.part"

    def test_what_a_killed_download_left_is_gone_on_with(
        self, wanted: Wanted, house: Path, line: Line, index: Index, links: Path
    ) -> None:
        self.part(house, wanted).write_bytes((links / APP).read_bytes()[:100])
        _download.put(wanted, house, line)
        assert index.asked[-1][1] == "bytes=100-"
        assert names(house) == [APP]

    def test_a_left_over_that_does_not_fit_is_thrown_away(
        self, wanted: Wanted, house: Path, line: Line
    ) -> None:
        self.part(house, wanted).write_bytes(b"rubbish")
        _download.put(wanted, house, line)
        assert _index.sha256(house / APP) == wanted.sha256

    def test_one_that_cannot_be_had_in_four_attempts_is_given_up(
        self, wanted: Wanted, house: Path, line: Line, index: Index
    ) -> None:
        index.faults += ["503"] * 9
        with pytest.raises(IndexFailed, match=f"{APP}: HTTP 503"):
            _download.put(wanted, house, line)
        assert len(index.asked) == _download.ATTEMPTS
        assert names(house) == []

    def test_a_host_that_is_not_there_is_one_line(self, house: Path, line: Line) -> None:
        gone = Wanted(name=APP, sha256="0" * 64, location="http://127.0.0.1:1/a.whl")
        with pytest.raises(IndexFailed, match=r"^127\.0\.0\.1:1: .*Connection refused"):
            _download.put(gone, house, line)

    def test_when_nothing_is_wanted_any_more_nothing_is_left(
        self, wanted: Wanted, house: Path, line: Line
    ) -> None:
        line.stop.set()
        with pytest.raises(IndexFailed):
            _download.put(wanted, house, line)
        assert names(house) == []

    def test_one_that_answers_while_all_are_told_to_stop_is_not_waited_for(
        self, wanted: Wanted, house: Path, line: Line, index: Index
    ) -> None:
        index.faults += ["stall"]
        line.stop.set()
        began = time.monotonic()
        with pytest.raises(IndexFailed):
            _download.put(wanted, house, line)
        assert time.monotonic() - began < 5

    def test_many_who_want_it_at_once_get_it_once(
        self, wanted: Wanted, house: Path, line: Line, index: Index
    ) -> None:
        threads = [
            threading.Thread(target=_download.put, args=(wanted, house, line)) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert names(house) == [APP]
        assert len(index.asked) == 1

    def test_a_full_disk_is_said_and_leaves_nothing(
        self, wanted: Wanted, house: Path, line: Line
    ) -> None:
        """``/dev/full`` is a disk that is full; a part that is a link to it stands for one."""
        self.part(house, wanted).symlink_to("/dev/full")
        with pytest.raises(OSError, match="No space left on device") as raised:
            _download.put(wanted, house, line)
        assert raised.value.filename == str(house / APP)
        assert names(house) == []

    def test_a_local_file_that_is_gone_is_named(self, house: Path, line: Line) -> None:
        gone = Wanted(name=APP, sha256="0" * 64, location="/nowhere/a.whl")
        with pytest.raises(IndexFailed, match=r"/nowhere/a\.whl: cannot be read"):
            _download.put(gone, house, line)


def test_a_lock_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="cannot be read"):
        fetching.fetch(tmp_path / "pylock.x.toml")


@pytest.mark.parametrize("text", ["http://u:p%40@h:1/simple", "http://u:p%40@h:1/a?b=c"])
def test_logins_are_read_from_the_urls_of_indexes(text: str) -> None:
    assert _lines.credentials([text, "http://h:2/simple"]) == {"h:1": ("u", "p@")}


INTERRUPTED = """
import sys
from pathlib import Path
from mxenv.api import fetching
try:
    fetching.fetch(Path(sys.argv[1]), where=fetching.From(index=(sys.argv[2],)))
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_ctrl_c_leaves_only_what_the_next_run_goes_on_with(lock: Path, index: Index) -> None:
    index.faults += ["stall"] * 3
    command = [sys.executable, "-c", INTERRUPTED, str(lock), index.url]
    with subprocess.Popen(command) as process:
        until = time.monotonic() + 30
        house = lock.parent / "wheelhouse"
        while not any(part.stat().st_size for part in house.glob(".*.part")):
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 130
    assert [n for n in names(lock.parent / "wheelhouse") if not n.endswith(".part")] == []
    index.asked.clear()
    fetched = fetching.fetch(lock, where=here(index))
    assert names(fetched.wheelhouse) == [APP, LIB, VENDOR]
    assert any(asked for path, asked, _ in index.asked if path.startswith("/files"))


class TestWhatWasFetchedIsInstalledUnaided:
    """Offline, by the tools that people have: the lock and its wheelhouse are enough."""

    @pytest.fixture
    def full(self, lock: Path, links: Path) -> Path:
        fetching.fetch(lock, where=From(find_links=(str(links),), no_index=True))
        shutil.rmtree(links)
        return lock

    def test_by_uv(self, full: Path, python: Path) -> None:
        install = (uv.find_uv_bin(), "pip", "install", "--offline", "--no-index", "-r", str(full))
        run(*install, VIRTUAL_ENV=str(python.parent.parent))
        assert imported(python, "mx_vendor") == "2.8.0+metax3.5.3.9"
        assert run(str(python.parent / "mx-app")) == "1.0\n"

    @pytest.mark.usefixtures("package_index")
    def test_by_pip(self, full: Path, python: Path) -> None:
        # The first pip that reads pylock files.
        newer = (uv.find_uv_bin(), "pip", "install", "pip>=26.1")
        run(*newer, VIRTUAL_ENV=str(python.parent.parent))
        run(str(python), "-m", "pip", "install", "--no-index", "-r", str(full))
        assert imported(python, "mx_vendor") == "2.8.0+metax3.5.3.9"
        assert run(str(python.parent / "mx-app")) == "1.0\n"


@pytest.mark.usefixtures("package_index")
def test_the_demo_is_fetched_and_installed_offline(tmp_path: Path, python: Path) -> None:
    lock = tmp_path / "pylock.demo.toml"
    shutil.copy(ROOT / "lockfiles" / lock.name, lock)
    fetched = fetching.fetch(lock)
    assert {how for _, how in fetched.wheels} == {How.FETCHED}
    install = (uv.find_uv_bin(), "pip", "install", "--offline", "--no-index", "-r", str(lock))
    run(*install, VIRTUAL_ENV=str(python.parent.parent))
    assert imported(python, "psutil", "__version__")
    assert "Usage: tabulate" in run(str(python.parent / "tabulate"), "--help")


def imported(python: Path, module: str, name: str = "VERSION") -> str:
    return run(str(python), "-c", f"import {module}; print({module}.{name}, end='')")


def run(*command: str, **variables: str) -> str:
    environ = {k: v for k, v in os.environ.items() if k not in {"PIP_FIND_LINKS", "VIRTUAL_ENV"}}
    done = subprocess.run(
        command, env=environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
