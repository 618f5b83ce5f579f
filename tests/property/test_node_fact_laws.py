"""However the kernel's texts arrive, a fact is what they said, or it is not known."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mxenv import excerpt
from mxenv.facts import Absent, Observed, Unreadable
from mxenv.probes import boot, cpu, kernel, limits, memory, pci, rdma, runtime
from mxenv.probes._pci import RDMA
from mxenv.probes._reading import SYSFS
from mxenv.question import Answers, Command, Completed, File, Found, Status
from mxenv.redaction import clean, clean_answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from mxenv.facts import Reading
    from mxenv.probe import Probe
    from mxenv.question import Given, Question

CARD = "0000:16:00.0"
AT = f"/sys/bus/pci/devices/{CARD}"
HCA = "/sys/class/infiniband/mlx5_0"
LIMITS = (
    "Limit                     Soft Limit           Hard Limit           Units     \n"
    "Max processes             96365                unlimited            processes \n"
    "Max open files            1024                 1048576              files     \n"
    "Max locked memory         8388608              67108864             bytes     \n"
    "Max nice priority         0                    0                    \n"
)
MEMINFO = (
    "MemTotal:       1056592336 kB\nMemFree:        528296168 kB\n"
    "SwapTotal:       2097148 kB\nSwapFree:              0 kB\n"
)
MOUNTS = (
    "29 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
    "31 24 0:26 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,size=104857600k,inode64\n"
    "32 24 0:27 / /dev/mqueue rw,nosuid shared:5 - mqueue mqueue rw\n"
)
LINE = "BOOT_IMAGE=/vmlinuz ro intel_iommu=on iommu=pt hugepagesz=1G hugepages=16 pci=realloc\n"
DOCKER = '{"default-runtime": "metax", "runtimes": {"metax": {"path": "/usr/bin/x"}, "a": {}}}\n'
CONTAINERD = (
    '[plugins."io.containerd.grpc.v1.cri".containerd]\n  default_runtime_name = "runc"\n'
    '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]\n'
    '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.metax]\n'
)

SYS: dict[Question, Given] = {SYSFS: Found(Status("directory"))}
BUS: dict[Question, Given] = {
    **SYS,
    pci.VENDORS: Found(((f"{AT}/vendor", Found("0x9999\n")),)),
    pci.CLASSES: Found(((f"{AT}/class", Found("0x038000\n")),)),
}


def plain(question: Question) -> Callable[[str], dict[Question, Given]]:
    return lambda text: {**SYS, question: Found(text)}


def matched(question: Question, path: str) -> Callable[[str], dict[Question, Given]]:
    return lambda text: {**SYS, question: Found(((path, Found(text)),))}


def on_the_bus(name: str) -> Callable[[str], dict[Question, Given]]:
    return lambda text: {**BUS, File(f"{AT}/{name}", limit=64): Found(text)}


def tool(name: str) -> Callable[[str], dict[Question, Given]]:
    return lambda text: {runtime.COMMANDS[name]: Completed(0, text)}


HUGE = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
TEXTS: list[tuple[Probe, Callable[[str], dict[Question, Given]], str]] = [
    (kernel.PROBE, plain(kernel.RELEASE), "5.4.241-24.0017.23.tl3.x86_64\n"),
    (kernel.PROBE, plain(kernel.RELEASE), "5.15.0-58-generic\n"),
    (boot.PROBE, plain(boot.LINE), LINE),
    (cpu.PROBE, plain(cpu.NUMA), "0-1\n"),
    (cpu.PROBE, matched(cpu.GOVERNORS, "/sys/x"), "performance\n"),
    (memory.PROBE, plain(memory.INFO), MEMINFO),
    (memory.PROBE, lambda t: {memory.INFO: Found(MEMINFO), memory.MOUNTS: Found(t)}, MOUNTS),
    (memory.PROBE, plain(memory.TRANSPARENT), "always [madvise] never\n"),
    (memory.PROBE, matched(memory.RESERVED, HUGE), "512\n"),
    (limits.PROBE, plain(limits.LIMITS), LIMITS),
    (pci.PROBE, on_the_bus("current_link_speed"), "32.0 GT/s PCIe\n"),
    (pci.PROBE, on_the_bus("current_link_width"), "16\n"),
    (pci.PROBE, on_the_bus("numa_node"), "1\n"),
    (rdma.PROBE, matched(rdma.ASKED["rdma.firmware"], f"{HCA}/fw_ver"), "28.39.1002\n"),
    (rdma.PROBE, matched(rdma.ASKED["rdma.board"], f"{HCA}/board_id"), "MT_0000000838\n"),
    (rdma.PROBE, matched(rdma.ASKED["rdma.kind"], f"{HCA}/node_type"), "1: CA\n"),
    (rdma.PROBE, matched(rdma.ASKED["rdma.port.state"], f"{HCA}/ports/1/state"), "4: ACTIVE\n"),
    (
        rdma.PROBE,
        matched(rdma.ASKED["rdma.port.rate"], f"{HCA}/ports/1/rate"),
        "400 Gb/sec (4X NDR)\n",
    ),
    (runtime.PROBE, plain(runtime.DAEMON), DOCKER),
    (runtime.PROBE, plain(runtime.CONTAINERD), CONTAINERD),
    (runtime.PROBE, tool("docker"), "Docker version 24.0.7, build afdd53b\n"),
    (runtime.PROBE, tool("containerd"), "containerd containerd.io 1.6.26 3dd1e886\n"),
    (runtime.PROBE, tool("runc"), "runc version 1.1.10\ncommit: v1.1.10-0-g18a0cb0\n"),
]
NAMES = [f"{n}-{text[:12].strip()}" for n, (_, _, text) in enumerate(TEXTS)]


def nothing(probe: Probe) -> dict[Question, Given]:
    return {q: Completed(127) if isinstance(q, Command) else Absent() for q in probe.questions}


def known(probe: Probe, given: dict[Question, Given]) -> dict[str, Reading]:
    """Return every fact where all else was looked for and is absent, as a recording would."""
    answers = clean_answers(Answers({**nothing(probe), **given}))
    return {fact.label: fact.reading for fact in probe.read(answers)}


def holds(probe: Probe, before: dict[str, Reading], given: dict[Question, Given]) -> None:
    """Hold that whatever is still believed was believed before."""
    after = known(probe, given)
    for label, reading in after.items():
        if label in before:
            assert reading == before[label] or isinstance(reading, Unreadable), label
        else:
            assert not isinstance(reading, Observed), label


@pytest.mark.parametrize(("probe", "answered", "text"), TEXTS, ids=NAMES)
class TestADamagedTextIsReadRightOrNotAtAll:
    def test_wherever_it_is_cut(
        self, probe: Probe, answered: Callable[[str], dict[Question, Given]], text: str
    ) -> None:
        before = known(probe, answered(text))
        for end in range(len(text)):
            cut = text[:end]
            if probe is memory.PROBE and cut.endswith("\n"):
                continue  # whole lines are missing, which the next test is about
            holds(probe, before, answered(cut))

    def test_whichever_line_is_missing(
        self, probe: Probe, answered: Callable[[str], dict[Question, Given]], text: str
    ) -> None:
        before = known(probe, answered(text))
        lines = text.splitlines(keepends=True)
        for number in range(len(lines)):
            rest = "".join(lines[:number] + lines[number + 1 :])
            holds(probe, before, answered(rest))

    def test_with_the_line_ends_of_windows(
        self, probe: Probe, answered: Callable[[str], dict[Question, Given]], text: str
    ) -> None:
        holds(probe, known(probe, answered(text)), answered(text.replace("\n", "\r\n")))

    def test_with_colours(
        self, probe: Probe, answered: Callable[[str], dict[Question, Given]], text: str
    ) -> None:
        painted = re.sub(r"\w+", "\x1b[1;32m\\g<0>\x1b[0m", text)
        holds(probe, known(probe, answered(text)), answered(painted))

    def test_with_more_space_between_columns(
        self, probe: Probe, answered: Callable[[str], dict[Question, Given]], text: str
    ) -> None:
        holds(probe, known(probe, answered(text)), answered(re.sub(r"  +", "\t", text)))


@pytest.mark.parametrize(("probe", "answered", "text"), TEXTS, ids=NAMES)
@given(data=st.data())
def test_nothing_ever_raises(
    probe: Probe,
    answered: Callable[[str], dict[Question, Given]],
    text: str,
    data: st.DataObject,
) -> None:
    at = data.draw(st.integers(0, len(text)))
    until = data.draw(st.integers(at, len(text)))
    damaged = text[:at] + data.draw(st.text(max_size=9)) + text[until:]
    given = {**nothing(probe), **answered(damaged)}
    facts = list(probe.read(Answers(given)))
    list(probe.more(Answers(given)))
    assert {fact.key for fact in facts} <= {key.name for key in probe.keys}


@pytest.mark.parametrize("number", [0, 1, 7, 63, 4096, 10**12])
def test_other_numbers_are_read_as_they_stand(number: int) -> None:
    mounts = MOUNTS.replace("104857600", str(number * 1024))
    found = known(memory.PROBE, {memory.MOUNTS: Found(mounts)})
    assert found["memory.shm_mib"] == Observed(number)
    text = LIMITS.replace("8388608 ", f"{number} ")
    assert known(limits.PROBE, {limits.LIMITS: Found(text)})["limit.memlock"] == Observed(number)


words = st.sampled_from(
    ['"', " ", "--", "iommu", "=", "pt", "hugepages=8", "key=hunter2", "\t", "\n", "pci=", "x"]
)


class TestNothingElseLeavesANode:
    @given(st.lists(words, max_size=14).map("".join))
    def test_a_boot_line_keeps_only_what_is_listed(self, line: str) -> None:
        for word in excerpt.boot(line).split():
            name, _, value = word.partition("=")
            assert name in excerpt.PARAMETERS
            assert value == excerpt.MASK or not re.search(r"[\s\"*]", value)

    @given(st.lists(words, max_size=14).map("".join) | st.text(max_size=60))
    def test_the_excerpt_of_an_excerpt_is_the_excerpt(self, text: str) -> None:
        for take in (excerpt.boot, excerpt.runtimes):
            assert take(take(text)) == take(text)
            assert take(clean(take(text))) == take(text)

    @given(st.text(max_size=200))
    def test_no_engines_set_up_ever_raises(self, text: str) -> None:
        excerpt.runtimes(text)
        excerpt.runtimes("{" + text)


def test_a_link_to_a_device_is_believed_only_with_an_address() -> None:
    for leads in ("/sys/devices/pci0000:15/0000:14:00", "/sys/devices/x", "/x/0000:14:00.9", ""):
        found = known(rdma.PROBE, {RDMA: Found(((f"{HCA}/device", Found(leads)),))})
        assert not isinstance(found["rdma.pci[mlx5_0]"], Observed)
