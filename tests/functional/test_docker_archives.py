"""What `docker save` wrote is read where it lies, and nothing in it can do harm."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest
from _archives import configuration, new, old, without, write
from _layouts import file, image, link, sha256, special, tar
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mxenv.errors import LayoutError, UsageError
from mxenv.question import File, Found
from mxenv.stores import docker_archive, places
from mxenv.stores.description import describe
from mxenv.transports import Terms
from mxenv.transports.docker_archive import TRANSPORT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from _layouts import Entry

LAYERS = [tar([file("etc/os-release", "ID=debian")]), tar([file("b", b"\1" * 300_000)])]
KINDS = {"old": old, "new": new}


@pytest.fixture(params=[(kind, end) for kind in KINDS for end in (".tar", ".tar.gz")])
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    kind, end = request.param
    return write(tmp_path / f"image{end}", KINDS[kind](LAYERS))


def layers(path: object) -> list[bytes]:
    """All layers of an image, verified."""
    source = docker_archive.open_source(str(path))
    found = []
    for layer in describe(source, "linux/amd64").layers:
        with source.blob(layer) as stream:
            found.append(stream.read())
    return found


class TestAnArchive:
    """Both kinds, packed or not."""

    def test_is_an_image_with_its_layers(self, archive: Path) -> None:
        assert layers(archive) == LAYERS
        source = docker_archive.open_source(str(archive))
        found = describe(source, "linux/amd64")
        assert found.config.digest == sha256(configuration(LAYERS))
        assert all(source.has(layer.digest) for layer in found.layers)
        assert not source.has(sha256(b"another"))

    def test_is_asked_as_a_node_without_being_run(self, archive: Path) -> None:
        question = File("/etc/os-release")
        with TRANSPORT.open(str(archive), Terms()) as host:
            assert host.gather([question])[question] == Found("ID=debian")

    def test_is_named_by_tag_and_by_digest(self, archive: Path) -> None:
        only = docker_archive.open_source(str(archive)).manifest("linux/amd64")[0]
        named = docker_archive.open_source(str(archive)).entries()[0][1]
        tag = dict(named.annotations)["org.opencontainers.image.ref.name"]
        for address in (f"{archive}:{tag}", f"{archive}@{only.digest}"):
            assert docker_archive.open_source(address).manifest("linux/amd64")[0] == only
        with pytest.raises(LayoutError, match="names no image 'another:1'") as raised:
            docker_archive.open_source(f"{archive}:another:1").manifest("linux/amd64")
        assert raised.value.hint.startswith("tags there: ")

    def test_has_the_same_digest_however_it_was_packed(self, tmp_path: Path) -> None:
        found = set()
        for name, members in (("a.tar", old(LAYERS)), ("b.tar.gz", old(LAYERS)[::-1])):
            path = write(tmp_path / name, members)
            found.add(docker_archive.open_source(str(path)).manifest("linux/amd64")[0].digest)
        assert len(found) == 1

    def test_may_have_no_name_or_several(self, tmp_path: Path) -> None:
        for tags in ((), ("a:1", "a:latest")):
            path = write(tmp_path / "i.tar", old(LAYERS, tags=tags))
            assert docker_archive.open_source(str(path)).manifest("linux/amd64")[0]
            assert layers(path) == LAYERS

    def test_of_several_images_wants_one_to_be_named(self, tmp_path: Path) -> None:
        one, two = old(LAYERS), old(LAYERS[:1], tags=["other:2"])
        both = [json.loads(members[-1][1])[0] for members in (one, two)]
        path = write(
            tmp_path / "i.tar", [*one[:-1], *two[:-1], file("manifest.json", json.dumps(both))]
        )
        with pytest.raises(UsageError, match="names 2 images: other:2, team/image:1") as raised:
            docker_archive.open_source(str(path)).manifest("linux/amd64")
        assert raised.value.hint == f"write docker-archive:{path}:TAG"
        assert layers(f"{path}:other:2") == LAYERS[:1]

    def test_may_link_a_layer_that_comes_twice(self, tmp_path: Path) -> None:
        path = write(tmp_path / "i.tar", old([LAYERS[0], LAYERS[1], LAYERS[0]]))
        assert layers(path) == [LAYERS[0], LAYERS[1], LAYERS[0]]

    @pytest.mark.parametrize("how", ["gzip", "zstd"])
    def test_may_hold_packed_layers(self, tmp_path: Path, how: str) -> None:
        zstd = pytest.importorskip("backports.zstd") if how == "zstd" else gzip
        path = write(tmp_path / "i.tar", old(LAYERS, pack=zstd.compress))
        assert [zstd.decompress(layer) for layer in layers(path)] == LAYERS
        kinds = {
            layer.media_type
            for layer in describe(docker_archive.open_source(str(path)), "linux/amd64").layers
        }
        assert kinds == {f"{docker_archive.LAYER}+{how}"}
        question = File("/etc/os-release")
        with TRANSPORT.open(str(path), Terms()) as host:
            assert host.gather([question])[question] == Found("ID=debian")

    def test_that_is_packed_is_passed_through_once_for_all_that_is_small(
        self, tmp_path: Path
    ) -> None:
        for kind in (old, new):
            path = write(tmp_path / "i.tar.gz", kind(LAYERS))
            source = docker_archive.open_source(str(path))
            path.unlink()
            assert len(describe(source, "linux/amd64").layers) == 2

    def test_is_read_forwards_as_far_as_that_goes(self, tmp_path: Path) -> None:
        path = write(tmp_path / "i.tar.gz", new(LAYERS))
        source = docker_archive.open_source(str(path))
        found = describe(source, "linux/amd64")
        for layer in (*found.layers, *found.layers[::-1]):
            with source.blob(layer) as stream:
                assert len(stream.read()) == layer.size
        with source.blob(found.layers[0]) as one, source.blob(found.layers[1]) as two:
            assert (one.read(), two.read()) == (LAYERS[0], LAYERS[1])


def test_what_a_real_tool_wrote_is_read(tmp_path: Path) -> None:
    if not shutil.which("skopeo"):
        pytest.skip("no skopeo to write one")
    made = image(tmp_path / "layout", [file("etc/os-release", "ID=debian")], [file("b", "2")])
    for kind, name in (("docker-archive", ":docker.io/team/image:1"), ("oci-archive", ":1")):
        target = tmp_path / f"{kind}.tar"
        command = ["skopeo", "copy", f"oci:{made}", f"{kind}:{target}{name}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        with TRANSPORT.open(f"{target}{name}", Terms()) as host:
            question = File("/etc/os-release")
            assert host.gather([question])[question] == Found("ID=debian")


def renamed(members: list[Entry], old_name: str, name: str) -> list[Entry]:
    for info, _ in members:
        info.name = name if info.name == old_name else info.name
    return members


def with_manifest(document: object, **files: bytes) -> list[Entry]:
    content = document if isinstance(document, bytes) else json.dumps(document)
    others = [file(name.replace("__", "."), data) for name, data in files.items()]
    return [*others, file("manifest.json", content)]


CONFIG = configuration(LAYERS[:1])
NAMED = {"Config": "c.json", "RepoTags": ["a:1"], "Layers": ["l.tar"]}
LINKED = special("l.tar", tarfile.LNKTYPE, "../../etc/passwd")

HOSTILE: dict[str, tuple[Callable[[], list[Entry]], str]] = {
    "no image": (lambda: [file("readme", "x")], "neither a manifest.json nor an index.json"),
    "no layer": (lambda: without(old(LAYERS), "layer.tar"), "which is not in the archive"),
    "no blob": (lambda: without(new(LAYERS), sha256(LAYERS[0])[7:]), "is not in the archive"),
    "no configuration": (
        lambda: without(old(LAYERS), f"{sha256(configuration(LAYERS))[7:]}.json"),
        "has no file",
    ),
    "not JSON": (lambda: with_manifest(b"{"), "'manifest.json' is not JSON"),
    "nested": (lambda: with_manifest(b"[" * 100_000), "'manifest.json' is not JSON"),
    "no list": (lambda: with_manifest({}), "is not a list"),
    "no object": (lambda: with_manifest([1]), r"'manifest.json'\[0\] is not an object"),
    "no names": (lambda: with_manifest([{}]), "does not name a configuration"),
    "an empty list": (lambda: with_manifest([]), "names no image"),
    "other numbers": (
        lambda: with_manifest([{**NAMED, "Layers": []}], c__json=CONFIG),
        "names 0 layers, its configuration 1",
    ),
    "a number for a name": (
        lambda: with_manifest([{**NAMED, "Layers": [3]}], c__json=CONFIG),
        "names 3, which is not",
    ),
    "a path that leads out": (
        lambda: with_manifest([{**NAMED, "Layers": ["../../etc/passwd"]}], c__json=CONFIG),
        "which is not in the archive",
    ),
    "an absolute path": (
        lambda: with_manifest([{**NAMED, "Config": "/etc/passwd"}]),
        "has no file '/etc/passwd'",
    ),
    "a member that leads out": (
        lambda: with_manifest([NAMED], c__json=CONFIG, **{"../l.tar": LAYERS[0]}),
        "which is not in the archive",
    ),
    "a link that leads out": (
        lambda: [link("l.tar", "/etc/passwd"), *with_manifest([NAMED], c__json=CONFIG)],
        "which is not in the archive",
    ),
    "a hard link that leads out": (
        lambda: [LINKED, *with_manifest([NAMED], c__json=CONFIG)],
        "which is not in the archive",
    ),
    "links in a circle": (
        lambda: [
            link("l.tar", "m.tar"),
            link("m.tar", "l.tar"),
            *with_manifest([NAMED], c__json=CONFIG),
        ],
        "which is not in the archive",
    ),
    "another configuration": (
        lambda: with_manifest(
            [{**NAMED, "Config": f"{'0' * 64}.json"}], **{f"{'0' * 64}__json": CONFIG}
        ),
        "hashes to",
    ),
    "another layer": (
        lambda: with_manifest([NAMED], c__json=CONFIG, l__tar=LAYERS[1]),
        "has 302592 bytes|is larger|hashes to",
    ),
    "a configuration that is none": (
        lambda: with_manifest([NAMED], c__json=b"[]", l__tar=LAYERS[0]),
        "'c.json' is not a JSON object",
    ),
    "a configuration without layers": (
        lambda: with_manifest([NAMED], c__json=b"{}", l__tar=LAYERS[0]),
        "is not a list of digests",
    ),
    "a huge configuration": (
        lambda: with_manifest([NAMED], c__json=b" " * (9 << 20)),
        "larger than any such file",
    ),
}


@pytest.mark.parametrize("how", HOSTILE)
@pytest.mark.parametrize("end", [".tar", ".tar.gz"])
def test_an_archive_that_is_wrong_is_one_clear_error(tmp_path: Path, how: str, end: str) -> None:
    members, word = HOSTILE[how]
    path = write(tmp_path / f"i{end}", members())
    with pytest.raises(LayoutError, match=word) as raised:
        layers(path)
    assert str(path) in str(raised.value)
    assert raised.value.exit_code == 5


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "i.tar"
    for content in (b"", b"rubbish" * 1000, b"\x1f\x8brubbish", gzip.compress(b"x" * 9999)):
        path.write_bytes(content)
        with pytest.raises(LayoutError, match=r"i\.tar: "):
            layers(path)
    for wrong in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(LayoutError, match=str(wrong)):
            layers(wrong)
    with pytest.raises(UsageError):
        docker_archive.open_source("")


def test_an_archive_that_ends_early_is_named(tmp_path: Path) -> None:
    for kind, end in ((old, ".tar"), (new, ".tar.gz")):
        path = write(tmp_path / f"i{end}", kind(LAYERS))
        whole = path.read_bytes()
        for size in range(0, len(whole) - 1024, max(1, len(whole) // 40)):
            path.write_bytes(whole[:size])
            with pytest.raises(LayoutError, match=str(path)):
                layers(path)


def test_a_header_without_end_is_not_read_into_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 40
    path = tmp_path / "i.tar"
    with path.open("wb") as stream:
        stream.write(info.tobuf(tarfile.GNU_FORMAT))
        stream.truncate(1 << 32)
    with pytest.raises(LayoutError, match="a header is longer than"):
        layers(path)


def test_a_size_below_nothing_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("x")
    header = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 11 + b"\x00"
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "i.tar"
    path.write_bytes(bytes(header) * 3)
    with pytest.raises(LayoutError, match=str(path)):
        layers(path)


@settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_any_byte_may_be_another(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(tar(data.draw(st.sampled_from([old, new]))(LAYERS[:1])))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "i.tar"
    path.write_bytes(content)
    try:
        found = layers(path)
    except LayoutError:
        return
    # What was read was verified: then the byte was one that nobody needs.
    assert found == LAYERS[:1]


class TestAnAddress:
    """A file and an image in it, told apart by what is there."""

    def test_may_have_colons_in_both(self, tmp_path: Path) -> None:
        path = write(tmp_path / "a:b.tar", old(LAYERS))
        split = docker_archive.split
        assert split(str(path)) == (path, "")
        assert split(f"{path}:team/image:1") == (path, "team/image:1")
        assert split(f"{path}@{sha256(b'')}") == (path, sha256(b""))
        assert split(f"{path}:team/image:1@{sha256(b'')}") == (path, sha256(b""))

    def test_is_pinned_and_seen_from_a_folder(self, tmp_path: Path) -> None:
        path = write(tmp_path / "i.tar", old(LAYERS))
        address = places.below("docker-archive:i.tar:team/image:1", tmp_path)
        assert address == f"docker-archive:{path}:team/image:1"
        digest = places.source_of(address).manifest("linux/amd64")[0].digest
        pinned = places.pinned(address, digest)
        assert pinned == f"docker-archive:{path}@{digest}"
        assert places.source_of(pinned).manifest("linux/amd64")[0].digest == digest


WITHOUT_ZSTD = """
import sys
sys.modules["compression.zstd"] = sys.modules["backports.zstd"] = None
from mxenv.errors import MxenvError
from mxenv.question import File
from mxenv.transports import Terms
from mxenv.transports.docker_archive import TRANSPORT
question = File("/etc/os-release")
try:
    with TRANSPORT.open(sys.argv[1], Terms()) as host:
        print(host.gather([question])[question])
except MxenvError as error:
    print(error.exit_code, error.hint)
"""


def test_without_anything_that_reads_zstd_it_is_said_what_to_install(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    path = write(tmp_path / "i.tar", old(LAYERS, pack=zstd.compress))
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_ZSTD, path],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "mxenv[zstd]" in done.stdout
