"""After a build the inside is compared with the lock: the wrong thing inside is a failure."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from _layouts import add_index, add_manifest, file, link, tar
from _locked import debian_lock, dist_info, record_row, scratch_lock, wheel, write_lock

from mxenv import snapshot as snapshots
from mxenv.api import _attached, attesting, bases, building
from mxenv.engines import _blob
from mxenv.engines._cache import Cache
from mxenv.engines._inside import check
from mxenv.engines._layer import _content
from mxenv.engines._wheel import opened
from mxenv.errors import MxenvError
from mxenv.facts import Observed
from mxenv.image import AddedFile, Image
from mxenv.lock import Package, Provided, Wheel
from mxenv.stores import places

if TYPE_CHECKING:
    from pathlib import Path

    from _registry import Registry

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
    house.mkdir(parents=True, exist_ok=True)
    path = house / "alpha-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in content.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/RECORD", f"{rows}{info}/RECORD,,\n")
    data = path.read_bytes()
    locked = Wheel(name=path.name, sha256=hashlib.sha256(data).hexdigest(), size=len(data))
    return Package(name="alpha", version="1.0", wheel=locked)


class Place:
    """Where an image would go, and what is there under a name."""

    def __init__(self, root: Path, registry: Registry | None) -> None:
        self.root, self.registry = root, registry
        name = hashlib.sha256(str(root).encode()).hexdigest()[:12]
        self.repository = f"inside/{name}"
        self.where: dict[str, object] = {"out": root / "dist"}
        if registry is not None:
            self.where = {"push": f"{registry.address}/{self.repository}:1"}

    def build(self, path: Path) -> None:
        building.build(path, cache=self.root / "cache", **self.where)  # type: ignore[arg-type]

    def named(self) -> list[object]:
        """Every manifest that is there by a tag, or attached to something."""
        if self.registry is None:
            index = self.root / "dist" / "index.json"
            return json.loads(index.read_text())["manifests"] if index.exists() else []
        folders = self.registry.log.parent.rglob("_manifests/*/*")
        return [path for path in folders if self.repository in str(path)]


@pytest.fixture(params=["layout", "registry"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    of = request.param == "registry"
    return Place(tmp_path, request.getfixturevalue("registry") if of else None)


def refused(place: Place, path: Path, said: str) -> MxenvError:
    """Build what must not be built: nothing has a name, or is attached, and no digest is kept."""
    before = path.read_bytes()
    with pytest.raises(MxenvError, match=said) as caught:
        place.build(path)
    assert caught.value.exit_code
    assert place.named() == []
    assert path.read_bytes() == before, "no digest of it is recorded"
    assert attesting.MEMORY not in {one.name for one in (place.root / "cache").iterdir()}
    return caught.value


def test_a_right_image_is_named(place: Place, tmp_path: Path) -> None:
    place.build(write_lock(tmp_path, scratch_lock(tmp_path)))
    assert len(place.named()) > 1


def test_a_wheel_that_is_another_version_inside_is_given_no_name(
    place: Place, tmp_path: Path
) -> None:
    lock = scratch_lock(tmp_path)
    wrong = disguised(tmp_path / "lockfiles" / "wheelhouse")
    path = write_lock(tmp_path, replace(lock, packages=(wrong, lock.packages[1])))
    refused(place, path, r"6\.6\.6")


def test_one_that_a_cache_holds_is_given_no_name(place: Place, tmp_path: Path) -> None:
    lock = scratch_lock(tmp_path)
    path = write_lock(tmp_path, lock)
    building.build(path, out=tmp_path / "first", cache=tmp_path / "cache", record=False)
    shutil.rmtree(tmp_path / "cache" / attesting.MEMORY)
    cache = Cache(root=tmp_path / "cache")
    (key,) = (
        record.name
        for record in (tmp_path / "cache" / "layers").iterdir()
        if any(name == "alpha" for name, _ in cache.find(record.name).distributions)  # type: ignore[union-attr]
    )
    # As if the layer had been made by an mxenv that does not look into wheels.
    wrong = wheel(tmp_path / "wrong", "alpha", "6.6.6", {"alpha.py": ""})
    with opened(tmp_path / "wrong" / wrong.wheel.name, wrong, lock.target) as unpacked:
        contents = [_content(unpacked, installed) for installed in unpacked.files]
        sites = frozenset({lock.target.purelib})
        cache.make(
            key,
            lambda file: _blob.write(file, contents, skipped=frozenset()),
            check=lambda file, draft: check(file, draft, packages=None, sites=sites),
        )
    said = refused(place, path, r"alpha is 6\.6\.6 .*, not 1\.0, locked")
    assert said.exit_code == 1


def test_an_added_file_that_is_a_distribution_is_given_no_name(
    place: Place, tmp_path: Path
) -> None:
    lock = scratch_lock(tmp_path)
    data = b"Metadata-Version: 2.1\nName: Evil_One\nVersion: 3\n"
    (tmp_path / "metadata").write_bytes(data)
    target = f"{lock.target.purelib}/evil_one-3.dist-info/METADATA"
    added = (AddedFile(source="metadata", target=target), hashlib.sha256(data).hexdigest())
    path = write_lock(tmp_path, replace(lock, files=(added,)))
    place.where["files"] = tmp_path
    said = refused(place, path, "evil-one is 3 .*not there: the lock has no such package")
    assert said.exit_code == 1


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
def test_a_lock_that_says_something_else_of_its_base_is_given_no_name(
    place: Place, tmp_path: Path, provided: tuple[Provided, ...], said: str
) -> None:
    path = write_lock(tmp_path, replace(recorded(tmp_path), provided=provided))
    assert refused(place, path, said).exit_code == 1
