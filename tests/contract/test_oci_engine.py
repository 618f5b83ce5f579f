"""What the engine ``oci`` makes of a lock: in memory, in a layout, with and without a base."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO

import pytest
from _wheels import Made, lock_of

from mxenv import lock as locks
from mxenv.api import building
from mxenv.engines import Order
from mxenv.engines.oci import ENGINE, assemble
from mxenv.errors import EngineError, Incompatible, LockError, UsageError, WheelError
from mxenv.image import AddedFile
from mxenv.layers import LIMIT
from mxenv.stores import DOCKER_MANIFEST, OCI_CONFIG, Descriptor

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from mxenv.lock import Lock
    from mxenv.stores import Source

GZIP = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Memory:
    """A place for one image, and a record of what it was asked for."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    top: Descriptor | None = None
    name: str = "memory"
    mounts: bool = False
    asked: list[tuple[str, str]] = field(default_factory=list)
    tags: dict[str, str] = field(default_factory=dict)

    def put(self, content: bytes, media_type: str) -> Descriptor:
        digest = digest_of(content)
        self.blobs[digest] = content
        return Descriptor(media_type=media_type, digest=digest, size=len(content))

    def manifest(self, platform: str) -> tuple[Descriptor, bytes]:
        assert platform == "linux/amd64"
        assert self.top is not None
        return self.top, self.blobs[self.top.digest]

    @contextmanager
    def blob(self, descriptor: Descriptor) -> Iterator[BinaryIO]:
        self.asked.append(("blob", descriptor.digest))
        yield io.BytesIO(self.blobs[descriptor.digest])

    def has(self, digest: str) -> bool:
        return digest in self.blobs

    def mount(self, descriptor: Descriptor, source: Source) -> bool:
        self.asked.append(("mount", descriptor.digest))
        if self.mounts:
            self.blobs[descriptor.digest] = source.blobs[descriptor.digest]
        return self.mounts

    def write(self, descriptor: Descriptor, open_blob: Callable[[], BinaryIO]) -> None:
        self.asked.append(("write", descriptor.digest))
        with open_blob() as stream:
            content = stream.read()
        assert digest_of(content) == descriptor.digest
        assert len(content) == descriptor.size
        self.blobs[descriptor.digest] = content

    def tag(self, manifest: bytes, media_type: str, name: str) -> str:
        self.tags[name] = self.put(manifest, media_type).digest
        return self.tags[name]


