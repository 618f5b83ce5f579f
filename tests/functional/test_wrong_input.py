"""Every wrong file, address, reference or option ends with one clear line and the right status."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from mxenv.cli._front import FRONT

if TYPE_CHECKING:
    from collections.abc import Iterator


def mxenv(*arguments: str, **variables: str) -> Result:
    return CliRunner(env=variables).invoke(FRONT, arguments)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    """A folder to be in, with one of each wrong file."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.txt").write_text("not anything\n", encoding="utf-8")
    (tmp_path / "broken.json").write_text('{"schema": "mxenv.snapshot/1", ', encoding="utf-8")
    (tmp_path / "other.json").write_text('{"schema": "mxenv.snapshot/9"}', encoding="utf-8")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "pylock.broken.toml").write_text("lock-version = \n", encoding="utf-8")
    (tmp_path / "pylock.plain.toml").write_text(
        'lock-version = "1.0"\ncreated-by = "somebody"\npackages = []\n', encoding="utf-8"
    )
    (tmp_path / "image.toml").write_text('schema = "mxenv.image/1"\nnam = "x"\n', encoding="utf-8")
    (tmp_path / "matrix.toml").write_text("[[rul]]\n", encoding="utf-8")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "rec").mkdir()
    (tmp_path / "rec/recording.toml").write_text("schema = 1\n", encoding="utf-8")
    (tmp_path / "bad.tar.gz").write_bytes(b"not gzip")
    with contextlib.chdir(tmp_path):
        yield tmp_path


WRONG = {
    # what is typed: (status, what the line must hold)
    "": (2, "a command is missing"),
    "chek": (2, "no command 'chek'"),
    "--fromat json check": (2, "--fromat"),
    "--format yaml check": (2, "no format 'yaml'"),
    "--format sarif probe": (2, "has no format 'sarif'"),
    "check --format yaml": (2, "yaml"),
    "check a.json b.json": (2, "b.json"),
    "check a.json --on local:": (2, "--on"),
    # Or it would say of an old lock that it is fresh.
    "lock image.toml --check --upgrade": (2, "--check asks no index"),
    "lock image.toml --check --upgrade-package x": (2, "--check asks no index"),
    "check missing.json": (2, "missing.json: there is no such file"),
    "check broken.json": (5, "broken.json"),
    "check other.json": (5, "other.json"),
    "check binary.json": (5, "binary.json"),
    "check empty": (5, "empty"),
    # A pipe may never say anything, and a device never end.
    "check pipe": (5, "pipe: cannot be read: not a file"),
    "check /dev/zero": (5, "/dev/zero: cannot be read: not a file"),
    "check --matrix pipe": (5, "pipe: cannot be read: not a file"),
    "check --matrix empty": (5, "empty: cannot be read: is a directory"),
    "lock pipe": (5, "pipe: cannot be read: not a file"),
    "lock /dev/zero": (5, "/dev/zero: cannot be read: not a file"),
    "fetch pipe": (5, "pipe: cannot be read: not a file"),
    "verify pipe": (5, "pipe: cannot be read: not a file"),
    "build pipe --out x": (5, "pipe: cannot be read: not a file"),
    # Nor is either replaced by what would be written.
    "probe --out pipe": (2, "pipe: cannot be written: is there and not a file"),
    "record --out pipe": (2, "pipe: is there and not a folder"),
    f"record --out {'x' * 300}": (2, "cannot be written: file name too long"),
    f"check --on recording:{'x' * 300}": (5, "cannot be read: file name too long"),
    "check --on nowhere:": (2, "nowhere"),
    "check --on recording:missing": (2, "missing"),
    "check --on recording:rec": (5, "rec"),
    "check --on recording:bad.tar.gz": (5, "bad.tar.gz"),
    "check --on root:missing": (2, "missing"),
    "check --on oci:empty": (5, "empty"),
    "check --on image:": (2, "names no registry"),
    "check --on image:127.0.0.1:1/no/such:1": (6, "127.0.0.1:1"),
    "check broken.json --matrix missing.toml": (5, "broken.json"),
    "probe --on nowhere:": (2, "nowhere"),
    "probe --on local: --out empty": (2, "empty"),
    "probe --on local: --out text.txt/x.json": (2, "text.txt"),
    "record": (2, "--out"),
    "record --out empty --on nowhere:": (2, "nowhere"),
    "record --out text.txt --on recording:rec": (2, "text.txt"),
    "diff broken.json": (2, "'B'"),
    "diff broken.json other.json": (5, "broken.json"),
    "lock": (2, "IMAGE_TOML"),
    "lock missing.toml": (5, "missing.toml"),
    "lock image.toml": (5, "image.toml"),
    "lock image.toml --check": (5, "image.toml"),
    "lock image.toml --out wrong-name.toml": (5, "image.toml"),
    "fetch missing.toml": (5, "missing.toml"),
    "fetch pylock.broken.toml": (5, "pylock.broken.toml"),
    "fetch pylock.plain.toml": (5, "pylock.plain.toml"),
    "fetch empty": (5, "empty"),
    "build missing.toml": (5, "missing.toml"),
    "build pylock.broken.toml": (5, "pylock.broken.toml"),
    "build pylock.plain.toml --engine podman": (2, "podman"),
    "build pylock.plain.toml --out x --push y": (2, "--push"),
    "verify missing.toml": (5, "missing.toml"),
    "verify pylock.broken.toml": (5, "pylock.broken.toml"),
    "gate": (2, "nothing to judge"),
    "gate empty": (2, "nothing to judge"),
    "gate missing": (2, "missing"),
    "gate text.txt": (2, "text.txt"),
    "gate broken.json": (5, "broken.json"),
    "gate pylock.broken.toml": (5, "pylock.broken.toml"),
    "gate image.toml": (5, "image.toml"),
    "gate rec": (5, "rec"),
    "gate --matrix matrix.toml": (5, "matrix.toml"),
    "gate --matrix missing.toml": (5, "missing.toml"),
    "matrix": (2, "a command is missing"),
    "matrix why no-such-row": (2, "no-such-row"),
    "matrix show --matrix missing.toml": (5, "missing.toml"),
    "explain MX999": (2, "MX999"),
    "completion tcsh": (2, "tcsh"),
    "demo": (2, "there is no images/demo here"),
}


