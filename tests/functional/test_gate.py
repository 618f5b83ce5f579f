"""The gate lets through what is locked, fresh and known to work; it names what is not."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from datetime import date
from typing import TYPE_CHECKING

import pytest
from _gated import IMAGE, OF_ANOTHER_RELEASE, RECORDINGS, RELEASE, WAIVER, codes, mxenv, project
from click.testing import CliRunner

from mxenv import image as images
from mxenv.cli._front import FRONT
from mxenv.verdict import Waiver

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    with contextlib.chdir(tmp_path):
        yield tmp_path


def test_the_set_of_one_release_is_let_through(here: Path) -> None:
    project(here)
    status, found = codes()
    assert (status, set(found.values())) == (0, {"compatible"})
    assert found["MX403"] == "compatible"


def test_a_mixed_set_is_refused_and_each_component_has_its_release(here: Path) -> None:
    project(here, replaced={"mcoplib": OF_ANOTHER_RELEASE})
    result = mxenv("gate")
    assert result.exit_code == 1
    mixed = next(part for part in result.stdout.split("\n\n") if " MX110 " in part)
    assert mixed.splitlines()[0].split()[2] == "mcoplib"
    assert f"release vllm-metax-0.21.0): mcoplib {OF_ANOTHER_RELEASE}" in mixed
    assert "release vllm-metax-0.17.0): metax.sdk 3.5.3.20" in mixed


def test_a_recording_of_a_mixed_node_is_refused() -> None:
    status, found = codes(RECORDINGS / "c500-mixed")
    assert (status, found["MX110"]) == (1, "incompatible")


def test_a_recording_of_a_good_node_is_let_through() -> None:
    assert mxenv("gate", RECORDINGS / "c500-8cards").exit_code == 0


@pytest.mark.parametrize("order", [1, -1])
def test_one_bad_node_among_good_ones_is_refused(order: int) -> None:
    nodes = (RECORDINGS / "c500-8cards", RECORDINGS / "c500-mixed")
    result = mxenv("gate", *nodes[::order])
    assert result.exit_code == 1
    assert result.stdout.endswith("\nall 2: INCOMPATIBLE\n")


def test_a_snapshot_is_judged_as_the_node_it_is_of(here: Path) -> None:
    address = f"recording:{RECORDINGS / 'c500-mixed'}"
    assert mxenv("probe", "--on", address, "--out", "node.json").exit_code == 0
    assert codes("node.json") == codes(RECORDINGS / "c500-mixed")
    assert (here / "node.json").exists()


def test_an_image_without_a_lock_is_refused(here: Path) -> None:
    project(here).unlink()
    assert codes() == (1, {"MX401": "incompatible"})
    assert "mxenv lock images/llm/image.toml" in mxenv("gate").stdout


def test_a_stale_lock_is_refused_whichever_of_the_two_files_is_named(here: Path) -> None:
    lock = project(here)
    described = here / "images/llm/image.toml"
    text = described.read_text(encoding="utf-8").replace("structlog >=24", "structlog >=25")
    described.write_text(text, encoding="utf-8")
    for named in (described, lock, here):
        status, found = codes(named)
        assert (status, found["MX402"]) == (1, "incompatible")
    lines = lock.read_text(encoding="utf-8").splitlines()
    line = next(n for n, text in enumerate(lines, start=1) if text.startswith("inputs = "))
    assert f"    at        lockfiles/pylock.llm.toml:{line}\n" in mxenv("gate").stdout


def test_a_lock_that_denies_its_accelerator_is_stale(here: Path) -> None:
    lock = project(here)
    text = lock.read_text(encoding="utf-8")
    lock.write_text(text.replace('accelerator = "metax"', 'accelerator = "none"'), encoding="utf-8")
    status, found = codes()
    assert (status, found["MX402"]) == (1, "incompatible")


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('inputs = "', 'host = ["metax.kmd >= 3"]\ninputs = "', "host.requires no longer has"),
        ("structlog-24.4.0", "structlog-23.1.0", "python.requires has 'structlog >=24', and the"),
        ("[tool.mxenv.facts]", '[tool.mxenv.variables]\nA = "1"\n[tool.mxenv.facts]', "variables"),
    ],
)
def test_a_lock_that_was_edited_by_hand_is_refused(
    here: Path, before: str, after: str, said: str
) -> None:
    lock = project(here)
    text = lock.read_text(encoding="utf-8")
    assert before in text
    edited = text.replace(before, after).replace('"24.4.0"', f'"{after[10:16]}"')
    lock.write_text(edited if "structlog" in before else text.replace(before, after, 1))
    result = mxenv("gate")
    assert result.exit_code == 1
    assert said in result.stdout


@pytest.mark.parametrize("target", ["image.toml", "nowhere"])
def test_an_image_that_is_a_link_to_nothing_is_not_passed_by(here: Path, target: str) -> None:
    project(here)
    (here / "images" / "other").mkdir()
    (here / "images" / "other" / "image.toml").symlink_to(target)
    result = mxenv("gate")
    assert result.exit_code == 5
    assert result.stderr.startswith("error: images/other/image.toml: cannot be read: ")


def test_a_folder_that_may_not_be_looked_into_is_not_passed_by(here: Path) -> None:
    project(here)
    folder = here / "images" / "other"
    folder.mkdir()
    (folder / "image.toml").write_text("")
    folder.chmod(0)
    # Root may look into everything unless it gives that up.
    given_up = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
    command = (*(given_up if os.geteuid() == 0 else ()), sys.executable, "-m", "mxenv", "gate")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    folder.chmod(0o755)
    assert done.returncode == 5
    assert done.stderr.startswith("error: images/other: permission denied")


def test_a_lock_whose_image_is_not_there_is_not_known_to_be_fresh(here: Path) -> None:
    lock = project(here)
    (here / "images/llm/image.toml").unlink()
    status, found = codes(lock)
    assert (status, found["MX404"]) == (3, "unknown")


def test_an_image_for_no_accelerator_holds_no_build_of_a_vendor(here: Path) -> None:
    plain = dict.fromkeys(RELEASE["packages"], "1.0")
    project(here, accelerator="none", replaced=plain, facts=())
    assert codes() == (0, {"MX403": "compatible", "MX406": "compatible"})


def test_an_image_for_no_accelerator_has_no_base_with_a_vendors_stack(here: Path) -> None:
    plain = dict.fromkeys(RELEASE["packages"], "1.0")
    project(here, accelerator="none", replaced=plain)
    assert codes() == (1, {"MX403": "compatible", "MX405": "incompatible"})


def test_a_build_of_a_vendor_in_an_image_for_no_accelerator_is_refused(here: Path) -> None:
    project(here, accelerator="none")
    status, found = codes()
    assert (status, found["MX405"]) == (1, "incompatible")


class TestWaivers:
    """What is judged cannot excuse itself; whoever runs the gate decides."""

    def mixed(self, root: Path, expires: date) -> None:
        project(
            root,
            replaced={"mcoplib": OF_ANOTHER_RELEASE},
            extra=WAIVER.format(expires=expires.isoformat()),
        )

    def test_a_waiver_is_shown_as_proposed_and_does_not_count(self, here: Path) -> None:
        self.mixed(here, date(2999, 1, 1))
        status, found = codes()
        assert (status, found["MX110"], found["MX407"]) == (1, "incompatible", "compatible")

    def test_a_waiver_counts_when_the_job_says_so_and_is_shown(self, here: Path) -> None:
        self.mixed(here, date(2999, 1, 1))
        _, found = codes("--allow-waivers")
        assert found["MX110"] == "waived"
        shown = mxenv("gate", "--allow-waivers").stdout
        assert "waived    by platform@example.org until 2999-01-01: measured" in shown

    @pytest.mark.parametrize("options", [(), ("--allow-waivers",)])
    def test_an_expired_waiver_fails_either_way(self, here: Path, options: tuple[str, ...]) -> None:
        self.mixed(here, date(2020, 1, 1))
        status, found = codes(*options)
        assert (status, found["MX110"], found["MX119"]) == (1, "incompatible", "incompatible")


def test_rows_that_the_judged_project_brings_are_not_asked(here: Path) -> None:
    project(here, replaced={"mcoplib": OF_ANOTHER_RELEASE})
    before = codes()
    (here / "matrices").mkdir()
    for name in ("site.toml", "matrices/site.toml", "metax.toml"):
        (here / name).write_text("[[nonsense]]\n", encoding="utf-8")
    status, found = codes()
    assert found.pop("MX408") == "compatible"
    assert (status, found) == before
    assert "matrices/site.toml: COMPATIBLE" in mxenv("gate").stdout


def test_rows_of_a_site_count_by_the_variable_as_by_the_option_and_the_help_says_so(
    here: Path,
) -> None:
    rows = here / "site.toml"
    rows.write_text(
        'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n'
        '[[broken]]\nid = "ours"\ntext = "it hangs"\nwhen = ["metax.kmd == 3.8.30"]\n'
        'evidence = [{ link = "x", who = "us", grade = "site" }]\n'
    )
    node = str(RECORDINGS / "c500-8cards")
    assert mxenv("gate", node, "--matrix", rows).exit_code == 1
    named = CliRunner(env={"MXENV_MATRIX_PATH": str(rows)}).invoke(FRONT, ["gate", node])
    assert named.exit_code == 1
    assert "--matrix and MXENV_MATRIX_PATH only" in " ".join(mxenv("gate", "--help").stdout.split())


def test_a_waiver_is_what_the_image_says() -> None:
    text = IMAGE.format(name="x", accelerator="metax", digest="ab" * 32)
    image = images.parse(text + WAIVER.format(expires="2999-01-01"), context="image.toml")
    assert image.waivers == (
        Waiver(
            code="MX110",
            reason="measured on our own node",
            owner="platform@example.org",
            expires=date(2999, 1, 1),
        ),
    )
