"""The shipped matrix, and nodes that are one change away from what it knows."""

from __future__ import annotations

import json
import tomllib
from datetime import date
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

import jsonschema
import pytest
from _stacks import DARK, ENV, GONE, KEYS, fact, node, snapshot
from hypothesis import given
from hypothesis import strategies as st

from mxenv import judgement, matrix_reader, version
from mxenv.facts import Reading, Snapshot, Value, View
from mxenv.stack import exactly_tested, stack
from mxenv.verdict import Outcome, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mxenv.matrix import Matrix, Release, Tested

TODAY = date(2026, 11, 30)


@cache
def shipped() -> tuple[dict[str, object], Matrix]:
    text = (resources.files("mxenv") / "matrices" / "metax.toml").read_text("utf-8")
    values = tomllib.loads(text)
    return values, matrix_reader.parse([("metax.toml", values)], KEYS)


MATRIX = shipped()[1]
OF_THE_PLACE = {
    "env[MACA_PATH]": "/opt/maca",
    "container.runtime": GONE,
    "libc.version": "2.39",
    f"python.series[{ENV}]": "3.12",
    "metax.device.pci_id[0000:0e:00.0]": "9999:4001",
    "metax.device.bios[0000:0e:00.0]": "1.33.5.0",
    "metax.device.state[0000:0e:00.0]": "available",
    "metax.module.loaded": "loaded",
    "metax.smi": "2.2.12",
}
ALTERNATIVES = {"flagtree"}
"""Pinned beside triton by one row, where they are alternatives."""


def build(row: Release | Tested, pin: str) -> str:
    """Return a version that the row means: lines and public versions get a tag of its SDK."""
    family = version.family(row.sdk, 3)
    if pin.endswith(".*"):
        return f"{pin.removesuffix('.*')}{'.0' if pin.count('.') < 3 else ''}+metax{family}.1"
    return pin


def packages(row: Release | Tested) -> dict[str, str]:
    """Return the distributions that a row pins, and the vllm that the plugin wants."""
    pinned = {name: build(row, pin) for name, pin in row.components if name not in ALTERNATIVES}
    if plugin := pinned.get("vllm-metax"):
        return {"vllm": version.public(plugin), **pinned}
    return pinned


def image_of(row: Release, changes: dict[str, Value | Reading | None] | None = None) -> Snapshot:
    """Return the image that a release describes; a change of `None` leaves a component out."""
    values: dict[str, Value | Reading | None] = {**packages(row), **(changes or {})}
    sdk = values.pop("metax.sdk", version.family(row.sdk, 3) + ".1")
    facts = [fact(label, value) for label, value in OF_THE_PLACE.items()]
    facts += [fact("metax.sdk", sdk)] if sdk is not None else []
    facts += [
        fact(f"python.package[{ENV}/{name}]", value)
        for name, value in {"numpy": "1.26.4", **values}.items()
        if value is not None
    ]
    return snapshot(*facts, view=View.IMAGE)


def judged(found: Snapshot) -> Verdict:
    return judgement.judge(found, MATRIX, today=TODAY)


