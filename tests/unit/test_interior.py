from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime

from _attested import SCRATCH, WHOLE

from mxenv import interior
from mxenv.facts import Absent, Fact, Observed, Reading, Snapshot, View
from mxenv.interior import Held
from mxenv.lock import Relied

LAYERS = (
    Held(layer="sha256:" + "a" * 64, distributions=(("alpha", "1.0"),)),
    Held(layer="sha256:" + "b" * 64, distributions=(("beta", "2.0+metax3.5"),)),
)


def fact(key: str, instance: str, reading: Reading) -> Fact:
    return Fact(key=key, instance=instance, reading=reading, source="there", view=View.IMAGE)


def based(*facts: Fact) -> Snapshot:
    taken = datetime(2026, 1, 1, tzinfo=UTC)
    return Snapshot(node="base", view=View.IMAGE, taken_at=taken, facts=facts)


def test_has_the_distributions_of_the_layers_and_names_the_layer() -> None:
    inside = interior.snapshot(WHOLE, None, LAYERS)
    assert inside.reading("python.package", "/usr/alpha") == Observed("1.0")
    (beta,) = inside.instances("python.package")["/usr/beta"]
    assert beta.source == "sha256:" + "b" * 12
    assert beta.view is View.IMAGE


def test_has_what_was_found_and_not_what_was_meant() -> None:
    wrong = Held(layer="sha256:" + "a" * 64, distributions=(("alpha", "6.6.6"), ("evil", "1")))
    inside = interior.snapshot(WHOLE, None, (wrong,))
    assert inside.reading("python.package", "/usr/alpha") == Observed("6.6.6")
    assert inside.reading("python.package", "/usr/evil") == Observed("1")
    assert "/usr/beta" not in inside.instances("python.package")


def test_of_an_image_that_was_looked_into_has_what_the_lock_says() -> None:
    inside = interior.snapshot(WHOLE, None, None)
    assert inside.reading("python.package", "/usr/alpha") == Observed("1.0")
    assert inside.reading("python.package", "/usr/beta") == Observed("2.0+metax3.5")


def test_without_the_facts_of_the_base_has_those_that_the_lock_keeps() -> None:
    inside = interior.snapshot(WHOLE, None, ())
    assert inside.reading("metax.sdk") == Observed("3.5.3.20")
    assert inside.reading("python.version", "/usr") == Observed("3.11.2")
    assert inside.reading("python.package", "/usr/torch") == Observed("2.8.0+metax3.5.3.9")


def test_with_the_facts_of_the_base_has_all_of_them() -> None:
    base = based(
        fact("os.id", "", Observed("debian")),
        fact("python.package", "/usr", Absent()),
        fact("python.package", "/opt/conda/gamma", Observed("3")),
    )
    inside = interior.snapshot(WHOLE, base, LAYERS)
    assert inside.reading("os.id") == Observed("debian")
    assert inside.reading("python.package", "/opt/conda/gamma") == Observed("3")
    assert inside.instances("python.package").keys() == {
        "/opt/conda/gamma",
        "/usr/alpha",
        "/usr/beta",
    }


def test_leaves_an_environment_without_distributions_as_it_is_if_none_is_added() -> None:
    base = based(fact("python.package", "/usr", Absent()))
    assert interior.snapshot(SCRATCH, base, ()).facts == base.facts


def test_is_the_same_whenever_it_is_made() -> None:
    assert interior.snapshot(WHOLE, None, LAYERS) == interior.snapshot(WHOLE, None, LAYERS)


def test_says_what_the_lock_relied_upon() -> None:
    relied = Relied(matrix="m", rows=("a", "b"), outcome="compatible")
    said = json.loads(interior.verdict(replace(WHOLE, relied=relied)))
    assert said == {
        "schema": "mxenv.relied/1",
        "outcome": "compatible",
        "matrix": "m",
        "rows": ["a", "b"],
    }
    assert json.loads(interior.verdict(WHOLE))["outcome"] == "unknown"
