"""Locks merged by git itself, with mxenv as its merge driver, and by hand."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import _index
import _locked
import pytest

from mxenv import lock as locks
from mxenv.api.project import read_lock
from mxenv.lock import UNRESOLVED, Lock

MXENV = Path(sys.executable).with_name("mxenv")
LOCK = Path("lockfiles/pylock.small.toml")
DRIVER = f"{shlex.quote(str(MXENV))} lock-merge --name %P %O %A %B"
IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"

[python]
version = "3.11"
requires = [
    "mx-one",
    "mx-two",
    "mx-three",
]

[variables]
A = "1"
"""


def package(name: str, version: str, sha256: str = "a") -> locks.Package:
    file = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    return locks.Package(
        name=name, version=version, wheel=locks.Wheel(name=file, sha256=sha256 * 64)
    )


BASE = Lock(
    name="small",
    inputs="sha256:" + "1" * 64,
    accelerator="none",
    base=locks.Base(reference="scratch"),
    target=_locked.SCRATCH,
    packages=(package("one", "1"), package("two", "1")),
    requires=("one", "two"),
)
NEWER_ONE = replace(BASE, packages=(package("one", "2"), package("two", "1")))
OTHER_ONE = replace(BASE, packages=(package("one", "3"), package("two", "1")))
NEWER_TWO = replace(BASE, packages=(package("one", "1"), package("two", "2")))


