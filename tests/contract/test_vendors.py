from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from mxenv import _plugins
from mxenv.facts import Absent, Unreadable
from mxenv.probe import read_all
from mxenv.question import (
    NOT_FOUND,
    TIMED_OUT,
    Answers,
    Command,
    Completed,
    Found,
    Given,
    Glob,
    Link,
    Matches,
    Question,
    Stat,
    Status,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.vendors import Vendor

MX_SMI: set[tuple[str, ...]] = {
    (),
    ("-j",),
    ("-L",),
    ("--show-version",),
    ("--show-ecc-state",),
    ("--show-board-power",),
    ("--show-vbios",),
    ("topo", "-m"),
    ("topo", "-n"),
}
READ_ONLY: dict[str, set[tuple[str, ...]]] = {
    "mx-smi": MX_SMI,
    "ht-smi": MX_SMI,
    "mxcc": {("--version",)},
    "htcc": {("--version",)},
    "mcclras": {("--version",)},
    "mcTracer": {("--help",)},
    "mcProfiler": {("version",)},
    "mx-diagease": {("--version",)},
    "mx-report": {("--version",)},
    "mxvs": {("--version",)},
    "rpm": {
        ("-q", "--qf", "%{VERSION}\\n", "metax-driver"),
        ("-qa", "--qf", "%{NAME} %{VERSION}\\n", "metax*", "maca*", "mx*", "mc*"),
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
    "nvcc": {("--version",)},
    "modinfo": {("metax",), ("-F", "version", "nvidia")},
}
"""Every tool that may be run, with every list of options; what is not here is a change to review.

The same tools can flash a BIOS, reset a card and end processes.
"""
BDF = "0000:37:00.0"
DANGER = re.compile(
    r"--(?:flr|vfflr|force-vbios-flash|set-.*|kill-all-process|dump-vbios)|-[uUio]|--.*flash.*"
    # nvidia-smi's options that change a card, and its commands that do.
    r"|-(?:r|e|p|c|pm|pl|am|ac|acp|caa|rac|lgc|rgc|lmc|rmc|lmcd|rmcd|gtt|mig|dm|fdm|gom|sc|cc|f)"
    r"|--(?:.*reset.*|ecc-config|(?:persistence|compute|accounting)-mode|power-limit|driver-model)"
    r"|--(?:multi-instance-gpu|gom|gpu-target-temp|filename|.*-clocks|auto-boost.*)(?:=.*)?"
    r"|drain|mig|compute-policy|boost-slider|power-hint|conf-compute|vgpu|gpm|clocks"
)


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


def ever_asked(vendor: Vendor, given: Callable[[Question], Given]) -> set[Command]:
    """Return every command that is asked, in all rounds, where ``given`` is what is answered."""
    answers = Answers()
    questions = list(vendor.probe.questions)
    while questions:
        answers |= Answers({question: given(question) for question in questions})
        questions = [q for q in vendor.probe.more(answers) if q not in answers.given]
    return {question for question in answers if isinstance(question, Command)}


def test_nothing_that_is_not_on_its_list_is_ever_asked_and_the_list_has_no_more(
    vendor: Vendor,
) -> None:
    asked: set[Command] = set()
    tools = {tool for tool, *_ in vendor.read_only}
    for only in (*({tool} for tool in tools), tools, set()):
        for returncode in (0, 9):

            def given(
                question: Question, only: set[str] = only, returncode: int = returncode
            ) -> Given:
                match question:
                    case Command(argv):
                        return Completed(returncode if argv[0] in only else NOT_FOUND, "?", "?")
                    case Stat():
                        return Found(Status("directory"))
                    case Link():
                        return Found("/sys/module/metax")
                    case Glob(pattern):
                        matches: Matches = ((pattern.replace("*", BDF), Found("?\n")),)
                        return Found(matches)
                    case _:
                        return Found("0x9999\n" if "vendor" in str(question) else "/opt/other\n")

            asked |= ever_asked(vendor, given)
    assert {command.argv for command in asked} == set(vendor.read_only)
    assert all(0 < command.seconds <= 60 for command in asked)


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
