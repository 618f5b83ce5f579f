from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from _attested import BASE, LOCK_DIGEST, MANIFEST, OTHER, SCRATCH, WHOLE

from mxenv import provenance


def rendered(version: str = "1.0") -> dict[str, Any]:
    content = provenance.render(WHOLE, manifest=MANIFEST, lock_digest=LOCK_DIGEST, version=version)
    document: dict[str, Any] = json.loads(content)
    return document


def flaws(document: object, lock: object = WHOLE) -> list[str]:
    return list(
        provenance.flaws(
            json.dumps(document).encode(),
            lock,  # type: ignore[arg-type]
            manifest=MANIFEST,
            lock_digest=LOCK_DIGEST,
        )
    )


def test_is_a_statement_that_follows_the_rules_of_slsa() -> None:
    """The fields that SLSA provenance v1 and in-toto statements v1 require, and their types."""
    document = rendered()
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    assert document["predicateType"] == "https://slsa.dev/provenance/v1"
    assert document["subject"] == [{"name": "demo", "digest": {"sha256": "1" * 64}}]
    assert document["predicate"].keys() == {"buildDefinition", "runDetails"}
    definition = document["predicate"]["buildDefinition"]
    assert definition["buildType"].startswith("https://mxenv.invalid/")
    assert definition["externalParameters"] == {
        "lock": {"name": "pylock.demo.toml", "digest": {"sha256": "d" * 64}}
    }
    for resource in definition["resolvedDependencies"]:
        assert resource["digest"].keys() == {"sha256"}
        assert len(resource["digest"]["sha256"]) == 64
    assert document["predicate"]["runDetails"]["builder"]["id"] == "pkg:generic/mxenv@1.0"
    assert "metadata" not in document["predicate"]["runDetails"], "a clock would be in there"


def test_names_every_wheel_and_the_base_by_digest() -> None:
    definition = rendered()["predicate"]["buildDefinition"]
    digests = [one["digest"]["sha256"] for one in definition["resolvedDependencies"]]
    assert digests == [BASE.removeprefix("sha256:"), "a" * 64, "c" * 64, "e" * 64]


def test_of_scratch_names_nothing() -> None:
    content = provenance.render(SCRATCH, manifest=MANIFEST, lock_digest=LOCK_DIGEST, version="1")
    definition = json.loads(content)["predicate"]["buildDefinition"]
    assert definition["resolvedDependencies"] == []


def test_has_no_flaws_as_it_was_written_by_whichever_version() -> None:
    assert flaws(rendered("0.1")) == []


def test_of_another_image_is_found_out() -> None:
    document = rendered()
    document["subject"][0]["digest"]["sha256"] = OTHER.removeprefix("sha256:")
    assert flaws(document) == [f"it is about {OTHER}"]


def test_of_another_lock_is_found_out() -> None:
    document = rendered()
    document["predicate"]["buildDefinition"]["externalParameters"] = {}
    assert flaws(document) == ["it names the lock nowhere"]


def test_with_another_wheel_is_found_out() -> None:
    document = rendered()
    document["predicate"]["buildDefinition"]["resolvedDependencies"][1]["digest"] = {
        "sha256": "f" * 64
    }
    name = WHOLE.packages[0].wheel.name
    assert flaws(document) == [
        f"it does not name {name} with sha256:{'a' * 64}",
        f"it names sha256:{'f' * 64}, which the lock does not",
    ]
    assert flaws(rendered(), replace(WHOLE, packages=()))


def test_that_is_a_statement_of_another_kind_is_found_out() -> None:
    document = rendered() | {"predicateType": "https://example.com/other"}
    (flaw,) = flaws(document)
    assert flaw.startswith("its predicate is https://example.com/other")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"_type": "other"}, "not a statement"),
        ({"predicateType": 5}, "not a statement"),
        ({"subject": []}, "not about one subject"),
    ],
)
def test_that_is_no_statement_says_so(fields: dict[str, object], reason: str) -> None:
    (flaw,) = flaws(rendered() | fields)
    assert reason in flaw
