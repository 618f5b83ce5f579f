"""Locks given to the tools that people have: uv, the newest pip, `packaging`; offline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from datetime import date
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, cast

import _index
import jsonschema
import pytest
import uv
from packaging.pylock import Pylock, PylockSelectError

from mxenv import lock as locks
from mxenv import wheel_tags
from mxenv.api import checking, fetching, lock_files, locking
from mxenv.api.fetching import From, How
from mxenv.api.project import read_lock
from mxenv.errors import UsageError
from mxenv.lock import Built, Provided
from mxenv.provided import marker_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from _index import Index
    from packaging.markers import Environment

MXENV = Path(sys.executable).with_name("mxenv")
IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
[python]
version = "3.11"
requires = ["mx-app", "mx-vendor"]
"""
VENDOR = "2.8.0+metax3.5.3.9"


@pytest.fixture
def links(tmp_path: Path) -> Path:
    folder = tmp_path / "links"
    _index.wheel(folder, "mx-app", requires=["mx-lib"], script="mx-app")
    _index.wheel(folder, "mx-lib")
    _index.wheel(folder, "mx-vendor", VENDOR, tag="cp311-cp311-linux_x86_64")
    return folder


@pytest.fixture
def index(links: Path) -> Iterator[Index]:
    with _index.serve(links) as running:
        yield running


def make(folder: Path, **how: object) -> Path:
    image = folder / "images" / "small" / "image.toml"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(IMAGE)
    options = locking.Options(**how)
    matrix, today = checking.load_matrix(), date(2026, 11, 30)
    return locking.lock(image, matrix=matrix, today=today, options=options).path


@pytest.fixture
def full(tmp_path: Path, links: Path) -> Path:
    """A lock whose wheelhouse is filled; where the wheels came from is gone."""
    lock = make(tmp_path, find_links=(str(links),), no_index=True)
    fetching.fetch(lock, where=From(find_links=(str(links),), no_index=True))
    shutil.rmtree(links)
    return lock


