"""An image is asked as a file system would answer, though nothing is unpacked or run."""

from __future__ import annotations

import gzip
import os
import tarfile
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from _layouts import (
    OCI,
    add_index,
    add_manifest,
    describe,
    file,
    folder,
    hard,
    image,
    link,
    put,
    sha256,
    special,
    tar,
)

from mxenv.errors import LayoutError
from mxenv.facts import Absent, Unreadable, View
from mxenv.question import (
    Answers,
    Command,
    Env,
    File,
    Found,
    Glob,
    Link,
    Part,
    Question,
    Space,
    Stat,
    Status,
)
from mxenv.stores.unpacked import LARGEST
from mxenv.transports import Terms, _layers, oci
from mxenv.transports._tree import RESOLVED

if TYPE_CHECKING:
    from pathlib import Path


def ask(layout: Path | str, *questions: Question) -> Answers:
    with oci.TRANSPORT.open(str(layout), Terms()) as host:
        return host.gather(questions)


def one(layout: Path | str, question: Question) -> object:
    return ask(layout, question)[question]


def test_a_file_is_read_as_the_last_layer_leaves_it(tmp_path: Path) -> None:
    layout = image(tmp_path / "i", [file("etc/version", "1")], [file("./etc/version", "2")])
    assert one(layout, File("/etc/version")) == Found("2")


def test_what_is_in_no_layer_is_absent(tmp_path: Path) -> None:
    layout = image(tmp_path / "i", [file("etc/version", "1")])
    assert one(layout, File("/etc/release")) == Absent()
    assert one(layout, File("/etc/version/below")) == Absent()
    assert one(layout, Glob("/opt/*/x")) == Absent()


def test_a_whiteout_removes_a_file_and_a_whole_directory(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [file("a/x", "1"), file("a/y", "1"), folder("d"), file("d/e/f", "1")],
        [file("a/.wh.x"), file(".wh.d")],
    )
    answers = ask(layout, File("/a/x"), File("/a/y"), Stat("/d"), File("/d/e/f"))
    assert answers[File("/a/x")] == Absent()
    assert answers[File("/a/y")] == Found("1")
    assert answers[Stat("/d")] == Absent()
    assert answers[File("/d/e/f")] == Absent()


def test_a_whiteout_spares_what_its_own_layer_brings_in_either_order(tmp_path: Path) -> None:
    for number, order in enumerate(((0, 1), (1, 0))):
        entries = [file(".wh.a"), file("a/new", "2")]
        layout = image(
            tmp_path / str(number), [file("a/old", "1")], [entries[position] for position in order]
        )
        assert one(layout, Glob("/a/*", Part.WHOLE)) == Found((("/a/new", Found("2")),))


def test_an_opaque_directory_hides_what_lay_in_it_below(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [file("a/old", "1"), file("a/b/old", "1"), file("z", "1")],
        [file("a/new", "2"), file("a/.wh..wh..opq"), file("a/later", "2")],
    )
    assert one(layout, Glob("/a/*")) == Found((("/a/later", Found("")), ("/a/new", Found(""))))
    assert one(layout, File("/a/b/old")) == Absent()
    assert one(layout, File("/z")) == Found("1")


def test_a_directory_that_replaces_a_file_and_the_reverse_leave_nothing_below(
    tmp_path: Path,
) -> None:
    layout = image(
        tmp_path / "i",
        [file("a", "1"), file("b/c", "1")],
        [file("a/x", "2"), file("b", "2")],
    )
    answers = ask(layout, File("/a/x"), File("/b"), File("/b/c"))
    assert answers[File("/a/x")] == Found("2")
    assert answers[File("/b")] == Found("2")
    assert answers[File("/b/c")] == Absent()


def test_links_lead_where_they_would_in_the_image(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [
            folder("opt/maca-3.5.3"),
            file("opt/maca-3.5.3/Version.txt", "3.5.3"),
            link("opt/maca", "maca-3.5.3"),
            file("usr/lib/os-release", "ID=debian"),
            link("etc/os-release", "../usr/lib/os-release"),
            link("lib", "usr/lib"),
            link("escape", "../../../../usr/lib/os-release"),
        ],
    )
    assert one(layout, File("/opt/maca/Version.txt")) == Found("3.5.3")
    assert one(layout, File("/etc/os-release")) == Found("ID=debian")
    assert one(layout, File("/lib/os-release")) == Found("ID=debian")
    assert one(layout, File("/escape")) == Found("ID=debian")
    assert one(layout, Link("/opt/maca")) == Found("/opt/maca-3.5.3")


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    layout = image(tmp_path / "i", [link("a", "b"), link("b", "a"), link("c", "c/c/c")])
    assert isinstance(one(layout, File("/a")), Unreadable)
    assert isinstance(one(layout, File("/c")), Unreadable)
    looped = image(tmp_path / "j", [link("a", "a/a"), file("a/x", "1"), file("y", "2")])
    assert one(looped, File("/y")) == Found("2")


