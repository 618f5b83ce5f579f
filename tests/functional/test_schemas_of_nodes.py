from __future__ import annotations

import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import mxenv
from mxenv import recording
from mxenv.api import nodes

NOW = datetime(2026, 1, 7, tzinfo=UTC)
RECORDINGS = Path(__file__).parent.parent / "recordings"


def validator(name: str) -> Draft202012Validator:
    path = Path(mxenv.__file__).parent / "schemas" / f"{name}.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def read(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        return json.loads(text)
    values = tomllib.loads(text)
    return {**values, "taken_at": str(values["taken_at"])}


@pytest.mark.parametrize("name", sorted(path.name for path in RECORDINGS.glob("*/")))
def test_every_recording_and_its_snapshot_are_as_their_schemas_say(
    name: str, tmp_path: Path
) -> None:
    documents = {
        d: read(RECORDINGS / name / d)
        for d in recording.DOCUMENTS
        if (RECORDINGS / name / d).exists()
    }
    validator("recording").validate(documents)
    nodes.write_snapshot(nodes.probe(f"recording:{RECORDINGS / name}", now=NOW), tmp_path / "s")
    validator("snapshot").validate(json.loads((tmp_path / "s").read_text(encoding="utf-8")))


def test_this_machine_is_as_the_schema_says(tmp_path: Path) -> None:
    nodes.write_snapshot(nodes.probe(now=NOW), tmp_path / "s")
    validator("snapshot").validate(json.loads((tmp_path / "s").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    "fact",
    [
        {"status": "observed"},
        {"status": "observed", "value": True},
        {"status": "absent", "value": 1},
        {"status": "unreadable"},
        {"status": "unreadable", "reason": "r", "value": 1},
        {"status": "other"},
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(fact: dict[str, Any]) -> None:
    whole = {"key": "k", "instance": "", "source": "s", "view": "host", **fact}
    digest = f"mxenv1:{'0' * 64}"
    document = {
        "schema": "mxenv.snapshot/1",
        "node": "n",
        "view": "host",
        "taken_at": "2026-01-07T00:00:00Z",
        "fingerprint": {"stack": digest, "node": digest},
        "facts": [whole],
    }
    assert not validator("snapshot").is_valid(document)
    document["facts"] = []
    assert validator("snapshot").is_valid(document)
