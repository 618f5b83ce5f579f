"""A layout is written whole or not at all, and believed only as far as its digests go."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO

import pytest
from _layouts import OCI, add_index, add_manifest, describe, file, image, put, sha256, tar

from mxenv.errors import LayoutError, MxenvError, UsageError
from mxenv.stores import OCI_MANIFEST, Descriptor, layout
from mxenv.stores.description import describe as describe_image

if TYPE_CHECKING:
    from pathlib import Path

DATA = b"some bytes"
BLOB = Descriptor(media_type="x", digest=sha256(DATA), size=len(DATA))
REF = "org.opencontainers.image.ref.name"


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def blob(folder: Path) -> Path:
    return folder / "blobs" / "sha256" / BLOB.digest.removeprefix("sha256:")


def names(folder: Path) -> dict[str, str]:
    index = json.loads((folder / "index.json").read_text())
    return {d.get("annotations", {}).get(REF, ""): d["digest"] for d in index["manifests"]}


class TestWriting:
    """What has a name is whole."""

    def test_a_blob_lies_under_its_digest(self, tmp_path: Path) -> None:
        sink = layout.open_sink(tmp_path / "new")
        assert not sink.has(BLOB.digest)
        sink.write(BLOB, lambda: io.BytesIO(DATA))
        assert sink.has(BLOB.digest)
        assert files(tmp_path / "new") == {f"blobs/sha256/{BLOB.digest.removeprefix('sha256:')}"}

    @pytest.mark.parametrize("data", [b"other bytes", DATA + b"!", DATA[:-1], b""])
    def test_other_bytes_are_refused_and_leave_nothing(self, tmp_path: Path, data: bytes) -> None:
        sink = layout.open_sink(tmp_path / "new")
        with pytest.raises(LayoutError):
            sink.write(BLOB, lambda: io.BytesIO(data))
        assert not sink.has(BLOB.digest)
        assert files(tmp_path / "new") == set()

    def test_an_interruption_leaves_nothing(self, tmp_path: Path) -> None:
        class Interrupted(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                del size
                raise KeyboardInterrupt

        sink = layout.open_sink(tmp_path / "new")
        with pytest.raises(KeyboardInterrupt):
            sink.write(BLOB, Interrupted)
        assert files(tmp_path / "new") == set()

    def test_a_folder_that_cannot_be_written_is_one_clear_error(self, tmp_path: Path) -> None:
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "blobs").symlink_to("/proc/self")
        with pytest.raises(UsageError, match="cannot be written") as raised:
            layout.LayoutSink(path=tmp_path / "new").write(BLOB, lambda: io.BytesIO(DATA))
        assert raised.value.hint

    def test_a_full_disk_is_nobody_s_fault_and_leaves_nothing(self, tmp_path: Path) -> None:
        class Full(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                del size
                raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.raises(OSError, match="No space left on device") as raised:
            layout.open_sink(tmp_path).write(BLOB, Full)
        assert str(raised.value.filename).endswith(BLOB.digest.removeprefix("sha256:"))
        assert files(tmp_path) == set()

    @pytest.mark.parametrize("damaged", [DATA[:-1], DATA[:-1] + b"!", b"", DATA + b"more"])
    def test_a_blob_that_was_altered_is_written_again(self, tmp_path: Path, damaged: bytes) -> None:
        sink = layout.open_sink(tmp_path)
        sink.write(BLOB, lambda: io.BytesIO(DATA))
        assert sink.has(BLOB.digest)
        path = blob(tmp_path)
        path.write_bytes(damaged)
        assert not sink.has(BLOB.digest)
        sink.write(BLOB, lambda: io.BytesIO(DATA))
        assert sink.has(BLOB.digest)
        assert path.read_bytes() == DATA

    def test_a_blob_that_was_copied_is_read_once_to_know_it(self, tmp_path: Path) -> None:
        sink = layout.open_sink(tmp_path)
        sink.write(BLOB, lambda: io.BytesIO(DATA))
        path = blob(tmp_path)
        assert path.stat().st_mtime_ns == 0
        os.utime(path)
        assert sink.has(BLOB.digest)
        assert path.stat().st_mtime_ns == 0

    def test_a_folder_in_the_place_of_a_blob_is_no_blob(self, tmp_path: Path) -> None:
        blob(tmp_path).mkdir(parents=True)
        assert not layout.open_sink(tmp_path).has(BLOB.digest)

    def test_tags_stand_beside_one_another_and_the_same_one_is_replaced(
        self, tmp_path: Path
    ) -> None:
        sink = layout.open_sink(tmp_path)
        one, two = sink.tag(b"{}", OCI_MANIFEST, "a"), sink.tag(b"{ }", OCI_MANIFEST, "b")
        assert names(tmp_path) == {"a": one, "b": two}
        three = sink.tag(b"{  }", OCI_MANIFEST, "a")
        assert names(tmp_path) == {"a": three, "b": two}

    def test_an_image_without_a_name_replaces_the_one_without_a_name(self, tmp_path: Path) -> None:
        sink = layout.open_sink(tmp_path)
        sink.tag(b"{}", OCI_MANIFEST, "")
        two = sink.tag(b"{ }", OCI_MANIFEST, "")
        assert names(tmp_path) == {"": two}
        assert sink.tag(b"{ }", OCI_MANIFEST, "b") == two
        assert names(tmp_path) == {"b": two}

    def test_the_same_image_gives_the_same_bytes_in_any_order(self, tmp_path: Path) -> None:
        for folder, order in (("one", "ab"), ("two", "ba")):
            for name in order:
                layout.open_sink(tmp_path / folder).tag(name.encode(), OCI_MANIFEST, name)
        index = [(tmp_path / folder / "index.json").read_bytes() for folder in ("one", "two")]
        assert index[0] == index[1]

    def test_writers_at_the_same_time_lose_no_tag(self, tmp_path: Path) -> None:
        def write(number: int) -> None:
            layout.open_sink(tmp_path).tag(str(number).encode(), OCI_MANIFEST, f"t{number}")

        layout.open_sink(tmp_path).tag(b"first", OCI_MANIFEST, "first")
        threads = [threading.Thread(target=write, args=(n,)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(names(tmp_path)) == 17

    def test_a_kill_leaves_no_blob_that_is_believed(self, tmp_path: Path) -> None:
        script = (
            "import io, os, sys\n"
            "from mxenv.stores import Descriptor, layout\n"
            "class Stream(io.BytesIO):\n"
            "    def read(self, size=-1, /):\n"
            "        os.kill(os.getpid(), 9) if self.tell() else None\n"
            "        return super().read(4)\n"
            f"blob = Descriptor(media_type='x', digest={BLOB.digest!r}, size={BLOB.size})\n"
            f"layout.open_sink(sys.argv[1]).write(blob, lambda: Stream({DATA!r}))\n"
        )
        done = subprocess.run([sys.executable, "-c", script, tmp_path / "new"], check=False)
        assert done.returncode == -9
        sink = layout.open_sink(tmp_path / "new")
        assert not sink.has(BLOB.digest)
        sink.write(BLOB, lambda: io.BytesIO(DATA))
        assert sink.has(BLOB.digest)
        (left,) = (tmp_path / "new").rglob(".*.tmp")
        os.utime(left, (0, 0))
        layout.open_sink(tmp_path / "new")
        assert not left.exists()

    def test_a_folder_with_something_else_in_it_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        with pytest.raises(LayoutError, match="something else"):
            layout.open_sink(tmp_path)
        with pytest.raises(LayoutError, match="not a folder"):
            layout.open_sink(tmp_path / "notes.txt")


class TestReading:
    """An image is found by tag, digest or because it is the only one."""

    @pytest.fixture
    def two(self, tmp_path: Path) -> Path:
        entries = [
            add_manifest(tmp_path / "two", [tar([file("a", name)])]) | {"annotations": {REF: name}}
            for name in ("one", "other")
        ]
        add_index(tmp_path / "two", entries)
        return tmp_path / "two"

    def test_the_only_one_needs_no_tag(self, tmp_path: Path) -> None:
        source = layout.open_source(str(image(tmp_path / "i", [file("a")])))
        assert describe_image(source, "linux/amd64").configuration["os"] == "linux"

    def test_one_of_several_is_asked_for_by_tag_or_digest(self, two: Path) -> None:
        by_tag = layout.open_source(f"{two}:other").manifest("linux/amd64")[0]
        by_digest = layout.open_source(f"{two}@{by_tag.digest}").manifest("linux/amd64")[0]
        assert by_tag == by_digest
        assert by_tag != layout.open_source(f"{two}:one").manifest("linux/amd64")[0]

    def test_a_choice_that_nobody_made_is_a_usage_error_that_lists_it(self, two: Path) -> None:
        with pytest.raises(UsageError, match="one, other"):
            layout.open_source(str(two)).manifest("linux/amd64")

    def test_a_tag_that_is_not_there_is_named_with_those_that_are(self, two: Path) -> None:
        with pytest.raises(LayoutError, match="'third'") as raised:
            layout.open_source(f"{two}:third").manifest("linux/amd64")
        assert raised.value.hint == "tags there: one, other"

    def test_a_colon_in_the_name_of_a_folder_is_no_tag(self, tmp_path: Path) -> None:
        source = layout.open_source(str(image(tmp_path / "a:b", [file("a")])))
        assert source.tag == ""
        assert source.manifest("linux/amd64")

    def test_one_tag_for_several_platforms_is_resolved(self, tmp_path: Path) -> None:
        entries = [
            add_manifest(tmp_path / "i", [tar([file("a", arch)])], architecture=arch)
            | {"annotations": {REF: "x"}}
            for arch in ("amd64", "arm64")
        ]
        add_index(tmp_path / "i", entries)
        source = layout.open_source(f"{tmp_path / 'i'}:x")
        assert describe_image(source, "linux/arm64").configuration["architecture"] == "arm64"

    def test_an_index_in_the_index_is_followed_but_not_without_end(self, tmp_path: Path) -> None:
        entry = add_manifest(tmp_path / "i", [tar([file("a")])])
        for depth in range(4):
            inner = json.dumps({"mediaType": f"{OCI}.index.v1+json", "manifests": [entry]}).encode()
            put(tmp_path / "i", inner)
            entry = describe(f"{OCI}.index.v1+json", inner)
            add_index(tmp_path / "i", [entry])
            source = layout.open_source(str(tmp_path / "i"))
            if depth < 2:
                assert source.manifest("linux/amd64")[0].media_type == OCI_MANIFEST
        with pytest.raises(LayoutError, match="index of indexes"):
            source.manifest("linux/amd64")

    def test_what_only_speaks_of_an_image_is_passed_over(self, tmp_path: Path) -> None:
        real = add_manifest(tmp_path / "i", [tar([file("a")])])
        spoken = {**real, "annotations": {"vnd.docker.reference.type": "attestation-manifest"}}
        inner = json.dumps(
            {"mediaType": f"{OCI}.index.v1+json", "manifests": [spoken, real]}
        ).encode()
        put(tmp_path / "i", inner)
        add_index(tmp_path / "i", [describe(f"{OCI}.index.v1+json", inner)])
        found = layout.open_source(str(tmp_path / "i")).manifest("linux/amd64")[0]
        assert found.digest == real["digest"]


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("oci-layout", "{", "oci-layout: is not JSON"),
        ("oci-layout", '{"imageLayoutVersion": "2.0"}', "'2.0', not 1.x"),
        ("index.json", "", "index.json: is not JSON"),
        ("index.json", "[]", "index.json: is not a JSON object"),
        ("index.json", '{"manifests": {}}', "index.json: manifests is not a list"),
        ("index.json", '{"manifests": []}', "index.json: names no image"),
        ("index.json", '{"manifests": [1]}', r"manifests\[0\] is not a descriptor"),
        (
            "index.json",
            '{"manifests": [{"mediaType": "x", "digest": "sha256:../../etc/passwd", "size": 1}]}',
            r"manifests\[0\].digest is not sha256",
        ),
        (
            "index.json",
            json.dumps({"manifests": [{"mediaType": "x", "digest": sha256(b""), "size": -1}]}),
            r"manifests\[0\].size is not",
        ),
        (
            "index.json",
            json.dumps({"manifests": [{"mediaType": "x", "digest": sha256(b""), "size": 0}]}),
            "is not in the layout",
        ),
    ],
)
def test_a_layout_that_is_none_is_named_with_the_place(
    tmp_path: Path, name: str, content: str, word: str
) -> None:
    folder = image(tmp_path / "i", [file("a")])
    (folder / name).write_text(content)
    with pytest.raises(LayoutError, match=word) as raised:
        describe_image(layout.open_source(str(folder)), "linux/amd64")
    assert raised.value.exit_code == 5


def test_a_folder_that_is_no_layout_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(LayoutError, match="has no file 'oci-layout'"):
        layout.open_source(str(tmp_path))
    with pytest.raises(LayoutError, match="is not there"):
        layout.open_source(str(tmp_path / "nowhere"))
    (tmp_path / "file").touch()
    with pytest.raises(LayoutError, match="is not a folder"):
        layout.open_source(str(tmp_path / "file"))
    with pytest.raises(UsageError):
        layout.open_source("")


def test_a_blob_is_verified_when_it_was_read_to_its_end(tmp_path: Path) -> None:
    sink = layout.open_sink(tmp_path)
    sink.write(BLOB, lambda: io.BytesIO(DATA))
    path = tmp_path / "blobs/sha256" / BLOB.digest.removeprefix("sha256:")
    source = layout.LayoutSource(path=tmp_path)
    for data in (b"SOME BYTES", DATA[:-1], DATA + b"!"):
        path.write_bytes(data)
        with source.blob(BLOB) as stream, pytest.raises(LayoutError, match=BLOB.digest[7:]):
            stream.read()


def test_a_configuration_and_layers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    entry = add_manifest(tmp_path / "i", [tar([file("a")])], base_diff_ids=[sha256(b"more")])
    add_index(tmp_path / "i", [entry])
    with pytest.raises(LayoutError, match="has 1 layers, its configuration names 2"):
        describe_image(layout.open_source(str(tmp_path / "i")), "linux/amd64")


@pytest.mark.skipif(not shutil.which("skopeo"), reason="no skopeo to hold it against")
def test_another_tool_takes_what_was_written(tmp_path: Path) -> None:
    made = image(tmp_path / "i", [file("a", "1")])
    source = layout.open_source(str(made))
    sink = layout.open_sink(tmp_path / "j")
    found = describe_image(source, "linux/amd64")
    for descriptor in (*found.layers, found.config):

        def open_blob(descriptor: Descriptor = descriptor) -> BinaryIO:
            return source.blob(descriptor).__enter__()

        sink.write(descriptor, open_blob)
    digest = sink.tag(source.manifest("linux/amd64")[1], OCI_MANIFEST, "tag")
    done = subprocess.run(
        ["skopeo", "inspect", f"oci:{tmp_path / 'j'}:tag"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["Digest"] == digest


def test_every_error_has_a_place_in_it(tmp_path: Path) -> None:
    for address in (str(tmp_path), f"{tmp_path}:x", f"{tmp_path / 'no'}@{sha256(b'')}"):
        with pytest.raises(MxenvError, match=str(tmp_path)):
            layout.open_source(address).manifest("linux/amd64")