def test_a_hard_link_keeps_its_content_when_the_first_name_is_replaced(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [file("a", "old"), hard("b", "a"), file("a", "new")],
        [file(".wh.a")],
    )
    assert one(layout, File("/b")) == Found("old")
    assert one(layout, File("/a")) == Absent()


def test_a_path_that_comes_twice_in_a_layer_is_what_it_is_last(tmp_path: Path) -> None:
    layout = image(tmp_path / "i", [file("a", "first"), file("a", "second")])
    assert one(layout, File("/a")) == Found("second")


def test_names_that_lead_outside_stay_inside(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [
            file("/abs/a", "1"),
            file("../../up/b", "2"),
            file("x/../../y/c", "3"),
            link("out", "/"),
            file("out/d", "4"),
            file("..", "5"),
        ],
    )
    assert one(layout, File("/abs/a")) == Found("1")
    assert one(layout, File("/up/b")) == Found("2")
    assert one(layout, File("/y/c")) == Found("3")
    assert one(layout, File("/d")) == Found("4")
    assert not (tmp_path / "up").exists()


def test_devices_are_never_opened(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [special("opt/tty", tarfile.CHRTYPE), special("opt/fifo", tarfile.FIFOTYPE)],
    )
    assert one(layout, File("/opt/tty")) == Unreadable("not a file but a char")
    assert one(layout, File("/opt/fifo")) == Unreadable("not a file but a fifo")


def test_an_image_runs_nothing_and_its_environment_is_that_of_its_configuration(
    tmp_path: Path,
) -> None:
    config = {"Env": ["PATH=/opt/bin:/bin", "EMPTY=", "MACA_PATH=/opt/maca"]}
    layout = image(tmp_path / "i", [file("a")], config=config)
    answers = ask(
        layout, Env("MACA_PATH"), Env("EMPTY"), Env("PAT"), Command(("true",)), Space("/")
    )
    assert answers[Env("MACA_PATH")] == Found("/opt/maca")
    assert answers[Env("EMPTY")] == Found("")
    assert answers[Env("PAT")] == Absent()
    assert answers[Command(("true",))] == Unreadable("an image runs no command")
    assert isinstance(answers[Space("/")], Unreadable)
    with oci.TRANSPORT.open(str(layout), Terms()) as host:
        assert host.view is View.IMAGE


def test_what_an_image_has_in_proc_says_nothing_of_a_node(tmp_path: Path) -> None:
    layout = image(tmp_path / "i", [file("proc/version", "Linux")])
    assert isinstance(one(layout, File("/proc/version")), Unreadable)


def test_a_large_file_is_read_by_its_head_and_a_stat_knows_its_size(tmp_path: Path) -> None:
    size = LARGEST + 5
    layout = image(tmp_path / "i", [file("lib/big.so", b"ELF" + b"\0" * (size - 3), mode=0o755)])
    head, whole = File("/lib/big.so", Part.HEAD, 3), File("/lib/big.so")
    digest = File("/lib/big.so", Part.DIGEST)
    answers = ask(layout, head, whole, digest, Stat("/lib/big.so"))
    assert answers[head] == Found("ELF")
    assert isinstance(answers[whole], Unreadable)
    assert isinstance(answers[digest], Unreadable)
    assert answers[Stat("/lib/big.so")] == Found(Status("file", size, 0o755))


def test_a_second_round_reads_again_only_the_layers_that_it_needs(tmp_path: Path) -> None:
    layout = image(
        tmp_path / "i",
        [file("a/one", "1")],
        [file("b/two", "2"), link("c", "b/two")],
        [file("d/three", "3")],
    )
    with oci.TRANSPORT.open(str(layout), Terms()) as host:
        assert isinstance(host, _layers.LayerHost)
        assert host.gather([File("/a/one")])[File("/a/one")] == Found("1")
        for number in (0, 2):
            # What is not needed again may be gone by now.
            digest = host.description.layers[number].digest.removeprefix("sha256:")
            (layout / "blobs" / "sha256" / digest).unlink()
        assert host.gather([File("/c")])[File("/c")] == Found("2")


