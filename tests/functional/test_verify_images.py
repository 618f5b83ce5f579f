"""An image is compared with its lock, file by file, whoever added a layer to it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from _layouts import Entry, add_index, add_manifest, file, folder, link, sha256, tar
from _layouts import describe as blob_of
from _locked import debian_lock, dist_info, record_row, scratch_lock, write_lock

from mxenv.api import building, verifying
from mxenv.errors import LayoutError, UsageError
from mxenv.image import AddedFile
from mxenv.stores import layout as layouts
from mxenv.stores.description import describe
from mxenv.verdict import Finding, Outcome, Verdict

if TYPE_CHECKING:
    from pathlib import Path

    from mxenv.lock import Lock

SITE = "/opt/mxenv/lib/python3.11/site-packages"
DEBIAN_SITE = "/usr/local/lib/python3.11/dist-packages"


class Project:
    """A lock, its wheelhouse, and the layout of what was built from it."""

    def __init__(self, root: Path, lock: Lock, **how: bool) -> None:
        self.root = root
        self.lock = write_lock(root, lock)
        self.layout = root / "dist"
        building.build(self.lock, out=self.layout, cache=root / "cache", **how)

    def verify(self, layout: Path | None = None, **how: Path) -> Verdict:
        return verifying.verify(self.lock, f"oci:{layout or self.layout}", **how)

    def on_top(self, *entries: Entry) -> Path:
        """Add a layer, as ``docker commit`` does."""
        source = layouts.open_source(str(self.layout))
        image = describe(source, "linux/amd64")
        other = self.root / "altered"
        shutil.copytree(self.layout, other)
        manifest = json.loads(source.manifest("linux/amd64")[1])
        config = image.configuration["config"]
        assert isinstance(config, dict)
        entry = add_manifest(
            other,
            [tar(entries)],
            config=config,
            base=manifest["layers"],
            base_diff_ids=image.diff_ids,
        )
        add_index(other, [entry])
        return other

    def forget_the_image(self) -> None:
        """Leave a lock that records no image, as one that was never built."""
        lock, _, _ = self.lock.read_text().partition("[tool.mxenv.image]")
        self.lock.write_text(lock)

    def empty_the_wheelhouse(self) -> None:
        shutil.rmtree(self.root / "lockfiles" / "wheelhouse")


@pytest.fixture
def small(tmp_path: Path) -> Project:
    return Project(tmp_path, scratch_lock(tmp_path))


@pytest.fixture
def on_debian(tmp_path: Path) -> Project:
    return Project(tmp_path, debian_lock(tmp_path, "metax.kmd >= 3.8"), with_base=True)


def describe_blob(layer: bytes) -> dict[str, object]:
    return blob_of("application/vnd.oci.image.layer.v1.tar", layer)


def bad(verdict: Verdict) -> list[Finding]:
    return [f for f in verdict.findings if f.outcome is not Outcome.COMPATIBLE]


def codes(verdict: Verdict) -> set[str]:
    return {finding.code for finding in bad(verdict)}


def found(verdict: Verdict, code: str) -> str:
    return "\n".join(f"{f.subject}: {f.found}" for f in bad(verdict) if f.code == code)


def bare(root: Path) -> Lock:
    """A lock that adds no wheel to a base with a distribution where Python looks first."""
    lock = debian_lock(root)
    entries = [
        file("usr/bin/python3.11", "ELF", mode=0o755),
        *dist_info(DEBIAN_SITE[1:], "gamma", "0.3"),
        file(f"{DEBIAN_SITE[1:]}/gamma.py", "G = 3\n"),
    ]
    entry = add_manifest(root / "base", [tar(entries)])
    add_index(root / "base", [entry])
    return replace(lock, packages=(), base=replace(lock.base, digest=str(entry["digest"])))


class TestAnImageAsItWasBuilt:
    """It passes, whatever of the lock's surroundings is at hand."""

    def test_passes_with_the_digest_that_the_lock_records(self, small: Project) -> None:
        verdict = small.verify()
        assert bad(verdict) == []
        assert {f.code for f in verdict.findings} == {"MX301", "MX304", "MX310", "MX320", "MX340"}

    def test_passes_by_its_wheels_if_no_digest_is_recorded(self, small: Project) -> None:
        small.forget_the_image()
        assert bad(small.verify()) == []

    def test_passes_by_its_digest_if_the_wheels_are_gone(self, small: Project) -> None:
        small.empty_the_wheelhouse()
        assert bad(small.verify()) == []

    @pytest.mark.parametrize("with_files", [False, True])
    def test_passes_by_what_lock_and_base_make_with_added_files_or_without(
        self, tmp_path: Path, *, with_files: bool
    ) -> None:
        locked = (AddedFile(source="x.txt", target="/opt/app/x.txt"), sha256(b"x")[7:])
        (tmp_path / "images" / "small").mkdir(parents=True)
        (tmp_path / "images" / "small" / "x.txt").write_text("x")
        lock = replace(debian_lock(tmp_path), files=(locked,) if with_files else ())
        project = Project(tmp_path, lock, with_base=True)
        project.forget_the_image()
        verdict = project.verify()
        assert bad(verdict) == []
        assert "as lock and base make it" in "".join(f.found for f in verdict.findings)

    def test_passes_on_a_base_that_provides_all_there_is(self, tmp_path: Path) -> None:
        project = Project(tmp_path, bare(tmp_path), with_base=True)
        assert bad(project.verify()) == []
        stranger = project.on_top(file(f"{DEBIAN_SITE[1:]}/evil.pth", "import os\n"))
        assert "evil.pth" in found(project.verify(stranger), "MX325")
        assert "gamma" not in found(project.verify(stranger), "MX325")
        project.forget_the_image()
        assert bad(project.verify()) == []
        assert "evil.pth" in found(project.verify(stranger), "MX325")

    def test_is_unknown_if_neither_is_there(self, small: Project) -> None:
        small.empty_the_wheelhouse()
        small.forget_the_image()
        verdict = small.verify()
        assert verdict.outcome is Outcome.UNKNOWN
        assert codes(verdict) == {"MX324"}

    def test_passes_on_a_base_and_its_start_gate_will_ask_the_host(
        self, on_debian: Project
    ) -> None:
        verdict = on_debian.verify()
        assert bad(verdict) == []
        (gate,) = (f for f in verdict.findings if f.code == "MX330")
        assert "start gate" in gate.found
        on_debian.forget_the_image()
        assert bad(on_debian.verify()) == []

    def test_passes_by_its_digest_where_only_a_running_container_could_tell(
        self, tmp_path: Path
    ) -> None:
        lock = replace(debian_lock(tmp_path), facts=(("cpu.model", "Xeon"),))
        project = Project(tmp_path, lock, with_base=True)
        assert bad(project.verify()) == []
        altered = project.on_top(file("etc/motd", "hello"))
        assert "cpu.model: " in found(project.verify(altered), "MX318")

    def test_passes_without_its_base_because_the_digest_speaks_for_it(self, tmp_path: Path) -> None:
        project = Project(tmp_path, debian_lock(tmp_path))
        assert bad(project.verify()) == []

    def test_without_its_base_and_any_digest_of_it_the_base_is_unknown(
        self, tmp_path: Path
    ) -> None:
        project = Project(tmp_path, debian_lock(tmp_path))
        project.forget_the_image()
        assert bad(project.verify()) == []
        shutil.rmtree(tmp_path / "base")
        verdict = project.verify()
        assert verdict.outcome is Outcome.UNKNOWN
        assert "gamma" in found(verdict, "MX316")