def troubles(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    return [
        (f.code, f.subject, f.found, f.expected)
        for f in verdict.findings
        if f.outcome is not Outcome.COMPATIBLE
    ]


SETS = [row for row in MATRIX.releases if row.sdk and row.components]
WHOLE = [row for row in SETS if "torch_fl" not in row.note]
"""The other way to run torch is told by the presence of torch_fl, which no row pins."""


def means(pin: str, installed: str) -> bool:
    """Tell, from the text alone, whether a row that says ``pin`` can mean ``installed``."""
    if pin.endswith(".*"):
        return f"{version.public(installed)}.".startswith(pin.removesuffix("*"))
    return pin in (installed, version.public(installed))


def says_so(verdict: Verdict, installed: Mapping[str, Value | Reading]) -> bool:
    """Tell whether the rows that the verdict names pin every component as it is installed."""
    rows = {row.row: row for row in (*MATRIX.releases, *MATRIX.tested)}
    for finding in verdict.findings:
        if finding.code == "MX109" and finding.subject != "metax.sdk":
            pins = dict(rows[finding.row].components)
            if not all(
                means(pins[name], str(installed[name])) for name in pins if name in installed
            ):
                return False
    return True


@cache
def others(name: str) -> frozenset[str]:
    """Return every version that any set has of a component."""
    return frozenset(packages(row)[name] for row in SETS if name in packages(row))


def test_the_shipped_matrix_is_what_its_schema_says() -> None:
    schema = resources.files("mxenv") / "schemas" / "matrix.schema.json"
    jsonschema.validate(shipped()[0], json.loads(schema.read_text("utf-8")))


def test_every_row_of_the_matrix_has_a_link_and_somebody_who_says_so() -> None:
    assert len(MATRIX.rows) > 200
    assert all(piece.link and piece.who for row in MATRIX.rows for piece in row.evidence)


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.id)
def test_every_release_is_compatible_with_itself(row: Release) -> None:
    assert troubles(judged(image_of(row))) == []


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.id)
def test_a_component_of_another_set_is_never_green_unless_a_row_has_it_so(row: Release) -> None:
    own = packages(row)
    for name in own:
        for value in others(name) - {own[name]}:
            verdict = judged(image_of(row, {name: value}))
            green = verdict.outcome is Outcome.COMPATIBLE
            assert not green or says_so(verdict, {**own, name: value}), (name, value)


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.id)
def test_a_component_that_is_gone_or_dark_is_never_green_by_accident(row: Release) -> None:
    own = packages(row)
    for name in own:
        assert judged(image_of(row, {name: DARK})).outcome is not Outcome.COMPATIBLE
        left = {other: value for other, value in own.items() if other != name}
        verdict = judged(image_of(row, {name: None}))
        assert verdict.outcome is not Outcome.COMPATIBLE or says_so(verdict, left)


@pytest.mark.parametrize(
    "more",
    [
        # github.com/MetaX-MACA/vLLM-metax/issues/320: the plug-in wants torch 2.10.
        {"vllm-metax": "0.22.0", "vllm": "0.22.0"},
        {"vllm-metax": "0.99.0", "vllm": "0.99.0"},
        {"triton": "3.4.0"},
        {"mcoplib": "0.4.12"},
    ],
)
def test_what_has_no_tag_is_not_covered_by_a_row_that_does_not_name_it(
    more: dict[str, str],
) -> None:
    (row,) = (row for row in WHOLE if row.id == "image-maca-pytorch-3.8.0.11-torch2.8")
    assert judged(image_of(row)).outcome is Outcome.COMPATIBLE
    assert judged(image_of(row, more)).outcome is Outcome.UNKNOWN


def test_a_plug_in_that_does_not_compile_on_an_sdk_is_known_to_be_broken() -> None:
    (row,) = (row for row in WHOLE if row.id == "maca-3.0.0.3-torch2.6")
    (broken,) = (row for row in MATRIX.broken if row.id == "vllm-metax-0.10.1.1-sdk3.0.0.5")
    found = {finding.row for finding in judged(image_of(row, {"metax.sdk": "3.0.0.5"})).findings}
    assert broken.row in found
    assert broken.row not in {finding.row for finding in judged(image_of(row)).findings}


@pytest.mark.parametrize("row", WHOLE, ids=lambda row: row.id)
def test_another_sdk_or_none_is_never_green(row: Release) -> None:
    tagged = any(version.tag(value) for value in packages(row).values())
    families = {version.family(other.sdk, 3) for other in SETS} - {version.family(row.sdk, 3)}
    for sdk in (None, GONE, DARK, "9.9.9.9", *(f"{family}.1" for family in families)):
        verdict = judged(image_of(row, {"metax.sdk": sdk}))
        if tagged or not isinstance(sdk, str):
            assert verdict.outcome is not Outcome.COMPATIBLE, sdk


def seen(row: Tested, **changes: Value | Reading) -> Snapshot:
    more = [fact(label, value) for label, value in OF_THE_PLACE.items()]
    known = {"kmd": row.kmd, "sdk": row.sdk, "model": row.card, **changes}
    return node(packages(row), *more, **known)


@pytest.mark.parametrize("row", MATRIX.tested, ids=lambda row: row.id)
def test_a_set_that_was_seen_working_is_not_rejected(row: Tested) -> None:
    found = seen(row)
    verdict = judged(found)
    assert exactly_tested(stack(found, ENV if row.packages else None), MATRIX)
    assert {(f.code, f.row) for f in verdict.findings if f.code == "MX106"} == {
        ("MX106", f"metax.toml:tested:{first_with(row).id}")
    }
    assert verdict.outcome is not Outcome.INCOMPATIBLE or unsaid(row)
    assert {subject for _, subject, _, _ in troubles(verdict)} <= unsaid(row)


