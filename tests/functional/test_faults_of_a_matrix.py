"""A matrix or a snapshot that is not what it should be never ends in exit status 0."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from mxenv import matrix_reader, snapshot
from mxenv.api import checking, nodes
from mxenv.cli._front import FRONT
from mxenv.facts import Observed
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mxenv.facts import Fact

RECORDING = f"recording:{Path(__file__).parent.parent / 'recordings' / 'c500-8cards'}"
NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
HEAD = {"schema": "mxenv.matrix/1", "vendor": "metax", "revision": "1"}


def check(*arguments: str) -> Result:
    return CliRunner().invoke(FRONT, ["check", *arguments])


def shipped() -> str:
    """Return the shipped rows as somebody's own, under other ids."""
    text = (resources.files("mxenv") / "matrices" / "metax.toml").read_text("utf-8")
    return text.replace('id = "', 'id = "own-')


def test_a_matrix_without_a_row_covers_nothing() -> None:
    node = nodes.snapshot_of(RECORDING, now=NOW)
    for documents in ([], [("empty.toml", HEAD)]):
        empty = matrix_reader.parse(documents, nodes.keys())
        verdict = checking.check(node, empty, today=date(2026, 11, 30))
        assert verdict.outcome is Outcome.UNKNOWN
        assert {"MX105", "MX107"} <= {finding.code for finding in verdict.findings}


@pytest.mark.parametrize("kind", ["release", "tested", "series"])
def test_a_matrix_that_lost_a_kind_of_row_is_no_better(kind: str) -> None:
    node = nodes.snapshot_of(RECORDING, now=NOW)
    whole = checking.load_matrix()
    less = {name: getattr(whole, name) for name in ("releases", "tested", "rules", "broken")}
    less["releases" if kind == "release" else kind] = ()
    lost = type(whole)(digest="", files=(), **less)
    verdict = checking.check(node, lost, today=date(2026, 11, 30))
    # One node with one card model needs no series; it must not be told more than before.
    assert verdict.outcome is not Outcome.COMPATIBLE or kind == "series"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "schema: missing"),
        (shipped()[:50_000], "not TOML"),
        (shipped().replace("metax.module.loaded", "metax.modul.loaded", 1), "no probe declares"),
        (shipped().replace("[[requirement]]", "[[requirements]]", 1), "unknown field"),
        (shipped().replace("evidence = [\n", "evidense = [\n", 1), "unknown field"),
        (shipped().replace('grade = "vendor"', 'grade = "vendro"', 1), "is none of site, vendor"),
        (shipped().replace('id = "own-torch-abi"', 'id = "own-wheel-same-maca"', 1), "stands in"),
    ],
    ids=["empty", "truncated", "key", "kind", "field", "grade", "twice"],
)
def test_a_matrix_that_is_wrong_is_refused_with_its_place(
    tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "site.toml"
    path.write_text(content, encoding="utf-8")
    result = check("--on", RECORDING, "--matrix", str(path))
    assert (result.exit_code, result.stdout) == (5, "")
    assert str(path) in result.stderr
    assert said in result.stderr


def test_the_nearest_key_is_named(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(shipped().replace("metax.module.loaded", "metax.module.laoded", 1), "utf-8")
    result = check("--on", RECORDING, "--matrix", str(path))
    assert "did you mean 'metax.module.loaded'?" in result.stderr


def test_a_row_that_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    rows = (
        'schema = "mxenv.matrix/1"\nvendor = "metax"\nrevision = "1"\n[[rule]]\nid = "own"\n'
        'overrides = "metax.toml:rule:wheel-same-mca"\nreason = "we know better"\ntext = "t"\n'
        'requires = ["metax.sdk present"]\n'
        'evidence = [{ link = "ticket 7", who = "the pilot", grade = "site" }]\n'
    )
    path.write_text(rows, encoding="utf-8")
    result = check("--on", RECORDING, "--matrix", str(path))
    assert result.exit_code == 5
    assert "did you mean 'metax.toml:rule:wheel-same-maca'?" in result.stderr


def snapshot_text(tmp_path: Path) -> str:
    path = tmp_path / "whole.json"
    result = CliRunner().invoke(FRONT, ["probe", "--on", RECORDING, "--out", str(path)])
    assert result.exit_code == 0
    return path.read_text("utf-8")


def test_a_snapshot_that_was_cut_is_refused(tmp_path: Path) -> None:
    text = snapshot_text(tmp_path)
    for end in (0, 1, 100, len(text) // 2, len(text) - 3):
        path = tmp_path / "cut.json"
        path.write_text(text[:end], encoding="utf-8")
        result = check(str(path))
        assert result.exit_code == 5, end


def written(facts: Iterable[Fact], tmp_path: Path) -> str:
    """Return the path of a snapshot of the recorded node with other facts."""
    path = tmp_path / "changed.json"
    changed = replace(nodes.snapshot_of(RECORDING, now=NOW), facts=tuple(facts))
    path.write_text(snapshot.to_json(changed, nodes.keys()), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("prefix", ["metax.kmd", "metax.sdk", "python.package", "metax.device"])
def test_a_snapshot_that_lost_its_facts_is_not_green(tmp_path: Path, prefix: str) -> None:
    facts = nodes.snapshot_of(RECORDING, now=NOW).facts
    assert check(written(facts, tmp_path)).exit_code == 0
    left = (fact for fact in facts if not fact.key.startswith(prefix))
    assert check(written(left, tmp_path)).exit_code == 3


def test_a_matrix_that_is_older_than_the_node_does_not_know_it(tmp_path: Path) -> None:
    newer = {"metax.sdk": Observed("3.9.0.4"), "metax.kmd": Observed("3.12.1")}
    facts = nodes.snapshot_of(RECORDING, now=NOW).facts
    changed = (replace(fact, reading=newer.get(fact.key, fact.reading)) for fact in facts)
    result = check(written(changed, tmp_path), "--format", "json")
    (verdict,) = json.loads(result.stdout)["verdicts"]
    assert result.exit_code != 0
    found = {f["code"]: f for f in verdict["findings"] if f["outcome"] == "unknown"}
    assert "3.8.2, older" in found["MX107"]["expected"]
    assert "newer than any tested" in found["MX105"]["expected"]
