"""What a container engine is given, and what the programs in it do, without an engine."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from http.client import IncompleteRead
from typing import TYPE_CHECKING

import _layouts as layouts
import pytest
import requests
from _locked import debian_lock, dist_info
from _wheels import Made
from urllib3.exceptions import ProtocolError

from mxenv import image_programs, rendering
from mxenv import lock as locks
from mxenv.engines import Order, _context, docker
from mxenv.engines._conversation import Conversation, connected, heard
from mxenv.engines._wheel import opened
from mxenv.errors import EngineError, LayoutError, LockError, UsageError, WheelError
from mxenv.image import AddedFile
from mxenv.stores import layout
from mxenv.stores.description import describe

if TYPE_CHECKING:
    from pathlib import Path

BASE: dict[str, object] = {"config": {"Cmd": ["bash"]}}
STEP = [
    {"stream": "Step 2/9 : RUN make it"},
    {"stream": "\n"},
    {"stream": " ---> Running in 0123456789ab\n"},
    {"stream": "one\ntwo\x1b[31m\n"},
]


def order_of(project: Path) -> Order:
    (project / "start.sh").write_text("#!/bin/sh\n")
    sha256 = hashlib.sha256((project / "start.sh").read_bytes()).hexdigest()
    file = AddedFile(source="start.sh", target="/opt/start.sh", mode=0o755)
    lock = replace(
        debian_lock(project), files=((file, sha256),), facts=(("os.id", "debian"),), system=("jq",)
    )
    return Order(
        lock=lock,
        lock_text=locks.render(lock),
        base="registry.example.com/base:1",
        wheelhouse=project / "lockfiles" / "wheelhouse",
        files=project,
        cache=project / "cache",
    )


@pytest.fixture
def order(tmp_path: Path) -> Order:
    return order_of(tmp_path)


def context(order: Order) -> bytes:
    with _context.opened_context(order, BASE) as opened_:
        content = b"".join(opened_)
        assert opened_.digest == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert opened_.sent == len(content)
    return content


def members(content: bytes) -> dict[str, tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        return {member.name: member for member in tar.getmembers()}


class TestTheContext:
    """It is a function of the lock, and holds what the Containerfile takes, and nothing else."""

    def test_two_folders_give_the_same_bytes(self, tmp_path: Path) -> None:
        one, other = tmp_path / "one", tmp_path / "other"
        one.mkdir()
        other.mkdir(mode=0o700)
        assert context(order_of(one)) == context(order_of(other))

    def test_what_is_copied_is_there_and_all_of_it_is_copied(self, order: Order) -> None:
        found = members(context(order))
        files = {name for name, member in found.items() if member.isfile()}
        assert files == {
            "Containerfile",
            "files/1-start.sh",
            "mxenv/check.py",
            "mxenv/install.py",
            "mxenv/plans/alpha.json",
            "mxenv/plans/beta.json",
            "mxenv/share/lock/pylock.small.toml",
            "mxenv/share/start-gate",
            "mxenv/share/verdict.json",
            *(f"wheels/{package.wheel.name}" for package in order.lock.packages),
        }
        assert found["files/1-start.sh"].mode == 0o755
        assert {(m.uid, m.gid, m.mtime) for m in found.values()} == {(0, 0, 315532800)}

    def test_the_recipe_is_its_digests(self, order: Order) -> None:
        recipe = _context.recipe(order, BASE, "docker")
        text = rendering.render(order.lock, BASE)
        assert recipe == locks.Recipe(
            engine="docker",
            containerfile=f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",
            context=f"sha256:{hashlib.sha256(context(order)).hexdigest()}",
        )

    def test_a_wheel_that_is_not_the_locked_one_is_refused_before_the_first_byte(
        self, order: Order
    ) -> None:
        path = order.wheelhouse / order.lock.packages[0].wheel.name
        path.write_bytes(path.read_bytes() + b"!")
        with pytest.raises(WheelError, match="as locked"), _context.opened_context(order, BASE):
            pass

    def test_a_file_that_is_not_the_locked_one_is_refused(self, order: Order) -> None:
        (order.files / "start.sh").write_text("rm -rf /\n")
        with pytest.raises(LockError, match="as locked"), _context.opened_context(order, BASE):
            pass

    def test_a_file_that_grows_while_it_is_read_ends_it(self, order: Order) -> None:
        with _context.opened_context(order, BASE) as opened_:
            path = order.wheelhouse / order.lock.packages[0].wheel.name
            path.write_bytes(path.read_bytes() + b"!")
            with pytest.raises(EngineError, match="changed while it was read"):
                list(opened_)

    def test_nothing_is_compiled_ahead(self, order: Order) -> None:
        compiled = replace(order, lock=replace(order.lock, bytecode=True))
        with (
            pytest.raises(UsageError, match="compiles nothing"),
            _context.opened_context(compiled, BASE),
        ):
            pass


class TestTheInstaller:
    """It does in the image what the other engine does without one."""

    def put(self, order: Order, own: Path) -> subprocess.CompletedProcess[str]:
        with tarfile.open(fileobj=io.BytesIO(context(order))) as tar:
            tar.extractall(own.parent, filter="data")
        (own.parent / "wheels").rename(own / "wheels")
        program = image_programs.INSTALL.replace('"/mxenv"', repr(str(own)))
        package = order.lock.packages[0]
        words = (str(own / "root"), package.name, package.wheel.name, package.wheel.sha256)
        return subprocess.run(
            [sys.executable, "-I", "-", *words],
            input=program,
            capture_output=True,
            text=True,
            check=False,
        )

    def test_every_file_is_that_of_the_other_engine(self, order: Order, tmp_path: Path) -> None:
        own = tmp_path / "unpacked" / "mxenv"
        done = self.put(order, own)
        assert (done.returncode, done.stderr) == (0, "")
        package = order.lock.packages[0]
        with opened(order.wheelhouse / package.wheel.name, package, order.lock.target) as wheel:
            expected = {file.path: file.mode for file in wheel.files}
            record = next(file for file in wheel.files if file.path.endswith("RECORD"))
        root = own / "root"
        found = {
            f"/{path.relative_to(root)}": path.stat().st_mode & 0o7777
            for path in root.rglob("*")
            if path.is_file()
        }
        assert found == expected
        assert (root / record.path[1:]).read_bytes() == record.data
        assert {path.stat().st_mtime for path in root.rglob("*")} == {315532800}
        assert not (own / "wheels" / package.wheel.name).exists()

    def test_another_wheel_is_refused(self, tmp_path: Path) -> None:
        program = image_programs.INSTALL.replace('"/mxenv"', repr(str(tmp_path)))
        (tmp_path / "wheels").mkdir()
        Made().write(tmp_path / "wheels")
        words = ("/nowhere", "pkg", "pkg-1.0-py3-none-any.whl", "0" * 64)
        done = subprocess.run(
            [sys.executable, "-I", "-", *words],
            input=program,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert "has the SHA-256" in done.stderr
        assert not (tmp_path / "root").exists()

    def test_a_member_that_is_not_what_was_planned_is_refused(
        self, order: Order, tmp_path: Path
    ) -> None:
        own = tmp_path / "unpacked" / "mxenv"
        self.put(order, own)
        plan = own / "plans" / "alpha.json"
        rows = json.loads(plan.read_text())
        rows[0][2] = "sha256=AAAA"
        plan.write_text(json.dumps(rows))
        package = order.lock.packages[0]
        wheel = order.wheelhouse / package.wheel.name
        (own / "wheels" / package.wheel.name).write_bytes(wheel.read_bytes())
        program = image_programs.INSTALL.replace('"/mxenv"', repr(str(own)))
        words = (str(own / "again"), package.name, package.wheel.name, package.wheel.sha256)
        done = subprocess.run(
            [sys.executable, "-I", "-", *words],
            input=program,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "does not have the hash" in done.stderr) == (1, True)


class TestTheCheck:
    """Nothing of the base may be another afterwards, and nothing may have come beside the lock."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> Path:
        site = tmp_path / "site"
        self.add(site, "torch", "2.8.0+metax3.5.3.9")
        return site

    def add(self, site: Path, name: str, version: str) -> None:
        ((_, content),) = dist_info("x", name, version)
        folder = site / f"{name}-{version}.dist-info"
        folder.mkdir(parents=True)
        (folder / "METADATA").write_bytes(content)

    def run(self, site: Path, option: str, *locked: str) -> tuple[int, str]:
        plans = site.parent / "plans"
        plans.mkdir(exist_ok=True)
        for name in locked:
            (plans / f"{name}.json").touch()
        program = image_programs.CHECK.replace('"/mxenv/plans"', repr(str(plans)))
        program = f"import sys; sys.path[:] = [*sys.path, {str(site)!r}]\n{program}"
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-", option, str(site.parent / "before.json")],
            input=program,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    def test_what_is_as_it_was_and_what_is_locked_passes(self, site: Path) -> None:
        assert self.run(site, "--list") == (0, "")
        self.add(site, "click", "8.1.8")
        assert self.run(site, "--against", "click") == (0, "")

    def test_a_replaced_one_fails(self, site: Path) -> None:
        self.run(site, "--list")
        (site / "torch-2.8.0+metax3.5.3.9.dist-info" / "METADATA").write_text(
            "Name: torch\nVersion: 2.9.0\n"
        )
        status, said = self.run(site, "--against")
        assert status == 1
        assert "torch ['2.8.0+metax3.5.3.9'] of the base is now ['2.9.0']" in said

    def test_a_removed_one_fails(self, site: Path) -> None:
        self.run(site, "--list")
        self.add(site, "other", "1")
        for path in (site / "torch-2.8.0+metax3.5.3.9.dist-info").iterdir():
            path.unlink()
        (site / "torch-2.8.0+metax3.5.3.9.dist-info").rmdir()
        status, said = self.run(site, "--against")
        assert status == 1
        assert "torch ['2.8.0+metax3.5.3.9'] of the base is now gone" in said
        assert "other ['1'] came with a system package or a step, and is in no lock" in said

    def test_a_locked_one_that_is_missing_or_there_already_fails(self, site: Path) -> None:
        self.run(site, "--list")
        status, said = self.run(site, "--against", "click", "torch")
        assert status == 1
        assert "click is there in 0 versions" in said
        assert "torch ['2.8.0+metax3.5.3.9'] is provided by the base, and locked as well" in said


