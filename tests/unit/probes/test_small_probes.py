from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mxenv.facts import Absent, Observed, Reading, Unreadable
from mxenv.probes import container, cpu, environment, kernel, libc, memory
from mxenv.probes import os as distribution
from mxenv.question import Answers, Command, Completed, Env, Found, Given, Question, Status

if TYPE_CHECKING:
    from mxenv.probe import Probe


def read(probe: Probe, given: dict[Question, Given]) -> dict[str, list[Reading]]:
    """Return the readings of every key; what was not given was looked for and is absent."""
    nothing: dict[Question, Given] = {
        q: Completed(127) if isinstance(q, Command) else Absent() for q in probe.questions
    }
    facts: dict[str, list[Reading]] = {}
    for fact in probe.read(Answers({**nothing, **given})):
        facts.setdefault(fact.label, []).append(fact.reading)
    return facts


@pytest.mark.parametrize(
    ("probe", "keys"),
    [
        (kernel.PROBE, ["kernel.release", "kernel.build"]),
        (cpu.PROBE, ["cpu.model", "cpu.count"]),
        (memory.PROBE, ["memory.total_mib"]),
    ],
)
def test_what_every_kernel_shows_is_hidden_where_it_is_missing(
    probe: Probe, keys: list[str]
) -> None:
    facts = read(probe, {})
    assert all(facts[key] == [Unreadable("/proc is not to be seen")] for key in keys)


class TestDistribution:
    DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_ID="12"\nID=debian\n'

    def test_os_release_names_it(self) -> None:
        facts = read(distribution.PROBE, {distribution.RELEASE: Found(self.DEBIAN)})
        assert facts == {"os.id": [Observed("debian")], "os.version": [Observed("12")]}

    def test_without_one_in_etc_that_of_usr_counts(self) -> None:
        facts = read(distribution.PROBE, {distribution.FALLBACK: Found("ID='ubuntu'\n")})
        assert facts == {"os.id": [Observed("ubuntu")], "os.version": [Absent()]}

    def test_one_that_cannot_be_read_is_not_replaced_by_another(self) -> None:
        given: dict[Question, Given] = {
            distribution.RELEASE: Unreadable("denied"),
            distribution.FALLBACK: Found(self.DEBIAN),
        }
        assert read(distribution.PROBE, given)["os.id"] == [Unreadable("denied")]

    def test_a_value_that_no_distribution_has_is_not_believed(self) -> None:
        facts = read(distribution.PROBE, {distribution.RELEASE: Found("ID=a b\nX=1\n")})
        assert facts["os.id"] == [Unreadable("ID is 'a b'")]


class TestKernel:
    def test_both_names_are_read(self) -> None:
        given: dict[Question, Given] = {
            kernel.RELEASE: Found("5.15.0-58-generic\n"),
            kernel.BUILD: Found("#64-Ubuntu SMP Thu Jan 5 11:43:13 UTC 2023\n"),
        }
        facts = read(kernel.PROBE, given)
        assert facts["kernel.release"] == [Observed("5.15.0-58-generic")]
        assert facts["kernel.build"] == [Observed("#64-Ubuntu SMP Thu Jan 5 11:43:13 UTC 2023")]


class TestLibc:
    @pytest.mark.parametrize(
        "script",
        [
            "  echo 'ldd (Debian GLIBC 2.36-9+deb12u10) 2.36'\n",
            "    echo 'ldd (GNU libc) 2.36'\n",
            '    printf $"ldd (GNU libc) 2.36\\n"',
        ],
    )
    def test_the_ldd_script_has_the_version_in_it(self, script: str) -> None:
        assert read(libc.PROBE, {libc.LDD: Found(script)})["libc.version"] == [Observed("2.36")]

    def test_an_old_library_has_it_in_its_name(self) -> None:
        link = (("/lib/x86_64-linux-gnu/libc.so.6", Found("/lib/x86_64-linux-gnu/libc-2.31.so")),)
        facts = read(libc.PROBE, {libc.LINKS[0]: Found(link)})
        assert Observed("2.31") in facts["libc.version"]

    def test_the_library_says_it_itself(self) -> None:
        facts = read(libc.PROBE, {libc.GETCONF: Completed(0, "glibc 2.36\n")})
        assert Observed("2.36") in facts["libc.version"]

    def test_a_getconf_that_hangs_may_answer_next_time(self) -> None:
        facts = read(libc.PROBE, {libc.GETCONF: Completed(124)})
        assert Unreadable("getconf did not end in time", passing=True) in facts["libc.version"]

    def test_with_musl_it_is_absent(self) -> None:
        musl = Found((("/lib/ld-musl-x86_64.so.1", Found("")),))
        assert read(libc.PROBE, {libc.MUSL: musl})["libc.version"] == [Absent()]

    def test_without_a_trace_of_any_it_is_not_known(self) -> None:
        assert read(libc.PROBE, {})["libc.version"] == [Unreadable("no ldd script here")]


