"""After a build the inside is compared with the lock: the wrong thing inside is a failure."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from _layouts import add_index, add_manifest, file, link, tar
from _locked import debian_lock, dist_info, record_row, scratch_lock, write_lock

from mxenv import snapshot as snapshots
from mxenv.api import _attached, attesting, bases, building
from mxenv.errors import MxenvError
from mxenv.facts import Observed
from mxenv.image import Image
from mxenv.lock import Package, Provided, Wheel
from mxenv.stores import places

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.lock import Lock

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def disguised(house: Path) -> Package:
    """A wheel of alpha 1.0 by its name and its hash, and of another version inside."""
    info = "alpha-1.0.dist-info"
    content = {
        "alpha.py": "",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: alpha\nVersion: 6.6.6\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = "".join(record_row(path, text.encode()) for path, text in content.items())
    path = house / "alpha-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", f"{rows}{info}/RECORD,,\n")
    data = path.read_bytes()
    wheel = Wheel(name=path.name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    return Package(name="alpha", version="1.0", wheel=wheel)


def test_a_wheel_that_is_another_version_inside_ends_the_build(tmp_path: Path) -> None:
    lock = scratch_lock(tmp_path)
    wrong = disguised(tmp_path / "lockfiles" / "wheelhouse")
    path = write_lock(tmp_path, replace(lock, packages=(wrong, lock.packages[1])))
    before = path.read_bytes()
    with pytest.raises(MxenvError, match=r"6\.6\.6") as refused:
        building.build(path, out=tmp_path / "dist", cache=tmp_path / "cache")
    assert refused.value.exit_code
    assert not (tmp_path / "dist" / "index.json").exists()
    assert path.read_bytes() == before, "no digest of it is recorded"


def recorded(root: Path) -> Lock:
    """A lock on a base of which it is recorded what it holds."""
    lock = debian_lock(root)
    entries = [
        file("usr/bin/python3.11", "ELF", mode=0o755),
        link("usr/bin/python3", "python3.11"),
        file("usr/bin/ldd", "echo 'ldd (Debian GLIBC 2.36-9) 2.36'\n", mode=0o755),
        file("etc/os-release", 'ID=debian\nVERSION_ID="12"\n'),
        file("usr/lib/python3.11/os.py", ""),
        *dist_info("usr/lib/python3/dist-packages", "gamma", "0.3"),
    ]
    add_index(root / "base", [add_manifest(root / "base", [tar(entries)])])
    wanted = Image(name="small", base="oci:base", accelerator="none")
    ground = bases.stand(wanted, snapshot=None, root=root, now=NOW, beside=root / "lockfiles")
    bases.keep(ground, root / "lockfiles")
    return replace(lock, base=replace(ground.base, reference="oci:base"))


def test_a_right_one_is_attached_with_the_facts_of_its_base(tmp_path: Path) -> None:
    path = write_lock(tmp_path, recorded(tmp_path))
    made = building.build(path, out=tmp_path / "dist", cache=tmp_path / "cache")
    source = places.source_of(f"oci:{tmp_path / 'dist'}@{made.manifest}")
    (snapshot,) = _attached.read(source, made.manifest).documents["snapshot"]
    inside = snapshots.from_json(snapshot.content.decode(), context="snapshot")
    assert inside.reading("os.id") == Observed("debian")
    (alpha,) = inside.instances("python.package")["/usr/alpha"]
    layers = [layer.made.diff_id for layer in made.layers]
    assert any(layer.startswith(alpha.source) for layer in layers), "whose it is"


@pytest.mark.parametrize(
    ("provided", "said"),
    [
        ((Provided(name="gamma", version="0.4"),), r"gamma is 0\.3.*not 0\.4"),
        ((), "gamma is .*not there: the lock has no such package"),
    ],
)
def test_a_lock_that_says_something_else_of_its_base_ends_the_build(
    tmp_path: Path, provided: tuple[Provided, ...], said: str
) -> None:
    path = write_lock(tmp_path, replace(recorded(tmp_path), provided=provided))
    with pytest.raises(MxenvError, match=said) as refused:
        building.build(path, out=tmp_path / "dist", cache=tmp_path / "cache")
    assert refused.value.exit_code == 1
    assert "[tool.mxenv.image]" not in path.read_text(), "no digest of it is recorded"
    assert attesting.MEMORY not in {one.name for one in (tmp_path / "cache").iterdir()}
