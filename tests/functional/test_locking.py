"""Locks made from image descriptions, on wheels and bases that the tests make themselves."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import _index
import _layouts
import _locked
import _metax_base
import jsonschema
import pytest
from packaging.pylock import Pylock

from mxenv import lock as locks
from mxenv.api import building, checking, locking, nodes, verifying
from mxenv.api.project import lock_path, read_image, read_lock
from mxenv.errors import (
    ImageError,
    Incompatible,
    LayoutError,
    LockError,
    MxenvError,
    RegistryError,
    UsageError,
)
from mxenv.lock import Built
from mxenv.question import File, Found, Glob
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.api.locking import LockResult

ROOT = Path(__file__).parent.parent.parent
MXENV = Path(sys.executable).with_name("mxenv")
TODAY = date(2026, 11, 30)
SCRATCH = """\
schema = "mxenv.image/1"
name = "small"
base = "scratch"
accelerator = "none"
[python]
version = "3.11"
requires = ["mx-app"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one image, and a folder of wheels beside it."""
    links = tmp_path / "links"
    _index.wheel(links, "mx-app", requires=["mx-lib >=1"], script="mx-app")
    _index.wheel(links, "mx-lib", "1.0")
    image = tmp_path / "images" / "small"
    image.mkdir(parents=True)
    (image / "image.toml").write_text(SCRATCH)
    return tmp_path


def lock(project: Path, **options: object) -> LockResult:
    how = {"find_links": (str(project / "links"),), "no_index": True, **options}
    snapshot, out = how.pop("snapshot", None), how.pop("out", None)
    return locking.lock(
        project / "images" / "small" / "image.toml",
        out=out,
        snapshot=snapshot,
        matrix=checking.load_matrix(),
        today=TODAY,
        options=locking.Options(**how),
    )


def describe(project: Path, before: str, after: str) -> None:
    path = project / "images" / "small" / "image.toml"
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def plain(document: object) -> object:
    """Return TOML as JSON has it."""
    return json.loads(json.dumps(document, default=lambda day: day.isoformat()))


def schema(name: str) -> dict:
    return json.loads((resources.files("mxenv") / "schemas" / f"{name}.schema.json").read_text())


class TestOnScratch:
    def test_the_lock_lies_in_lockfiles_beside_images(self, project: Path) -> None:
        result = lock(project)
        assert result.path == project / "lockfiles" / "pylock.small.toml"
        assert result.changed
        assert [p.name for p in result.lock.packages] == ["mx-app", "mx-lib"]

    def test_it_is_a_pylock_file_and_obeys_its_schema(self, project: Path) -> None:
        document = tomllib.loads(lock(project).path.read_text())
        Pylock.from_dict(document)
        jsonschema.validate(plain(document), schema("lock"))

    def test_locking_again_changes_nothing(self, project: Path) -> None:
        before = lock(project).path.read_bytes()
        again = lock(project)
        assert not again.changed
        assert again.path.read_bytes() == before

    def test_a_new_version_changes_nothing_until_it_is_asked_for(self, project: Path) -> None:
        lock(project)
        _index.wheel(project / "links", "mx-lib", "2.0")
        assert [p.version for p in lock(project).lock.packages] == ["1.0", "1.0"]
        assert [p.version for p in lock(project, upgrade=True).lock.packages] == ["1.0", "2.0"]

    def test_the_digest_of_the_image_stays_while_the_lock_does(self, project: Path) -> None:
        made = lock(project)
        digest = "sha256:" + "1" * 64
        built = replace(made.lock, built=Built(config=digest, manifest=digest, layers=(digest,)))
        made.path.write_text(locks.render(built))
        assert lock(project).lock == built
        describe(project, '"mx-app"', '"mx-lib"')
        assert lock(project).lock.built is None

    def test_the_lock_names_neither_the_folder_nor_the_index(self, project: Path) -> None:
        text = lock(project).path.read_text()
        assert str(project) not in text
        assert "://" not in text

    def test_a_damaged_lock_is_made_anew(self, project: Path) -> None:
        path = lock(project).path
        good = path.read_bytes()
        path.write_bytes(good[: len(good) * 9 // 10])
        assert lock(project).changed
        assert path.read_bytes() == good

    def test_another_file_in_the_way_is_kept(self, project: Path) -> None:
        path = project / "pylock.other.toml"
        path.write_text('lock-version = "1.0"\n')
        with pytest.raises(UsageError, match="is no lock of mxenv"):
            lock(project, out=path)
        assert path.read_text() == 'lock-version = "1.0"\n'

    def test_a_lock_is_called_as_pep_751_has_it(self, project: Path) -> None:
        with pytest.raises(UsageError, match="is no lockfile's name"):
            lock(project, out=project / "small.lock")

    def test_an_image_without_a_folder_called_images_is_its_own_project(
        self, project: Path
    ) -> None:
        alone = project / "alone"
        alone.mkdir()
        (alone / "image.toml").write_text(SCRATCH)
        assert lock_path(alone / "image.toml") == alone / "lockfiles" / "pylock.small.toml"

    def test_a_file_is_locked_by_its_content(self, project: Path) -> None:
        source = project / "images" / "small" / "a.sh"
        source.write_text("#!/bin/sh\n")
        describe(project, "[python]", '[[files]]\nsource = "a.sh"\ntarget = "/a.sh"\n[python]')
        ((file, sha256),) = lock(project).lock.files
        assert (file.source, sha256) == ("a.sh", _index.sha256(source))


class TestWhatIsRefusedWritesNothing:
    @pytest.mark.parametrize(
        ("before", "after", "kind", "message"),
        [
            ('"mx-app"', '"mx-nowhere"', MxenvError, "mx-nowhere"),
            ('"mx-app"', '"mx-app >=2"', Incompatible, r"image\.toml: python\.requires: .*mx-app"),
            ('"none"', '"metaxx"', ImageError, r"accelerator: 'metaxx' is not known"),
            ("[python]", "[pyhton]", ImageError, "pyhton: unknown field"),
            ('"scratch"', '"oci:nowhere"', LayoutError, "nowhere"),
            ('"scratch"', '"127.0.0.1:1/a/b:1"', RegistryError, r"127\.0\.0\.1:1"),
            (
                "[python]",
                '[[files]]\nsource = "no"\ntarget = "/a"\n[python]',
                ImageError,
                r"files\[0\]\.source: there is no file 'no'",
            ),
            (
                "[python]",
                '[host]\nrequires = ["metax.kdm >= 3"]\n[python]',
                ImageError,
                r"host\.requires\[0\]: no probe declares the fact 'metax\.kdm'",
            ),
        ],
    )
    def test_a_wrong_description(
        self, project: Path, before: str, after: str, kind: type[MxenvError], message: str
    ) -> None:
        describe(project, before, after)
        with pytest.raises(kind, match=message) as caught:
            lock(project)
        assert len(str(caught.value).splitlines()) == 1
        assert not (project / "lockfiles").exists()

    def test_a_file_that_is_a_link_out_of_its_folder(self, project: Path) -> None:
        (project / "secret").write_text("x")
        (project / "images" / "small" / "a").symlink_to("../../secret")
        describe(project, "[python]", '[[files]]\nsource = "a"\ntarget = "/a"\n[python]')
        with pytest.raises(ImageError, match=r"files\[0\]\.source: 'a' is a link out of"):
            lock(project)

    def test_a_file_that_is_a_loop_of_links(self, project: Path) -> None:
        (project / "images" / "small" / "a").symlink_to("a")
        describe(project, "[python]", '[[files]]\nsource = "a"\ntarget = "/a"\n[python]')
        with pytest.raises(ImageError, match=r"files\[0\]\.source: there is no file 'a'"):
            lock(project)

    def test_a_requirement_of_two_lines(self, project: Path) -> None:
        describe(project, "[python]", '[host]\nrequires = ["metax.kmd >= 3\\nx"]\n[python]')
        with pytest.raises(ImageError, match=r"host\.requires\[0\]: .* cannot be printed"):
            lock(project)

    def test_a_description_that_is_no_text(self, project: Path) -> None:
        (project / "images" / "small" / "image.toml").write_bytes(b"\xff\xfe")
        with pytest.raises(ImageError, match="not UTF-8 at byte 0"):
            lock(project)

    def test_a_description_that_nobody_wrote(self, project: Path) -> None:
        with (project / "images" / "small" / "image.toml").open("wb") as file:
            file.truncate(1 << 30)
        with pytest.raises(ImageError, match="larger than 16 MiB"):
            lock(project)

    def test_a_description_that_is_not_there(self, project: Path) -> None:
        (project / "images" / "small" / "image.toml").unlink()
        with pytest.raises(ImageError, match="cannot be read: no such file"):
            lock(project)

    def test_a_folder_that_cannot_be_written(self, project: Path) -> None:
        (project / "lockfiles").write_text("a file")
        with pytest.raises(UsageError, match="cannot be written"):
            lock(project)


def test_ctrl_c_ends_the_resolver_and_leaves_nothing(project: Path) -> None:
    """An index that takes the connection and says nothing holds the resolver up."""
    temporary = project / "tmp"
    temporary.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/simple"
        command = [MXENV, "lock", "images/small/image.toml", "--index", url]
        with subprocess.Popen(
            command,
            cwd=project,
            env={**os.environ, "TMPDIR": str(temporary), "UV_DEFAULT_INDEX": url},
            stderr=subprocess.PIPE,
        ) as process:
            connection, _ = server.accept()
            with connection:
                process.send_signal(signal.SIGINT)
                assert process.wait(30) == 130
                connection.settimeout(30)
                while connection.recv(1 << 16):
                    """What the resolver asked before it was ended."""
            assert b"Traceback" not in (process.stderr.read() if process.stderr else b"")
    assert list(temporary.iterdir()) == []
    assert not (project / "lockfiles").exists()


class TestStale:
    def test_a_lock_that_was_just_made_is_fresh(self, project: Path) -> None:
        result = lock(project)
        assert locking.stale(project / "images" / "small" / "image.toml", result.path) == ()

    def test_a_lock_of_another_wish_says_which(self, project: Path) -> None:
        path = lock(project).path
        describe(project, '"mx-app"', '"mx-app", "mx-lib <2"')
        (reason,) = locking.stale(project / "images" / "small" / "image.toml", path)
        assert reason == "python.requires now has mx-lib <2"

    def test_a_lock_that_is_not_there_is_stale(self, project: Path) -> None:
        gone = project / "pylock.gone.toml"
        (reason,) = locking.stale(project / "images" / "small" / "image.toml", gone)
        assert reason == f"{gone} is missing"

    def test_reading_a_lock_that_is_not_there_says_what_to_do(self, project: Path) -> None:
        with pytest.raises(LockError) as caught:
            read_lock(project / "pylock.gone.toml")
        assert caught.value.hint == "run `mxenv lock` first"


LDD = "#! /bin/bash\n    echo 'ldd (Ubuntu GLIBC 2.35-0ubuntu3) 2.35'\n"


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An OCI layout that looks like the image of one MetaX release: metadata, no code."""
    folder = tmp_path_factory.mktemp("stand-in")
    metax = _metax_base.write_layer(folder / "metax.tar", "3.10")
    system = [
        _layouts.file("etc/os-release", 'ID=ubuntu\nVERSION_ID="22.04"\n'),
        _layouts.file("usr/bin/ldd", LDD, mode=0o755),
        _layouts.file("usr/bin/python3.10", mode=0o755),
        _layouts.link("usr/bin/python3", "python3.10"),
    ]
    layout = folder / "base"
    entry = _layouts.add_manifest(layout, [_layouts.tar(system), metax.read_bytes()])
    _layouts.add_index(layout, [entry])
    return layout


@pytest.fixture
def serving(project: Path, stand_in: Path) -> Path:
    """A project with an image on the stand-in."""
    (project / "base").symlink_to(stand_in)
    describe(project, '"scratch"', '"oci:base"')
    describe(project, 'accelerator = "none"\n', "")
    describe(project, 'version = "3.11"\n', "")
    return project


class TestOnABase:
    def test_wheels_go_into_the_environment_with_the_framework(self, serving: Path) -> None:
        target = lock(serving).lock.target
        assert (target.prefix, target.python, target.libc) == ("/opt/conda", "3.10", "2.35")
        assert target.interpreter == "/opt/conda/bin/python3"
        assert target.purelib == "/opt/conda/lib/python3.10/site-packages"

    def test_the_system_python_of_debian_gets_them_below_usr_local(self, serving: Path) -> None:
        describe(serving, "[python]", '[python]\nenvironment = "/usr"')
        target = lock(serving).lock.target
        assert target.purelib == "/usr/local/lib/python3.10/dist-packages"
        assert (target.scripts, target.data) == ("/usr/local/bin", "/usr/local")
        assert (target.prefix, target.interpreter) == ("/usr", "/usr/bin/python3")

    def test_it_is_for_the_cards_that_the_image_is_for(self, serving: Path) -> None:
        describe(serving, "[python]", 'accelerator = "nvidia"\n[python]')
        with pytest.raises(Incompatible, match=r"'nvidia', and the base has metax\.sdk 3\.5"):
            lock(serving)
        describe(serving, '"nvidia"', '"none"')
        assert lock(serving).verdict is None

    def test_what_it_provides_is_recorded_and_not_locked(self, serving: Path) -> None:
        describe(serving, '["mx-app"]', '["mx-app", "torch >=2.6"]')
        made = lock(serving).lock
        provided = {entry.name: entry.version for entry in made.provided}
        assert provided["torch"] == "2.8.0+metax3.5.3.9"
        assert [p.name for p in made.packages] == ["mx-app", "mx-lib"]
        assert dict(made.facts)["metax.sdk"] == "3.5.3.20"

    def test_the_base_is_pinned_by_the_digest_of_its_manifest(
        self, serving: Path, stand_in: Path
    ) -> None:
        base = lock(serving).lock.base
        index = json.loads((stand_in / "index.json").read_text())
        assert base.digest == index["manifests"][0]["digest"]
        assert base.snapshot.startswith("mxenv1:")

    def test_what_nobody_knows_to_work_is_written_and_named(self, serving: Path) -> None:
        _index.wheel(serving / "links", "mx-app", "7.0+metax3.5.3.9torch2.8")
        result = lock(serving)
        assert result.lock.relied is not None
        assert result.lock.relied.outcome == "unknown"
        (note,) = result.notes
        assert note.startswith("not known to work: MX108 mx-app: ")
        assert "7.0+metax3.5.3.9torch2.8" in note
        assert note.endswith("; `mxenv explain MX108` says more")

    def test_the_verdict_and_its_rows_are_recorded(self, serving: Path) -> None:
        result = lock(serving)
        assert result.verdict is not None
        assert result.lock.relied is not None
        assert "metax.toml:release:vllm-metax-0.17.0" in result.lock.relied.rows
        assert result.lock.relied.outcome == result.verdict.outcome.word
        assert not any(note.startswith("not known to work") for note in result.notes)
        jsonschema.validate(plain(tomllib.loads(result.path.read_text())), schema("lock"))

    @pytest.mark.parametrize(
        ("requirement", "message"),
        [
            ("torch >=2.9", "'torch >=2.9' is not met by torch 2.8.0+metax3.5.3.9"),
            ("mx-picky", "the base provides torch 2.8.0+metax3.5.3.9"),
            ("vllm[audio]", "'vllm[audio]' asks for extras of vllm 0.17.0"),
        ],
    )
    def test_what_it_does_not_meet_is_refused_and_both_are_named(
        self, serving: Path, requirement: str, message: str
    ) -> None:
        _index.wheel(serving / "links", "mx-picky", requires=["torch >=2.9"])
        describe(serving, '"mx-app"', f'"{requirement}"')
        with pytest.raises(Incompatible) as caught:
            lock(serving)
        assert message in str(caught.value)
        assert not (serving / "lockfiles").exists()

    def test_a_set_that_is_known_not_to_work_is_not_written(self, serving: Path) -> None:
        _index.wheel(serving / "links", "torchcodec", "0.6.0+metax3.0.0.2")
        describe(serving, '"mx-app"', '"torchcodec"')
        with pytest.raises(Incompatible, match=r"MX1\d\d .*torchcodec"):
            lock(serving)
        assert not (serving / "lockfiles").exists()

    def test_a_snapshot_spares_looking_inside(self, serving: Path, stand_in: Path) -> None:
        usual = lock(serving).lock
        taken = serving / "base.json"
        now = datetime(2026, 11, 30, tzinfo=UTC)
        nodes.write_snapshot(nodes.probe(f"oci:{stand_in}", now=now), taken)
        digest = "sha256:" + "5" * 64
        describe(serving, '"oci:base"', f'"registry.invalid/a/b:1@{digest}"')
        made = lock(serving, snapshot=taken).lock
        assert made.base.digest == digest
        assert (made.target, made.provided) == (usual.target, usual.provided)

    def test_a_snapshot_of_a_base_that_nobody_pinned_is_not_enough(
        self, serving: Path, stand_in: Path
    ) -> None:
        taken = serving / "base.json"
        now = datetime(2026, 11, 30, tzinfo=UTC)
        nodes.write_snapshot(nodes.probe(f"oci:{stand_in}", now=now), taken)
        describe(serving, '"oci:base"', '"127.0.0.1:1/a/b:1"')
        with pytest.raises(RegistryError):
            lock(serving, snapshot=taken)

    def test_another_python_than_the_bases_is_refused(self, serving: Path) -> None:
        describe(serving, "[python]", '[python]\nversion = "3.12"')
        with pytest.raises(Incompatible, match=r"Python 3\.12 is asked for, .* has 3\.10"):
            lock(serving)

    def test_an_environment_that_is_not_there_is_refused_with_those_that_are(
        self, serving: Path
    ) -> None:
        describe(serving, "[python]", '[python]\nenvironment = "/opt/other"')
        with pytest.raises(Incompatible, match="no Python environment /opt/other") as caught:
            lock(serving)
        assert caught.value.hint == "it has: /opt/conda, /usr"

    def test_a_base_without_a_python_is_refused(self, serving: Path) -> None:
        (serving / "base").unlink()
        _layouts.image(serving / "base", [_layouts.file("etc/os-release", "ID=debian\n")])
        with pytest.raises(Incompatible, match="cannot be told: none was read"):
            lock(serving)

    def test_a_base_whose_c_library_is_not_known_is_refused(self, serving: Path) -> None:
        (serving / "base").unlink()
        python = [_layouts.file("usr/bin/python3.10", mode=0o755)]
        _layouts.image(serving / "base", python)
        with pytest.raises(Incompatible, match=r"libc\.version of the base could not be read"):
            lock(serving)

    def test_a_tag_of_a_layout_is_a_base(self, serving: Path) -> None:
        usual = lock(serving).lock
        (serving / "tagged").mkdir()
        shutil.copytree(serving / "base", serving / "tagged", dirs_exist_ok=True)
        (entry,) = json.loads((serving / "base" / "index.json").read_text())["manifests"]
        entry["annotations"] = {"org.opencontainers.image.ref.name": "one"}
        _layouts.add_index(serving / "tagged", [entry])
        describe(serving, '"oci:base"', '"oci:tagged:one"')
        assert lock(serving).lock.base.digest == usual.base.digest


class TestTheLinksOfABase:
    """Engines differ in what becomes of a link that a layer has something below."""

    @pytest.fixture
    def linked(self, project: Path) -> Path:
        """A project on a base with links, as Debian has them, and an environment behind one."""
        site = "srv/envs/app/lib/python3.11/site-packages"
        entries = [
            _layouts.file("usr/lib/os-release", 'ID=debian\nVERSION_ID="12"\n'),
            _layouts.link("lib", "usr/lib"),
            _layouts.link("etc/os-release", "../usr/lib/os-release"),
            _layouts.file("usr/bin/ldd", LDD, mode=0o755),
            _layouts.link("opt/venv", "/srv/envs/app"),
            _layouts.file("srv/envs/app/bin/python3.11", mode=0o755),
            _layouts.link("srv/envs/app/bin/python3", "python3.11"),
            _layouts.file(f"{site}/old-1.dist-info/METADATA", "Name: old\nVersion: 1\n"),
            _layouts.link("srv/envs/app/man", "share/man"),
            _layouts.link(f"{site}/extras", "/srv/extras"),
            _layouts.link(f"{site}/module.py", "/srv/module.py"),
            _layouts.file("srv/module.py"),
        ]
        sticky = _layouts.folder("shared")
        sticky[0].mode = 0o1777
        _layouts.image(project / "base", [*entries, sticky])
        (project / "images" / "small" / "a").write_text("a")
        describe(project, '"scratch"', '"oci:base"')
        describe(project, "[python]", '[python]\nenvironment = "/opt/venv"')
        return project

    @pytest.mark.parametrize(
        ("target", "message", "hint"),
        [
            ("/lib/app/a", "leads through a link of the base", "write '/usr/lib/app/a'"),
            ("/opt/venv/a", "leads through a link of the base", "write '/srv/envs/app/a'"),
            ("/shared/a", "/shared is a directory of mode 1777", "name a folder of its own"),
            ("/srv/module.py/a", "/srv/module.py is a file of mode 644", "name a folder of"),
            ("/usr/lib", "'/usr/lib' is a directory of the base", "name a folder of its own"),
        ],
    )
    def test_a_file_that_would_change_the_base_is_refused(
        self, linked: Path, target: str, message: str, hint: str
    ) -> None:
        described = f'[[files]]\nsource = "a"\ntarget = "{target}"\n[python]'
        describe(linked, "[python]", described)
        with pytest.raises(Incompatible, match=r"image\.toml: files\[0\]\.target: ") as caught:
            lock(linked)
        assert message in caught.value.message
        assert caught.value.hint.startswith(hint)
        assert not (linked / "lockfiles").exists()

    def test_a_file_elsewhere_is_taken(self, linked: Path) -> None:
        for name in ("/usr/lib/app/a", "/srv/envs/app/a", "/lib.a", "/opt/app/a"):
            described = f'[[files]]\nsource = "a"\ntarget = "{name}"\n'
            describe(linked, "[python]", f"{described}[python]")
        assert len(lock(linked).lock.files) == 4

    def test_a_snapshot_does_not_tell_of_links(self, linked: Path) -> None:
        taken = linked / "base.json"
        now = datetime(2026, 11, 30, tzinfo=UTC)
        nodes.write_snapshot(nodes.probe(f"oci:{linked / 'base'}", now=now), taken)
        describe(linked, "[python]", '[[files]]\nsource = "a"\ntarget = "/lib/a"\n[python]')
        with pytest.raises(Incompatible, match=r"does not tell whether /lib is a link"):
            lock(linked, snapshot=taken)

    def test_an_environment_behind_a_link_is_filled_where_it_is(self, linked: Path) -> None:
        result = lock(linked)
        target = result.lock.target
        assert (target.prefix, target.data) == ("/opt/venv", "/srv/envs/app")
        assert target.purelib == "/srv/envs/app/lib/python3.11/site-packages"
        assert target.scripts == "/srv/envs/app/bin"
        jsonschema.validate(plain(tomllib.loads(result.path.read_text())), schema("lock"))

    def test_the_folders_below_that_are_links_are_known_and_files_are_left_out(
        self, linked: Path
    ) -> None:
        made = lock(linked)
        target = made.lock.target
        assert dict(target.links) == {
            "/srv/envs/app/man": "/srv/envs/app/share/man",
            f"{target.purelib}/extras": "/srv/extras",
        }
        assert read_lock(made.path) == made.lock

    def test_what_a_wheel_has_below_them_goes_where_they_lead(self, linked: Path) -> None:
        package = _locked.wheel(
            linked / "links",
            "mx_man",
            "1.0",
            {"mx_man-1.0.data/data/man/man1/mx.1": "page", "extras/more.py": ""},
        )
        describe(linked, '"mx-app"', '"mx_man"')
        path = lock(linked).path
        house = linked / "lockfiles" / "wheelhouse"
        house.mkdir()
        shutil.copy(linked / "links" / package.wheel.name, house)
        out = linked / "out"
        made = building.build(path, out=out, with_base=True, cache=linked / "cache")
        assert made.layers
        verdict = verifying.verify(path, f"oci:{out}")
        assert {f.code for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE} == set()
        question = Glob("/srv/envs/app/share/man/man1/*")
        more = File("/srv/extras/more.py")
        with nodes.open_host(f"oci:{out}") as host:
            answers = host.gather([question, more])
        assert answers[question] == Found((("/srv/envs/app/share/man/man1/mx.1", Found("")),))
        assert answers[more] == Found("")


class TestTheImagesOfThisProject:
    @pytest.mark.parametrize("name", ["demo", "llm-serving"])
    def test_their_descriptions_obey_the_schema(self, name: str) -> None:
        path = ROOT / "images" / name / "image.toml"
        jsonschema.validate(plain(tomllib.loads(path.read_text())), schema("image"))
        image, _ = read_image(path)
        assert image.name == name

    def test_the_lock_of_the_demo_is_fresh(self) -> None:
        path = ROOT / "lockfiles" / "pylock.demo.toml"
        assert locking.stale(ROOT / "images" / "demo" / "image.toml", path) == ()

    def test_the_lock_of_the_demo_is_as_mxenv_writes_it(self) -> None:
        path = ROOT / "lockfiles" / "pylock.demo.toml"
        assert locks.render(read_lock(path)) == path.read_text()