@pytest.mark.parametrize("packed", [True, False])
def test_layers_are_taken_compressed_and_plain(tmp_path: Path, packed: bool) -> None:  # noqa: FBT001 - a parameter
    layout = image(tmp_path / "i", [file("a", "1")], packed=packed)
    assert one(layout, File("/a")) == Found("1")


class TestALayerThatIsMissing:
    """A layer that is not there may hold anything, so nothing is called absent for its sake."""

    @pytest.fixture
    def layout(self, tmp_path: Path) -> Path:
        base = gzip.compress(tar([file("etc/os-release", "ID=debian"), file("opt/x", "1")]))
        below = [describe(f"{OCI}.layer.v1.tar+gzip", base)]
        ours = tar([file("opt/mxenv/a", "2")])
        entry = add_manifest(
            tmp_path / "i", [ours], base=below, base_diff_ids=[sha256(gzip.decompress(base))]
        )
        add_index(tmp_path / "i", [entry])
        return tmp_path / "i"

    def test_what_may_lie_in_it_is_unreadable_and_it_is_named(self, layout: Path) -> None:
        reading = one(layout, File("/etc/os-release"))
        assert isinstance(reading, Unreadable)
        assert "layer sha256:" in reading.reason

    def test_a_directory_may_have_more_in_it(self, layout: Path) -> None:
        assert isinstance(one(layout, Glob("/opt/*")), Unreadable)

    def test_what_a_layer_above_it_brings_is_known(self, layout: Path) -> None:
        assert one(layout, File("/opt/mxenv/a")) == Found("2")

    def test_what_lies_below_it_may_have_been_replaced(self, tmp_path: Path) -> None:
        layout = tmp_path / "i"
        layers = [tar([file("a", "1")]), tar([file("b", "2")])]
        add_index(layout, [add_manifest(layout, layers, packed=False)])
        (layout / "blobs" / "sha256" / sha256(layers[1]).removeprefix("sha256:")).unlink()
        assert isinstance(one(layout, File("/a")), Unreadable)


