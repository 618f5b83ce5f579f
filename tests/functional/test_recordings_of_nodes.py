"""Recordings: made, replayed, packed, damaged, and turned against whoever reads them."""

from __future__ import annotations

import io
import json
import os
import tarfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mxenv.api import _recordings, nodes
from mxenv.errors import MxenvError, RecordingError, SnapshotError, UsageError
from mxenv.facts import Absent, Observed, Unreadable, View
from mxenv.question import (
    Answers,
    Command,
    Completed,
    Env,
    File,
    Found,
    Given,
    Glob,
    Link,
    Part,
    Question,
    Space,
    Stat,
    Status,
)
from mxenv.recorder import render
from mxenv.transports import Terms, _archive
from mxenv.transports.recording import TRANSPORT

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = datetime(2026, 1, 7, tzinfo=UTC)
LATER = datetime(2026, 2, 7, tzinfo=UTC)
RECORDINGS = Path(__file__).parent.parent / "recordings"
PLAIN = RECORDINGS / "plain-debian12"
MAIN = b'schema = "mxenv.recording/1"\nnode = "n"\ntaken_at = 2026-01-07T00:00:00Z\n'
COMPLETE = MAIN + b"complete = true\n"


def ask(recording: Path, *questions: Question) -> Answers:
    with TRANSPORT.open(str(recording), Terms()) as host:
        return host.gather(questions)


