from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from _attested import BASE, LOCK_DIGEST, OTHER, SCRATCH, WHOLE
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from mxenv import sbom

if TYPE_CHECKING:
    from mxenv.lock import Lock


def rendered(lock: Lock = WHOLE) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(sbom.render(lock, lock_digest=LOCK_DIGEST, version="1.0"))
    return document


def flaws(document: object, lock: Lock = WHOLE) -> list[str]:
    return list(sbom.flaws(json.dumps(document).encode(), lock, lock_digest=LOCK_DIGEST))


def by_name(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {component["name"]: component for component in document["components"]}


@pytest.mark.parametrize("lock", [WHOLE, SCRATCH])
def test_is_valid_by_the_schema_of_cyclonedx(lock: Lock) -> None:
    content = sbom.render(lock, lock_digest=LOCK_DIGEST, version="1.0").decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(content) is None
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(
        content.replace("CycloneDX", "X")
    ), "the validator would not say"


def test_names_every_wheel_with_package_url_and_hash() -> None:
    beta = by_name(rendered())["beta"]
    assert beta["version"] == "2.0+metax3.5"
    assert beta["purl"].startswith("pkg:pypi/beta@2.0%2Bmetax3.5")
    assert beta["hashes"] == [{"alg": "SHA-256", "content": "c" * 64}]
    assert beta["bom-ref"] == "wheel:beta"


def test_marks_what_the_base_provides_and_makes_up_no_hash_of_it() -> None:
    torch = by_name(rendered())["torch"]
    assert torch["properties"] == [{"name": "mxenv:origin", "value": "base"}]
    assert "hashes" not in torch


def test_names_the_base_by_digest_and_the_image_by_that_of_its_lock() -> None:
    document = rendered()
    base = by_name(document)["registry.example.com:5000/Team/vllm:0.17"]
    assert base["hashes"] == [{"alg": "SHA-256", "content": BASE.removeprefix("sha256:")}]
    assert document["metadata"]["component"]["version"] == LOCK_DIGEST


def test_is_the_same_whenever_it_is_made_and_another_for_another_lock() -> None:
    first, again = (sbom.render(WHOLE, lock_digest=LOCK_DIGEST, version="1.0") for _ in range(2))
    assert first == again
    other = json.loads(sbom.render(WHOLE, lock_digest=OTHER, version="1.0"))
    assert other["serialNumber"] != rendered()["serialNumber"]
    assert rendered()["metadata"]["timestamp"].startswith("1970-01-01T00:00:00")


def test_has_no_flaws_as_it_was_written_by_whichever_version() -> None:
    assert flaws(rendered()) == []
    assert flaws(rendered(SCRATCH), SCRATCH) == []


def test_of_another_lock_s_digest_is_found_out() -> None:
    document = rendered()
    document["metadata"]["component"]["version"] = OTHER
    assert flaws(document) == [f"it is about {OTHER}"]
    assert "it is about None" in flaws({"bomFormat": "CycloneDX"})


def test_of_another_lock_is_found_out() -> None:
    wheel = replace(WHOLE.packages[0].wheel, sha256="f" * 64)
    other = replace(WHOLE, packages=(replace(WHOLE.packages[0], wheel=wheel), WHOLE.packages[1]))
    assert flaws(rendered(), other) == [
        f"it does not have alpha 1.0 sha256:{'f' * 64}",
        f"it has alpha 1.0 sha256:{'a' * 64}, which the lock does not",
    ]


def test_that_leaves_something_out_is_found_out() -> None:
    document = rendered()
    document["components"] = [c for c in document["components"] if c["name"] != "torch"]
    assert flaws(document) == ["it does not have torch 2.8.0+metax3.5.3.9"]


@pytest.mark.parametrize(
    ("content", "reason"), [(b"{", "not JSON"), (b"{}", "not a CycloneDX document")]
)
def test_that_is_none_says_so(content: bytes, reason: str) -> None:
    (flaw,) = sbom.flaws(content, WHOLE, lock_digest=LOCK_DIGEST)
    assert reason in flaw