class TestAnAlteredFile:
    """It is named, with its package and the layer that it came by."""

    def test_in_a_layer_on_top_is_found(self, small: Project) -> None:
        altered = small.on_top(file(f"{SITE}/alpha/__init__.py", "A = 2\n"))
        verdict = small.verify(altered)
        assert verdict.outcome is Outcome.INCOMPATIBLE
        assert f"alpha: altered: {SITE}/alpha/__init__.py (layer sha256:" in found(verdict, "MX321")
        assert "beta" not in found(verdict, "MX321")
        assert codes(verdict) == {"MX303", "MX321"}

    def test_that_a_layer_on_top_removes_is_missing(self, small: Project) -> None:
        altered = small.on_top(file(f"{SITE}/alpha/.wh.big.py"))
        assert found(small.verify(altered), "MX322") == f"alpha: missing: {SITE}/alpha/big.py"

    def test_whose_row_in_record_was_altered_too_is_found(self, small: Project) -> None:
        forged = record_row("alpha/__init__.py", b"A = 2\n")
        altered = small.on_top(
            file(f"{SITE}/alpha/__init__.py", "A = 2\n"),
            file(f"{SITE}/alpha-1.0.dist-info/RECORD", forged),
        )
        said = found(small.verify(altered), "MX321")
        assert "alpha/__init__.py" in said
        assert "RECORD" in said
        small.empty_the_wheelhouse()
        verdict = small.verify(altered)
        assert verdict.outcome is Outcome.INCOMPATIBLE
        assert "RECORD: put there by layer" in found(verdict, "MX323")
        small.forget_the_image()
        assert small.verify(altered).outcome is Outcome.UNKNOWN

    def test_of_a_script_is_found(self, small: Project) -> None:
        altered = small.on_top(file("opt/mxenv/bin/alpha", "#!/bin/sh\n", mode=0o755))
        assert "/opt/mxenv/bin/alpha" in found(small.verify(altered), "MX321")

    def test_behind_a_link_is_found(self, small: Project) -> None:
        altered = small.on_top(
            file(f"{SITE}/.wh.alpha"),
            folder("tmp/evil"),
            file("tmp/evil/__init__.py", "A = 2\n"),
            file("tmp/evil/big.py", "x = 0\n"),
            link(f"{SITE}/alpha", "/tmp/evil"),  # noqa: S108 - a path in an image
        )
        verdict = small.verify(altered)
        assert f"{SITE}/alpha/__init__.py" in found(verdict, "MX321")
        assert "big.py" not in found(verdict, "MX321")

    def test_that_became_a_link_or_a_directory_is_found(self, small: Project) -> None:
        altered = small.on_top(
            link(f"{SITE}/alpha/__init__.py", "nowhere"), folder(f"{SITE}/beta.py")
        )
        verdict = small.verify(altered)
        assert "alpha/__init__.py" in found(verdict, "MX322")
        assert "beta.py (a directory)" in found(verdict, "MX321")

    def test_below_a_link_of_the_base_is_found(self, on_debian: Project) -> None:
        verdict = on_debian.verify(on_debian.on_top(file("bin/more")))
        assert "base: covered by a directory: /bin (layer sha256:" in found(verdict, "MX327")
        assert verdict.outcome is Outcome.INCOMPATIBLE

    def test_that_is_a_directory_over_a_link_of_the_base_is_found(self, on_debian: Project) -> None:
        assert "/bin" in found(on_debian.verify(on_debian.on_top(folder("bin"))), "MX327")

    @pytest.mark.parametrize("recorded", [True, False])
    @pytest.mark.parametrize(
        ("entry", "path"),
        [
            (file("usr/lib/python3.11/os.py", "evil"), "/usr/lib/python3.11/os.py"),
            (file("usr/bin/.wh.python3"), "/usr/bin/python3"),
            (file("usr/lib/.wh..wh..opq"), "/usr/lib"),
            (link("usr/lib/os-release", "/x"), "/usr/lib/os-release"),
            (file("usr/share/mxenv/verdict.json", "{}"), "/usr/share/mxenv/verdict.json"),
        ],
    )
    def test_of_the_base_or_of_the_build_that_is_replaced_on_top_is_found(
        self, on_debian: Project, entry: Entry, path: str, *, recorded: bool
    ) -> None:
        if not recorded:
            on_debian.forget_the_image()
        verdict = on_debian.verify(on_debian.on_top(entry))
        assert f"image: replaced or removed on top: {path} (layer" in found(verdict, "MX328")
        assert verdict.outcome is Outcome.INCOMPATIBLE

    @pytest.mark.parametrize(
        "name", ["x.pth", "sitecustomize.py", "evil/__init__.py", "evil-1.dist-info/METADATA"]
    )
    def test_that_another_site_of_the_image_got_on_top_is_found(
        self, on_debian: Project, name: str
    ) -> None:
        path = f"usr/lib/python3/dist-packages/{name}"
        verdict = on_debian.verify(on_debian.on_top(file(path, "Name: evil\nVersion: 1\n")))
        assert f"/{path} (layer" in found(verdict, "MX325")

    @pytest.mark.parametrize(
        ("entry", "code"),
        [
            (file("opt/app/x.txt", "evil"), "MX321"),
            (file("opt/app/.wh.x.txt"), "MX322"),
            (link("opt/app/x.txt", "/usr/lib/os-release"), "MX321"),
        ],
    )
    def test_that_the_image_description_adds_is_compared(
        self, tmp_path: Path, entry: Entry, code: str
    ) -> None:
        added = tmp_path / "images" / "small" / "x.txt"
        added.parent.mkdir(parents=True)
        added.write_text("x")
        locked = (AddedFile(source="x.txt", target="/opt/app/x.txt"), sha256(b"x")[7:])
        project = Project(tmp_path, replace(debian_lock(tmp_path), files=(locked,)), with_base=True)
        assert project.verify().outcome is Outcome.COMPATIBLE
        assert "image.toml: " in found(project.verify(project.on_top(entry)), code)

    def test_is_found_in_an_image_whose_lock_records_nothing(self, small: Project) -> None:
        small.forget_the_image()
        altered = small.on_top(file(f"{SITE}/beta.py", "B = 3\n"))
        assert codes(small.verify(altered)) == {"MX303", "MX321"}

    def test_does_not_hide_behind_a_layer_that_repeats_the_locked_ones(
        self, small: Project
    ) -> None:
        # Whoever lays the locked layers over an evil one has restored the files, not the image.
        altered = small.on_top(file("srv/evil", ""))
        image = describe(layouts.open_source(str(altered)), "linux/amd64")
        manifest = json.loads(layouts.open_source(str(altered)).manifest("linux/amd64")[1])
        entry = add_manifest(
            altered,
            [],
            base=[*manifest["layers"], *manifest["layers"][:-1]],
            base_diff_ids=[*image.diff_ids, *image.diff_ids[:-1]],
        )
        add_index(altered, [entry])
        assert small.verify(altered).outcome is Outcome.INCOMPATIBLE