def unsaid(row: Tested) -> set[str]:
    """Return what was beside the set, and is not said: the plugin's vllm, torch's device plugin."""
    names = dict(row.packages)
    beside = {"vllm"} if "vllm-metax" in names and "vllm" not in names else set[str]()
    plugged = "torch_fl" in row.note
    alone = {"torch"} if plugged else set[str]()
    return beside | alone


def first_with(row: Tested) -> Tested:
    """Return the first row with this driver and SDK that says nothing else than ``row`` does."""
    return next(
        other
        for other in MATRIX.tested
        if (other.kmd, other.sdk, other.card) == (row.kmd, row.sdk, row.card)
        and set(other.packages) <= set(row.packages)
    )


@pytest.mark.parametrize("row", MATRIX.tested, ids=lambda row: row.id)
def test_another_driver_is_green_only_where_it_was_seen(row: Tested) -> None:
    for kmd in (*sorted({other.kmd for other in MATRIX.tested}), "3.99.1", GONE, DARK):
        verdict = judged(seen(row, kmd=kmd))
        known = any(
            other.kmd == kmd
            and version.family(other.sdk, 3) == version.family(row.sdk, 3)
            and MATRIX.alike(row.card, other.card)
            for other in MATRIX.tested
        )
        assert known or verdict.outcome is not Outcome.COMPATIBLE, kmd


KNOWN_WORKING = [
    ("3.8.30", "3.0.0.8", "C500", {}),
    ("3.8.30", "3.5.3.20", "C500", {}),
    ("3.4.3", "3.7.0.38", "C550", {}),
    (
        "3.8.30",
        "3.5.3.20",
        "C500",
        {"torch": "2.8.0+metax3.5.3.9", "torchaudio": "2.4.1+metax3.5.3.9"},
    ),
    (
        None,
        "3.8.0.23",
        None,
        {"torch": "2.10.0+metax3.8.0.7", "torchaudio": "2.4.1+metax3.8.0.7"},
    ),
    ("3.8.30", "3.5.3.20", "C500", {"torch": "2.8.0+metax3.5.3.9"}),
]


@pytest.mark.parametrize(("kmd", "sdk", "model", "installed"), KNOWN_WORKING)
def test_pairs_that_look_wrong_and_are_known_to_work_are_compatible(
    kmd: str | None, sdk: str, model: str | None, installed: dict[str, str]
) -> None:
    view = View.HOST if kmd else View.IMAGE
    count = 1 if kmd else None
    more = [fact(label, value) for label, value in OF_THE_PLACE.items()]
    found = node(installed, *more, view=view, kmd=kmd, sdk=sdk, model=model, count=count)
    assert troubles(judged(found)) == []


@given(st.sampled_from(WHOLE), st.data())
def test_one_unknown_wheel_more_is_never_green(row: Release, data: st.DataObject) -> None:
    family = data.draw(st.sampled_from(["3.3.0.2", "3.5.3.9", "3.7.0.7", "9.9.9.9"]))
    verdict = judged(image_of(row, {"new-wheel": f"1.0+metax{family}"}))
    assert verdict.outcome is not Outcome.COMPATIBLE


@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("available", Outcome.COMPATIBLE),
        ("not mapped", Outcome.COMPATIBLE),
        (DARK, Outcome.UNKNOWN),
        ("not available: Driver And Vbios Compatibility Check Failed", Outcome.INCOMPATIBLE),
    ],
    ids=str,
)
def test_a_card_that_its_driver_refuses_is_never_green(
    state: Value | Reading, outcome: Outcome
) -> None:
    row = next(row for row in MATRIX.tested if row.packages)
    card = fact("metax.device.state[0000:0f:00.0]", state)
    base = seen(row)
    verdict = judged(snapshot(*base.facts, card))
    of_the_card = [f for f in verdict.findings if f.subject == card.label]
    assert [f.outcome for f in of_the_card if f.outcome is not Outcome.COMPATIBLE] == (
        [] if outcome is Outcome.COMPATIBLE else [outcome]
    )
    assert verdict.outcome <= outcome
