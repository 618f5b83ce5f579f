"""What `mxenv doctor` says of a machine that has what mxenv needs, and of one that has not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from mxenv.api import checking, doctoring
from mxenv.cli._front import FRONT
from mxenv.verdict import Finding, Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def examined(environ: Mapping[str, str], *matrices: Path) -> dict[str, Finding]:
    return {found.code: found for found in doctoring.examine(environ, matrices).findings}


def test_a_machine_that_has_everything_is_fine_and_all_of_it_is_named(tmp_path: Path) -> None:
    found = examined({"MXENV_CACHE_DIR": str(tmp_path / "cache")})
    assert list(found) == ["MX501", "MX502", "MX503", "MX504", "MX505", "MX506"]
    assert {finding.outcome for finding in found.values()} == {Outcome.COMPATIBLE}
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_found_and_so_is_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = examined({"MXENV_CACHE_DIR": str(tmp_path / "file" / "cache")})["MX502"]
    assert cache.outcome is Outcome.INCOMPATIBLE
    assert cache.found == f"{tmp_path}/file/cache cannot be written: Not a directory"
    assert "MXENV_CACHE_DIR" in cache.remedy


def test_the_cache_lies_where_the_desktop_says_unless_mxenv_is_told(tmp_path: Path) -> None:
    kept = {"XDG_CACHE_HOME": str(tmp_path / "xdg")}
    assert f"{tmp_path}/xdg/mxenv can" in examined(kept)["MX502"].found
    told = {**kept, "MXENV_CACHE_DIR": str(tmp_path / "own")}
    assert f"{tmp_path}/own can" in examined(told)["MX502"].found


def test_an_index_is_named_by_its_variable_and_never_by_its_credentials(tmp_path: Path) -> None:
    cache = {"MXENV_CACHE_DIR": str(tmp_path)}
    index = examined({**cache, "UV_INDEX": "https://ada:secret@index.example/simple"})["MX504"]
    assert index.found == "set by UV_INDEX"
    assert "default" in examined(cache)["MX504"].found


def test_no_container_engine_is_no_fault(tmp_path: Path) -> None:
    socket = tmp_path / "docker.sock"
    environ = {"MXENV_CACHE_DIR": str(tmp_path), "DOCKER_HOST": f"unix://{socket}"}
    engine = examined(environ)["MX505"]
    assert engine.outcome is Outcome.COMPATIBLE
    assert engine.found == f"none at unix://{socket}; the engine oci needs none"
    socket.touch()
    assert examined(environ)["MX505"].found == f"unix://{socket} is there"


def test_a_container_engine_that_was_not_asked_is_not_said_to_be_there(tmp_path: Path) -> None:
    environ = {"MXENV_CACHE_DIR": str(tmp_path), "DOCKER_HOST": "tcp://127.0.0.1:1"}
    assert examined(environ)["MX505"].found == "tcp://127.0.0.1:1, which was not asked"


@pytest.mark.usefixtures("powerless")
def test_a_container_engine_that_others_may_use_is_said_to_be_so(tmp_path: Path) -> None:
    socket = tmp_path / "docker.sock"
    socket.touch(mode=0)
    environ = {"MXENV_CACHE_DIR": str(tmp_path), "DOCKER_HOST": f"unix://{socket}"}
    assert examined(environ)["MX505"].found.startswith(
        f"one that you may not use at unix://{socket}"
    )


def test_every_row_of_the_matrix_is_counted(tmp_path: Path) -> None:
    rows = len(checking.load_matrix().rows)
    found = examined({"MXENV_CACHE_DIR": str(tmp_path)})["MX506"].found
    assert found.startswith(f"{rows} rows: metax.toml ")


def test_a_matrix_that_cannot_be_read_ends_with_1(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_text("schema = 1\n")
    environ = {"MXENV_CACHE_DIR": str(tmp_path)}
    result = CliRunner(env=environ).invoke(FRONT, ["doctor", "--matrix", str(site)])
    assert result.exit_code == 1
    assert f"found     {site}: schema: " in result.stdout
