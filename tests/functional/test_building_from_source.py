"""Packages that have a source distribution only: built once, recorded, and built again by hash."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
import zipfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import _index
import pytest
import uv
from packaging.pylock import Pylock

from mxenv import _plugins
from mxenv.api import checking, fetching, locking
from mxenv.api.fetching import From, How
from mxenv.api.project import read_lock
from mxenv.errors import EngineError, Incompatible, IndexFailed, WheelError
from mxenv.resolvers import Indexes, Order

if TYPE_CHECKING:
    from mxenv.api.locking import LockResult
    from mxenv.lock import Package
    from mxenv.resolvers import Resolver

IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
platform = "linux/amd64"
[python]
version = "3.11"
requires = ["mx-app"]
"""
WHEEL, SDIST = "mx_src-1.0-py3-none-any.whl", "mx_src-1.0.tar.gz"
HERE = (sys.version_info[:2] == (3, 11)) and os.uname().machine == "x86_64"


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """A folder with a wheel that needs what has no wheel, which needs a wheel."""
    folder = tmp_path / "links"
    _index.wheel(folder, "mx-app", requires=["mx-src"])
    _index.wheel(folder, "mx-lib")
    _index.wheel(folder, "mx-tool")
    return folder


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "images" / "small" / "image.toml"
    path.parent.mkdir(parents=True)
    path.write_text(IMAGE)
    return path


def lock(image: Path, links: Path, **options: object) -> LockResult:
    how = {"find_links": (str(links),), "no_index": True, **options}
    return locking.lock(
        image,
        matrix=checking.load_matrix(),
        today=date(2026, 11, 30),
        options=locking.Options(**how),
    )


def here(links: Path, **options: object) -> From:
    return From(**{"find_links": (str(links),), "no_index": True, **options})


def built(result: LockResult) -> Package:
    (package,) = (p for p in result.lock.packages if p.source is not None)
    return package


