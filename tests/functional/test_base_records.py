"""What is known of a base lies beside the lock: written once, believed only while it is that."""

from __future__ import annotations

import gzip
import json
import shutil
import tomllib
from datetime import UTC, date, datetime
from importlib import resources
from typing import TYPE_CHECKING

import _layouts
import _locked
import jsonschema
import pytest

from mxenv import base_record
from mxenv.api import _base_records, building, checking, gating, locking, nodes, verifying
from mxenv.errors import Incompatible, InvalidFile, LayoutError, LockError
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from mxenv.api.building import BuildResult
    from mxenv.api.locking import LockResult

TODAY = date(2026, 11, 30)
SITE = "opt/env/lib/python3.11/site-packages"
LDD = "#! /bin/bash\n    echo 'ldd (Ubuntu GLIBC 2.35-0ubuntu3) 2.35'\n"
IMAGE = """\
schema = "mxenv.image/1"
name = "small"
base = "oci:base"
accelerator = "none"
[python]
environment = "/opt/env"
requires = [{requires}]
"""


def base_entries() -> list[_layouts.Entry]:
    """A base with an environment that has torch in it."""
    return [
        _layouts.file("usr/lib/os-release", 'ID=debian\nVERSION_ID="12"\n'),
        _layouts.link("lib", "usr/lib"),
        _layouts.link("etc/os-release", "../usr/lib/os-release"),
        _layouts.file("usr/bin/ldd", LDD, mode=0o755),
        _layouts.file("opt/env/bin/python3.11", mode=0o755),
        _layouts.link("opt/env/bin/python3", "python3.11"),
        _layouts.file(f"{SITE}/torch/__init__.py", "the vendor's\n"),
        _layouts.file(f"{SITE}/torch/same.py", "shared\n"),
        _layouts.file(f"{SITE}/torch/big.so", b"\x7fELF" + bytes(100)),
        _layouts.file(f"{SITE}/torch/__pycache__/same.cpython-311.pyc", "compiled"),
        *_locked.dist_info(SITE, "torch", "2.8.0+metax3.5.3.9"),
    ]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project on that base, which lies in it as a layout."""
    _layouts.image(tmp_path / "base", base_entries(), [_layouts.file("srv/x", "x")])
    _locked.wheel(tmp_path / "links", "plain", "1.0", {"plain.py": "P = 1\n"})
    describe(tmp_path, "plain")
    return tmp_path


def describe(project: Path, *requires: str) -> None:
    image = project / "images" / "small" / "image.toml"
    image.parent.mkdir(parents=True, exist_ok=True)
    image.write_text(IMAGE.format(requires=", ".join(f'"{name}"' for name in requires)))


def lock(project: Path, **options: Path) -> LockResult:
    return locking.lock(
        project / "images" / "small" / "image.toml",
        **options,
        matrix=checking.load_matrix(),
        today=TODAY,
        options=locking.Options(find_links=(str(project / "links"),), no_index=True),
    )


def build(project: Path, **options: object) -> BuildResult:
    where = {"out": project / "out", "cache": project / "cache"}
    path = project / "lockfiles" / "pylock.small.toml"
    return building.build(path, wheelhouse=project / "links", **(where | options))


def record_path(project: Path) -> Path:
    (path,) = (project / "lockfiles" / "bases").iterdir()
    return path


def hide(project: Path) -> None:
    """Leave of the base what its manifest and configuration are: no layer can be read."""
    index = json.loads((project / "base" / "index.json").read_text())
    blobs = project / "base" / "blobs" / "sha256"
    manifest = json.loads((blobs / index["manifests"][0]["digest"][7:]).read_text())
    for layer in manifest["layers"]:
        (blobs / layer["digest"][7:]).unlink()


class TestTheRecord:
    def test_it_lies_beside_the_lock_which_names_it(self, project: Path) -> None:
        made = lock(project).lock
        path = record_path(project)
        assert path.name == f"{made.base.digest.replace(':', '-')}.json.gz"
        record = base_record.parse(path.read_bytes(), context="f")
        assert record.digest == made.base.listing
        table = tomllib.loads((project / "lockfiles" / "pylock.small.toml").read_text())
        assert table["tool"]["mxenv"]["base"]["listing"] == record.digest

    def test_every_line_obeys_the_schema(self, project: Path) -> None:
        lock(project)
        text = (resources.files("mxenv") / "schemas" / "base.schema.json").read_text()
        check = jsonschema.Draft202012Validator(json.loads(text)).validate
        lines = gzip.decompress(record_path(project).read_bytes()).splitlines()
        assert len(lines) > 10
        for line in lines:
            check(json.loads(line))

    def test_it_knows_every_path_and_the_bytes_that_a_wheel_may_bring_too(
        self, project: Path
    ) -> None:
        lock(project)
        listing = base_record.parse(record_path(project).read_bytes(), context="f").listing
        for info, data in base_entries():
            place = listing.at(f"/{info.name}")
            assert place is not None
            if info.isreg():
                assert (place.kind, place.size, place.mode) == ("file", len(data), info.mode)
            else:
                assert (place.kind, place.target) == ("link", info.linkname)
        hashed = [f"/{SITE}/torch/same.py", f"/{SITE}/torch/big.so", "/usr/bin/ldd"]
        assert all(place and place.sha256 for place in map(listing.at, hashed))
        plain = ["/srv/x", f"/{SITE}/torch/__pycache__/same.cpython-311.pyc"]
        assert not any(place and place.sha256 for place in map(listing.at, plain))

    def test_it_is_the_same_wherever_and_whenever_the_base_is_read(self, project: Path) -> None:
        lock(project)
        before = record_path(project).read_bytes()
        other = project / "elsewhere"
        shutil.copytree(project / "base", other / "base")
        shutil.copytree(project / "images", other / "images")
        shutil.copytree(project / "links", other / "links")
        lock(other)
        assert record_path(other).read_bytes() == before

    def test_a_lock_from_a_snapshot_has_none_and_says_what_is_not_known(
        self, project: Path
    ) -> None:
        taken = project / "base.json"
        now = datetime(2026, 11, 30, tzinfo=UTC)
        nodes.write_snapshot(nodes.probe(f"oci:{project / 'base'}", now=now), taken)
        made = lock(project, snapshot=taken)
        assert made.lock.base.listing == ""
        assert any("which files the base holds is not known" in note for note in made.notes)
        assert not (project / "lockfiles" / "bases").exists()
        assert any("which files the base holds" in note for note in build(project).notes)

    def test_of_a_base_without_all_layers_there_is_none(self, project: Path) -> None:
        first = project / "first"
        shutil.copytree(project / "base", first)
        entry = json.loads((first / "index.json").read_text())["manifests"][0]
        manifest = json.loads((first / "blobs/sha256" / entry["digest"][7:]).read_text())
        (first / "blobs" / "sha256" / manifest["layers"][1]["digest"][7:]).unlink()
        image = project / "images" / "small" / "image.toml"
        image.write_text(image.read_text().replace("oci:base", "oci:first"))
        with pytest.raises(Incompatible):
            lock(project)
        assert not (project / "lockfiles").exists()


class TestLockingAgain:
    def test_needs_no_layer_of_the_base(self, project: Path) -> None:
        first = lock(project)
        hide(project)
        again = lock(project)
        assert (again.lock, again.changed, again.notes) == (first.lock, False, ())

    def test_gives_the_same_as_reading_the_base(self, project: Path) -> None:
        first = lock(project).lock
        _locked.wheel(project / "links", "more", "1.0", {"more.py": ""})
        describe(project, "plain", "more")
        with_record = lock(project).lock
        shutil.rmtree(project / "lockfiles")
        without = lock(project).lock
        assert with_record == without
        assert (with_record.base, with_record.target) == (first.base, first.target)

    def test_another_image_on_the_same_base_finds_it(self, project: Path) -> None:
        lock(project)
        image = project / "images" / "other" / "image.toml"
        image.parent.mkdir()
        text = (project / "images" / "small" / "image.toml").read_text()
        image.write_text(text.replace('"small"', '"other"'))
        hide(project)
        made = locking.lock(
            image,
            matrix=checking.load_matrix(),
            today=TODAY,
            options=locking.Options(find_links=(str(project / "links"),), no_index=True),
        )
        assert made.lock.provided[0].name == "torch"

    @pytest.mark.parametrize("how", ["cut", "flipped", "foreign", "another"])
    def test_a_damaged_record_is_said_and_the_base_read_again(
        self, project: Path, how: str
    ) -> None:
        first = lock(project)
        path = record_path(project)
        whole = path.read_bytes()
        path.write_bytes(damaged(whole, how))
        again = lock(project)
        assert again.lock == first.lock
        (note,) = again.notes
        assert note.startswith(str(path))
        assert note.endswith("the base is read again")
        assert path.read_bytes() == whole

    def test_a_record_that_no_lock_vouches_for_is_read_again(self, project: Path) -> None:
        lock(project)
        path = record_path(project)
        record = base_record.parse(path.read_bytes(), context="f")
        folders = {f: dict(names) for f, names in record.listing.folders.items()}
        del folders[f"/{SITE}/torch"]
        path.write_bytes(
            base_record.render(record.told, folders, keys=record.keys, snapshot=record.snapshot)
        )
        (note,) = lock(project).notes
        assert "no lock beside it names it" in note

    def test_facts_that_were_changed_are_read_again(self, project: Path) -> None:
        first = lock(project)
        path = record_path(project)
        record = base_record.parse(path.read_bytes(), context="f")
        folders = {f: dict(names) for f, names in record.listing.folders.items()}
        forged = record.snapshot.replace("2.8.0+metax3.5.3.9", "9.9.9+metax3.5.3.9")
        assert forged != record.snapshot
        path.write_bytes(
            base_record.render(record.told, folders, keys=record.keys, snapshot=forged)
        )
        again = lock(project)
        assert again.lock == first.lock
        assert "no lock beside it names it" in again.notes[0]

    def test_facts_that_an_older_mxenv_did_not_ask_for_are_asked_again(self, project: Path) -> None:
        lock(project)
        path = record_path(project)
        record = base_record.parse(path.read_bytes(), context="f")
        path.write_bytes(
            base_record.render(
                record.told, record.listing.folders, keys="0" * 64, snapshot=record.snapshot
            )
        )
        assert "was written by another mxenv" in lock(project).notes[0]


def damaged(whole: bytes, how: str) -> bytes:
    match how:
        case "cut":
            return whole[: len(whole) // 2]
        case "flipped":
            return whole[:-40] + bytes([whole[-40] ^ 1]) + whole[-39:]
        case "foreign":
            return b"not a record"
        case _:
            record = base_record.parse(whole, context="f")
            told = base_record.Told(
                base="sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                platform="linux/amd64",
                media_type="m",
                manifest=b"{}",
                configuration=b"{}",
            )
            return base_record.render(told, {}, keys=record.keys, snapshot=record.snapshot)


class TestBuilding:
    def test_reads_nothing_of_the_base(self, project: Path) -> None:
        lock(project)
        first = build(project)
        assert first.read == 0
        assert not any("which files" in note for note in first.notes)
        shutil.rmtree(project / "base")
        again = build(project)
        assert (again.config, again.manifest) == (first.config, first.manifest)

    def test_the_image_is_the_one_that_asking_the_base_gives(self, project: Path) -> None:
        made = lock(project)
        first = build(project)
        text = made.path.read_text()
        lines = [line for line in text.splitlines() if not line.startswith("listing =")]
        made.path.write_text("\n".join(lines) + "\n")
        asked = build(project, record=False)
        assert asked.read > 0
        own = [layer.made.diff_id for layer in asked.layers][:-1]
        assert own == [layer.made.diff_id for layer in first.layers][:-1]

    @pytest.mark.parametrize("how", ["cut", "foreign", "another", "gone"])
    def test_a_record_that_is_not_the_locks_is_refused(self, project: Path, how: str) -> None:
        lock(project)
        path = record_path(project)
        whole = path.read_bytes()
        path.unlink()
        if how != "gone":
            path.write_bytes(damaged(whole, how))
        with pytest.raises(LockError) as caught:
            build(project)
        assert str(path) in str(caught.value)
        assert "mxenv lock" in caught.value.hint
        assert not (project / "out").exists()

    def test_a_section_that_was_damaged_is_refused_where_it_is_read(self, project: Path) -> None:
        lock(project)
        path = record_path(project)
        path.write_bytes(damaged(path.read_bytes(), "flipped"))
        with pytest.raises(InvalidFile, match="is damaged"):
            build(project)

    def hostile(self, project: Path, files: Mapping[str, str]) -> Incompatible:
        _locked.wheel(project / "links", "evil", "1.0", files)
        describe(project, "evil")
        lock(project)
        with pytest.raises(Incompatible) as caught:
            build(project)
        assert not (project / "out" / "index.json").exists()
        return caught.value

    def test_a_wheel_that_brings_a_file_of_the_bases_package_is_refused(
        self, project: Path
    ) -> None:
        said = self.hostile(project, {"torch/__init__.py": "mine\n"})
        assert said.context == f"/{SITE}/torch/__init__.py"
        assert "evil==1.0 brings it" in said.message
        assert "torch 2.8.0+metax3.5.3.9 of the base has it" in said.message
        assert "leave the package" in said.hint

    def test_so_is_one_that_replaces_a_program(self, project: Path) -> None:
        said = self.hostile(project, {"evil-1.0.data/scripts/python3": "#!python\n"})
        assert said.context == "/opt/env/bin/python3"
        assert "the base oci:base has it: there it is a link" in said.message

    def test_so_is_one_that_makes_a_file_where_the_base_has_a_folder(self, project: Path) -> None:
        assert "it is a directory" in self.hostile(project, {"torch": "a file"}).message

    def test_so_is_one_with_a_folder_where_the_base_has_a_file(self, project: Path) -> None:
        said = self.hostile(project, {"torch/same.py/x.py": ""})
        assert (said.context, "is a file" in said.message) == (f"/{SITE}/torch/same.py", True)

    def test_equal_bytes_may_have_two_owners(self, project: Path) -> None:
        _locked.wheel(project / "links", "kind", "1.0", {"torch/same.py": "shared\n"})
        describe(project, "kind")
        lock(project)
        assert build(project).config

    def test_what_the_base_took_away_again_is_not_there(self, project: Path) -> None:
        gone = [_layouts.file(f"{SITE}/torch/.wh.__init__.py")]
        shutil.rmtree(project / "base")
        _layouts.image(project / "base", base_entries(), gone)
        _locked.wheel(project / "links", "kind", "1.0", {"torch/__init__.py": "mine\n"})
        describe(project, "kind")
        lock(project)
        assert build(project).config


class TestElsewhere:
    def test_a_record_that_is_gone_makes_a_lock_stale(self, project: Path) -> None:
        made = lock(project)
        image = project / "images" / "small" / "image.toml"
        assert locking.stale(image, made.path) == ()
        record_path(project).unlink()
        (reason,) = locking.stale(image, made.path)
        assert "what is known of the base cannot be read" in reason

    def test_verify_does_not_ask_for_the_base(self, project: Path) -> None:
        made = lock(project)
        build(project, record=False, with_base=True)
        shutil.rmtree(project / "base")
        verdict = verifying.verify(
            made.path, f"oci:{project / 'out'}", wheelhouse=project / "links"
        )
        assert {f.code: f.outcome for f in verdict.findings}["MX301"] is Outcome.COMPATIBLE

    def test_verify_looks_for_no_record_beside_a_lock_that_was_not_named(
        self, project: Path
    ) -> None:
        lock(project)
        build(project, with_base=True)
        verdict = verifying.verify(None, f"oci:{project / 'out'}", wheelhouse=project / "links")
        (said,) = (f for f in verdict.findings if f.code == "MX305")
        assert (said.outcome, "nobody you know signed it" in said.found) == (Outcome.UNKNOWN, True)

    def test_verify_says_of_a_damaged_record_that_it_does_not_know(self, project: Path) -> None:
        made = lock(project)
        build(project, record=False, with_base=True)
        record_path(project).write_bytes(b"")
        verdict = verifying.verify(
            made.path, f"oci:{project / 'out'}", wheelhouse=project / "links"
        )
        assert {f.code: f.outcome for f in verdict.findings}["MX305"] is Outcome.UNKNOWN


def architectures(project: Path, entries: Sequence[_layouts.Entry]) -> dict[str, str]:
    """Make the base an index of two; return the digest of each."""
    shutil.rmtree(project / "base")
    described = [
        _layouts.add_manifest(project / "base", [_layouts.tar(entries)], architecture=name)
        for name in ("amd64", "arm64")
    ]
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_layouts.OCI}.index.v1+json",
        "manifests": described,
    }
    content = json.dumps(index).encode()
    _layouts.put(project / "base", content)
    _layouts.add_index(
        project / "base", [_layouts.describe(f"{_layouts.OCI}.index.v1+json", content)]
    )
    return {entry["platform"]["architecture"]: str(entry["digest"]) for entry in described}


def test_each_platform_of_an_index_has_a_record_of_its_own(project: Path) -> None:
    digests = architectures(project, base_entries())
    image = project / "images" / "small" / "image.toml"
    for name in ("amd64", "arm64"):
        image.write_text(
            IMAGE.format(requires='"plain"').replace(
                "[python]", f'platform = "linux/{name}"\n[python]'
            )
        )
        made = lock(project).lock
        assert made.base.digest == digests[name]
        assert made.target.platform == f"linux/{name}"
    names = {path.name for path in (project / "lockfiles" / "bases").iterdir()}
    assert names == {f"{d.replace(':', '-')}.json.gz" for d in digests.values()}
    assert build(project).config


def test_a_base_of_another_python_is_locked_for_its_own(project: Path) -> None:
    shutil.rmtree(project / "base")
    site = SITE.replace("3.11", "3.10")
    entries = [
        *(e for e in base_entries() if "3.11" not in e[0].name and "python3" not in e[0].name),
        _layouts.file("opt/env/bin/python3.10", mode=0o755),
        _layouts.link("opt/env/bin/python3", "python3.10"),
        *_locked.dist_info(site, "torch", "2.8.0+metax3.5.3.9"),
    ]
    _layouts.image(project / "base", entries)
    made = lock(project).lock
    assert (made.target.python, made.target.purelib) == ("3.10", f"/{site}")
    assert lock(project).lock == made


def test_a_hidden_record_is_no_record(project: Path) -> None:
    """A directory or a named pipe where the record should lie is said, not waited for."""
    made = lock(project)
    path = record_path(project)
    path.unlink()
    path.mkdir()
    with pytest.raises(LockError, match="cannot be read"):
        _base_records.locked(made.lock, made.path)


def test_gate_finds_the_record_that_is_missing(project: Path) -> None:
    lock(project)
    record_path(project).unlink()
    verdicts = gating.gate(
        [project],
        gating.Trust(
            matrix=checking.load_matrix(), today=TODAY, now=datetime(2026, 11, 30, tzinfo=UTC)
        ),
    )
    findings = [finding for verdict in verdicts for finding in verdict.findings]
    assert any(f.code == "MX402" and "what is known of the base" in f.found for f in findings)


def test_a_layout_that_is_gone_is_needed_only_without_a_record(project: Path) -> None:
    lock(project)
    shutil.rmtree(project / "lockfiles" / "bases")
    shutil.rmtree(project / "base")
    with pytest.raises(LayoutError):
        lock(project)


def test_an_image_of_mxenv_is_a_base_as_well(project: Path) -> None:
    lock(project)
    build(project, out=project / "below", with_base=True)
    _locked.wheel(project / "links", "upper", "1.0", {"upper.py": "U = 1\n"})
    image = project / "images" / "upper" / "image.toml"
    image.parent.mkdir()
    text = IMAGE.format(requires='"upper"').replace('"small"', '"upper"')
    image.write_text(text.replace("oci:base", "oci:below:small"))
    made = locking.lock(
        image,
        matrix=checking.load_matrix(),
        today=TODAY,
        options=locking.Options(find_links=(str(project / "links"),), no_index=True),
    )
    assert {entry.name for entry in made.lock.provided} == {"torch", "plain"}
    done = building.build(
        made.path, out=project / "out", cache=project / "cache", wheelhouse=project / "links"
    )
    assert len(done.layers) == 2


ADDED = '[[files]]\nsource = "a"\ntarget = "{}"\n[python]'


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("/usr/bin/ldd", "'/usr/bin/ldd' is a file of the base, and is another one"),
        ("/srv/x", "'/srv/x' is a file of the base, and whether it is the same is not known"),
        ("/opt/env/bin/python3", "'/opt/env/bin/python3' is a link of the base, and is another"),
    ],
)
def test_an_added_file_takes_the_place_of_none_of_the_base(
    project: Path, target: str, said: str
) -> None:
    image = project / "images" / "small" / "image.toml"
    (image.parent / "a").write_text("mine\n")
    image.write_text(image.read_text().replace("[python]", ADDED.format(target)))
    with pytest.raises(Incompatible) as caught:
        lock(project)
    assert f"files[0].target: {said}" in caught.value.message
    assert not (project / "lockfiles").exists()


def test_an_added_file_may_be_the_one_of_the_base(project: Path) -> None:
    image = project / "images" / "small" / "image.toml"
    (image.parent / "a").write_text("shared\n")
    target = f"/{SITE}/torch/same.py"
    image.write_text(image.read_text().replace("[python]", ADDED.format(target)))
    lock(project)
    assert build(project).config
