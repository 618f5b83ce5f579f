"""The demonstration ends well, step by step, and twice in one place."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def demo(out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mxenv.cli.demo", "--out", out],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.usefixtures("package_index")
def test_every_step_ends_as_it_should_and_the_digests_agree(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    done = demo(out)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"(?m)^-> exit status (\d+)", done.stdout)[3:] == [*"0000000", "1"]
    manifests = {
        json.loads((out / place / "image/index.json").read_text(encoding="utf-8"))["manifests"][0][
            "digest"
        ]
        for place in ("first", "second")
    }
    assert len(manifests) == 1
    assert "of SDK 3.7.1 (release vllm-metax-0.21.0): flash-attn" in done.stdout
    assert demo(out).returncode == 0


def test_what_no_demonstration_made_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = demo(tmp_path)
    assert done.returncode == 2
    assert "was not made by a demonstration" in done.stderr
    assert (tmp_path / "mine").exists()
