"""What mxenv learns from recorded NVIDIA nodes, and how they read beside MetaX's."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mxenv import _plugins
from mxenv.api import checking, nodes
from mxenv.facts import Absent, Observed, Snapshot, Unreadable, View
from mxenv.reports import Page, Report
from mxenv.verdict import Outcome

RECORDINGS = Path(__file__).parent.parent / "recordings"
X = "\N{MULTIPLICATION SIGN}"
NOW = datetime(2026, 11, 30, tzinfo=UTC)
H100, MIG, MISMATCH = (
    "nvidia-h100-8cards",
    "nvidia-a100-mig-container",
    "nvidia-driver-mismatch",
)


def learned(name: str) -> Snapshot:
    return nodes.probe(f"recording:{RECORDINGS / name}", now=NOW)


def values(node: Snapshot, key: str) -> set[object]:
    return {fact.reading for fact in node.of(key)}


def compared(one: str, other: str, report: str = "text", page: Page | None = None) -> str:
    render: Report = _plugins.load("reports", report)
    assert render.comparison is not None
    return render.comparison(nodes.compare(learned(one), learned(other)), page or Page())


def test_a_node_in_order_is_told_by_every_source_alike() -> None:
    node = learned(H100)
    assert values(node, "nvidia.kmd") == {Observed("550.54.15")}
    assert {fact.source for fact in node.of("nvidia.kmd")} == {
        "/proc/driver/nvidia/version",
        "/sys/module/nvidia/version",
        "nvidia-smi -q -x",
    }
    assert values(node, "nvidia.device.count") == {Observed(8)}
    assert values(node, "nvidia.device.model") == {Observed("H100 80GB HBM3")}
    assert values(node, "nvidia.device.pci_id") == {Observed("10de:2330")}
    assert values(node, "nvidia.device.memory_mib") == {Observed(81559)}
    assert values(node, "nvidia.device.power_cap_w") == {Observed(700)}
    assert values(node, "nvidia.device.state") == {Observed("available")}
    assert values(node, "nvidia.link") == {Observed("NV18")}
    assert len(node.of("nvidia.link")) == 28
    assert node.reading("nvidia.device.numa_node", "0000:be:00.0") == Observed(1)
    assert node.reading("nvidia.device.cpus", "0000:be:00.0") == Observed("48-95,144-191")
    assert node.reading("nvidia.device.slice") == Absent()


def test_the_toolkit_is_told_by_its_own_files() -> None:
    node = learned(H100)
    assert node.reading("nvidia.sdk") == Observed("12.4.1")
    assert node.reading("nvidia.sdk_path") == Observed("/usr/local/cuda-12.4")
    assert node.reading("nvidia.compiler") == Observed("12.4.131")
    assert values(node, "nvidia.nccl") == {Observed("2.21.5")}
    assert values(node, "nvidia.dnn") == {Observed("9.1.0")}
    assert node.reading("nvidia.driver_package") == Observed("550.54.15-0ubuntu0.22.04.1")
    assert node.reading("nvidia.tool", "nsys") == Observed("2023.4.4.54")


def test_the_switches_of_a_node_are_no_cards() -> None:
    assert not [
        f for f in learned(H100).facts if "0000:d0:00.0" in f.instance and "nvidia" in f.key
    ]


def test_a_container_knows_its_own_card_and_its_slice() -> None:
    node = learned(MIG)
    assert node.view is View.CONTAINER
    assert node.reading("nvidia.device.count") == Observed(1)
    states = [fact.reading for fact in node.of("nvidia.device.state")]
    assert states.count(Observed("not mapped")) == 3
    assert node.reading("nvidia.device.slicing", "0000:4b:00.0") == Observed("on")
    assert values(node, "nvidia.device.slice") == {Observed(("42 multiprocessors", "40192 MiB"))}
    assert {fact.view for fact in node.of("nvidia.kmd")} == {View.HOST}
    assert {fact.view for fact in node.of("nvidia.sdk")} == {View.CONTAINER}


def test_libraries_for_an_older_driver_are_told_apart_from_the_drivers_own() -> None:
    node = learned(MIG)
    assert node.reading("nvidia.umd") == Observed("535.161.08")
    assert node.reading("nvidia.compat") == Observed("550.54.15")
    assert node.reading("nvidia.sdk") == Observed("12.4.1")


def test_a_driver_that_was_upgraded_under_its_module_is_no_missing_card() -> None:
    node = learned(MISMATCH)
    assert node.reading("nvidia.device.count") == Observed(2)
    assert values(node, "nvidia.device.model") == {Observed("L40S")}
    for fact in node.of("nvidia.device.state"):
        assert isinstance(fact.reading, Unreadable)
        assert "Driver/library version mismatch" in fact.reading.reason
    assert node.reading("nvidia.kmd") == Observed("550.54.15")
    assert node.reading("nvidia.umd") == Observed("550.163.01")
    assert node.reading("nvidia.module.on_disk") == Observed("550.163.01")


def test_a_node_of_another_vendor_has_nothing_of_nvidias_driver() -> None:
    node = learned("c500-8cards")
    assert node.reading("nvidia.kmd") == Absent()
    assert node.reading("nvidia.device.count") == Observed(0)
    assert node.reading("nvidia.device.model") == Absent()


@pytest.mark.parametrize("name", [H100, MIG, MISMATCH])
def test_nothing_is_known_of_a_node_without_a_card_that_the_matrix_is_about(name: str) -> None:
    verdict = checking.check(learned(name), checking.load_matrix(), today=NOW.date())
    assert verdict.outcome is Outcome.UNKNOWN
    assert {finding.outcome for finding in verdict.findings} <= {
        Outcome.UNKNOWN,
        Outcome.COMPATIBLE,
    }
    assert any("no MetaX accelerator" in finding.found for finding in verdict.findings)


@pytest.fixture(scope="module")
def text() -> str:
    return compared("c500-8cards", H100)


class TestSideBySide:
    """One line for what both vendors have, however many cards say it."""

    def test_the_counterparts_stand_on_one_line(self, text: str) -> None:
        lines = {line.split()[0]: " ".join(line.split()) for line in text.splitlines() if line}
        assert lines["kmd"] == "kmd metax 3.8.30 → nvidia 550.54.15"
        assert lines["sdk"] == "sdk metax 3.5.3.20 → nvidia 12.4.1"
        assert lines["collectives"] == "collectives metax 2.16.5 → nvidia 2.21.5"
        assert lines["device.model"] == f"device.model C500 {X}8 → H100 80GB HBM3 {X}8"
        assert lines["device.memory_mib"] == f"device.memory_mib 65536 MiB {X}8 → 81559 MiB {X}8"

    def test_no_card_is_listed_by_its_address(self, text: str) -> None:
        assert not [line for line in text.splitlines() if "[0000:" in line]

    def test_every_distribution_that_differs_is_named(self, text: str) -> None:
        assert "python.package[/opt/conda/torch]  2.8.0+metax3.5.3.9 → 2.4.0+cu124" in text
        assert "python.package[/opt/conda/vllm-metax]  0.17.0 → nothing" in text

    def test_all_is_listed_when_asked_for(self, text: str) -> None:
        assert len(text) < len(compared("c500-8cards", H100, page=Page(verbose=True)))

    def test_a_program_gets_the_counterparts_and_every_difference(self) -> None:
        document = json.loads(compared("c500-8cards", H100, "json"))
        kmd = next(one for one in document["counterparts"] if one["name"] == "kmd")
        assert kmd["before"]["key"] == "metax.kmd"
        assert kmd["after"]["readings"] == [
            {"of": "", "cards": 0, "status": "observed", "value": "550.54.15"}
        ]
        keys = {one["key"] for one in document["differences"]}
        assert {"metax.kmd", "nvidia.kmd", "nvidia.device.model"} <= keys

    def test_nodes_of_one_vendor_are_compared_fact_by_fact_and_their_cards_together(self) -> None:
        told = compared(H100, MIG)
        assert "nvidia.kmd  550.54.15 → 535.161.08\n" in told
        assert "nvidia.device.bios  " in told
        counted = {one["name"] for one in json.loads(compared(H100, MIG, "json"))["counterparts"]}
        assert {"nvidia.device.bios", "pci.link.width"} <= counted
        assert "nvidia.kmd" not in counted