class TestDistributions:
    """Each is there once, in the locked version, and no other is."""

    def test_one_that_no_lock_has_is_found(self, small: Project) -> None:
        altered = small.on_top(*dist_info(SITE, "delta", "9"))
        assert "delta: 9" in found(small.verify(altered), "MX314")

    def test_another_version_and_a_second_one_are_found(self, small: Project) -> None:
        altered = small.on_top(*dist_info(SITE, "alpha", "1.1"))
        said = found(small.verify(altered), "MX313")
        assert "1.0" in said
        assert "1.1" in said

    def test_a_replaced_one_is_found(self, small: Project) -> None:
        altered = small.on_top(
            file(f"{SITE}/.wh.alpha-1.0.dist-info"), *dist_info(SITE, "Alpha", "1.1")
        )
        assert "alpha: 1.1" in found(small.verify(altered), "MX312")

    def test_a_removed_one_is_found(self, small: Project) -> None:
        altered = small.on_top(file(f"{SITE}/.wh.beta-2.0+metax3.5.3.dist-info"))
        assert "beta: not there" in found(small.verify(altered), "MX311")

    def test_one_beside_those_of_a_base_that_provides_none_is_found(self, tmp_path: Path) -> None:
        lock = debian_lock(tmp_path)
        entries = [
            file("usr/bin/python3.11", "ELF", mode=0o755),
            link("usr/bin/python3", "python3.11"),
        ]
        entry = add_manifest(tmp_path / "base", [tar(entries)])
        add_index(tmp_path / "base", [entry])
        lock = replace(lock, base=replace(lock.base, digest=str(entry["digest"])), provided=())
        project = Project(tmp_path, lock, with_base=True)
        altered = project.on_top(*dist_info("usr/lib/python3/dist-packages", "delta", "9"))
        assert "delta: 9" in found(project.verify(altered), "MX314")

    def test_a_changed_one_of_the_base_is_found(self, on_debian: Project) -> None:
        place = "usr/lib/python3/dist-packages"
        altered = on_debian.on_top(
            file(f"{place}/.wh.gamma-0.3.dist-info"), *dist_info(place, "gamma", "0.4")
        )
        verdict = on_debian.verify(altered)
        assert "gamma: 0.4" in found(verdict, "MX315")
        on_debian.forget_the_image()
        assert "gamma: 0.4" in found(on_debian.verify(altered), "MX315")

    def test_a_second_one_that_goes_before_that_of_the_base_is_found(
        self, on_debian: Project
    ) -> None:
        altered = on_debian.on_top(*dist_info(DEBIAN_SITE, "gamma", "0.4"))
        assert "gamma" in found(on_debian.verify(altered), "MX313")

    def test_a_file_that_python_runs_and_no_wheel_brought_is_found(self, small: Project) -> None:
        altered = small.on_top(
            file(f"{SITE}/evil.pth", "import os\n"),
            file(f"{SITE}/alpha/__pycache__/x.pyc", "bytecode"),
        )
        verdict = small.verify(altered)
        assert f"{SITE}/evil.pth" in found(verdict, "MX325")
        assert "pycache" not in found(verdict, "MX325")
        assert "x.pyc" in found(verdict, "MX326")

    def test_names_that_would_move_a_terminal_are_shown_and_do_not(self, small: Project) -> None:
        altered = small.on_top(
            file(f"{SITE}/x\x1b]0;y\x07.py", ""),
            file(f"{SITE}/b\udcff\udcfe.pth", ""),
            *dist_info(SITE, "e\x1b[31m", "1\u202e"),
        )
        verdict = small.verify(altered)
        text = "".join(f.subject + f.found for f in verdict.findings)
        assert not [sign for sign in text if not sign.isprintable()]
        assert f"{SITE}/b??.pth" in text
        text.encode()

    def test_links_that_never_end_are_one_answer(self, small: Project) -> None:
        far = "x/" * 1900
        altered = small.on_top(
            file(f"{SITE}/.wh.alpha"), link(f"{SITE}/alpha", f"{far}y"), link("etc/os-release", far)
        )
        assert "__init__.py" in found(small.verify(altered), "MX324")


