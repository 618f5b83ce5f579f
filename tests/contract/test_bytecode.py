"""Bytecode in layers: the same bytes whoever compiles, and what the image's Python really uses."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import _pythons
import pytest
from _wheels import Made, lock_of, target

from mxenv import lock as locks
from mxenv.api import building
from mxenv.engines import Order, _bytecode
from mxenv.engines.oci import assemble, build
from mxenv.errors import EngineError, UsageError
from mxenv.lock import Built

if TYPE_CHECKING:
    from mxenv.engines import Product
    from mxenv.lock import Lock

HERE = ".".join(map(str, sys.version_info[:2]))
MODULE = """\
\"\"\"A module with what is hard to write the same way twice.\"\"\"
import os

WHEN = "compiled"
SETS = lambda x: x in {"a", "b", "c", 1, 2.5, b"x", (1, "t")}
NONE = lambda x: x in {None, "a", "b", Ellipsis}


class Thing:
    attribute = attribute_of_thing = "attribute_of_thing"

    def method(self, *, attribute=("a", ("b", 1.5, -0.0))):
        def inner():
            return self, attribute, {**attribute}
        try:
            return inner, [x for x in attribute], f"{attribute!r:>{10}}"
        except (ValueError, KeyError) as error:
            raise RuntimeError from error


async def later(x):
    async with x as y:
        yield y
"""
FILES = {
    "pkg/__init__.py": MODULE.encode(),
    "pkg/plain.py": b'WHEN = "compiled"\n',
    "pkg/old.py": b"print 'no longer Python'\n",
    "pkg/nul.py": b"\0",
    "pkg/latin.py": b"# coding: latin-1\nX = '\xe9'\n",
    "pkg/data.txt": b"no module",
    "pkg-1.0.data/scripts/tool.py": b"#!python\n",
}


def lock_for(folder: Path, version: str = HERE, files: dict[str, bytes] | None = None) -> Lock:
    made = Made(files=files or FILES)
    where = replace(
        target(),
        python=version,
        purelib=f"/opt/env/lib/python{version}/site-packages",
        platlib=f"/opt/env/lib/python{version}/site-packages",
    )
    return replace(lock_of(made.write(folder)), target=where, bytecode=True)


def order_of(folder: Path, lock: Lock, interpreter: str = "") -> Order:
    return Order(
        lock=lock,
        lock_text=locks.render(locks.without_image(lock)),
        base="scratch",
        wheelhouse=folder,
        files=folder,
        cache=folder / "cache",
        out=folder / "out",
        interpreter=interpreter,
    )


def unpack(folder: Path, product: Product) -> Path:
    """Unpack the layer of the wheel, as an engine would."""
    digest = product.layers[0].made.digest.removeprefix("sha256:")
    blob = (folder / "out" / "blobs" / "sha256" / digest).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blob))) as archive:
        archive.extractall(folder / "root", filter="data")
    return folder / "root"


@pytest.mark.parametrize("version", sorted(_pythons.found()))
def test_the_python_of_the_image_uses_it_and_does_not_look_at_the_source(
    tmp_path: Path, version: str
) -> None:
    python = _pythons.found()[version]
    lock = lock_for(tmp_path, version)
    root = unpack(tmp_path, build(order_of(tmp_path, lock, python)))
    site = root / lock.target.purelib[1:]
    for source in (site / "pkg").glob("*.py"):
        source.write_text("WHEN = 'read from its source'\n")
    code = "import pkg.plain, pkg.latin; print(pkg.plain.WHEN, pkg.plain.__cached__, pkg.latin.X)"
    done = subprocess.run(
        [python, "-S", "-B", "-W", "ignore", "-X", "utf8", "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(site)},
    )
    tag = version.replace(".", "")
    cached = site / "pkg" / "__pycache__" / f"plain.cpython-{tag}.pyc"
    assert done.stdout == f"compiled {cached} é\n", done.stderr


def test_it_is_there_for_each_module_that_can_be_compiled_as_with_pip(tmp_path: Path) -> None:
    lock = lock_for(tmp_path)
    root = unpack(tmp_path, build(order_of(tmp_path, lock)))
    site = root / lock.target.purelib[1:]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    wheel = tmp_path / lock.packages[0].wheel.name
    subprocess.run(
        [*pip, "--disable-pip-version-check", "--target", tmp_path / "pip", wheel],
        check=True,
        capture_output=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        | {"PYTHONWARNINGS": "ignore"},
    )
    # pip goes through the scripts as well when it is given a folder of its own.
    theirs = {p.relative_to(tmp_path / "pip") for p in (tmp_path / "pip" / "pkg").rglob("*.pyc")}
    ours = {p.relative_to(site) for p in site.rglob("*.pyc")}
    assert ours == theirs
    assert {path.name.partition(".")[0] for path in ours} >= {"__init__", "plain", "latin"}
    info = "pkg-1.0.dist-info/RECORD"
    rows, others = (
        {
            row[0]: row[1:]
            for row in csv.reader((folder / info).read_text().splitlines())
            if "pkg/" in row[0]
        }
        for folder in (site, tmp_path / "pip")
    )
    assert set(rows) == set(others)
    for path in map(str, ours):
        assert rows[path] == others[path] == ["", ""]


SCRIPT = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_bytecode import lock_for, order_of
from mxenv.engines.oci import build
folder = Path(sys.argv[1])
product = build(order_of(folder, lock_for(folder), sys.argv[3]))
print(product.config, product.manifest, product.compiler)
"""