class Removed:
    """An engine from which images are removed."""

    def __init__(self) -> None:
        self.removed: list[str] = []

    def remove_image(self, image: str) -> None:
        self.removed.append(image)


def _heard(*answers: dict[str, str]) -> None:
    Conversation(api=None, told=None).image_of(answers)


class TestWhatAnEngineSays:
    """A failed step is told with its last words, and what it left is taken away."""

    def test_a_failed_step_is_named_with_its_last_words(self) -> None:
        told: list[str] = []
        conversation = Conversation(api=None, told=told.append)
        with pytest.raises(EngineError) as caught:
            conversation.image_of([*STEP, {"error": "returned a non-zero code: 2"}])
        assert caught.value.context == "Step 2/9 : RUN make it"
        assert caught.value.message == ("returned a non-zero code: 2; its last words: one | two")
        assert told == ["Step 2/9 : RUN make it", " one", " two"]

    def test_a_line_that_comes_in_pieces_is_one_line(self) -> None:
        pieces = ({"stream": text} for text in ("W", ": no ", "mirror\nE", ": no", " package\n"))
        with pytest.raises(EngineError, match=r"last words: W: no mirror [|] E: no package$"):
            _heard(*pieces, {"error": "failed"})

    def test_a_line_without_an_end_is_told_as_well(self) -> None:
        with pytest.raises(EngineError, match=r"last words: and then$"):
            _heard({"stream": "and then"}, {"error": "failed"})

    def test_of_what_is_written_over_and_over_the_last_state_is_told(self) -> None:
        with pytest.raises(EngineError, match=r"last words: 100 %$"):
            _heard({"stream": "1 %\r99 %\r100 %\r\n"}, {"error": "failed"})

    def test_the_command_is_said_once_and_hides_no_word_that_it_holds(self) -> None:
        for problem in (
            "The command '/bin/sh -c echo 'it''s late';\n make' returned a non-zero code: 2",
            'building at STEP "RUN echo late": returned a non-zero code: 2',
        ):
            with pytest.raises(EngineError) as caught:
                _heard({"stream": "late\n"}, {"error": problem})
            assert caught.value.message == "returned a non-zero code: 2; its last words: late"

    @pytest.mark.parametrize(
        "said",
        [
            " ---> Running in 0123456789ab",
            " ---> 0123456789ab",
            "Removing intermediate container 0123456789ab",
            "--> Using cache 0123456789abcdef",
            "--> 0123456789a",
        ],
    )
    def test_an_engine_s_own_words_are_no_program_s(self, said: str) -> None:
        with pytest.raises(EngineError) as caught:
            _heard({"stream": f"{said}\n"}, {"error": "failed"})
        assert caught.value.message == "failed"

    def test_podman_counts_the_stages_before_the_step(self) -> None:
        told: list[str] = []
        conversation = Conversation(api=None, told=told.append)
        step = {"stream": "[1/4] STEP 2/8: RUN make\n"}
        with pytest.raises(EngineError):
            conversation.image_of([step, {"error": "failed"}])
        assert told == [conversation.place] == ["[1/4] STEP 2/8: RUN make"]

    def test_a_long_step_is_named_by_its_beginning(self) -> None:
        with pytest.raises(EngineError) as caught:
            _heard({"stream": f"Step 1/2 : RUN  {'make ' * 99}\n"}, {"error": "failed"})
        assert caught.value.context.startswith("Step 1/2 : RUN make make")
        assert len(caught.value.context) == 120

    @pytest.mark.parametrize(
        ("steps", "removed"),
        [
            (
                (
                    "Step 1/2 : FROM a",
                    " ---> 0123456789aa",
                    "Step 2/2 : RUN b",
                    " ---> 0123456789ab",
                ),
                1,
            ),
            (("STEP 1/2: FROM a", "--> 0123456789a", "STEP 2/2: RUN b", "--> 0123456789b"), 1),
            (("STEP 2/2: RUN b", "--> Using cache 0123456789bb", "--> 0123456789b"), 0),
        ],
    )
    def test_what_a_build_made_and_did_not_find_is_taken_away(
        self, steps: tuple[str, ...], removed: int
    ) -> None:
        engine = Removed()
        conversation = Conversation(api=engine, told=None)
        with pytest.raises(EngineError):
            conversation.image_of([{"stream": f"{step}\n"} for step in steps])
        conversation.undo()
        assert len(engine.removed) == removed

    def test_an_engine_that_names_no_image_made_none(self) -> None:
        with pytest.raises(EngineError, match="names no image"):
            Conversation(api=None, told=None).image_of(STEP)


