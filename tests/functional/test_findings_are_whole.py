"""Every finding says what is there, what should be, why, and what to do about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from mxenv.cli._front import FRONT

RECORDINGS = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())


@pytest.mark.parametrize(
    "arguments", [*(("check", str(RECORDINGS / n)) for n in NAMES), ("doctor",)]
)
def test_a_finding_lacks_nothing(arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(FRONT, [*arguments, "--format", "json"], env={"MXENV_CONFIG": ""})
    (verdict,) = json.loads(result.stdout)["verdicts"]
    assert verdict["findings"]
    for finding in verdict["findings"]:
        for field in ("code", "outcome", "subject", "found", "expected", "because"):
            assert finding[field], (finding["code"], field)
        if finding["outcome"] != "compatible":
            assert finding["remedy"], finding["code"]