def run(*command: str | Path, status: int = 0, **variables: str) -> str:
    dropped = {"PIP_FIND_LINKS", "PIP_INDEX_URL", "VIRTUAL_ENV"}
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    environ["PIP_CONFIG_FILE"] = os.devnull
    done = subprocess.run(
        command, env=environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, package_index: None) -> Path:
    """The Python that the locks are for, with the newest pip."""
    del package_index
    find = (uv.find_uv_bin(), "python", "find", "--no-python-downloads", "3.11")
    found = subprocess.run(find, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("no Python 3.11 here, and the locks are for no other")
    folder = tmp_path_factory.mktemp("newest") / "venv"
    run(uv.find_uv_bin(), "venv", "--python", found.stdout.strip(), folder)
    # The first pip that reads pylock files.
    run(uv.find_uv_bin(), "pip", "install", "pip>=26.1", VIRTUAL_ENV=str(folder))
    return folder / "bin" / "python"


def installed(folder: Path) -> dict[str, str]:
    """Return the distributions in ``folder`` with their versions."""
    return dict(
        path.name.removesuffix(".dist-info").split("-", 1) for path in folder.glob("*.dist-info")
    )


def change(wheel: Path) -> None:
    """Let ``wheel`` do something else: of the same size, and whole as archives go."""
    with zipfile.ZipFile(wheel) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, content in members.items():
            changed = content.replace(b"print(VERSION)", b"print(Version)")
            archive.writestr(zipfile.ZipInfo(name), changed)


WHOLE = {"mx_app": "1.0", "mx_lib": "1.0", "mx_vendor": VENDOR}


class TestALockAndItsWheelhouseAreEnough:
    def test_for_pip(self, full: Path, python: Path, tmp_path: Path) -> None:
        install = (python, "-m", "pip", "install", "--no-index", "--target", tmp_path / "site")
        run(*install, "-r", full)
        assert installed(tmp_path / "site") == WHOLE

    def test_for_uv(self, full: Path, python: Path, tmp_path: Path) -> None:
        install = (uv.find_uv_bin(), "pip", "install", "--offline", "--no-index", "--no-cache")
        run(*install, "--python", python, "--target", tmp_path / "site", "-r", full)
        assert installed(tmp_path / "site") == WHOLE

    def test_and_a_wheel_that_somebody_changed_is_not_installed(
        self, full: Path, python: Path, tmp_path: Path
    ) -> None:
        wheel = next((full.parent / "wheelhouse").glob("mx_lib*"))
        change(wheel)
        pip = (python, "-m", "pip", "install", "--no-index", "--target", tmp_path / "a")
        assert "DO NOT MATCH" in run(*pip, "-r", full, status=1)
        by_uv = (uv.find_uv_bin(), "pip", "install", "--offline", "--no-cache", "--python", python)
        said = run(*by_uv, "--target", tmp_path / "b", "-r", full, status=1)
        assert "Hash mismatch" in said
        assert not installed(tmp_path / "a") | installed(tmp_path / "b")

    def test_and_packaging_finds_nothing_wrong(self, full: Path) -> None:
        pylock = Pylock.from_dict(tomllib.loads(full.read_text()))
        chosen = {str(p.name): str(p.version) for p in pylock.packages}
        assert chosen == {"mx-app": "1.0", "mx-lib": "1.0", "mx-vendor": VENDOR}

    def test_and_packaging_selects_each_for_the_target_and_none_for_another(
        self, full: Path
    ) -> None:
        """Whatever machine this is: the environment and the tags are the lock's own."""
        pylock = Pylock.from_dict(tomllib.loads(full.read_text()))
        target = read_lock(full).target
        tags = wheel_tags.supported(target.python, target.platform, target.libc)
        environment = cast("Environment", marker_environment(target))
        selected = pylock.select(environment=environment, tags=tags)
        assert [str(package.name) for package, _ in selected] == ["mx-app", "mx-lib", "mx-vendor"]
        other = cast("Environment", {**environment, "python_version": "3.10"})
        with pytest.raises(PylockSelectError):
            list(pylock.select(environment=other, tags=tags))

    def test_sync_would_remove_what_the_base_provides(self, full: Path, tmp_path: Path) -> None:
        """Which is why the documentation says `install`, and never `sync`."""
        _index.wheel(tmp_path / "base", "mx-torch")
        run(uv.find_uv_bin(), "venv", "--python", "3.11", tmp_path / "env")
        environ = {"VIRTUAL_ENV": str(tmp_path / "env")}
        by_uv = (uv.find_uv_bin(), "pip")
        alone = ("--offline", "--no-index")
        run(*by_uv, "install", *alone, *(tmp_path / "base").glob("*.whl"), **environ)
        run(*by_uv, "install", *alone, "-r", full, **environ)
        assert "mx-torch" in run(*by_uv, "freeze", **environ)
        run(*by_uv, "sync", *alone, full, **environ)
        assert "mx-torch" not in run(*by_uv, "freeze", **environ)


class TestOnABaseWhoseBuildsContradictEachOther:
    """As torchvision 0.15.1 asks for torch 2.0.1 beside the torch 2.8 of the same image."""

    @pytest.fixture
    def base(self, tmp_path: Path) -> Path:
        """Return the Python of the base."""
        folder = tmp_path / "built"
        _index.wheel(folder, "mx-torch", VENDOR)
        _index.wheel(folder, "mx-vision", "0.15.1", requires=["mx-torch==2.0.1"])
        run(uv.find_uv_bin(), "venv", "--python", "3.11", tmp_path / "env")
        python = tmp_path / "env" / "bin" / "python"
        alone = ("--offline", "--no-index", "--no-deps", "--python", python)
        run(uv.find_uv_bin(), "pip", "install", *alone, *folder.glob("*.whl"))
        return python

    @pytest.fixture
    def added(self, full: Path) -> Path:
        """A lock with a package that needs both, which the base provides."""
        house = full.parent / "wheelhouse"
        wheel = _index.wheel(house, "mx-added", requires=["mx-torch", "mx-vision"])
        package = locks.Package(
            name="mx-added",
            version="1.0",
            wheel=locks.Wheel(name=wheel.name, sha256=_index.sha256(wheel)),
        )
        names = (("mx-torch", VENDOR), ("mx-vision", "0.15.1"))
        provided = tuple(Provided(name=name, version=version) for name, version in names)
        made = replace(read_lock(full), packages=(package,), provided=provided)
        full.write_text(locks.render(made))
        return full

    def test_uv_takes_a_lock_at_its_word(self, added: Path, base: Path) -> None:
        by_uv = (uv.find_uv_bin(), "pip", "install", "--offline", "--no-cache", "--python", base)
        assert "mx-added==1.0" in run(*by_uv, "-r", added)

    def test_pip_does_if_it_is_told_not_to_look_at_dependencies(
        self, added: Path, base: Path, python: Path
    ) -> None:
        by_pip = (python, "-m", "pip", "--python", base, "install", "--no-index")
        assert "ResolutionImpossible" in run(*by_pip, "-r", added, status=1)
        said = run(*by_pip, "--no-deps", "-r", added)
        assert "Successfully installed mx-added-1.0" in said

    def test_so_does_an_export_which_says_so(
        self, added: Path, base: Path, python: Path, tmp_path: Path
    ) -> None:
        export = tmp_path / "requirements.txt"
        run(MXENV, "lock-export", added, "--out", export)
        assert "--no-deps" in export.read_text()
        by_pip = (python, "-m", "pip", "--python", base, "install", "--no-index", "--no-deps")
        house = ("--require-hashes", "--find-links", added.parent / "wheelhouse")
        assert "Successfully installed mx-added-1.0" in run(*by_pip, *house, "-r", export)


class TestAnExport:
    def test_is_installed_by_pip_with_every_hash(
        self, full: Path, python: Path, tmp_path: Path
    ) -> None:
        run(MXENV, "lock-export", full, "--out", tmp_path / "requirements.txt")
        house = full.parent / "wheelhouse"
        install = (python, "-m", "pip", "install", "--no-index", "--find-links", house)
        site = ("--target", tmp_path / "site", "--require-hashes")
        run(*install, *site, "-r", tmp_path / "requirements.txt")
        assert installed(tmp_path / "site") == WHOLE

    def test_of_a_changed_wheel_is_not(self, full: Path, python: Path, tmp_path: Path) -> None:
        text = run(MXENV, "lock-export", full, "--format", "requirements")
        (tmp_path / "requirements.txt").write_text(text)
        house = full.parent / "wheelhouse"
        _index.wheel(house, "mx-lib", filler=9)
        install = (python, "-m", "pip", "install", "--no-index", "--find-links", house)
        site = ("--target", tmp_path / "site", "--require-hashes")
        said = run(*install, *site, "-r", tmp_path / "requirements.txt", status=1)
        assert "DO NOT MATCH" in said

    def test_leaves_what_the_base_provides_as_it_is(
        self, full: Path, python: Path, tmp_path: Path
    ) -> None:
        """pip takes what is there for met; without it, pip refuses what has no hash."""
        lock = read_lock(full)
        kept = tuple(p for p in lock.packages if p.name != "mx-lib")
        provided = (Provided(name="mx-lib", version="1.0"),)
        full.write_text(locks.render(replace(lock, packages=kept, provided=provided)))
        text = lock_files.export(full, form="requirements", out=tmp_path / "requirements.txt")
        assert "#   mx-lib==1.0\n" in text
        house = full.parent / "wheelhouse"
        base = next(house.glob("mx_lib*")).rename(tmp_path / "mx_lib-1.0-py3-none-any.whl")
        run(uv.find_uv_bin(), "venv", "--python", python, tmp_path / "env")
        there = ("--python", tmp_path / "env")
        pip = (python, "-m", "pip", *there, "install", "--no-index", "--find-links", house)
        command = (*pip, "--require-hashes", "-r", tmp_path / "requirements.txt")
        assert "mx-lib" in run(*command, status=1)
        run(*pip, base)
        run(*command)
        assert "mx-vendor" in run(python, "-m", "pip", *there, "list")

    def test_is_written_whole_or_not_at_all(self, full: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="cannot be written"):
            lock_files.export(full, form="requirements", out=tmp_path / "links" / "\0")

    def test_of_what_is_no_lock_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "pylock.x.toml").write_text("a = 1\n")
        said = run(MXENV, "lock-export", tmp_path / "pylock.x.toml", status=5)
        assert "pylock.x.toml: lock-version: missing" in said