def folder(at: Path, files: Mapping[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = at / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return at


def answer_one(recording: Path, question: Question) -> Given:
    return ask(recording, question).given[question]


GIVEN: dict[Question, Given] = {
    File("/etc/x"): Found("text"),
    File("/etc/none"): Absent(),
    File("/etc/large"): Unreadable("larger than 3 bytes"),
    File("/etc/large", Part.HEAD, 3): Found("tex"),
    File("/etc/bytes", Part.HEAD, 3): Found("\ufffd\ufffdx"),
    File("/lib/big.so", Part.DIGEST): Found("ab" * 32),
    File("/lib/none.so", Part.DIGEST): Absent(),
    Link("/opt/maca"): Found("/opt/maca-3.5.3"),
    File("/opt/maca/Version.txt"): Found("Version:3.5.3.20\n"),
    Link("/opt/none"): Absent(),
    Stat("/dev/mxcd"): Found(Status("char", 0, 0o666)),
    Stat("/opt/maca"): Found(Status("link", 15, 0o777)),
    Stat("/run/none"): Absent(),
    Stat("/run/denied"): Unreadable("permission denied"),
    Space("/"): Found(0),
    Space("/none"): Absent(),
    Env("MACA_PATH"): Found("/opt/maca"),
    Env("NONE"): Absent(),
    Command(("mx-smi", "-j")): Completed(1, "out", "err"),
    Command(("none",)): Completed(127),
    Command(("late",)): Completed(124, "begun"),
    Command(("forbidden",)): Unreadable("not on the list"),
    Glob("/srv/none/*"): Absent(),
    Glob("/root/*", Part.HEAD): Unreadable("permission denied"),
    Glob("/dev/dri/*"): Found((("/dev/dri/card0", Found("")), ("/dev/dri/card1", Found("")))),
    Glob("/proc/[0-9]*/exe", Part.LINK): Found(
        (("/proc/1/exe", Unreadable("denied")), ("/proc/2/exe", Found("/bin/sh")))
    ),
    Glob("/envs/*/f", Part.HEAD, 4): Found(
        (
            ("/envs/a/f", Found("head")),
            ("/envs/b", Unreadable("permission denied")),
            ("/envs/c/f", Unreadable("not a file but a fifo")),
        )
    ),
    Glob("/libs/*", Part.DIGEST): Found((("/libs/a", Found("cd" * 32)),)),
}


class TestWhatWasAnsweredIsAnsweredAgain:
    """The answers of a recording are those that it was made from, for every kind of question."""

    @pytest.fixture(params=["folder", "packed.tar.gz"])
    def recording(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        out = tmp_path / request.param
        files = render(Answers(GIVEN), node="n", view=View.HOST, taken_at=NOW, provenance="p")
        _recordings.write(files, out)
        return out

    @pytest.mark.parametrize("question", GIVEN, ids=repr)
    def test_every_answer_is_the_same(self, recording: Path, question: Question) -> None:
        assert answer_one(recording, question) == GIVEN[question]

    @pytest.mark.parametrize(
        "question",
        [
            File("/etc/new"),
            Env("NEW"),
            Command(("new",)),
            Glob("/new/*"),
            Stat("/new"),
            Link("/new"),
            Space("/new"),
            Link("/etc/x"),
            File("/etc/x", Part.DIGEST),
        ],
        ids=repr,
    )
    def test_what_was_not_asked_then_is_not_known_now(
        self, recording: Path, question: Question
    ) -> None:
        assert answer_one(recording, question) == Unreadable("not recorded")

    def test_more_of_a_file_than_was_recorded_cannot_be_read(self, recording: Path) -> None:
        answer = answer_one(recording, File("/etc/large", Part.HEAD, 9))
        assert answer == Unreadable("only its first 3 bytes were recorded")
        assert answer_one(recording, File("/etc/large", Part.HEAD, 2)) == Found("te")


class TestWrittenByHand:
    def test_what_is_missing_is_not_known(self, tmp_path: Path) -> None:
        folder(tmp_path, {"recording.toml": MAIN, "root/etc/x": "text"})
        assert answer_one(tmp_path, File("/etc/x")) == Found("text")
        missing = (File("/none"), Glob("/etc/n*"), Env("A"), Command(("c",)), Stat("/none"))
        for question in missing:
            assert answer_one(tmp_path, question) == Unreadable("not recorded")

    def test_what_is_missing_of_a_complete_one_was_absent(self, tmp_path: Path) -> None:
        folder(tmp_path, {"recording.toml": COMPLETE, "root/etc/x": "text"})
        for question in (File("/none"), Glob("/etc/n*"), Env("A"), Link("/none")):
            assert answer_one(tmp_path, question) == Absent()
        assert answer_one(tmp_path, Command(("c",))) == Completed(127)

    def test_links_are_links_and_stay_inside(self, tmp_path: Path) -> None:
        root = folder(tmp_path, {"recording.toml": MAIN, "root/opt/maca-3/V": "3"}) / "root"
        (root / "opt/maca").symlink_to("/opt/maca-3")
        (root / "passwd").symlink_to("/etc/passwd")
        (root / "up").symlink_to("../../../../../../../../etc/passwd")
        assert answer_one(tmp_path, Link("/opt/maca")) == Found("/opt/maca-3")
        assert answer_one(tmp_path, File("/opt/maca/V")) == Found("3")
        assert answer_one(tmp_path, Glob("/opt/maca/*", Part.WHOLE)) == Found(
            (("/opt/maca/V", Found("3")),)
        )
        for path in ("/passwd", "/up", "/../../../etc/passwd"):
            assert answer_one(tmp_path, File(path)) == Unreadable("not recorded")

    def test_an_image_says_nothing_about_a_node(self, tmp_path: Path) -> None:
        folder(tmp_path, {"recording.toml": COMPLETE + b'view = "image"\n', "root/etc/x": "text"})
        for question in (File("/proc/modules"), Stat("/dev/mxcd"), Env("A"), Command(("c",))):
            assert isinstance(answer_one(tmp_path, question), Unreadable)
        assert answer_one(tmp_path, File("/etc/none")) == Absent()

    def test_a_snapshot_of_it_is_of_its_time(self, tmp_path: Path) -> None:
        folder(tmp_path, {"recording.toml": MAIN})
        assert nodes.probe(f"recording:{tmp_path}", now=LATER).taken_at == NOW


class TestDamaged:
    @pytest.mark.parametrize(
        ("files", "place"),
        [
            ({}, ""),
            ({"recording.toml": b"\xff"}, "/recording.toml"),
            ({"recording.toml": b"schema = 1"}, "/recording.toml: schema"),
            ({"recording.toml": MAIN, "commands.json": "{}"}, "/commands.json"),
            ({"recording.toml": MAIN, "paths.json/x": ""}, "/paths.json"),
            ({"recording.toml": MAIN, "root": "x"}, "/root"),
        ],
    )
    def test_the_file_and_the_place_are_named(
        self, tmp_path: Path, files: dict[str, Any], place: str
    ) -> None:
        folder(tmp_path, files)
        with pytest.raises(RecordingError) as raised:
            ask(tmp_path)
        assert raised.value.context.startswith(f"{tmp_path}{place}")

    def test_a_document_that_leads_elsewhere_is_not_followed(self, tmp_path: Path) -> None:
        folder(tmp_path, {"recording.toml": MAIN})
        (tmp_path / "environment.json").symlink_to("/etc/hosts")
        with pytest.raises(RecordingError, match="not a file of reasonable size"):
            ask(tmp_path)

    def test_a_root_that_leads_elsewhere_is_not_followed(self, tmp_path: Path) -> None:
        folder(tmp_path, {"recording.toml": MAIN})
        (tmp_path / "root").symlink_to("/")
        with pytest.raises(RecordingError, match="not a directory but a link"):
            ask(tmp_path)

    def test_a_fifo_is_no_recording(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "x.tar.gz")
        with pytest.raises(RecordingError, match="neither a folder nor a file"):
            ask(tmp_path / "x.tar.gz")

    def test_one_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="no such recording"):
            ask(tmp_path / "none")


def member(name: str, content: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, content


def archive(at: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    path = at / "r.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for info, content in members:
            packed.addfile(info, io.BytesIO(content))
    return path


class TestPacked:
    def test_one_is_read_with_its_folder_or_without(self, tmp_path: Path) -> None:
        for top in ("", "./", "name/", "./name/"):
            path = archive(
                tmp_path,
                member(f"{top}recording.toml", MAIN),
                member(f"{top}root", type=tarfile.DIRTYPE),
                member(f"{top}root/etc/x", b"text"),
                member(f"{top}root/y", type=tarfile.SYMTYPE, linkname="/etc/x"),
                member(f"{top}root/out", type=tarfile.SYMTYPE, linkname="../../etc/hosts"),
            )
            assert answer_one(path, File("/y")) == Found("text")
            assert answer_one(path, File("/out")) == Unreadable("not recorded")
            assert answer_one(path, Glob("/*")) == Found(
                tuple((name, Found("")) for name in ("/etc", "/out", "/y"))
            )

    @pytest.mark.parametrize(
        ("bad", "message"),
        [
            (member("../x"), "would lie outside"),
            (member("/etc/x"), "would lie outside"),
            (member("a/../../x"), "would lie outside"),
            (member("x", type=tarfile.LNKTYPE, linkname="/etc/passwd"), "neither a file, nor"),
            (member("x", type=tarfile.CHRTYPE), "neither a file, nor"),
            (member("x", type=tarfile.FIFOTYPE), "neither a file, nor"),
            (member("recording.toml", b"twice"), "is there twice"),
        ],
    )
    def test_what_could_reach_outside_is_refused(
        self, tmp_path: Path, bad: tuple[tarfile.TarInfo, bytes], message: str
    ) -> None:
        with pytest.raises(RecordingError, match=message):
            ask(archive(tmp_path, member("recording.toml", MAIN), bad))

    def test_a_bomb_is_refused_before_it_fills_the_memory(self, tmp_path: Path) -> None:
        zeros = member("root/x", bytes(_archive.SMALL + 1))
        with pytest.raises(RecordingError, match="too much content"):
            ask(archive(tmp_path, member("recording.toml", MAIN), zeros))

    @pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08\x00rubbish"])
    def test_what_is_no_archive_is_named(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "r.tar.gz"
        path.write_bytes(content)
        with pytest.raises(RecordingError) as raised:
            ask(path)
        assert raised.value.context.startswith(str(path))

    @pytest.mark.parametrize("kept", [30, 200, -20])
    def test_one_that_ends_too_early_is_named(self, tmp_path: Path, kept: int) -> None:
        path = archive(
            tmp_path, member("recording.toml", MAIN), member("root/x", os.urandom(100_000))
        )
        path.write_bytes(path.read_bytes()[:kept])
        with pytest.raises(RecordingError):
            ask(path)

    def test_equal_recordings_are_equal_bytes(self) -> None:
        files = {"recording.toml": MAIN, "root/etc/x": b"text"}
        again = dict(reversed(files.items()))
        assert _recordings.pack(files, "r") == _recordings.pack(again, "r")


class TestRecording:
    @pytest.mark.parametrize("name", ["r", "r.tar.gz", "deep/er/r"])
    def test_what_is_replayed_is_what_was_seen(self, tmp_path: Path, name: str) -> None:
        seen = nodes.record("local:", tmp_path / name, now=NOW)
        replayed = nodes.probe(f"recording:{tmp_path / name}", now=LATER)
        assert replayed == seen
        assert nodes.fingerprint_of(replayed) == nodes.fingerprint_of(seen)

    @pytest.mark.parametrize("recording", sorted(p.name for p in RECORDINGS.glob("*/")))
    def test_a_recording_of_a_recording_says_the_same(self, tmp_path: Path, recording: str) -> None:
        seen = nodes.record(f"recording:{RECORDINGS / recording}", tmp_path / "r", now=NOW)
        assert nodes.diff(seen, nodes.probe(f"recording:{tmp_path / 'r'}", now=NOW)) == ()
        assert nodes.diff(seen, nodes.probe(f"recording:{RECORDINGS / recording}", now=NOW)) == ()

    def test_a_root_file_system_is_recorded_as_an_image(self, tmp_path: Path) -> None:
        folder(
            tmp_path / "root",
            {"etc/os-release": "ID=debian\nVERSION_ID=12\n", "proc/sys/kernel/osrelease": "6.1.0"},
        )
        seen = nodes.record(f"root:{tmp_path / 'root'}", tmp_path / "r", now=NOW)
        assert seen.view is View.IMAGE
        assert seen.reading("os.id") == Observed("debian")
        assert isinstance(seen.reading("kernel.release"), Unreadable)
        assert nodes.probe(f"recording:{tmp_path / 'r'}", now=NOW) == seen

    def test_an_older_recording_is_replaced_whole(self, tmp_path: Path) -> None:
        out = folder(tmp_path / "r", {"recording.toml": MAIN, "root/old": "x"})
        nodes.record(f"recording:{PLAIN}", out, now=NOW)
        assert not (out / "root/old").exists()
        assert [path.name for path in tmp_path.iterdir()] == ["r"]

    @pytest.mark.parametrize("name", ["r", "r.tar.gz"])
    def test_nothing_but_a_recording_is_replaced(self, tmp_path: Path, name: str) -> None:
        precious = folder(tmp_path / name, {"precious": "x"})
        with pytest.raises(UsageError):
            nodes.record(f"recording:{PLAIN}", precious, now=NOW)
        assert (precious / "precious").read_text() == "x"

    def test_a_file_is_not_replaced_by_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "r").write_text("x")
        with pytest.raises(UsageError, match="not a folder"):
            nodes.record(f"recording:{PLAIN}", tmp_path / "r", now=NOW)

    def test_a_folder_that_cannot_be_made_is_a_clear_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("x")
        for out in (tmp_path / "file/r", tmp_path / "file/r.tar.gz"):
            with pytest.raises(UsageError, match="cannot be written"):
                nodes.record(f"recording:{PLAIN}", out, now=NOW)

    def test_nothing_that_must_not_leave_a_node_is_recorded(self, tmp_path: Path) -> None:
        node = folder(
            tmp_path / "node",
            {
                "recording.toml": COMPLETE,
                "environment.json": json.dumps(
                    {"VIRTUAL_ENV": "/home/alice/venv", "LD_LIBRARY_PATH": "/home/alice/lib"}
                ),
                "root/home/alice/venv/bin/python3.11": "",
                "root/home/alice/venv/lib/python3.11/site-packages/a-1.dist-info/METADATA": (
                    "Name: a\nVersion: 1\nHome-page: https://alice:word@host/\n"
                ),
            },
        )
        seen = nodes.record(f"recording:{node}", tmp_path / "r", now=NOW)
        assert seen.reading("python.package", "/home/user/venv/a") == Observed("1")
        for path in (tmp_path / "r").rglob("*"):
            assert "alice" not in str(path)
            assert path.is_dir() or b"alice" not in path.read_bytes()
        assert nodes.probe(f"recording:{tmp_path / 'r'}", now=NOW) == seen

    def test_the_plain_machine_was_recorded_by_us(self) -> None:
        plain = nodes.probe(f"recording:{PLAIN}", now=NOW)
        assert plain.node == "plain-debian12"
        assert plain.reading("os.version") == Observed("12")
        assert plain.reading("libc.version") == Observed("2.36")
        assert plain.reading("python.version", "/usr") == Observed("3.11.2")
        assert plain.reading("metax.device.count") == Observed(0)


class TestAddresses:
    @pytest.mark.parametrize(
        ("address", "hint"),
        [
            ("locl:", "did you mean 'local:'?"),
            ("recordng:x", "did you mean 'recording:'?"),
            ("quux://x", "an address begins with one of"),
            ("", "an address begins with one of"),
            ("/etc", "an address begins with one of"),
        ],
    )
    def test_an_unknown_scheme_is_answered_with_the_known_ones(
        self, address: str, hint: str
    ) -> None:
        with pytest.raises(UsageError) as raised:
            nodes.open_host(address)
        assert hint in raised.value.hint

    def test_a_scheme_may_be_followed_by_slashes_or_stand_alone(self) -> None:
        for address in ("local", "local:", "local://"):
            with nodes.open_host(address) as host:
                assert host.name == os.uname().nodename
        with nodes.open_host(f"recording://{PLAIN}") as host:
            assert host.name == "plain-debian12"

    @pytest.mark.parametrize("address", ["root:", "root:/none", "recording:", "recording:/none"])
    def test_an_address_of_nothing_is_a_wrong_use(self, address: str) -> None:
        with pytest.raises(UsageError), nodes.open_host(address):
            pass


class TestTargets:
    def test_a_snapshot_a_recording_and_an_address_are_told_apart(self, tmp_path: Path) -> None:
        plain = nodes.probe(f"recording:{PLAIN}", now=NOW)
        nodes.write_snapshot(plain, tmp_path / "node.json")
        packed = tmp_path / "r.tgz"
        nodes.record(f"recording:{PLAIN}", packed, now=NOW)
        for target in (tmp_path / "node.json", PLAIN, packed, f"recording:{PLAIN}"):
            assert nodes.diff(plain, nodes.snapshot_of(str(target), now=NOW)) == ()

    @pytest.mark.parametrize(
        ("content", "error"),
        [(b"\xff", SnapshotError), (b"{}", SnapshotError), (None, UsageError)],
    )
    def test_what_is_none_of_them_is_a_clear_error(
        self, tmp_path: Path, content: bytes | None, error: type[MxenvError]
    ) -> None:
        path = tmp_path / "node.json"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(error) as raised:
            nodes.snapshot_of(str(path), now=NOW)
        assert str(path) in raised.value.context

    def test_a_folder_that_is_no_recording_is_no_snapshot(self, tmp_path: Path) -> None:
        with pytest.raises(SnapshotError, match="cannot be read"):
            nodes.snapshot_of(str(tmp_path), now=NOW)

    @pytest.mark.parametrize("target", ["x" * 5000, "a\0b"])
    def test_what_cannot_be_a_path_is_a_clear_error(self, target: str) -> None:
        with pytest.raises(MxenvError):
            nodes.snapshot_of(target, now=NOW)


def test_a_link_that_leads_nowhere_leads_nowhere_in_a_recording_too(tmp_path: Path) -> None:
    question = Glob("/site/*/METADATA", Part.HEAD, 64)
    there: Given = Found((("/site/a/METADATA", Absent()), ("/site/b/METADATA", Found("Name: b"))))
    content = render(
        Answers({question: there}), node="n", view=View.HOST, taken_at=NOW, provenance=""
    )
    assert ask(folder(tmp_path, content), question)[question] == there
