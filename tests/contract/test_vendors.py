from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mxenv import _plugins
from mxenv.facts import Absent, Unreadable
from mxenv.probe import read_all
from mxenv.question import NOT_FOUND, TIMED_OUT, Answers, Command, Completed, Given

if TYPE_CHECKING:
    from mxenv.vendors import Vendor

READ_ONLY = {
    "mx-smi": {(), ("-j",), ("--show-version",), ("-L",)},
    "mxcc": {("--version",)},
    "mcclras": {("--version",)},
    "rpm": {
        ("-q", "--qf", "%{VERSION}\\n", "metax-driver"),
        (
            "-q",
            "--qf",
            "%{NAME} %{VERSION}-%{RELEASE}\\n",
            "nvidia-driver",
            "nvidia-driver-cuda",
            "nvidia-open",
            "cuda-drivers",
            "kmod-nvidia-latest-dkms",
            "kmod-nvidia-open-dkms",
            "datacenter-gpu-manager",
            "nvidia-fabric-manager",
        ),
    },
    "nvidia-smi": {(), ("-q", "-x"), ("topo", "-m"), ("--version",)},
    "/usr/local/cuda/bin/nvcc": {("--version",)},
    "/usr/bin/nvcc": {("--version",)},
    "modinfo": {("-F", "version", "nvidia")},
}
"""Every tool that may be run, with every list of options; what is not here is a change to review.

The same tools can flash a BIOS, reset a card and end processes.
"""
DANGER = re.compile(
    r"--(?:flr|vfflr|force-vbios-flash|set-.*|kill-all-process|dump-vbios)|-[uUio]|--.*flash.*"
    # nvidia-smi's options that change a card, and its commands that do.
    r"|-(?:r|e|p|c|pm|pl|am|ac|acp|caa|rac|lgc|rgc|lmc|rmc|lmcd|rmcd|gtt|mig|dm|fdm|gom|sc|cc|f)"
    r"|--(?:.*reset.*|ecc-config|(?:persistence|compute|accounting)-mode|power-limit|driver-model)"
    r"|--(?:multi-instance-gpu|gom|gpu-target-temp|filename|.*-clocks|auto-boost.*)(?:=.*)?"
    r"|drain|mig|compute-policy|boost-slider|power-hint|conf-compute|vgpu|gpm|clocks"
)


FAILING = Answers({Command(("nvidia-smi", "-q", "-x"), seconds=20.0): Completed(9)})
"""What leads to further questions: ``nvidia-smi`` that is there, and fails."""


def vendors() -> list[Vendor]:
    return [_plugins.load("vendors", name) for name in _plugins.names("vendors")]


@pytest.fixture(params=vendors(), ids=lambda vendor: vendor.title)
def vendor(request: pytest.FixtureRequest) -> Vendor:
    found: Vendor = request.param
    return found


def everything(vendor: Vendor, given: Given) -> Answers:
    """Return the same answer to every command, and that nothing else is there."""
    return Answers(
        {
            question: given if isinstance(question, Command) else Absent()
            for question in vendor.probe.questions
        }
    )


def test_a_vendor_is_named_like_its_id(vendor: Vendor) -> None:
    assert re.fullmatch(r"[0-9a-f]{4}", vendor.pci_vendor)
    assert vendor.backend
    assert all(device.startswith("/dev/") for device in vendor.grant.devices)


def test_only_what_was_reviewed_is_ever_run(vendor: Vendor) -> None:
    for tool, *options in vendor.read_only:
        assert tuple(options) in READ_ONLY.get(tool, set()), (tool, options)


def test_no_option_changes_a_node(vendor: Vendor) -> None:
    for _, *options in vendor.read_only:
        assert not [option for option in options if DANGER.fullmatch(option)]


def test_every_command_of_its_probe_is_on_its_list(vendor: Vendor) -> None:
    asked = {q.argv for q in vendor.probe.questions if isinstance(q, Command)}
    later = {q.argv for q in vendor.probe.more(FAILING) if isinstance(q, Command)}
    assert asked | later == set(vendor.read_only)
    assert all(0 < q.seconds <= 60 for q in vendor.probe.questions if isinstance(q, Command))


def test_every_fact_is_declared_and_every_declared_key_is_told(vendor: Vendor) -> None:
    declared = {key.name for key in vendor.probe.keys}
    for given in (Completed(NOT_FOUND), Completed(1), Completed(0, "rubbish"), Unreadable("x")):
        told = {fact.key for fact in vendor.probe.read(everything(vendor, given))}
        assert told == declared


def test_instances_have_the_parts_that_their_key_declares(vendor: Vendor) -> None:
    keys = {key.name: key for key in vendor.probe.keys}
    for fact in vendor.probe.read(everything(vendor, Completed(1))):
        key = keys[fact.key]
        parts = key.parts(fact.instance)
        assert not fact.instance or len(parts) == len(key.instance.split("/"))


def test_a_node_that_answers_nothing_is_not_known_at_all(vendor: Vendor) -> None:
    for fact in read_all([vendor.probe], Answers()):
        assert isinstance(fact.reading, Unreadable), fact


@pytest.mark.parametrize("returncode", [1, 2, 126, TIMED_OUT, 139])
def test_a_tool_that_fails_never_reads_as_no_device(vendor: Vendor, returncode: int) -> None:
    facts = tuple(vendor.probe.read(everything(vendor, Completed(returncode, "", "broken\n"))))
    counts = [fact.reading for fact in facts if fact.key.endswith(".device.count")]
    assert counts
    assert all(isinstance(reading, Unreadable) for reading in counts)


def test_nothing_that_identifies_a_piece_of_hardware_is_a_fact(vendor: Vendor) -> None:
    for key in vendor.probe.keys:
        assert not re.search(r"serial|uuid", key.name)