class TestAnEngineThatCannotBeAsked:
    """It is told where it is, why it does not answer, and in no library's words."""

    def test_a_socket_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(EngineError) as caught:
            connected({"DOCKER_HOST": f"unix://{tmp_path}/no.sock"})
        assert caught.value.context == f"unix://{tmp_path}/no.sock"
        assert caught.value.message == "no container engine answers: No such file or directory"

    def test_a_port_where_nobody_listens(self) -> None:
        with pytest.raises(EngineError) as caught:
            connected({"DOCKER_HOST": "tcp://127.0.0.1:1"})
        assert caught.value.message == "no container engine answers: Connection refused"

    def test_certificates_that_are_not_there(self, tmp_path: Path) -> None:
        environ = {
            "DOCKER_HOST": "tcp://engine.example.com:2376",
            "DOCKER_TLS_VERIFY": "1",
            "DOCKER_CERT_PATH": str(tmp_path),
        }
        with pytest.raises(EngineError, match="no container engine answers: ") as caught:
            connected(environ)
        assert caught.value.context == "tcp://engine.example.com:2376"

    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (ProtocolError("broken", IncompleteRead(b"")), "the connection broke off"),
            (requests.ConnectionError(ProtocolError("broken")), "the connection broke off"),
            (requests.exceptions.ChunkedEncodingError("broken"), "the connection broke off"),
            (IncompleteRead(b""), "the connection broke off"),
            (ConnectionResetError(104, "Connection reset by peer"), "Connection reset by peer"),
            (requests.ReadTimeout("read timeout=600.0"), "it said nothing for too long"),
        ],
    )
    def test_one_that_goes_away_is_an_engine_s_error(self, error: Exception, reason: str) -> None:
        with pytest.raises(EngineError) as caught, heard("the build failed", "Containerfile"):
            raise error
        assert caught.value.message == f"the build failed: {reason}"
        assert "does the engine still run" in caught.value.hint

    def test_a_bug_is_no_engine_s_error(self) -> None:
        with pytest.raises(ZeroDivisionError), heard("the build failed", "Containerfile"):
            raise ZeroDivisionError


