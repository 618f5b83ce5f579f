"""``mxenv check`` on recorded nodes: the verdict, why, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mxenv.cli._front import FRONT

RECORDINGS = Path(__file__).parent.parent / "recordings"


def mxenv(*arguments: str) -> Result:
    return CliRunner().invoke(FRONT, arguments)


def check(name: str, *more: str) -> tuple[int, list[dict[str, Any]]]:
    result = mxenv("check", "--on", f"recording:{RECORDINGS / name}", "--format", "json", *more)
    (verdict,) = json.loads(result.stdout)["verdicts"]
    assert result.stderr == ""
    return result.exit_code, verdict["findings"]


def worrying(findings: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(f["code"], f["subject"]) for f in findings if f["outcome"] != "compatible"}


@pytest.mark.parametrize("name", ["c500-8cards", "c500-sgpu-container"])
def test_a_node_in_order_is_compatible_and_says_by_which_rows(name: str) -> None:
    status, findings = check(name)
    assert (status, worrying(findings)) == (0, set())
    rows = {f["subject"]: f["row"] for f in findings if f["code"] in {"MX106", "MX109"}}
    assert rows["metax.kmd"] == "metax.toml:tested:c500-kmd3.8.30-sdk3.5.3.20"
    assert rows["mcoplib"] == rows["torch"] == "metax.toml:release:vllm-metax-0.17.0"
    assert all(f["because"] for f in findings)


def test_a_mixture_is_incompatible_and_says_which_part_comes_from_which_release() -> None:
    status, findings = check("c500-mixed")
    assert status == 1
    (mixture,) = (f for f in findings if f["code"] == "MX110")
    assert mixture["subject"] == "flash-attn, mcoplib, triton"
    own, other = mixture["found"].split("; ")
    assert own.startswith("of SDK 3.5.3 (release vllm-metax-0.17.0): metax.sdk 3.5.3.20, ")
    assert other == (
        "of SDK 3.7.1 (release vllm-metax-0.21.0): flash-attn 2.6.3+metax3.7.1.3torch2.8, "
        "mcoplib 0.4.6+maca3.7.1.5.torch2.8, triton 3.0.0+metax3.7.1.3 "
        "(/opt/maca/Version.txt and /opt/conda, host)"
    )
    broken = {f["row"] for f in findings if f["code"] == "MX111"}
    assert broken == {"metax.toml:rule:wheel-same-maca", "metax.toml:rule:mcoplib-major-minor"}


def test_a_torch_that_was_overwritten_is_incompatible() -> None:
    status, findings = check("c500-torch-overwritten")
    assert status == 1
    (broken,) = (f for f in findings if f["code"] == "MX111")
    assert (broken["subject"], broken["row"]) == ("torch", "metax.toml:rule:torch-overwritten")
    assert "2.6.0+cu124" in broken["found"]
    assert any(e["link"].endswith("/issues/92") for e in broken["because"])


def test_a_module_built_for_the_kernel_before_is_incompatible() -> None:
    status, findings = check("c500-driver-broken")
    assert status == 1
    assert {f["row"] for f in findings if f["outcome"] == "incompatible"} == {
        "metax.toml:rule:driver-loaded",
        "metax.toml:rule:driver-built-for-this-kernel",
    }
    assert ("MX103", "metax.kmd") in worrying(findings)


def test_an_sdk_that_cannot_be_told_is_unknown() -> None:
    status, findings = check("c550-pod-sdk-unknown")
    assert status == 3
    assert {f["outcome"] for f in findings if f["subject"] == "metax.sdk"} == {"unknown"}
    (sdk,) = (f for f in findings if f["code"] == "MX103")
    assert "permission denied (/opt/maca/Version.txt, container)" in sdk["found"]


def test_the_oldest_known_pair_is_covered() -> None:
    _, findings = check("c550-8cards")
    rows = {f["subject"]: f["row"] for f in findings if f["code"] in {"MX106", "MX109"}}
    row = "metax.toml:tested:c550-kmd2.5.014-sdk2.23.0.1018"
    assert rows == {"metax.kmd": row, "metax.sdk": row, "paddlepaddle-gpu": row}


def test_a_plain_machine_is_unknown() -> None:
    result = mxenv("check", "--on", f"recording:{RECORDINGS / 'plain-debian12'}")
    assert result.exit_code == 3
    assert "MX101" in result.stdout


def test_an_environment_can_be_named_and_must_be_there() -> None:
    assert check("c500-8cards", "--env", "/opt/conda")[0] == 0
    result = mxenv("check", "--on", f"recording:{RECORDINGS / 'c500-8cards'}", "--env", "/opt/x")
    assert result.exit_code == 2
    assert "error: c500-8cards has no Python environment '/opt/x'" in result.stderr


class TestSiteMatrices:
    """``--matrix`` lays the rows of a site over those that are shipped."""

    HEAD = 'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "site-1"\n'
    EVIDENCE = 'evidence = [{ link = "ticket 7", who = "the pilot", grade = "site" }]\n'
    WITHOUT = (
        '[[broken]]\nid = "site-bios"\ntext = "this BIOS resets under load"\n'
        'when = ["metax.device.bios == 1.33.5.0"]\n'
    )

    def site(self, folder: Path, rows: str) -> str:
        path = folder / "site.toml"
        path.write_text(self.HEAD + rows, encoding="utf-8")
        return str(path)

    def test_a_row_of_the_site_counts_and_is_named_by_its_file(self, tmp_path: Path) -> None:
        path = self.site(tmp_path, self.WITHOUT + self.EVIDENCE)
        status, findings = check("c500-8cards", "--matrix", path)
        (broken,) = (f for f in findings if f["code"] == "MX114")
        assert status == 1
        assert broken["row"] == f"{path}:broken:site-bios"

    @pytest.mark.parametrize(
        ("rows", "place", "message"),
        [
            (WITHOUT, "broken 'site-bios'.evidence", "a row without evidence is a guess"),
            ("[[brokn]]\n", "brokn", "unknown field"),
            (WITHOUT.replace("device.bios", "device.boss") + EVIDENCE, "when[0]", "no probe"),
            ("[[", "", "not TOML"),
            ('x = "\udcff"', "", "not UTF-8"),
        ],
    )
    def test_a_matrix_that_is_wrong_ends_with_its_place_and_status_5(
        self, tmp_path: Path, rows: str, place: str, message: str
    ) -> None:
        path = tmp_path / "site.toml"
        path.write_bytes((self.HEAD + rows).encode("utf-8", "surrogateescape"))
        node = f"recording:{RECORDINGS / 'c500-8cards'}"
        result = mxenv("check", "--on", node, "--matrix", str(path))
        assert (result.exit_code, result.stdout) == (5, "")
        first = result.stderr.splitlines()[0]
        assert first.startswith(f"error: {path}: ")
        assert place in first
        assert message in first

    def test_a_matrix_that_is_not_there_is_no_empty_matrix(self, tmp_path: Path) -> None:
        node = f"recording:{RECORDINGS / 'c500-8cards'}"
        result = mxenv("check", "--on", node, "--matrix", str(tmp_path / "none.toml"))
        assert result.exit_code in {2, 5}
        assert "none.toml" in result.stderr

    def test_nesting_without_end_is_refused(self, tmp_path: Path) -> None:
        path = self.site(tmp_path, f"x = {'[' * 5000}")
        node = f"recording:{RECORDINGS / 'c500-8cards'}"
        result = mxenv("check", "--on", node, "--matrix", path)
        assert result.exit_code == 5
        assert "not TOML" in result.stderr

    def test_a_file_that_is_far_too_large_is_not_read(self, tmp_path: Path) -> None:
        path = tmp_path / "large.toml"
        with path.open("wb") as file:
            file.truncate((16 << 20) + 1)
        node = f"recording:{RECORDINGS / 'c500-8cards'}"
        result = mxenv("check", "--on", node, "--matrix", str(path))
        assert result.exit_code == 5
        assert "larger than 16 MiB" in result.stderr