class TestWithUrls:
    def test_the_lock_says_where_each_wheel_was_found(self, tmp_path: Path, index: Index) -> None:
        path = make(tmp_path, index=(index.url,), with_urls=True)
        document = tomllib.loads(path.read_text())
        schema = resources.files("mxenv") / "schemas" / "lock.schema.json"
        jsonschema.validate(document, json.loads(schema.read_text()))
        lock = read_lock(path)
        files = index.url.replace("/simple", "/files")
        urls = [package.wheel.url for package in lock.packages]
        assert all(url.startswith(f"{files}/mx_") for url in urls)

    def test_pip_and_uv_install_it_from_there_with_no_wheelhouse(
        self, tmp_path: Path, index: Index, python: Path
    ) -> None:
        lock = make(tmp_path, index=(index.url,), with_urls=True)
        Pylock.from_dict(tomllib.loads(lock.read_text()))
        pip = (python, "-m", "pip", "install", "--no-cache-dir", "--no-index")
        run(*pip, "--target", tmp_path / "a", "-r", lock)
        by_uv = (uv.find_uv_bin(), "pip", "install", "--no-cache", "--python", python)
        run(*by_uv, "--target", tmp_path / "b", "-r", lock)
        assert installed(tmp_path / "a") == installed(tmp_path / "b") == WHOLE

    def test_fetch_asks_no_index_but_the_files(self, tmp_path: Path, index: Index) -> None:
        lock = make(tmp_path, index=(index.url,), with_urls=True)
        index.asked.clear()
        fetched = fetching.fetch(lock)
        assert {how for _, how in fetched.wheels} == {How.FETCHED}
        assert {path.split("/")[1] for path, _, _ in index.asked} == {"files"}

    def test_locking_again_without_them_drops_them_and_keeps_the_image(
        self, tmp_path: Path, index: Index
    ) -> None:
        path = make(tmp_path, index=(index.url,), with_urls=True)
        digest = "sha256:" + "1" * 64
        built = Built(config=digest, manifest=digest, layers=(digest,))
        path.write_text(locks.render(replace(read_lock(path), built=built)))
        plain = read_lock(make(tmp_path, index=(index.url,)))
        assert not any(package.wheel.url for package in plain.packages)
        assert plain.built == built
        assert "://" not in path.read_text()

    def test_a_login_is_left_out(self, tmp_path: Path, index: Index) -> None:
        url = index.url.replace("://", "://user:hidden@")
        text = make(tmp_path, index=(url,), with_urls=True).read_text()
        assert "://127.0.0.1" in text
        assert "hidden" not in text

    def test_wheels_of_a_folder_have_none(self, tmp_path: Path, links: Path) -> None:
        lock = make(tmp_path, find_links=(str(links),), no_index=True, with_urls=True)
        assert "://" not in lock.read_text()
        assert str(tmp_path) not in lock.read_text()
