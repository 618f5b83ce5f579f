"""What is learned of MetaX's recorded nodes, from the question to the verdict."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest

from mxenv.api import checking, nodes
from mxenv.facts import Absent, Observed, Snapshot, Unreadable

RECORDINGS = Path(__file__).parent.parent / "recordings"
NOW = datetime(2026, 11, 30, tzinfo=UTC)


@cache
def learned(name: str) -> Snapshot:
    return nodes.probe(f"recording:{RECORDINGS / name}", now=NOW)


def values(name: str, key: str) -> set[object]:
    """Return every value of a fact, whatever its instance and source."""
    readings = (fact.reading for fact in learned(name).of(key))
    return {reading.value for reading in readings if isinstance(reading, Observed)}


def test_the_driver_is_told_by_the_kernel_its_file_and_the_tool() -> None:
    sources = {fact.source for fact in learned("c500-8cards").of("metax.kmd")}
    assert sources == {"/sys/module/metax/version", "modinfo metax", "mx-smi"}
    assert values("c500-8cards", "metax.kmd") == {"3.8.30"}


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("metax.device.ecc", {"on"}),
        ("metax.device.power_cap_w", {350}),
        ("metax.device.sriov", {"off"}),
        ("metax.device.persistence", {"off"}),
        ("metax.device.driver", {"metax"}),
        ("metax.device.numa_node", {0, 1}),
        ("metax.link", {"MX", "SYS", "PIX"}),
        ("metax.umd", {"3.7.0.9"}),
        ("metax.bridge", {"11.6"}),
        ("metax.dnn", {"1.1.1"}),
        ("metax.tool", {"3.5.3.20-0a1b2c3", "2.2.12", "2.2.6", "present"}),
        ("metax.brand", {"MetaX"}),
    ],
)
def test_a_node_in_order_tells_everything(key: str, expected: set[object]) -> None:
    assert values("c500-8cards", key) == expected


def test_eight_cards_have_a_link_each_with_each_and_with_both_nics() -> None:
    links = [fact.instance for fact in learned("c500-8cards").of("metax.link")]
    assert len(links) == len(set(links)) == 8 * 7 // 2 + 8 * 2


def test_sources_that_know_a_node_in_order_do_not_disagree() -> None:
    for name in ("c500-8cards", "c500-sgpu-container", "c550-8cards", "x201-white-label"):
        verdict = checking.check(learned(name), checking.load_matrix(), today=NOW.date())
        disagreements = [finding for finding in verdict.findings if finding.code == "MX116"]
        assert not [f for f in disagreements if f.subject.startswith("metax.")], name


def test_a_container_speaks_of_its_own_card_only() -> None:
    node = learned("c500-sgpu-container")
    for key in ("metax.device.driver", "metax.device.ecc", "metax.device.power_cap_w"):
        assert {fact.instance for fact in node.of(key)} == {"0000:9b:00.0"}
    assert node.reading("metax.device.memory_mib", "0000:9b:00.0") == Observed(65536)
    assert values("c500-sgpu-container", "metax.device.slice") == {("compute 25 %", "16000 MiB")}
    assert node.reading("metax.link") == Absent()


def test_a_module_built_for_another_kernel_is_no_driver() -> None:
    node = learned("c500-driver-broken")
    assert node.reading("metax.module.on_disk") == Absent()
    assert values("c500-driver-broken", "metax.device.driver") == set()
    built = {fact.instance: fact.reading for fact in node.of("metax.module.built")}
    assert built == {
        "5.15.0-119-generic": Absent(),
        "5.15.0-58-generic": Observed("updates/dkms"),
    }


def test_a_white_label_node_is_told_by_the_same_keys() -> None:
    node = learned("x201-white-label")
    assert values("x201-white-label", "metax.brand") == {"HPCC"}
    assert values("x201-white-label", "metax.device.model") == {"X201"}
    assert node.reading("metax.kmd") == Observed("3.4.4")
    assert node.reading("metax.sdk") == Observed("3.3.0.15")
    assert node.reading("metax.node", "/dev/htcd") == Observed("present")
    assert isinstance(node.reading("metax.node", "/dev/mxcd"), Unreadable)


def test_a_machine_without_any_of_it_is_asked_nothing_more() -> None:
    node = learned("plain-debian12")
    for key in filter(lambda name: name.startswith("metax."), nodes.keys()):
        readings = {fact.reading for fact in node.of(key)}
        assert readings <= {Absent(), Observed(0)}, key