class TestWhenLocking:
    def test_it_is_built_once_and_what_it_needs_is_locked_as_well(
        self, image: Path, links: Path
    ) -> None:
        sdist = _index.sdist(links, "mx-src", requires=["mx-lib"], build_requires=["mx-tool"])
        result = lock(image, links)
        assert [p.name for p in result.lock.packages] == ["mx-app", "mx-lib", "mx-src"]
        package = built(result)
        house = result.path.parent / "wheelhouse"
        assert package.wheel.name == WHEEL
        assert package.wheel.sha256 == _index.sha256(house / WHEEL)
        source = package.source
        assert source is not None
        assert (source.name, source.sha256) == (SDIST, _index.sha256(sdist))
        digest = _index.sha256(links / "mx_tool-1.0-py3-none-any.whl")
        assert source.requires == (f"mx-tool==1.0 --hash=sha256:{digest}",)
        assert source.builder.startswith("build ")
        assert source.python == ".".join(map(str, sys.version_info[:3]))
        assert any("was built from source" in note for note in result.notes)
        Pylock.from_dict(tomllib.loads(result.path.read_text()))

    def test_what_a_backend_asks_for_when_it_runs_is_recorded_as_well(
        self, image: Path, links: Path
    ) -> None:
        _index.sdist(links, "mx-src", more=["mx-tool"], code="import mx_tool; said = ''")
        assert [pin.partition("=")[0] for pin in built(lock(image, links)).source.requires] == [
            "mx-tool"
        ]

    def test_locking_again_builds_nothing_even_if_the_wheel_is_elsewhere(
        self, image: Path, links: Path
    ) -> None:
        _index.sdist(links, "mx-src")
        first = lock(image, links)
        shutil.rmtree(first.path.parent / "wheelhouse")
        again = lock(image, links)
        assert not again.changed
        assert not (first.path.parent / "wheelhouse").exists()

    @pytest.mark.parametrize("left", [{WHEEL}, {SDIST}, {WHEEL, SDIST}])
    def test_locking_again_from_the_wheelhouse_forgets_no_source(
        self, image: Path, links: Path, left: set[str]
    ) -> None:
        sdist = _index.sdist(links, "mx-src")
        first = lock(image, links)
        house = first.path.parent / "wheelhouse"
        for path in (house / WHEEL, house / SDIST):
            if path.name not in left:
                path.unlink()
        sdist.unlink()
        again = lock(image, links, find_links=(str(house), str(links)))
        assert not again.changed

    def test_two_machines_make_the_same_lock(
        self, image: Path, links: Path, tmp_path: Path
    ) -> None:
        _index.sdist(links, "mx-src", code="said = f'# {os.environ[\"SOURCE_DATE_EPOCH\"]}'")
        other = tmp_path / "another" / "images" / "small" / "image.toml"
        shutil.copytree(image.parent, other.parent)
        assert lock(image, links).path.read_bytes() == lock(other, links).path.read_bytes()

    def test_a_wheel_that_fits_is_taken_instead(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src", "2.0")
        _index.wheel(links, "mx-src", "1.0")
        versions = {p.name: p.version for p in lock(image, links).lock.packages}
        assert versions["mx-src"] == "1.0"

    def test_only_binary_refuses_it_and_says_what_to_do(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src")
        with pytest.raises(Incompatible, match=r"mx-src.* no usable wheels") as caught:
            lock(image, links, only_binary=True)
        assert "leave out --only-binary" in caught.value.hint
        assert not (image.parents[2] / "lockfiles").exists()

    @pytest.mark.parametrize(
        "code", ["said = os.urandom(8).hex()", "import time; said = str(time.time_ns())"]
    )
    def test_what_becomes_another_wheel_every_time_is_refused(
        self, image: Path, links: Path, code: str
    ) -> None:
        _index.sdist(links, "mx-src", code=f"{code}; said = '# ' + said")
        with pytest.raises(EngineError, match=r"mx-src 1\.0 becomes another wheel every time"):
            lock(image, links)

    def test_a_build_that_fails_ends_with_its_last_words(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src", code="raise SystemExit('no compiler \\x1b[31mhere')")
        with pytest.raises(EngineError, match=r"mx-src 1\.0 cannot be built here: .*no compiler"):
            lock(image, links)

    def test_a_build_that_does_not_end_is_given_up_with_all_that_it_started(
        self, image: Path, links: Path, tmp_path: Path
    ) -> None:
        mark = tmp_path / "mark"
        code = f"import subprocess; subprocess.run(['sh', '-c', 'sleep 60; : {mark}'])"
        _index.sdist(links, "mx-src", code=f"{code}; said = ''")
        with pytest.raises(EngineError, match="did not come to an end in 4 seconds"):
            lock(image, links, seconds=4.0)
        running = [p.read_bytes() for p in Path("/proc").glob("[0-9]*/cmdline")]
        assert not [command for command in running if str(mark).encode() in command]

    def test_a_build_knows_nothing_of_this_machine_and_its_logins(
        self, image: Path, links: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("INDEX_TOKEN", "hidden")
        monkeypatch.setenv("PYTHONPATH", "/hidden")
        code = "said = '# ' + repr(sorted(os.environ.items()))"
        _index.sdist(links, "mx-src", code=code.replace("items()", "keys()"))
        house = lock(image, links).path.parent / "wheelhouse"
        text = zipfile.ZipFile(house / WHEEL).read("mx_src.py").decode()
        assert "SOURCE_DATE_EPOCH" in text
        assert "INDEX_TOKEN" not in text
        assert "PYTHONPATH" not in text

    def test_a_tool_without_a_wheel_is_refused(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src", build_requires=["mx-maker"])
        _index.sdist(links, "mx-maker")
        with pytest.raises(Incompatible, match="mx-maker"):
            lock(image, links)

    def test_a_source_that_becomes_something_else_is_refused(self, links: Path) -> None:
        sdist = _index.sdist(links, "mx-other")
        with pytest.raises(WheelError, match=r"became mx_other-1\.0-py3-none-any\.whl"):
            make(sdist, links)


class TestForATargetThatIsNotThisMachine:
    @pytest.mark.parametrize(("python", "platform"), [("3.10", "amd64"), ("3.12", "arm64")])
    def test_what_is_python_only_is_built(
        self, image: Path, links: Path, python: str, platform: str
    ) -> None:
        _index.sdist(links, "mx-src")
        text = image.read_text().replace("3.11", python).replace("amd64", platform)
        image.write_text(text)
        result = lock(image, links)
        assert built(result).wheel.name == WHEEL

    @pytest.mark.parametrize(
        ("tag", "python", "platform"),
        [
            ("cp311-cp311-linux_x86_64", "3.10", "linux/amd64"),
            ("cp311-cp311-linux_x86_64", "3.11", "linux/arm64"),
            ("py3-none-macosx_11_0_arm64", "3.11", "linux/arm64"),
        ],
    )
    def test_what_is_not_is_refused_and_says_where_to_build_it(
        self, image: Path, links: Path, tag: str, python: str, platform: str
    ) -> None:
        _index.sdist(links, "mx-src", tag=tag)
        text = image.read_text().replace("3.11", python).replace("linux/amd64", platform)
        image.write_text(text)
        with pytest.raises(Incompatible, match=f"for Python {python} on {platform}") as caught:
            lock(image, links)
        assert f"mx_src-1.0-{tag}.whl" in caught.value.message
        assert f"where Python {python} runs on {platform}" in caught.value.hint

    @pytest.mark.skipif(not HERE, reason="the wheel is one for x86_64 and Python 3.11")
    @pytest.mark.parametrize(
        "body", ["return 1;", "pthread_t t; return pthread_create(&t, 0, 0, 0);"]
    )
    def test_what_needs_a_newer_c_library_is_refused(
        self, image: Path, links: Path, body: str
    ) -> None:
        """A real shared object, linked here; ``pthread_create`` moved in glibc 2.34."""
        if shutil.which("cc") is None:
            pytest.skip("no C compiler")
        source = f"#include <pthread.h>\nint up(void) {{ {body} }}\n"
        link = "['cc', '-shared', '-fPIC', '-o', 'x.so', 'x.c']"
        code = f"import subprocess; subprocess.run({link}, check=True); said = ''"
        tag = "cp311-cp311-linux_x86_64"
        _index.sdist(links, "mx-src", code=code, tag=tag, files={"x.c": source}, extra=["x.so"])
        if "pthread" not in body:
            assert built(lock(image, links)).wheel.name == f"mx_src-1.0-{tag}.whl"
            return
        with pytest.raises(Incompatible, match=r"needs glibc 2\.34 \(x\.so\); the image has 2\.28"):
            lock(image, links)


class TestWhenFetching:
    def test_it_is_built_again_elsewhere_to_the_same_bytes(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src", build_requires=["mx-tool"])
        path = lock(image, links).path
        before = (path.parent / "wheelhouse" / WHEEL).read_bytes()
        shutil.rmtree(path.parent / "wheelhouse")
        fetched = dict(fetching.fetch(path, where=here(links)).wheels)
        assert fetched[WHEEL] is How.BUILT
        assert (path.parent / "wheelhouse" / WHEEL).read_bytes() == before

    def test_the_source_that_lies_in_the_wheelhouse_is_asked_of_nobody(
        self, image: Path, links: Path
    ) -> None:
        sdist = _index.sdist(links, "mx-src", build_requires=["mx-tool"])
        path = lock(image, links).path
        sdist.unlink()
        (path.parent / "wheelhouse" / WHEEL).write_bytes(b"damaged")
        assert dict(fetching.fetch(path, where=here(links)).wheels)[WHEEL] is How.BUILT
        (path.parent / "wheelhouse" / WHEEL).unlink()
        (path.parent / "wheelhouse" / SDIST).write_bytes(b"damaged")
        with pytest.raises(IndexFailed, match=rf"no index has {re.escape(SDIST)}"):
            fetching.fetch(path, where=here(links))

    def test_whoever_has_the_wheel_spares_building_it(
        self, image: Path, links: Path, tmp_path: Path
    ) -> None:
        _index.sdist(links, "mx-src")
        path = lock(image, links).path
        path.parent.joinpath("wheelhouse").rename(tmp_path / "brought")
        where = From(find_links=(str(links), str(tmp_path / "brought")), no_index=True)
        assert dict(fetching.fetch(path, where=where).wheels)[WHEEL] is How.FETCHED

    def test_another_wheel_than_the_locked_one_is_refused_with_a_way_out(
        self, image: Path, links: Path
    ) -> None:
        _index.sdist(links, "mx-src")
        path = lock(image, links).path
        house = path.parent / "wheelhouse"
        shutil.rmtree(house)
        digest = built_digest(path)
        path.write_text(path.read_text().replace(digest, "0" * 64))
        with pytest.raises(WheelError, match=rf"becomes {re.escape(WHEEL)} with") as caught:
            fetching.fetch(path, where=here(links))
        assert "take the wheel from where the lock was made" in caught.value.hint
        assert WHEEL not in {p.name for p in house.iterdir()}

    def test_another_source_than_the_locked_one_is_refused(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src")
        path = lock(image, links).path
        shutil.rmtree(path.parent / "wheelhouse")
        _index.sdist(links, "mx-src", files={"more.py": ""})
        with pytest.raises(WheelError, match=rf"{re.escape(SDIST)}: what came has the sha256"):
            fetching.fetch(path, where=here(links))

    def test_another_tool_than_the_locked_one_is_refused(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src", build_requires=["mx-tool"])
        path = lock(image, links).path
        shutil.rmtree(path.parent / "wheelhouse")
        _index.wheel(links, "mx-tool", filler=10)
        with pytest.raises(IndexFailed, match=r"(?s)mx-tool"):
            fetching.fetch(path, where=here(links))

    def test_only_binary_builds_nothing(self, image: Path, links: Path) -> None:
        _index.sdist(links, "mx-src")
        path = lock(image, links).path
        shutil.rmtree(path.parent / "wheelhouse")
        with pytest.raises(IndexFailed, match=rf"no index has {re.escape(WHEEL)}, which was built"):
            fetching.fetch(path, where=here(links, only_binary=True))

    def test_a_source_that_is_nowhere_is_named(self, image: Path, links: Path) -> None:
        sdist = _index.sdist(links, "mx-src")
        path = lock(image, links).path
        shutil.rmtree(path.parent / "wheelhouse")
        sdist.unlink()
        with pytest.raises(IndexFailed, match=rf"no index has {re.escape(SDIST)}"):
            fetching.fetch(path, where=here(links))

    @pytest.mark.usefixtures("package_index")
    def test_a_real_one_is_built_and_installed_by_uv_and_pip(
        self, image: Path, tmp_path: Path
    ) -> None:
        image.write_text(image.read_text().replace("mx-app", "docopt==0.6.2"))
        result = locking.lock(
            image, matrix=checking.load_matrix(), today=date(2026, 11, 30), options=None
        )
        digest = _index.sha256(result.path.parent / "wheelhouse" / built(result).wheel.name)
        shutil.rmtree(result.path.parent / "wheelhouse")
        fetched = fetching.fetch(result.path)
        ((name, how),) = fetched.wheels
        assert how is How.BUILT
        assert _index.sha256(fetched.wheelhouse / name) == digest
        find = (uv.find_uv_bin(), "python", "find", "--no-python-downloads", "3.11")
        found = subprocess.run(find, capture_output=True, text=True, check=False)
        if found.returncode:
            pytest.skip("no Python 3.11 here, and the lock is for no other")
        environ = {k: v for k, v in os.environ.items() if k != "PIP_FIND_LINKS"}
        for tool in ("uv", "pip"):
            venv = tmp_path / f"venv-{tool}"
            run(uv.find_uv_bin(), "venv", "--python", found.stdout.strip(), str(venv))
            own = environ | {"VIRTUAL_ENV": str(venv)}
            if tool == "pip":
                run(uv.find_uv_bin(), "pip", "install", "pip>=26.1", env=own)
            program = (uv.find_uv_bin(),) if tool == "uv" else (str(venv / "bin/python"), "-m")
            run(*program, "pip", "install", "--no-index", "-r", str(result.path), env=own)
            run(str(venv / "bin/python"), "-c", "import docopt", env=own)


class TestASourceThatWouldLeaveItsFolder:
    @pytest.mark.parametrize(
        ("name", "link", "said"),
        [
            ("../escaped.py", "", "leaves its folder"),
            ("/tmp/escaped.py", "", "leaves its folder"),  # noqa: S108 - a name in an archive
            ("mx_src-1.0/out", "../../..", "a link out of its folder"),
            ("mx_src-1.0/out", "/etc/passwd", "a link out of its folder"),
            ("mx_src-1.0/pyproject.toml", "", "cannot be unpacked"),
            ("another/x.py", "", "does not hold one folder"),
        ],
    )
    def test_is_refused(self, links: Path, tmp_path: Path, name: str, link: str, said: str) -> None:
        path = _index.sdist(links, "mx-src")
        inside = tmp_path / "inside"
        with tarfile.open(path) as archive:
            archive.extractall(inside, filter="data")
        with tarfile.open(path, "w:gz") as archive:
            archive.add(inside / "mx_src-1.0", "mx_src-1.0")
            entry = tarfile.TarInfo(name)
            if link:
                entry.type, entry.linkname = tarfile.SYMTYPE, link
            archive.addfile(entry)
        with pytest.raises(WheelError, match=r"mx_src-1\.0\.tar\.gz: .*" + said):
            make(path, links)
        assert not (tmp_path / "escaped.py").exists()

    def test_links_inside_are_kept(self, links: Path, tmp_path: Path) -> None:
        path = _index.sdist(links, "mx-src", code="said = open('link.py').read()", more=[])
        inside = tmp_path / "inside"
        with tarfile.open(path) as archive:
            archive.extractall(inside, filter="data")
        (inside / "mx_src-1.0" / "real.py").write_text("REAL = True\n")
        (inside / "mx_src-1.0" / "link.py").symlink_to("real.py")
        with tarfile.open(path, "w:gz") as archive:
            archive.add(inside / "mx_src-1.0", "mx_src-1.0")
        with zipfile.ZipFile(make(path, links)) as wheel:
            assert "REAL = True" in wheel.read("mx_src.py").decode()

    def test_one_that_is_no_archive_is_refused(self, links: Path) -> None:
        path = _index.sdist(links, "mx-src")
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(WheelError, match="cannot be unpacked"):
            make(path, links)


def make(sdist: Path, links: Path) -> Path:
    """Build ``sdist`` as mx-src 1.0; return the wheel."""
    resolver: Resolver = _plugins.load("resolvers", "uv")
    out = links.parent / "out"
    out.mkdir()
    indexes = Indexes(find_links=(str(links),), no_index=True, directory=links.parent)
    order = Order(
        sdist=sdist, name="mx-src", version="1.0", python="3.11", indexes=indexes, out=out
    )
    return resolver.build(order).wheel


KILLED = """
import sys
from datetime import date
from pathlib import Path
from mxenv.api import checking, locking
options = locking.Options(find_links=(sys.argv[2],), no_index=True)
matrix = checking.load_matrix()
locking.lock(Path(sys.argv[1]), matrix=matrix, today=date(2026, 11, 30), options=options)
"""


def test_killed_at_any_moment_it_leaves_no_half_lock_and_no_half_wheel(
    image: Path, links: Path
) -> None:
    _index.sdist(links, "mx-src", build_requires=["mx-tool"])
    path = image.parents[2] / "lockfiles" / "pylock.small.toml"
    for moment in range(6):
        command = [sys.executable, "-c", KILLED, str(image), str(links)]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            time.sleep(0.5 + moment * 0.4)
            process.kill()
        assert not path.exists() or built_digest(path)
        for wheel in (path.parent / "wheelhouse").glob("*.whl"):
            assert zipfile.ZipFile(wheel).testzip() is None
    result = lock(image, links)
    assert built(result).wheel.sha256 == _index.sha256(path.parent / "wheelhouse" / WHEEL)


def built_digest(path: Path) -> str:
    (package,) = (p for p in read_lock(path).packages if p.source is not None)
    return package.wheel.sha256


def run(*command: str, env: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
