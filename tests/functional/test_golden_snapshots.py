"""What mxenv learns from each recording, to the last fact."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mxenv import snapshot
from mxenv.api import nodes
from mxenv.facts import Absent, Observed, Snapshot, Unreadable, View

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.facts import Reading

RECORDINGS = Path(__file__).parent.parent / "recordings"
NAMES = sorted(path.name for path in RECORDINGS.iterdir() if path.is_dir())
NOW = datetime(2026, 11, 30, tzinfo=UTC)
"""Must not show anywhere: a recording speaks of its own time."""


def learned(name: str) -> Snapshot:
    return nodes.probe(f"recording:{RECORDINGS / name}", now=NOW)


def values(learned: Snapshot, key: str) -> list[Reading]:
    return [fact.reading for fact in learned.of(key)]


@pytest.mark.parametrize("name", NAMES)
def test_a_recording_is_understood_as_it_always_was(
    name: str, golden: Callable[[str, str], None]
) -> None:
    golden(f"tests/golden/snapshots/{name}.json", snapshot.to_json(learned(name), nodes.keys()))


@pytest.mark.parametrize("name", NAMES)
def test_probing_the_same_node_twice_gives_the_same_snapshot(name: str) -> None:
    assert learned(name) == learned(name)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_of_a_recorded_node_is_a_riddle(name: str) -> None:
    puzzles = [
        fact
        for fact in learned(name).facts
        if isinstance(fact.reading, Unreadable) and "understood" in fact.reading.reason
    ]
    assert not puzzles


def test_a_node_in_order_has_eight_cards_of_one_model() -> None:
    node = learned("c500-8cards")
    assert values(node, "metax.device.model").count(Observed("C500")) == 16
    assert set(values(node, "metax.device.count")) == {Observed(8)}
    assert set(values(node, "metax.kmd")) == {Observed("3.8.30")}
    assert node.reading("metax.sdk") == Observed("3.5.3.20")


def test_a_container_knows_its_own_card_and_no_other() -> None:
    node = learned("c500-sgpu-container")
    assert node.view is View.CONTAINER
    assert node.reading("metax.device.count") == Observed(1)
    assert values(node, "metax.device.state").count(Observed("not mapped")) == 7
    assert values(node, "metax.device.slice") == [Observed(("compute 25 %", "16000 MiB"))]
    assert {fact.view for fact in node.of("metax.kmd")} == {View.HOST}
    assert {fact.view for fact in node.of("metax.sdk")} == {View.CONTAINER}


def test_an_unknown_sdk_is_unknown_to_every_source() -> None:
    node = learned("c550-pod-sdk-unknown")
    for key in ("metax.sdk", "metax.smi_maca"):
        assert isinstance(node.reading(key), Unreadable)


def test_a_broken_driver_is_no_missing_card() -> None:
    node = learned("c500-driver-broken")
    assert node.reading("metax.device.count") == Observed(8)
    assert set(values(node, "metax.module.loaded")) == {Absent()}
    assert node.reading("metax.module.built", "5.15.0-119-generic") == Absent()
    assert isinstance(node.reading("metax.kmd"), Unreadable)


def test_an_old_table_is_read_as_a_new_one() -> None:
    node = learned("c550-8cards")
    assert values(node, "metax.device.memory_mib") == [Observed(65536)] * 8
    assert set(values(node, "metax.device.model")) == {Observed("C550")}
    assert set(values(node, "metax.kmd")) == {Observed("2.5.014")}
