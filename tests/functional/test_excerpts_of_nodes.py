"""Of files that may hold secrets only what is listed gets into a snapshot or a recording."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from mxenv.api import nodes
from mxenv.facts import Observed
from mxenv.question import File, Part
from mxenv.transports._disk import DiskTree
from mxenv.transports._tree import answer

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 7, tzinfo=UTC)
SECRET = "hunter2"  # noqa: S105 - planted, so that it can be looked for
FILES = {
    "proc/cmdline": f"ro iommu=pt rd.luks.key={SECRET} hugepages={SECRET}$ -- --join {SECRET}\n",
    "etc/docker/daemon.json": json.dumps(
        {
            "default-runtime": "metax",
            "log-opts": {"env": SECRET},
            "runtimes": {"metax": {"runtimeArgs": [SECRET]}, f"{SECRET} {SECRET}": {}},
        }
    ),
    "etc/containerd/config.toml": (
        f'[plugins."x".registry.configs."r".auth]\nauth = "{SECRET}"\n'
        '[plugins."x".containerd.runtimes.metax]\n'
    ),
    "etc/containerd/conf.d/99.toml": f'default_runtime_name = "metax"\nidentity = "{SECRET}"\n',
}
MAIN = 'schema = "mxenv.recording/1"\nnode = "n"\ntaken_at = 2026-01-07T00:00:00Z\n'


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    for name, text in {
        "recording.toml": MAIN,
        **{f"root/{n}": t for n, t in FILES.items()},
    }.items():
        path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "given"


def said(folder: Path) -> str:
    return "".join(p.read_text() for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize("scheme", ["recording", "root"])
def test_no_secret_is_recorded_and_the_rest_replays(
    recording: Path, tmp_path: Path, scheme: str
) -> None:
    address = f"recording:{recording}" if scheme == "recording" else f"root:{recording / 'root'}"
    assert SECRET in said(recording)
    out = tmp_path / "out"
    learned = nodes.record(address, out, now=NOW)
    assert SECRET not in said(out)
    assert nodes.probe(f"recording:{out}", now=NOW).facts == learned.facts


def test_what_is_listed_is_kept(recording: Path) -> None:
    learned = nodes.probe(f"recording:{recording}", now=NOW)
    assert learned.reading("boot.parameter", "iommu") == Observed("pt")
    assert learned.reading("runtime.handler", "containerd/metax") == Observed("set up")
    assert learned.reading("runtime.default", "containerd") == Observed("metax")
    for fact in learned.facts:
        assert SECRET not in str(fact), fact.label


def test_a_tree_hands_on_the_excerpt_only(recording: Path) -> None:
    question = File("/proc/cmdline", Part.BOOT)
    given = answer(DiskTree(str(recording / "root")), [question])[question]
    assert SECRET not in str(given)