def test_folder_user_umask_zone_language_and_hash_seed_make_no_difference(
    tmp_path: Path,
) -> None:
    said = set()
    tmp_path.chmod(0o755)
    tests = Path(__file__).parent
    for name, umask, environment in (
        ("a", 0o022, {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}),
        ("b/c", 0o077, {"TZ": "Asia/Shanghai", "LC_ALL": "C", "PYTHONHASHSEED": "2"}),
        ("d", 0o027, {"PYTHONOPTIMIZE": "2", "PYTHONPATH": "", "PYTHONHASHSEED": "3"}),
    ):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, folder, tests, sys.executable],
            capture_output=True,
            text=True,
            check=True,
            umask=umask,
            cwd=folder,
            env={**os.environ, **environment, "PYTHONPATH": str(tests.parent)},
        )
        said.add(done.stdout)
    assert len(said) == 1
    assert said.pop().split()[2] == ".".join(map(str, sys.version_info[:3]))


def test_nothing_that_it_compiles_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    files = {
        "pkg/__init__.py": f"open({str(mark)!r}, 'w')\n".encode(),
        # What a program that starts would import by itself.
        "sitecustomize.py": f"open({str(mark)!r}, 'w')\n".encode(),
        "marshal.py": f"open({str(mark)!r}, 'w')\n".encode(),
    }
    build(order_of(tmp_path, lock_for(tmp_path, files=files)))
    assert not mark.exists()


def test_what_another_module_was_compiled_before_makes_no_difference(tmp_path: Path) -> None:
    chosen = _bytecode.interpreter(order_of(tmp_path, lock_for(tmp_path)))
    source = MODULE.encode()
    with _bytecode.modules(chosen) as one, _bytecode.modules(chosen) as other:
        other.compile("/x.py", b"attribute = 1\n" * 1000 + source)
        first, second = one.compile("/m.py", source), other.compile("/m.py", source)
        assert first is not None
        assert second is not None
        assert one.read(first) == other.read(second)


def test_the_compiler_s_version_is_part_of_a_layer_s_key_and_no_bytecode_is_none(
    tmp_path: Path,
) -> None:
    lock = lock_for(tmp_path)
    with_it = build(order_of(tmp_path, lock))
    without = build(order_of(tmp_path, replace(lock, bytecode=False)))
    assert with_it.layers[0].made.diff_id != without.layers[0].made.diff_id
    assert without.compiler == ""
    config = tmp_path / "out" / "blobs" / "sha256" / with_it.config.removeprefix("sha256:")
    diff_ids = json.loads(config.read_text())["rootfs"]["diff_ids"]
    assert diff_ids[0] == with_it.layers[0].made.diff_id


def test_the_lock_remembers_who_compiled_and_a_check_is_by_the_same(tmp_path: Path) -> None:
    path = tmp_path / "pylock.demo.toml"
    path.write_text(locks.render(lock_for(tmp_path)))
    (tmp_path / "wheelhouse").mkdir()
    for wheel in tmp_path.glob("*.whl"):
        wheel.rename(tmp_path / "wheelhouse" / wheel.name)
    building.build(path, out=tmp_path / "out", cache=tmp_path / "cache")
    lock = locks.parse(path.read_text(), context="lock")
    assert lock.bytecode
    assert lock.built is not None
    assert lock.built.compiler == ".".join(map(str, sys.version_info[:3]))
    building.build(path, check=True)
    others = [python for version, python in _pythons.found().items() if version != HERE]
    for python in others[:1]:
        with pytest.raises(UsageError, match="are for CPython"):
            building.build(path, check=True, interpreter=python)


def refusal(folder: Path, lock: Lock, interpreter: str = "") -> UsageError:
    with pytest.raises(UsageError) as caught:
        assemble(order_of(folder, lock, interpreter), source=None, sink=None)
    return caught.value


def test_a_python_of_another_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    error = refusal(tmp_path, lock_for(tmp_path, "3.8"))
    assert f"{sys.executable} is cpython {HERE}." in error.message
    assert "name a Python 3.8 with --interpreter" in error.hint


@pytest.mark.parametrize("name", ["no-such-python", "true", "cat"])
def test_what_is_no_python_is_refused(tmp_path: Path, name: str) -> None:
    error = refusal(tmp_path, lock_for(tmp_path), name)
    assert error.message.startswith("cannot compile modules: ")
    assert "--interpreter" in error.hint


def test_a_python_of_which_it_is_not_known_how_is_refused(tmp_path: Path) -> None:
    assert "leave 'bytecode' out" in refusal(tmp_path, lock_for(tmp_path, "3.99")).hint


def test_another_patch_level_than_made_the_lock_s_image_is_refused(tmp_path: Path) -> None:
    digest = "sha256:" + "0" * 64
    built = Built(config=digest, manifest=digest, layers=(), compiler=f"{HERE}.99")
    error = refusal(tmp_path, replace(lock_for(tmp_path), built=built))
    assert f"compiled by Python {HERE}.99" in error.message
    assert "[tool.mxenv.image]" in error.hint


def test_a_compiler_that_dies_is_one_clear_error(tmp_path: Path) -> None:
    program = tmp_path / "python"
    version = ".".join(map(str, sys.version_info[:3]))
    program.write_text(f"#!/bin/sh\necho cpython final {version}\n")
    program.chmod(0o755)
    with pytest.raises(EngineError, match="ended while it compiled"):
        assemble(order_of(tmp_path, lock_for(tmp_path), str(program)), source=None, sink=None)