def base(*, layers: int = 2, architecture: str = "amd64") -> Memory:
    """Return a base as Docker would have pushed it."""
    memory = Memory(name="base")
    blobs = [memory.put(f"layer {n}".encode(), GZIP) for n in range(layers)]
    config = {
        "architecture": architecture,
        "os": "linux",
        "config": {"Entrypoint": ["/entry"], "Cmd": ["run"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{n:064x}" for n in range(layers)]},
    }
    document = {
        "schemaVersion": 2,
        "mediaType": DOCKER_MANIFEST,
        "config": _document(memory.put(json.dumps(config).encode(), OCI_CONFIG)),
        "layers": [_document(blob) for blob in blobs],
    }
    memory.top = memory.put(json.dumps(document).encode(), DOCKER_MANIFEST)
    return memory


def _document(descriptor: Descriptor) -> dict[str, Any]:
    return {
        "mediaType": descriptor.media_type,
        "digest": descriptor.digest,
        "size": descriptor.size,
    }


def order_of(folder: Path, lock: Lock, **changes: Any) -> Order:
    """Return an order whose wheels, files and cache lie in one folder."""
    order = Order(
        lock=lock,
        lock_text=locks.render(locks.without_image(lock)),
        base=lock.base.reference,
        wheelhouse=folder,
        files=folder,
        cache=folder / "cache",
    )
    return replace(order, **changes)


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    """A lock of two small wheels, which lie in the test's folder."""
    one = Made(name="one", files={"one/__init__.py": b"1\n" * 100}).write(tmp_path)
    two = Made(name="two", files={"two/__init__.py": b"2\n" * 100}).write(tmp_path)
    return lock_of(one, two)


def on(memory: Memory, lock: Lock) -> Lock:
    """Return the lock with a base."""
    assert memory.top is not None
    return replace(lock, base=locks.Base(reference="r.example/base:1", digest=memory.top.digest))


def test_a_layer_a_wheel_and_one_for_the_lock(tmp_path: Path, lock: Lock) -> None:
    sink = Memory()
    product = assemble(order_of(tmp_path, lock), source=None, sink=sink)
    titles = [layer.made.title for layer in product.layers]
    assert titles == ["one==1.0", "two==1.0", "lock demo"]
    manifest = json.loads(sink.blobs[product.manifest])
    assert [layer["digest"] for layer in manifest["layers"]] == [
        layer.made.digest for layer in product.layers
    ]
    assert manifest["config"]["digest"] == product.config
    assert all(layer["digest"] in sink.blobs for layer in manifest["layers"])


def test_the_second_build_makes_no_layer_and_needs_no_wheel(tmp_path: Path, lock: Lock) -> None:
    first = assemble(order_of(tmp_path, lock), source=None, sink=Memory())
    for wheel in tmp_path.glob("*.whl"):
        wheel.unlink()
    second = assemble(order_of(tmp_path, lock), source=None, sink=Memory())
    assert not any(layer.cached for layer in first.layers)
    assert all(layer.cached for layer in second.layers)
    assert (first.config, first.manifest) == (second.config, second.manifest)


def test_what_is_there_already_is_not_written_again(tmp_path: Path, lock: Lock) -> None:
    sink = Memory()
    assemble(order_of(tmp_path, lock), source=None, sink=sink)
    sink.asked.clear()
    product = assemble(order_of(tmp_path, lock), source=None, sink=sink)
    assert sink.asked == []
    assert product.written == len(sink.blobs[product.manifest])


def test_one_changed_wheel_is_one_new_layer_beside_the_lock_s(tmp_path: Path, lock: Lock) -> None:
    sink = Memory()
    assemble(order_of(tmp_path, lock), source=None, sink=sink)
    changed = Made(name="two", files={"two/__init__.py": b"3\n"}).write(tmp_path)
    other = replace(lock, packages=(lock.packages[0], changed))
    product = assemble(order_of(tmp_path, other), source=None, sink=sink)
    assert [layer.cached for layer in product.layers] == [True, False, False]


def test_a_registry_mounts_the_base_s_layers_and_none_is_read(tmp_path: Path, lock: Lock) -> None:
    source, sink = base(), Memory(mounts=True)
    order = order_of(tmp_path, on(source, lock), push="r.example/out:2")
    product = assemble(order, source=source, sink=sink)
    assert [kind for kind, _ in sink.asked[:2]] == ["mount", "mount"]
    layers = json.loads(source.blobs[source.top.digest])["layers"]
    assert not {("blob", layer["digest"]) for layer in layers} & set(source.asked)
    assert sink.tags == {"2": product.manifest}
    assert product.name == f"r.example/out:2@{product.manifest}"


def test_another_registry_has_each_layer_streamed_once(tmp_path: Path, lock: Lock) -> None:
    source, sink = base(), Memory()
    order = order_of(tmp_path, on(source, lock), push="r.example:5000/out")
    product = assemble(order, source=source, sink=sink)
    layers = [layer["digest"] for layer in json.loads(source.blobs[source.top.digest])["layers"]]
    assert [digest for kind, digest in source.asked if digest in layers] == layers
    assert list(sink.tags) == ["latest"]
    assert product.read >= sum(len(source.blobs[digest]) for digest in layers)


def test_a_layout_leaves_the_base_out_and_says_so(tmp_path: Path, lock: Lock) -> None:
    source, sink = base(), Memory()
    order = order_of(tmp_path, on(source, lock), out=tmp_path / "out")
    product = assemble(order, source=source, sink=sink)
    layers = json.loads(sink.blobs[product.manifest])["layers"]
    assert [layer["digest"] in sink.blobs for layer in layers] == [False] * 2 + [True] * 3
    assert any("--with-base" in note for note in product.notes)
    whole = assemble(replace(order, with_base=True), source=source, sink=sink)
    assert all(layer["digest"] in sink.blobs for layer in layers)
    assert whole.manifest == product.manifest
    assert [note[:38] for note in whole.notes] == ["which files the base holds is not know"]


def test_the_manifest_names_docker_s_layers_in_the_oci_s_words(tmp_path: Path, lock: Lock) -> None:
    source, sink = base(), Memory()
    product = assemble(order_of(tmp_path, on(source, lock)), source=source, sink=sink)
    types = {layer["mediaType"] for layer in json.loads(sink.blobs[product.manifest])["layers"]}
    assert types == {"application/vnd.oci.image.layer.v1.tar+gzip"}


def test_a_base_that_is_not_the_locked_one_is_refused(tmp_path: Path, lock: Lock) -> None:
    source = base()
    other = replace(lock, base=locks.Base(reference="r.example/b:1", digest="sha256:" + "0" * 64))
    with pytest.raises(Incompatible, match="was locked"):
        assemble(order_of(tmp_path, other), source=source, sink=Memory())


def test_a_base_for_another_machine_is_refused(tmp_path: Path, lock: Lock) -> None:
    source = base(architecture="arm64")
    with pytest.raises(Exception, match="arm64"):
        assemble(order_of(tmp_path, on(source, lock)), source=source, sink=Memory())


def test_a_base_with_as_many_layers_as_an_image_may_have_is_refused(
    tmp_path: Path, lock: Lock
) -> None:
    source = base(layers=LIMIT)
    with pytest.raises(Incompatible, match=f"{LIMIT} layers"):
        assemble(order_of(tmp_path, on(source, lock)), source=source, sink=Memory())


def test_two_wheels_that_bring_one_path_are_refused_and_both_named(tmp_path: Path) -> None:
    one = Made(name="one", files={"same.py": b"1"}).write(tmp_path)
    two = Made(name="two", files={"same.py": b"2"}).write(tmp_path)
    with pytest.raises(Incompatible, match=r"one==1\.0 and two==1\.0") as caught:
        assemble(order_of(tmp_path, lock_of(one, two)), source=None, sink=Memory())
    assert caught.value.context == "/opt/env/lib/python3.11/site-packages/same.py"


def test_two_wheels_that_bring_the_same_bytes_get_along(tmp_path: Path) -> None:
    one = Made(name="one", files={"same.py": b"1"}).write(tmp_path)
    two = Made(name="two", files={"same.py": b"1"}).write(tmp_path)
    assemble(order_of(tmp_path, lock_of(one, two)), source=None, sink=Memory())


def test_more_wheels_than_layers_share_them(tmp_path: Path) -> None:
    packages = [
        Made(name=f"p{n}", files={f"p{n}/x.py": b"x"}).write(tmp_path) for n in range(LIMIT + 5)
    ]
    sink = Memory()
    product = assemble(order_of(tmp_path, lock_of(*packages)), source=None, sink=sink)
    assert len(product.layers) <= LIMIT
    history = json.loads(sink.blobs[product.config])["history"]
    assert sum(entry["comment"].count("==") for entry in history) == LIMIT + 5


def test_added_files_have_a_layer_of_their_own_below_that_of_the_lock(
    tmp_path: Path, lock: Lock
) -> None:
    (tmp_path / "run.sh").write_bytes(b"#!/bin/sh\n")
    file = AddedFile(source="run.sh", target="/srv/app/run.sh", mode=0o755)
    sha256 = hashlib.sha256(b"#!/bin/sh\n").hexdigest()
    added = replace(lock, files=((file, sha256),))
    sink = Memory()
    product = assemble(order_of(tmp_path, added), source=None, sink=sink)
    files, lock_ = product.layers[-2:]
    with tarfile.open(
        fileobj=io.BytesIO(gzip.decompress(sink.blobs[files.made.digest]))
    ) as archive:
        assert archive.getmember("srv/app/run.sh").mode == 0o755
    with tarfile.open(
        fileobj=io.BytesIO(gzip.decompress(sink.blobs[lock_.made.digest]))
    ) as archive:
        names = archive.getnames()
        assert archive.getmember("usr/share/mxenv/start-gate").mode == 0o755
    assert "usr/share/mxenv/lock/pylock.demo.toml" in names
    assert "usr/share/mxenv/verdict.json" in names


@pytest.mark.parametrize("content", [b"changed", None])
def test_an_added_file_that_is_not_the_locked_one_is_refused(
    tmp_path: Path, lock: Lock, content: bytes | None
) -> None:
    if content:
        (tmp_path / "a.txt").write_bytes(content)
    added = replace(lock, files=((AddedFile(source="a.txt", target="/a.txt"), "0" * 64),))
    with pytest.raises(LockError, match=r"a\.txt"):
        assemble(order_of(tmp_path, added), source=None, sink=Memory())


@pytest.mark.parametrize("asked", [{"system": ("libgomp1",)}, {"run": ("ldconfig",)}])
def test_what_must_be_run_needs_another_engine(
    tmp_path: Path, lock: Lock, asked: dict[str, Any]
) -> None:
    order = order_of(tmp_path, replace(lock, **asked), out=tmp_path / "out")
    with pytest.raises(UsageError, match="system packages and steps need an engine"):
        ENGINE.build(order)


def test_the_first_wheel_that_is_wrong_ends_the_build_and_nothing_is_named(
    tmp_path: Path, lock: Lock
) -> None:
    next(tmp_path.glob("one*.whl")).unlink()
    sink = Memory()
    with pytest.raises(WheelError, match="not in the wheelhouse"):
        assemble(order_of(tmp_path, lock), source=None, sink=sink)
    assert sink.tags == {}


class TestTheCache:
    """A cache is believed where it is whole, and made anew where it is not."""

    def blobs(self, folder: Path) -> list[Path]:
        return sorted((folder / "cache" / "blobs").iterdir())

    def test_damaged_bytes_are_made_anew(self, tmp_path: Path, lock: Lock) -> None:
        assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        for blob in self.blobs(tmp_path):
            content = blob.read_bytes()
            blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        # The sink compares every blob with its digest.
        assemble(order_of(tmp_path, lock), source=None, sink=Memory())

    @pytest.mark.parametrize("content", [b"", b"{}", b"0" * 64 + b"\n{}"])
    def test_a_damaged_record_is_made_anew(
        self, tmp_path: Path, lock: Lock, content: bytes
    ) -> None:
        first = assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        for record in (tmp_path / "cache" / "layers").iterdir():
            record.write_bytes(content)
        again = assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        assert not any(layer.cached for layer in again.layers)
        assert again.manifest == first.manifest

    def test_a_blob_that_was_cut_short_or_is_gone_is_made_anew(
        self, tmp_path: Path, lock: Lock
    ) -> None:
        assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        first, *others = self.blobs(tmp_path)
        first.unlink()
        for blob in others:
            blob.write_bytes(b"")
        again = assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        assert not any(layer.cached for layer in again.layers)

    def test_nothing_is_left_beside_it_when_a_build_fails(self, tmp_path: Path) -> None:
        wrong = Made(misrecorded=frozenset({"pkg/__init__.py"})).write(tmp_path)
        with pytest.raises(Exception, match="hash"):
            assemble(order_of(tmp_path, lock_of(wrong)), source=None, sink=Memory())
        assert self.blobs(tmp_path) == []

    def test_what_a_killed_build_left_is_removed_after_a_day(
        self, tmp_path: Path, lock: Lock
    ) -> None:
        folder = tmp_path / "cache" / "blobs"
        folder.mkdir(parents=True)
        old, new = folder / ".old.tmp", folder / ".new.tmp"
        for path in (old, new):
            path.write_bytes(b"half")
        os.utime(old, (0, 0))
        assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        assert not old.exists()
        assert new.exists()

    def test_a_cache_that_cannot_be_written_is_one_clear_error(
        self, tmp_path: Path, lock: Lock
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        order = order_of(tmp_path, lock, cache=tmp_path / "file" / "cache")
        with pytest.raises(EngineError, match="cannot be written") as caught:
            assemble(order, source=None, sink=Memory())
        assert "MXENV_CACHE_DIR" in caught.value.hint

    def test_a_full_disk_is_one_clear_error(self, tmp_path: Path, lock: Lock) -> None:
        code = (
            "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700));"
            f"sys.path.insert(0, {str(tmp_path)!r}); import build_it"
        )
        (tmp_path / "pylock.demo.toml").write_text(locks.render(lock))
        (tmp_path / "build_it.py").write_text(SCRIPT.format(folder=tmp_path))
        done = subprocess.run(
            [sys.executable, "-B", "-c", code], capture_output=True, text=True, check=False
        )
        assert "EngineError the cache cannot be written: File too large" in done.stdout
        assert self.blobs(tmp_path) == []


SCRIPT = """
from pathlib import Path
from mxenv import lock as locks
from mxenv.engines import Order
from mxenv.engines.oci import build
from mxenv.errors import MxenvError
folder = Path("{folder}")
text = (folder / "pylock.demo.toml").read_text()
lock = locks.parse(text, context="lock")
order = Order(lock=lock, lock_text=locks.render(locks.without_image(lock)), base="scratch",
    wheelhouse=folder, files=folder, cache=folder / "cache", out=folder / "out")
try:
    product = build(order)
    print(product.config, product.manifest)
except MxenvError as error:
    print(type(error).__name__, error.message)
"""


class TestZstd:
    """Layers packed with zstd are the same layers, and the configuration is the same."""

    def test_the_configuration_is_the_same_and_the_manifest_is_not(
        self, tmp_path: Path, lock: Lock
    ) -> None:
        usual = assemble(order_of(tmp_path, lock), source=None, sink=Memory())
        sink = Memory()
        order = order_of(tmp_path, lock, compression="zstd")
        product = assemble(order, source=None, sink=sink)
        assert product.config == usual.config
        assert product.manifest != usual.manifest
        assert product.pinned == usual.manifest == usual.pinned
        manifest = json.loads(sink.blobs[product.manifest])
        said = manifest["annotations"]["io.mxenv.compression"]
        assert said == f"zstd {zstd.zstd_version}, level 9"
        config = json.loads(sink.blobs[product.config])
        for layer, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            assert layer["mediaType"] == "application/vnd.oci.image.layer.v1.tar+zstd"
            assert digest_of(zstd.decompress(sink.blobs[layer["digest"]])) == diff_id

    def test_a_layer_is_packed_once(self, tmp_path: Path, lock: Lock) -> None:
        order = order_of(tmp_path, lock, compression="zstd")
        first = assemble(order, source=None, sink=Memory())
        second = assemble(order, source=None, sink=Memory())
        assert [layer.cached for layer in first.layers] == [False] * 3
        assert [layer.cached for layer in second.layers] == [True] * 3
        assert first.manifest == second.manifest

    def test_damaged_bytes_of_either_kind_are_made_anew(self, tmp_path: Path, lock: Lock) -> None:
        order = order_of(tmp_path, lock, compression="zstd")
        first = assemble(order, source=None, sink=Memory())
        for blob in (tmp_path / "cache" / "blobs").iterdir():
            content = blob.read_bytes()
            blob.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        # The sink compares every blob with its digest.
        assert assemble(order, source=None, sink=Memory()).manifest == first.manifest

    def test_an_engine_without_it_says_what_it_has(self, tmp_path: Path, lock: Lock) -> None:
        path = tmp_path / "pylock.demo.toml"
        path.write_text(locks.render(lock))
        with pytest.raises(UsageError, match="lzma") as caught:
            building.build(path, compression="lzma")
        assert caught.value.hint == "it has gzip or zstd"

    def test_without_the_library_it_says_what_to_install(self, tmp_path: Path, lock: Lock) -> None:
        # A folder of this name before the others on the path hides the library.
        (tmp_path / "hidden" / "backports").mkdir(parents=True)
        (tmp_path / "hidden" / "backports" / "__init__.py").touch()
        (tmp_path / "pylock.demo.toml").write_text(locks.render(lock))
        (tmp_path / "build_it.py").write_text(
            SCRIPT.format(folder=tmp_path).replace("out=folder", 'compression="zstd", out=folder')
        )
        done = subprocess.run(
            [sys.executable, "-B", str(tmp_path / "build_it.py")],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONPATH": str(tmp_path / "hidden")},
        )
        if sys.version_info < (3, 14):
            assert done.stdout == "UsageError layers cannot be compressed with zstd here\n"
