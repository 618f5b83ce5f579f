"""A base that somebody saved to a file is locked, built on and verified as any other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import _locked
import pytest
from _archives import configuration, new, old, write
from _layouts import file, link, sha256, tar

from mxenv.api import building, checking, locking, nodes, verifying
from mxenv.stores import places
from mxenv.stores.description import describe
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from mxenv.api.locking import LockResult

MXENV = Path(sys.executable).with_name("mxenv")
SITE = "usr/lib/python3/dist-packages"
SYSTEM = tar(
    [
        file("usr/bin/python3.11", "ELF", mode=0o755),
        link("usr/bin/python3", "python3.11"),
        file("etc/os-release", 'ID=debian\nVERSION_ID="12"\n'),
        file("usr/lib/python3.11/os.py", ""),
        file(f"{SITE}/gamma-0.3.dist-info/METADATA", "Name: gamma\nVersion: 0.3\n"),
    ]
)
LIBC = "#! /bin/bash\n    echo 'ldd (Debian GLIBC 2.36-9) 2.36'\n"
BASE = [SYSTEM, tar([file("usr/bin/ldd", LIBC, mode=0o755)])]
DESCRIPTION = """\
schema = "mxenv.image/1"
name = "small"
base = "docker-archive:bases/{name}"
accelerator = "none"
[python]
requires = ["alpha"]
"""


@pytest.fixture(params=[(old, "base.tar"), (new, "base.tar.gz")])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A project whose base is an archive of one kind or the other."""
    kind, name = request.param
    for folder in ("links", "lockfiles/wheelhouse"):
        _locked.wheel(tmp_path / folder, "alpha", "1.0", {"alpha.py": "A = 1\n"})
    (tmp_path / "bases").mkdir()
    write(tmp_path / "bases" / name, kind(BASE))
    image = tmp_path / "images" / "small"
    image.mkdir(parents=True)
    (image / "image.toml").write_text(DESCRIPTION.format(name=name))
    return tmp_path


def lock(project: Path) -> LockResult:
    return locking.lock(
        project / "images" / "small" / "image.toml",
        out=None,
        snapshot=None,
        matrix=checking.load_matrix(),
        today=date(2026, 11, 30),
        options=locking.Options(find_links=(str(project / "links"),), no_index=True),
    )


def archive(project: Path) -> str:
    (path,) = (project / "bases").iterdir()
    return f"docker-archive:{path}"


def test_a_lock_says_what_it_provides_and_which_image_it_is(project: Path) -> None:
    made = lock(project).lock
    digest = places.source_of(archive(project)).manifest("linux/amd64")[0].digest
    assert made.base.digest == digest
    assert (made.target.prefix, made.target.python) == ("/usr", "3.11")
    assert [(one.name, one.version) for one in made.provided] == [("gamma", "0.3")]
    assert not lock(project).changed


def test_a_build_copies_its_layers_and_is_the_lock_inside(project: Path, tmp_path: Path) -> None:
    path = lock(project).path
    done = building.build(path, out=tmp_path / "out", cache=tmp_path / "cache", with_base=True)
    out = f"oci:{tmp_path / 'out'}"
    image = describe(places.source_of(out), "linux/amd64")
    assert image.diff_ids[: len(BASE)] == tuple(sha256(layer) for layer in BASE)
    for layer, content in zip(image.layers, BASE, strict=False):
        with places.source_of(out).blob(layer) as stream:
            assert stream.read() == content
    assert verifying.verify(path, out).outcome is Outcome.COMPATIBLE
    again = building.build(path, out=tmp_path / "out", cache=tmp_path / "cache", with_base=True)
    assert again.manifest == done.manifest
    assert not again.changed


def test_an_archive_of_the_image_is_verified_as_the_image_is(project: Path, tmp_path: Path) -> None:
    path = lock(project).path
    building.build(path, out=tmp_path / "out", cache=tmp_path / "cache", with_base=True)
    target = tmp_path / "saved.tar"
    done = subprocess.run(
        ["skopeo", "copy", f"oci:{tmp_path / 'out'}:small", f"docker-archive:{target}:small:1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode:
        pytest.skip(f"no skopeo to save it: {done.stderr[-200:]}")
    findings = verifying.verify(path, f"docker-archive:{target}").findings
    # Another tool packs it anew: the manifest is its own, what is inside is not.
    assert {f.code for f in findings if f.outcome is not Outcome.COMPATIBLE} <= {"MX301", "MX302"}
    assert any(f.outcome is Outcome.COMPATIBLE for f in findings)


def test_the_command_line_asks_it_as_a_node(project: Path) -> None:
    done = subprocess.run(
        [MXENV, "probe", "--on", archive(project), "--format", "json"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": os.environ["PATH"], "HOME": str(project)},
    )
    assert done.returncode == 0, done.stderr
    facts = {(f["key"], f["instance"]): f.get("value") for f in json.loads(done.stdout)["facts"]}
    assert facts["os.id", ""] == "debian"
    assert facts["python.package", "/usr/gamma"] == "0.3"
    told = nodes.probe(archive(project), now=datetime(2026, 11, 30, tzinfo=UTC))
    assert told.reading("os.version", "")


def test_the_configuration_is_the_one_that_was_saved(project: Path) -> None:
    image = describe(places.source_of(archive(project)), "linux/amd64")
    assert image.config.digest == sha256(configuration(BASE))
