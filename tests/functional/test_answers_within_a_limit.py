"""Files and images take as long as they take, unless somebody says how long that may be."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import _layouts
import pytest

from mxenv.api import nodes
from mxenv.errors import HostUnreachable
from mxenv.facts import Observed, Unreadable

if TYPE_CHECKING:
    from pathlib import Path

NOW = datetime(2026, 1, 7, tzinfo=UTC)
NOTHING = nodes.Wanted(seconds=1e-9)
ENOUGH = nodes.Wanted(seconds=60.0)


def test_a_root_that_is_given_no_time_is_not_known_for_a_passing_reason(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\n")
    late = nodes.probe(f"root:{tmp_path}", now=NOW, wanted=NOTHING)
    assert late.reading("os.id") == Unreadable("not answered in time", passing=True)
    assert nodes.fingerprint_of(late).stack is None
    for wanted in (nodes.USUAL, ENOUGH):
        fine = nodes.probe(f"root:{tmp_path}", now=NOW, wanted=wanted)
        assert fine.reading("os.id") == Observed("debian")


def test_an_image_of_which_only_a_part_could_be_read_is_not_known_at_all(tmp_path: Path) -> None:
    layout = _layouts.image(tmp_path / "x", [_layouts.file("etc/os-release", "ID=debian\n")])
    with pytest.raises(HostUnreachable, match="could not be read in time"):
        nodes.probe(f"oci:{layout}", now=NOW, wanted=NOTHING)
    for wanted in (nodes.USUAL, ENOUGH):
        fine = nodes.probe(f"oci:{layout}", now=NOW, wanted=wanted)
        assert fine.reading("os.id") == Observed("debian")