class TestWhereAnImageGoes:
    """What could only fail at the end is refused at the beginning; no engine is asked."""

    @pytest.mark.parametrize("reference", ["team", "Foo Bar", "127.0.0.1:1/Team/tools"])
    def test_a_reference_that_is_none_is_refused(self, order: Order, reference: str) -> None:
        with pytest.raises(UsageError):
            docker.build(replace(order, push=reference))

    def test_a_file_is_no_layout(self, order: Order, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(LayoutError, match="is not a folder"):
            docker.build(replace(order, out=tmp_path / "file"))

    def test_a_folder_is_no_archive(self, order: Order, tmp_path: Path) -> None:
        (tmp_path / "folder.tar").mkdir()
        with pytest.raises(UsageError, match="an archive of the engine is a file"):
            docker.build(replace(order, out=tmp_path / "folder.tar"))


class TestWhatARegistryHasThen:
    """Podman does not say by which digest it has pushed: the registry is asked."""

    def test_it_is_the_manifest_of_the_image_that_was_pushed(self, tmp_path: Path) -> None:
        source = layout.open_source(str(layouts.image(tmp_path / "layout", [layouts.file("a")])))
        found = describe(source, "linux/amd64")
        said = docker.arrived(source, "linux/amd64", found.config.digest)
        assert said == source.manifest("linux/amd64")[0].digest

    def test_another_image_by_that_name_is_not_taken_for_it(self, tmp_path: Path) -> None:
        source = layout.open_source(str(layouts.image(tmp_path / "layout", [layouts.file("a")])))
        with pytest.raises(EngineError, match="which was pushed"):
            docker.arrived(source, "linux/amd64", f"sha256:{'0' * 64}")