class TestTheImageItself:
    """Configuration, layers, lock and gate are the lock's."""

    def test_what_the_start_gate_cannot_check_is_not_said_to_be_asked(self, tmp_path: Path) -> None:
        lock = debian_lock(tmp_path, "metax.kmd >= 3.8", "metax.device.count >= 8")
        verdict = Project(tmp_path, lock, with_base=True).verify()
        assert verdict.outcome is Outcome.UNKNOWN
        assert found(verdict, "MX330").startswith("metax.device.count: an image holds no host, and")
        assert "metax.kmd" not in found(verdict, "MX330")

    def test_a_harmless_layer_on_top_is_named_and_leaves_a_doubt(self, small: Project) -> None:
        altered = small.on_top(file("srv/app.py", "print()\n"))
        verdict = small.verify(altered)
        assert verdict.outcome is Outcome.UNKNOWN
        assert codes(verdict) == {"MX303"}

    def test_an_image_of_another_lock_is_found(self, small: Project, tmp_path: Path) -> None:
        other = Project(tmp_path / "other", debian_lock(tmp_path / "other"), with_base=True)
        verdict = small.verify(other.layout)
        assert {"MX302", "MX304", "MX311", "MX322"} <= codes(verdict)

    def test_a_replaced_lock_is_found(self, small: Project) -> None:
        altered = small.on_top(file("usr/share/mxenv/lock/pylock.small.toml", "x = 1\n"))
        assert "pylock.small.toml" in found(small.verify(altered), "MX304")

    def test_a_replaced_start_gate_is_found(self, on_debian: Project) -> None:
        altered = on_debian.on_top(file("usr/share/mxenv/start-gate", "#!/bin/sh\n", mode=0o755))
        verdict = on_debian.verify(altered)
        assert "was replaced" in found(verdict, "MX330")
        assert verdict.outcome is Outcome.INCOMPATIBLE
        on_debian.forget_the_image()
        assert on_debian.verify(altered).outcome is Outcome.UNKNOWN

    def test_a_requirement_on_the_host_that_no_gate_asks_is_a_doubt(self, tmp_path: Path) -> None:
        from dataclasses import replace  # noqa: PLC0415 - only here

        lock = replace(scratch_lock(tmp_path), host=("metax.kmd >= 3.8",))
        verdict = Project(tmp_path, lock).verify()
        assert codes(verdict) == {"MX330"}
        assert verdict.outcome is Outcome.UNKNOWN

    def test_another_configuration_over_the_same_layers_is_found(
        self, small: Project, tmp_path: Path
    ) -> None:
        image = describe(layouts.open_source(str(small.layout)), "linux/amd64")
        manifest = json.loads(
            layouts.open_source(str(small.layout)).manifest("linux/amd64")[1],
        )
        other = tmp_path / "other"
        shutil.copytree(small.layout, other)
        entry = add_manifest(
            other,
            [],
            base=manifest["layers"],
            base_diff_ids=image.diff_ids,
            config={"Env": ["A=1"]},
        )
        add_index(other, [entry])
        assert "configuration" in found(small.verify(other), "MX302")
        small.forget_the_image()
        assert "configuration" in found(small.verify(other), "MX302")

    def test_a_base_that_is_not_the_locked_one_is_found(self, on_debian: Project) -> None:
        on_debian.forget_the_image()
        source = layouts.open_source(str(on_debian.layout))
        image = describe(source, "linux/amd64")
        manifest = json.loads(source.manifest("linux/amd64")[1])
        evil = tar([file("etc/ld.so.preload", "/evil.so")])
        other = on_debian.root / "other"
        shutil.copytree(on_debian.layout, other)
        add_manifest(other, [evil], packed=False)
        entry = add_manifest(
            other,
            [],
            base=[describe_blob(evil), *manifest["layers"]],
            base_diff_ids=[sha256(evil), *image.diff_ids],
        )
        add_index(other, [entry])
        assert "layers" in found(on_debian.verify(other), "MX302")

    def test_a_base_that_cannot_be_read_leaves_a_doubt(self, on_debian: Project) -> None:
        on_debian.forget_the_image()
        shutil.rmtree(on_debian.root / "base")
        verdict = on_debian.verify()
        assert codes(verdict) == {"MX305"}
        assert verdict.outcome is Outcome.UNKNOWN

    def test_a_damaged_layer_is_an_invalid_file(self, small: Project) -> None:
        image = describe(layouts.open_source(str(small.layout)), "linux/amd64")
        blob = small.layout / "blobs/sha256" / image.layers[0].digest.removeprefix("sha256:")
        blob.write_bytes(blob.read_bytes()[:-8] + b"\0" * 8)
        with pytest.raises(LayoutError):
            small.verify()


@pytest.mark.parametrize(
    ("address", "error"),
    [("oci:", UsageError), ("oci:/nowhere", LayoutError), ("image:debian", UsageError)],
)
def test_an_address_that_is_no_image_is_one_clear_error(
    small: Project, address: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        verifying.verify(small.lock, address)


def test_many_altered_files_are_counted_not_listed(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, scratch_lock(tmp_path))
    altered = project.on_top(*(file(f"{SITE}/alpha/more{n}.py", "") for n in range(50)))
    assert found(project.verify(altered), "MX325").endswith("30 more files")