class TestProcessors:
    INFO = "processor\t: 0\nmodel name\t: AMD EPYC 7742\n\nprocessor\t: 1\nmodel name\t: x\n\n"

    def test_they_are_counted_and_named(self) -> None:
        facts = read(cpu.PROBE, {cpu.INFO: Found(self.INFO)})
        assert facts["cpu.model"] == [Observed("AMD EPYC 7742")]
        assert facts["cpu.count"] == [Observed(2)]

    @pytest.mark.parametrize("end", range(len(INFO)))
    def test_a_list_that_was_cut_has_no_number(self, end: int) -> None:
        text = self.INFO[:end]
        facts = read(cpu.PROBE, {cpu.INFO: Found(text)})
        if text.endswith("7742\n\n"):
            return  # one whole processor: there may have been no other
        assert isinstance(facts["cpu.count"][0], Unreadable)
        assert facts["cpu.model"][0] in {
            Observed("AMD EPYC 7742"),
            Unreadable(f"no model of a processor in it: {text[:60]!r}"),
        }

    def test_a_list_that_lost_a_line_has_no_number(self) -> None:
        lost = self.INFO.replace("processor\t: 0\n", "")
        facts = read(cpu.PROBE, {cpu.INFO: Found(lost)})
        assert isinstance(facts["cpu.count"][0], Unreadable)

    def test_on_arm_numbers_stand_for_a_name(self) -> None:
        info = "processor\t: 0\nCPU implementer\t: 0x48\nCPU part\t: 0xd01\n"
        facts = read(cpu.PROBE, {cpu.INFO: Found(info)})
        assert facts["cpu.model"] == [Observed("ARM 0x48 0xd01")]

    @pytest.mark.parametrize(
        ("paths", "reading"),
        [
            (("/lib64/ld-linux-x86-64.so.2",), Observed("x86_64")),
            (("/lib/ld-linux-aarch64.so.1",), Observed("aarch64")),
            (("/lib/ld-musl-x86_64.so.1",), Observed("x86_64")),
            (("/lib/ld-linux.so.2", "/lib64/ld-linux-x86-64.so.2"), Observed("x86_64")),
            (("/lib/ld-linux.so.2",), Absent()),
            (
                ("/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-x86-64.so.2"),
                Unreadable("programs of several architectures run here: aarch64, x86_64"),
            ),
        ],
    )
    def test_the_loader_of_programs_tells_what_they_are_built_for(
        self, paths: tuple[str, ...], reading: Reading
    ) -> None:
        loaders = Found(tuple((path, Found("")) for path in paths))
        given: dict[Question, Given] = {cpu.LOADERS: loaders, cpu.ARCH: Unreadable("no")}
        assert read(cpu.PROBE, given)["machine.arch"] == [Unreadable("no"), reading]


class TestMemory:
    def test_it_is_told_in_mib(self) -> None:
        facts = read(memory.PROBE, {memory.INFO: Found("MemTotal:       1048576 kB\n")})
        assert facts["memory.total_mib"] == [Observed(1024)]


class TestEnvironment:
    def test_a_variable_is_observed_or_absent_never_guessed(self) -> None:
        facts = read(environment.PROBE, {Env("MACA_PATH"): Found("/opt/maca")})
        assert facts["env[MACA_PATH]"] == [Observed("/opt/maca")]
        assert facts["env[LD_LIBRARY_PATH]"] == [Absent()]


class TestContainer:
    MOUNT = "1 2 0:3 {source} {point} rw - ext4 /dev/vda rw\n"
    DEVICES = Found((("/dev/dri/card6", Found("")), ("/dev/dri/renderD133", Found(""))))

    def test_on_a_host_there_is_none(self) -> None:
        mounts = self.MOUNT.format(source="/", point="/") + self.MOUNT.format(
            source="/", point="/var/lib/docker/overlay2/x/merged"
        )
        given: dict[Question, Given] = {
            container.GROUPS: Found("0::/init.scope\n"),
            container.MOUNTS: Found(mounts),
        }
        facts = read(container.PROBE, given)
        assert facts == {"container.runtime": [Absent()], "container.devices": [Absent()]}

    @pytest.mark.parametrize(
        ("question", "answer", "runtime"),
        [
            (container.DOCKER, Found(Status("file")), "docker"),
            (container.PODMAN, Found(Status("file")), "podman"),
            (container.SYSTEMD, Found("lxc\n"), "lxc"),
            (container.GROUPS, Found("0::/kubepods.slice/x/cri-containerd-1.scope"), "kubernetes"),
            (container.GROUPS, Found("1:cpu:/docker/0123"), "docker"),
            (
                container.MOUNTS,
                Found(MOUNT.format(source="/var/lib/kubelet/pods/1/etc-hosts", point="/etc/hosts")),
                "kubernetes",
            ),
        ],
    )
    def test_each_runtime_leaves_its_mark(
        self, question: Question, answer: Given, runtime: str
    ) -> None:
        given: dict[Question, Given] = {question: answer, container.NODES[2]: self.DEVICES}
        facts = read(container.PROBE, given)
        assert facts["container.runtime"] == [Observed(runtime)]
        assert facts["container.devices"] == [Observed(("/dev/dri/card6", "/dev/dri/renderD133"))]

    def test_a_container_without_devices_has_none(self) -> None:
        facts = read(container.PROBE, {container.DOCKER: Found(Status("file"))})
        assert facts["container.devices"] == [Absent()]

    def test_where_a_mark_cannot_be_looked_for_it_is_not_known(self) -> None:
        facts = read(container.PROBE, {container.GROUPS: Unreadable("denied")})
        assert facts["container.runtime"] == [Unreadable("denied")]

    def test_rubbish_among_the_mounts_is_passed_over(self) -> None:
        facts = read(container.PROBE, {container.MOUNTS: Found("x\n\n1 2 3 docker\n")})
        assert facts["container.runtime"] == [Absent()]