class TestADamagedLayer:
    """Nothing is believed of a layer that is not what its digests say."""

    def test_a_blob_with_other_bytes_is_refused(self, tmp_path: Path) -> None:
        layout = tmp_path / "i"
        layer = tar([file("a", "1")])
        add_index(layout, [add_manifest(layout, [layer], packed=False)])
        other = tar([file("a", "2")])
        assert len(other) == len(layer)
        (layout / "blobs" / "sha256" / sha256(layer).removeprefix("sha256:")).write_bytes(other)
        with pytest.raises(LayoutError, match="hashes to sha256:"):
            one(layout, File("/a"))

    def test_a_layer_that_is_not_what_the_configuration_says_is_refused(
        self, tmp_path: Path
    ) -> None:
        layout = tmp_path / "i"
        inside = gzip.compress(tar([file("a", "1")]))
        below = [describe(f"{OCI}.layer.v1.tar+gzip", inside)]
        put(layout, inside)
        entry = add_manifest(layout, [], base=below, base_diff_ids=[sha256(b"another")])
        add_index(layout, [entry])
        with pytest.raises(LayoutError, match="its configuration says"):
            one(layout, File("/a"))

    @pytest.mark.parametrize(
        "content",
        [
            b"no tar file at all" * 100,
            gzip.compress(tar([file("a", "1" * 5000)]))[:-40],
            tar([file("a", "1" * 5000)])[:2000],
            gzip.compress(b"x")[:4],
        ],
        ids=["not a tar file", "cut gzip", "cut tar", "cut header"],
    )
    def test_rubbish_is_one_clear_error(self, tmp_path: Path, content: bytes) -> None:
        layout = tmp_path / "i"
        put(layout, content)
        below = [describe(f"{OCI}.layer.v1.tar", content)]
        entry = add_manifest(layout, [], base=below, base_diff_ids=[sha256(content)])
        add_index(layout, [entry])
        with pytest.raises(LayoutError) as raised:
            one(layout, File("/a"))
        assert raised.value.exit_code == 5
        assert "layer sha256:" in str(raised.value) or "/a" in str(raised.value)

    def test_a_hard_link_to_nothing_is_refused(self, tmp_path: Path) -> None:
        layout = image(tmp_path / "i", [hard("a", "nowhere")])
        with pytest.raises(LayoutError, match="hard link"):
            one(layout, File("/a"))

    def test_a_header_without_end_is_refused_before_it_fills_the_memory(
        self, tmp_path: Path
    ) -> None:
        header = tarfile.TarInfo("x")
        header.type, header.size = tarfile.XHDTYPE, 8 << 30
        layout = tmp_path / "i"
        content = gzip.compress(header.tobuf(tarfile.GNU_FORMAT) + b"\0" * (64 << 20))
        put(layout, content)
        plain = gzip.decompress(content)
        below = [describe(f"{OCI}.layer.v1.tar+gzip", content)]
        entry = add_manifest(layout, [], base=below, base_diff_ids=[sha256(plain)])
        add_index(layout, [entry])
        with pytest.raises(LayoutError, match="a header is longer than"):
            one(layout, File("/x"))

    def test_a_file_of_holes_that_claims_a_terabyte_is_refused(self, tmp_path: Path) -> None:
        info, data = file("etc/x", "1")
        info.pax_headers = {
            "GNU.sparse.map": "0,1",
            "GNU.sparse.size": str(1 << 40),
        }
        layout = image(tmp_path / "i", [(info, data)])
        with pytest.raises(LayoutError, match="most of them holes"):
            one(layout, File("/etc/x"))

    def test_links_that_make_folders_without_end_are_refused(self, tmp_path: Path) -> None:
        deep = "d/" * 200
        layout = image(
            tmp_path / "i", [folder(deep), link("up", deep), file(f"up/{'e/' * 200}x", "1")]
        )
        with pytest.raises(LayoutError, match="nested too deep"):
            one(layout, File("/x"))

    def test_links_through_links_are_one_answer(self, tmp_path: Path) -> None:
        layout = image(tmp_path / "i", [link("a", "x/" * 1900), file("b", "1")])
        answers = ask(layout, File("/a"), File("/b"))
        assert answers[File("/a")] == Unreadable("its links are nested too deep")
        assert answers[File("/b")] == Found("1")

    def test_what_is_no_file_is_not_opened(self, tmp_path: Path) -> None:
        layout = image(tmp_path / "i", [file("a", "1")])
        blobs = layout / "blobs" / "sha256"
        (blob,) = [path for path in blobs.iterdir() if path.read_bytes()[:2] == b"\x1f\x8b"]
        blob.unlink()
        os.mkfifo(blob)
        assert isinstance(one(layout, File("/a")), Unreadable)
        (layout / "index.json").unlink()
        os.mkfifo(layout / "index.json")
        with pytest.raises(LayoutError, match="not a file"):
            one(layout, File("/a"))

    def test_folders_nested_without_end_are_refused(self, tmp_path: Path) -> None:
        layout = image(tmp_path / "i", [file("a/" * 2000 + "x", "1")])
        with pytest.raises(LayoutError, match="nested too deep"):
            one(layout, File("/a"))


def test_half_a_million_files_fit_into_the_memory_of_a_probe(tmp_path: Path) -> None:
    number = 20_000
    entries = [file(f"opt/d{n % 100}/f{n:06}") for n in range(number)]
    address = str(image(tmp_path / "x", entries))
    tracemalloc.start()
    try:
        with oci.TRANSPORT.open(address, Terms()) as host:
            host.gather([Glob("/opt/*/*/pyvenv.cfg")])
            kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept / number < 100 * (1 << 20) / 400_000


def test_where_directories_lead_is_not_kept_for_every_file(tmp_path: Path) -> None:
    number = RESOLVED + 1_000
    entries = [file(f"opt/d{n % 100}/f{n:06}") for n in range(number)]
    entries.append(file("opt/d1/env/pyvenv.cfg", "home = /usr"))
    address = str(image(tmp_path / "x", entries))
    question = Glob("/opt/*/*/pyvenv.cfg", Part.WHOLE)
    with oci.TRANSPORT.open(address, Terms()) as host:
        told = host.gather([question])[question]
    assert told == Found((("/opt/d1/env/pyvenv.cfg", Found("home = /usr")),))