@pytest.mark.parametrize("typed", WRONG)
@pytest.mark.usefixtures("here")
def test_what_is_wrong_is_said_in_one_line_with_the_right_status(typed: str) -> None:
    status, said = WRONG[typed]
    result = mxenv(*typed.split())
    assert (result.exit_code, result.stdout) == (status, "")
    lines = result.stderr.splitlines()
    assert lines[0].startswith("error: ")
    assert said in lines[0]
    assert all(line.startswith(" hint: ") for line in lines[1:])
    assert len(lines) <= 2
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("here")
def test_a_misspelt_variable_value_is_refused_like_an_option() -> None:
    result = mxenv("check", MXENV_CHECK_FORMAT="yaml")
    assert result.exit_code == 2
    assert "yaml" in result.stderr


@pytest.mark.usefixtures("powerless")
def test_a_file_that_may_not_be_read_is_named(here: Path) -> None:
    (here / "secret.json").write_text("{}", encoding="utf-8")
    (here / "secret.json").chmod(0)
    result = mxenv("check", "secret.json")
    assert result.exit_code == 5
    assert "secret.json" in result.stderr


@pytest.mark.parametrize(
    "typed",
    [
        "lock {}",
        "fetch {}",
        "build {} --check",
        "verify {} --on local:",
        "gate {}",
        "lock-export {}",
        "lock-merge {} {} {}",
        "check local: --matrix {}",
    ],
)
@pytest.mark.usefixtures("powerless")
def test_a_file_that_may_not_be_read_is_no_wrong_option(here: Path, typed: str) -> None:
    """What is wrong with a file has one status, whichever way the command was given it."""
    (here / "pylock.plain.toml").chmod(0)
    result = mxenv(*typed.format(*["pylock.plain.toml"] * 3).split())
    assert result.exit_code == 5
    assert result.stderr.startswith("error: pylock.plain.toml: cannot be read: permission denied\n")


@pytest.mark.parametrize(
    ("typed", "said", "advice"),
    [
        ("fetch image.toml", "image.toml: is an image description, and no lock", "`mxenv lock "),
        ("build image.toml", "image.toml: is an image description, and no lock", "`mxenv lock "),
        (
            "fetch pylock.plain.toml",
            "pylock.plain.toml: is a lock, and none of mxenv",
            "mxenv lock",
        ),
        ("diff pylock.plain.toml pylock.plain.toml", "pylock.plain.toml: is a lock, and", "mxenv"),
        ("lock pylock.plain.toml", "pylock.plain.toml: is a lock, and no image", "image.toml"),
        ("lock empty", "empty: cannot be read: is a directory", "images/NAME/image.toml"),
    ],
)
@pytest.mark.usefixtures("here")
def test_a_file_of_the_other_kind_is_called_by_its_name(typed: str, said: str, advice: str) -> None:
    result = mxenv(*typed.split())
    assert result.exit_code == 5
    assert result.stderr.startswith(f"error: {said}")
    assert advice in result.stderr.partition("hint: ")[2]


@pytest.mark.parametrize("typed", ["lock {}", "lock {} --check", "gate {}"])
def test_a_description_that_git_could_not_merge_says_so(here: Path, typed: str) -> None:
    text = 'name = "x"\n<<<<<<< HEAD\nbase = "a"\n=======\nbase = "b"\n>>>>>>> theirs\n'
    (here / "image.toml").write_text(text)
    result = mxenv(*typed.format("image.toml").split())
    assert result.exit_code == 5
    said, hint = result.stderr.splitlines()
    assert said == "error: image.toml: line 2: a conflict that nobody solved"
    assert hint.endswith("then run `mxenv lock`")


@pytest.mark.usefixtures("here")
def test_nothing_is_written_when_something_is_wrong() -> None:
    before = sorted(Path().rglob("*"))
    for typed in WRONG:
        mxenv(*typed.split())
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize("name", ["x\x1b[31m.json", "x\ny.json", "x" * 5000, "\udcff.json"])
@pytest.mark.usefixtures("here")
def test_no_name_of_a_file_breaks_the_line(name: str) -> None:
    for command in ("check", "gate", "fetch", "lock"):
        result = mxenv(command, name)
        assert result.exit_code in {2, 5}
        assert "\x1b" not in result.stderr
        assert [line[:7] for line in result.stderr.splitlines()] in (
            ["error: "],
            ["error: ", " hint: "],
        )
