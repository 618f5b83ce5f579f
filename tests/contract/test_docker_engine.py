"""What a container engine is given, and what the programs in it do, without an engine."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _locked import debian_lock, dist_info
from _wheels import Made

from mxenv import image_programs, rendering
from mxenv import lock as locks
from mxenv.engines import Order, _context
from mxenv.engines._conversation import Conversation
from mxenv.engines._wheel import opened
from mxenv.errors import EngineError, LockError, UsageError, WheelError
from mxenv.image import AddedFile

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


class TestWhatAnEngineSays:
    """A failed step is told with its last words, and what it left is taken away."""

    def test_a_failed_step_is_named_with_its_last_words(self) -> None:
        told: list[str] = []
        conversation = Conversation(api=None, told=told.append)
        with pytest.raises(EngineError) as caught:
            conversation.image_of([*STEP, {"error": "returned a non-zero code: 2"}])
        assert caught.value.context == "Step 2/9 : RUN make it"
        assert caught.value.message == ("returned a non-zero code: 2; its last words: one | two")
        assert told == ["Step 2/9 : RUN make it"]

    def test_an_engine_that_names_no_image_made_none(self) -> None:
        with pytest.raises(EngineError, match="names no image"):
            Conversation(api=None, told=None).image_of(STEP)