class Repository:
    """A repository in which mxenv merges locks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        nowhere = str(root.parent / "no-configuration")
        self.environ = {
            **os.environ,
            "GIT_CONFIG_GLOBAL": nowhere,
            "GIT_CONFIG_SYSTEM": nowhere,
            "HOME": str(root.parent),
        }
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "t")
        self.git("config", "user.email", "t@example.org")
        self.git("config", "merge.mxenv-lock.name", "mxenv")
        self.git("config", "merge.mxenv-lock.driver", DRIVER)
        self.git("config", "merge.mxenv-lock.recursive", "binary")
        (root / ".gitattributes").write_text("pylock.*.toml merge=mxenv-lock text eol=lf\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "attributes")

    def git(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, f"{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def commit(self, text: str | Lock, message: str = "x") -> None:
        written = text if isinstance(text, str) else locks.render(text)
        # git takes folders away that it empties.
        (self.root / LOCK).parent.mkdir(exist_ok=True)
        (self.root / LOCK).write_text(written)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def branch(self, name: str, start: str = "main") -> None:
        self.git("checkout", "-q", "-b", name, start)

    @property
    def text(self) -> str:
        return (self.root / LOCK).read_text()

    @property
    def unmerged(self) -> bool:
        return bool(self.git("ls-files", "--unmerged"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


def two_branches(
    repository: Repository, base: str | Lock, ours: str | Lock, theirs: str | Lock
) -> None:
    repository.commit(base)
    repository.branch("theirs")
    repository.commit(theirs)
    repository.git("checkout", "-q", "main")
    repository.commit(ours)


class TestGitMerges:
    def test_packages_of_both_branches(self, repository: Repository) -> None:
        two_branches(repository, BASE, NEWER_ONE, NEWER_TWO)
        said = repository.git("merge", "theirs", "-m", "both")
        merged = read_lock(repository.root / LOCK)
        assert [p.version for p in merged.packages] == ["2", "2"]
        assert merged.inputs == UNRESOLVED
        assert "lockfiles/pylock.small.toml" in said
        assert "stale: what was resolved on each side was never resolved together" in said
        build = [MXENV, "build", LOCK]
        done = subprocess.run(
            build, cwd=repository.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "tool.mxenv.inputs: two locks were merged into it" in done.stderr
        assert not repository.unmerged
        assert repository.git("status", "--porcelain") == ""

    def test_a_conflict_is_named_and_left_to_decide(self, repository: Repository) -> None:
        two_branches(repository, BASE, NEWER_ONE, OTHER_ONE)
        said = repository.git("merge", "theirs", "-m", "both", status=1)
        assert "packages.one: 2 (ours), 3 (theirs), 1 before" in said
        assert repository.unmerged
        assert "<<<<<<< ours" in repository.text
        assert ".merge_file" not in said
        done = subprocess.run(
            [MXENV, "fetch", LOCK], cwd=repository.root, capture_output=True, text=True, check=False
        )
        assert done.returncode == 5
        assert "pylock.small.toml: line " in done.stderr
        assert "a conflict that nobody solved" in done.stderr

    def test_what_only_one_branch_changed_without_a_word(self, repository: Repository) -> None:
        both = replace(BASE, variables=(("A", "1"),))
        two_branches(repository, BASE, NEWER_ONE, NEWER_ONE)
        repository.branch("later")
        repository.commit(replace(NEWER_ONE, variables=both.variables))
        repository.git("checkout", "-q", "main")
        repository.git("merge", "later", "-m", "later")
        assert read_lock(repository.root / LOCK).variables == both.variables

    def test_a_lock_that_both_branches_added(self, repository: Repository) -> None:
        repository.branch("theirs")
        repository.commit(NEWER_TWO)
        repository.git("checkout", "-q", "main")
        repository.commit(replace(NEWER_TWO, host=("os.id == debian",)))
        repository.git("merge", "theirs", "-m", "both")
        assert read_lock(repository.root / LOCK).host == ("os.id == debian",)

    def test_in_a_rebase(self, repository: Repository) -> None:
        two_branches(repository, BASE, NEWER_ONE, NEWER_TWO)
        repository.git("checkout", "-q", "theirs")
        repository.git("rebase", "main")
        merged = read_lock(repository.root / LOCK)
        assert [p.version for p in merged.packages] == ["2", "2"]

    @pytest.mark.parametrize(
        "rubbish",
        ["", "not TOML", "a = 1\n", "<<<<<<< HEAD\n=======\n>>>>>>> x\n", "schema = 2\n\0"],
    )
    def test_no_branch_that_has_no_lock(self, repository: Repository, rubbish: str) -> None:
        two_branches(repository, BASE, NEWER_ONE, rubbish)
        said = repository.git("merge", "theirs", "-m", "both", status=1)
        assert "error: " in said
        assert repository.unmerged
        # git keeps ours in the work tree, and the index says that nobody decided.
        assert repository.text == locks.render(NEWER_ONE)

    def test_a_whole_project_that_is_then_locked_anew(
        self, repository: Repository, tmp_path: Path
    ) -> None:
        """Both branches ask for more; the versions that were locked stay, and all is fresh."""
        links = tmp_path / "links"
        for name in ("mx-one", "mx-two", "mx-three", "mx-four", "mx-five"):
            _index.wheel(links, name, "1.0")
        image = repository.root / "images" / "small" / "image.toml"
        image.parent.mkdir(parents=True)

        def mxenv(*words: str, status: int = 0) -> str:
            done = subprocess.run(
                [MXENV, *words, "images/small/image.toml"],
                cwd=repository.root,
                env={**repository.environ, "UV_NO_INDEX": "1", "UV_FIND_LINKS": str(links)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == status, done.stderr
            return done.stdout

        def lock(text: str) -> None:
            image.write_text(text)
            mxenv("lock")
            repository.git("add", "-A")
            repository.git("commit", "-q", "-m", "lock")

        lock(IMAGE)
        repository.branch("theirs")
        lock(IMAGE.replace('"mx-three",', '"mx-three",\n    "mx-four",'))
        repository.git("checkout", "-q", "main")
        lock(IMAGE.replace('    "mx-one",', '    "mx-five",\n    "mx-one",'))
        repository.git("merge", "theirs", "-m", "both")

        # Nobody asked for this one, and newer versions are no reason to take them.
        _index.wheel(links, "mx-five", "2.0")
        said = mxenv("lock", "--check", status=1)
        assert "two locks were merged into it, and the whole was not resolved since" in said
        mxenv("lock")
        mxenv("lock", "--check")
        found = {p.name: p.version for p in read_lock(repository.root / LOCK).packages}
        assert found == dict.fromkeys(["mx-one", "mx-two", "mx-three", "mx-four", "mx-five"], "1.0")


def written(folder: Path, **texts: str | Lock) -> list[str]:
    for name, text in texts.items():
        content = text if isinstance(text, str) else locks.render(text)
        (folder / f"pylock.{name}.toml").write_text(content)
    return [f"pylock.{name}.toml" for name in texts]


def merge(folder: Path, *words: str, status: int) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [MXENV, "lock-merge", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    return done


class TestByHand:
    def test_the_result_may_go_elsewhere(self, tmp_path: Path) -> None:
        names = written(tmp_path, base=BASE, ours=NEWER_ONE, theirs=BASE)
        done = merge(tmp_path, *names, "--out", "pylock.new.toml", status=0)
        assert done.stdout.splitlines()[1] == "state  clean"
        assert read_lock(tmp_path / "pylock.new.toml") == NEWER_ONE
        assert (tmp_path / "pylock.ours.toml").read_text() == locks.render(NEWER_ONE)

    def test_for_programs_each_conflict_has_its_fields(self, tmp_path: Path) -> None:
        names = written(tmp_path, base=BASE, ours=NEWER_ONE, theirs=OTHER_ONE)
        said = json.loads(merge(tmp_path, *names, "--format", "json", status=1).stdout)
        assert said == {
            "schema": "mxenv.merged/1",
            "lock": "pylock.ours.toml",
            "state": "conflicts",
            "conflicts": [{"place": "packages.one", "before": "1", "ours": "2", "theirs": "3"}],
            "notes": [],
        }

    @pytest.mark.parametrize("bad", ["base", "ours", "theirs"])
    def test_what_is_no_lock_is_named_and_nothing_is_written(
        self, tmp_path: Path, bad: str
    ) -> None:
        texts = {"base": BASE, "ours": NEWER_ONE, "theirs": NEWER_TWO, bad: "<<<<<<< x\n"}
        names = written(tmp_path, **texts)
        before = (tmp_path / "pylock.ours.toml").read_bytes()
        done = merge(tmp_path, *names, status=5)
        assert f"pylock.{bad}.toml: line 1: a conflict that nobody solved" in done.stderr
        assert (tmp_path / "pylock.ours.toml").read_bytes() == before
        assert sorted(p.name for p in tmp_path.iterdir()) == sorted(names)

    def test_an_origin_that_is_not_there_is_none_that_is_empty(self, tmp_path: Path) -> None:
        _, *names = written(tmp_path, base="", ours=NEWER_ONE, theirs=NEWER_ONE)
        merge(tmp_path, "pylock.base.toml", *names, status=0)
        merge(tmp_path, "pylock.gone.toml", *names, status=5)

    def test_a_lock_with_conflicts_is_locked_anew_from_our_side(self, tmp_path: Path) -> None:
        links = tmp_path / "links"
        for version in ("1", "2", "3"):
            _index.wheel(links, "mx-one", version)
        image = tmp_path / "image.toml"
        image.write_text(IMAGE.replace('    "mx-two",\n    "mx-three",\n', ""))
        (tmp_path / "lockfiles").mkdir()
        ours, theirs, base = (
            replace(BASE, packages=(package("mx-one", version),)) for version in "213"
        )
        names = written(tmp_path / "lockfiles", base=base, small=ours, theirs=theirs)
        merge(tmp_path / "lockfiles", *names, status=1)
        command = [MXENV, "lock", "image.toml", "--find-links", "links"]
        environ = {**os.environ, "UV_NO_INDEX": "1"}
        subprocess.run(command, cwd=tmp_path, env=environ, check=True, capture_output=True)
        (locked,) = read_lock(tmp_path / LOCK).packages
        assert locked.version == "2"
