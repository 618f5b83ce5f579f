"""Every locked image of the repository has a Containerfile beside it, rendered from its lock."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _locked import scratch_lock, write_lock
from click.testing import CliRunner

from mxenv.api import rendering
from mxenv.cli import _progress
from mxenv.cli._front import FRONT

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
LOCKED = sorted(path.name.split(".")[1] for path in (ROOT / "lockfiles").glob("pylock.*.toml"))


def test_there_is_one() -> None:
    assert "demo" in LOCKED


@pytest.mark.parametrize("name", LOCKED)
def test_a_containerfile_is_what_the_lock_says(
    name: str, golden: Callable[[str, str], None]
) -> None:
    text = rendering.render(ROOT / "lockfiles" / f"pylock.{name}.toml")
    golden(f"images/{name}/Containerfile", text)


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return write_lock(tmp_path, scratch_lock(tmp_path))


def run(lock: Path, *words: object, **environ: str) -> tuple[int, str, str]:
    environment = {"MXENV_CACHE_DIR": str(lock.parent / "cache"), "MXENV_CONFIG": "", **environ}
    done = CliRunner().invoke(FRONT, ["build", *map(str, (lock, *words))], env=environment)
    return done.exit_code, done.stdout, done.stderr


def test_it_is_printed_or_written(lock: Path, tmp_path: Path) -> None:
    status, printed, _ = run(lock, "--render")
    assert (status, printed) == (0, rendering.render(lock))
    out = tmp_path / "out" / "Containerfile"
    assert run(lock, "--render", "--out", out) == (0, "", "")
    assert out.read_text() == printed


def test_a_context_holds_what_is_needed_and_nothing_else(lock: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    out, again = tmp_path / "context.tar", tmp_path / "again.tar"
    for path in (out, again):
        assert run(lock, "--render", "--out", path)[0] == 0
    assert out.read_bytes() == again.read_bytes()
    with tarfile.open(out) as tar:
        members = tar.getmembers()
        (file,) = (tar.extractfile(m) for m in members if m.name == "Containerfile")
        assert file is not None
        assert file.read().decode() == rendering.render(lock)
    assert {(m.uid, m.gid, m.mtime) for m in members} == {(0, 0, 315532800)}
    assert [m.name for m in members if m.isfile()] == [
        "Containerfile",
        "layers/1.tar.gz",
        "layers/2.tar.gz",
        "mxenv/share/lock/pylock.small.toml",
        "mxenv/share/start-gate",
        "mxenv/share/verdict.json",
    ]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--engine", "docker", "--with-base"), "--with-base is for a layout"),
        (("--render", "--with-base"), "--with-base is for a layout"),
        (("--network", "host"), "nothing is run here"),
        (("--render", "--network", "host"), "nothing is run here"),
        (("--engine", "docker", "--sign", "key.pem"), "stays in the engine has no place for a"),
        (("--engine", "docker", "--sign", "key.pem", "--out", "a.tar"), "in an archive has no"),
    ],
)
def test_what_would_be_left_undone_in_silence_is_refused(
    lock: Path, more: tuple[str, ...], said: str
) -> None:
    status, _, complaint = run(lock, *more)
    assert (status, said in complaint) == (2, True), complaint


def test_what_all_builds_are_given_may_mean_nothing_to_one(lock: Path, tmp_path: Path) -> None:
    """Defaults in a file are for those builds that can."""
    defaults = tmp_path / "config.toml"
    defaults.write_text('[options.build]\nnetwork = "host"\n')
    status, out, complaint = run(lock, "--render", MXENV_CONFIG=str(defaults))
    assert (status, "FROM scratch" in out) == (0, True), complaint


class TestTheStepsOfAnEngine:
    """They are told where no terminal is, too: a log that says nothing says not where it hangs."""

    @pytest.mark.parametrize(
        ("verbose", "said"), [(False, "Step 1/1 : RUN a\n"), (True, "Step 1/1 : RUN a\n a says\n")]
    )
    def test_a_log_has_each_step_and_if_wanted_what_is_said_in_it(
        self, capsys: pytest.CaptureFixture[str], *, verbose: bool, said: str
    ) -> None:
        with _progress.steps_done(quiet=False, verbose=verbose) as told:
            assert told is not None
            told("Step 1/1 : RUN a")
            told(" a says")
        assert capsys.readouterr() == ("", said)

    def test_who_wants_silence_is_told_nothing(self) -> None:
        with _progress.steps_done(quiet=True, verbose=True) as told:
            assert told is None


@pytest.mark.parametrize("more", [("--check",), ("--push", "127.0.0.1:1/a")])
def test_who_renders_builds_nothing(lock: Path, more: tuple[str, ...]) -> None:
    status, _, said = run(lock, "--render", *more)
    assert (status, "--render builds nothing" in said) == (2, True)
