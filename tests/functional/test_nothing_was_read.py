"""That nothing was read is no success, whatever asked for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mxenv.cli._front import FRONT

RECORDINGS = Path(__file__).parents[1] / "recordings"
UNKNOWN = 3


def mxenv(*words: str) -> Result:
    return CliRunner().invoke(FRONT, list(words), env={"MXENV_FORMAT": None})


@pytest.fixture
def silent(tmp_path: Path) -> str:
    path = tmp_path / "silent.md"
    path.write_text("It does not work, please help.\n", encoding="utf-8")
    return f"report:{path}"


def test_a_node_of_which_nothing_was_read_is_unknown(silent: str, tmp_path: Path) -> None:
    probed = mxenv("probe", "--on", silent)
    assert (probed.exit_code, probed.stderr) == (UNKNOWN, "nothing could be read of silent\n")
    recorded = mxenv("record", "--on", silent, "--out", str(tmp_path / "out"))
    assert recorded.exit_code == UNKNOWN
    assert "nothing could be read of silent" in recorded.stderr
    assert mxenv("check", "--on", silent).exit_code == UNKNOWN


def test_so_are_nodes_with_such_a_one_among_them(silent: str, tmp_path: Path) -> None:
    both = ("--on", silent, "--on", f"recording:{RECORDINGS / 'plain-debian12'}")
    assert mxenv("probe", *both).exit_code == UNKNOWN
    assert mxenv("record", *both, "--out", str(tmp_path / "out")).exit_code == UNKNOWN


def test_two_nodes_of_which_nothing_was_read_are_not_equal(silent: str) -> None:
    compared = mxenv("diff", silent, silent)
    assert compared.exit_code == UNKNOWN
    assert "not enough could be read to say that they are equal" in compared.stderr


def test_what_was_late_on_both_sides_is_not_equal(tmp_path: Path) -> None:
    late = tmp_path / "late.json"
    assert mxenv("probe", "--out", str(late), "--timeout", "1e-9").exit_code == UNKNOWN
    text = late.read_text(encoding="utf-8")
    seen = text.replace('"facts": [', f'"facts": [{OBSERVED}', 1)
    late.write_text(seen, encoding="utf-8")
    assert mxenv("probe", "--out", str(tmp_path / "x"), "--timeout", "nan").exit_code == 2
    assert mxenv("diff", str(late), str(late)).exit_code == UNKNOWN


OBSERVED = (
    '{"key": "zz.seen", "instance": "", "status": "observed", "value": "1", "source": "a test",'
    ' "view": "host"},'
)


def test_one_node_is_equal_to_itself() -> None:
    node = f"recording:{RECORDINGS / 'c500-8cards'}"
    assert mxenv("diff", node, node).exit_code == 0


@pytest.mark.parametrize("words", [["probe", "--out", ""], ["record", "--out", ""]])
def test_no_path_is_not_the_folder_that_one_is_in(words: list[str]) -> None:
    refused = mxenv(*words)
    assert refused.exit_code == 2
    assert "no path is named" in refused.stderr
