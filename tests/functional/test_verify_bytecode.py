"""An image with bytecode passes as it was built, and bytecode of somebody else does not."""

from __future__ import annotations

import json
import shutil
import sys
import tarfile
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _layouts import Entry, add_index, add_manifest, file, folder, tar
from _locked import SCRATCH, scratch_lock, write_lock

from mxenv.api import building, verifying
from mxenv.stores import layout as layouts
from mxenv.stores.description import describe
from mxenv.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from pathlib import Path

HERE = ".".join(map(str, sys.version_info[:2]))
SITE = f"/opt/mxenv/lib/python{HERE}/site-packages"
CACHED = f"{SITE}/alpha/__pycache__/big.cpython-{HERE.replace('.', '')}.pyc"


class Image:
    """A layout with the image of a lock that asks for bytecode."""

    def __init__(self, root: Path) -> None:
        self.root = root
        where = replace(SCRATCH, python=HERE, purelib=SITE, platlib=SITE)
        self.lock = write_lock(root, replace(scratch_lock(root), target=where, bytecode=True))
        self.layout = root / "dist"
        building.build(self.lock, out=self.layout, cache=root / "cache")

    def verify(self, layout: Path | None = None) -> Verdict:
        return verifying.verify(self.lock, f"oci:{layout or self.layout}")

    def forget_the_image(self) -> None:
        self.lock.write_text(self.lock.read_text().partition("[tool.mxenv.image]")[0])

    def empty_the_wheelhouse(self) -> None:
        shutil.rmtree(self.root / "lockfiles" / "wheelhouse")

    def content(self, path: str) -> str:
        """Return what the first layer has at a path."""
        layer = describe(layouts.open_source(str(self.layout)), "linux/amd64").layers[0]
        blob = self.layout / "blobs" / "sha256" / layer.digest.removeprefix("sha256:")
        with tarfile.open(blob) as archive:
            found = archive.extractfile(path[1:])
            assert found is not None
            return found.read().decode()

    def on_top(self, *entries: Entry) -> Path:
        """Add a layer, as ``docker commit`` does."""
        source = layouts.open_source(str(self.layout))
        image = describe(source, "linux/amd64")
        other = self.root / "altered"
        shutil.copytree(self.layout, other)
        layers = json.loads(source.manifest("linux/amd64")[1])["layers"]
        below = {"base": layers, "base_diff_ids": image.diff_ids}
        add_index(other, [add_manifest(other, [tar(entries)], **below)])
        return other


def bad(verdict: Verdict) -> dict[str, str]:
    return {f.code: f.found for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE}


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return Image(tmp_path)


def test_an_image_with_bytecode_passes_as_it_was_built(image: Image) -> None:
    assert bad(image.verify()) == {}


def test_it_passes_by_its_digest_if_the_wheels_are_gone(image: Image) -> None:
    image.empty_the_wheelhouse()
    assert bad(image.verify()) == {}


def test_nobody_vouches_for_bytecode_if_the_lock_records_no_image(image: Image) -> None:
    image.forget_the_image()
    verdict = image.verify()
    assert verdict.outcome is Outcome.UNKNOWN
    assert list(bad(verdict)) == ["MX326"]
    assert "nobody vouches for" in bad(verdict)["MX326"]
    assert f"{SITE}/alpha/__pycache__/__init__.cpython" in bad(verdict)["MX326"]


def test_bytecode_that_a_layer_on_top_replaced_is_altered(image: Image) -> None:
    verdict = image.verify(image.on_top(file(CACHED[1:], b"evil")))
    assert verdict.outcome is Outcome.INCOMPATIBLE
    assert CACHED in bad(verdict)["MX321"]


def test_bytecode_that_became_a_folder_is_altered(image: Image) -> None:
    verdict = image.verify(image.on_top(folder(CACHED[1:])))
    assert CACHED in bad(verdict)["MX321"]


def test_bytecode_that_a_layer_on_top_removed_is_missing(image: Image) -> None:
    above, _, name = CACHED[1:].rpartition("/")
    verdict = image.verify(image.on_top(file(f"{above}/.wh.{name}")))
    assert CACHED in bad(verdict)["MX322"]


def test_bytecode_of_no_module_is_brought_by_nobody_whatever_a_record_says(image: Image) -> None:
    stranger = CACHED.replace("big", "stranger")
    record = f"{SITE}/alpha-1.0.dist-info/RECORD"
    rows = image.content(record)
    assert "big.cpython" in rows
    listed = f"{rows}{stranger.removeprefix(f'{SITE}/')},,\n"
    verdict = image.verify(image.on_top(file(stranger[1:], b"evil"), file(record[1:], listed)))
    assert verdict.outcome is Outcome.INCOMPATIBLE
    assert record in bad(verdict)["MX321"]


def test_a_record_that_leaves_bytecode_unnamed_makes_strangers_of_it(image: Image) -> None:
    record = f"{SITE}/alpha-1.0.dist-info/RECORD"
    verdict = image.verify(image.on_top(file(record[1:], "alpha/__init__.py,\n\0,,")))
    assert verdict.outcome is Outcome.INCOMPATIBLE
    assert record in bad(verdict)["MX321"]
    assert CACHED.rpartition("/")[0] in bad(verdict)["MX326"]
