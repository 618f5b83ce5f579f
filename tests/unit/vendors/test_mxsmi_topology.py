from __future__ import annotations

from mxenv.facts import Observed, Unreadable
from mxenv.vendors._mxsmi_topology import Topology, parse

OLD = """\
=================== MetaX System Management Interface Log ===================
Timestamp                                         : Wed Feb 11 20:54:34 2026

Attached GPUs                                     : 2
Device link type matrix
        GPU0    GPU1    Node Affinity  CPU Affinity
GPU0    X       MX      0              0-31,64-95
GPU1    MX      X       1              32-63

Legend:
  X    = Self
"""
NICS = """\
mx-smi  version: 2.2.9

Device link type matrix
        GPU0    GPU1    NIC0    NIC1    Node Affinity  CPU Affinity
GPU0    X       NODE    PIX     SYS     0              0-31,64-95
GPU1    NODE    X       SYS     NA      1              32-63
NIC0    PIX     SYS     X       SYS
NIC1    SYS     NA      SYS     X

NIC Legend:

  NIC0: mlx5_0
  NIC1: mlx5_bond_0
"""


def topology(text: str) -> Topology:
    said = parse(text)
    assert isinstance(said, Topology)
    return said


def test_each_pair_of_cards_is_told_once() -> None:
    assert topology(OLD).links == {("GPU0", "GPU1"): Observed("MX")}


def test_a_card_has_a_node_and_processors_near_it() -> None:
    said = topology(OLD)
    assert said.nodes == {"GPU0": Observed(0), "GPU1": Observed(1)}
    assert said.cpus == {"GPU0": Observed("0-31,64-95"), "GPU1": Observed("32-63")}


def test_nics_are_members_too_and_two_of_them_are_no_link_of_a_card() -> None:
    said = topology(NICS)
    assert said.nics == {"NIC0": "mlx5_0", "NIC1": "mlx5_bond_0"}
    assert ("NIC0", "NIC1") not in said.links
    assert said.links["GPU0", "NIC0"] == Observed("PIX")


def test_a_link_that_the_tool_does_not_know_is_not_known() -> None:
    assert topology(NICS).links["GPU1", "NIC1"] == Unreadable("mx-smi does not know it")


def test_a_matrix_that_contradicts_itself_is_not_believed() -> None:
    said = topology(OLD.replace("GPU1    MX", "GPU1    SYS"))
    assert said.links["GPU0", "GPU1"] == Unreadable("the matrix contradicts itself")


def test_a_row_that_is_shifted_counts_for_nothing() -> None:
    said = topology(OLD.replace("GPU1    MX      X", "GPU1    X       MX"))
    assert isinstance(said.links["GPU0", "GPU1"], Unreadable)
    assert said.complaints == ("a row unlike its heading: GPU1 X MX 1 32-63",)


def test_a_row_that_was_cut_counts_for_nothing() -> None:
    said = topology(OLD[: OLD.index("32-63") + 3])
    assert isinstance(said.links["GPU0", "GPU1"], Unreadable)
    assert isinstance(said.cpus["GPU1"], Unreadable)


def test_a_node_without_affinities_has_none() -> None:
    text = OLD.replace("Node Affinity  CPU Affinity", "").replace("0              0-31,64-95", "")
    said = topology(text.replace("1              32-63", ""))
    assert said.links == {("GPU0", "GPU1"): Observed("MX")}
    assert (said.nodes, said.cpus) == ({}, {})


def test_anything_else_is_not_understood() -> None:
    for text in ("", "PARSE ERROR: Argument: topo\n", "Device link type matrix\n", OLD[:250]):
        assert isinstance(parse(text), Unreadable), text
