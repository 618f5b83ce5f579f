from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.probes import boot, cgroup, cpu, disk, kernel, limits, memory, pci, rdma, runtime
from mxenv.probes._pci import RDMA
from mxenv.probes._reading import SYSFS, best, line, number
from mxenv.question import (
    Answers,
    Command,
    Completed,
    File,
    Found,
    Given,
    Question,
    Status,
)

if TYPE_CHECKING:
    from mxenv.probe import Probe

HIDDEN = Unreadable("/sys is not to be seen")
SYS: dict[Question, Given] = {SYSFS: Found(Status("directory"))}


def facts(probe: Probe, given: dict[Question, Given]) -> list[Fact]:
    """Return what is read where everything else was looked for and is absent."""
    nothing: dict[Question, Given] = {
        q: Completed(127) if isinstance(q, Command) else Absent() for q in probe.questions
    }
    answers = Answers({**nothing, **given})
    further: dict[Question, Given] = {
        q: Completed(127) if isinstance(q, Command) else Absent() for q in probe.more(answers)
    }
    return list(probe.read(Answers({**nothing, **further, **given})))


def read(probe: Probe, given: dict[Question, Given]) -> dict[str, Reading]:
    """Return one reading of every fact."""
    return {fact.label: fact.reading for fact in facts(probe, given)}


@pytest.mark.parametrize(
    ("probe", "key"),
    [
        (boot.PROBE, "iommu.groups"),
        (cpu.PROBE, "cpu.governor"),
        (cpu.PROBE, "cpu.numa_nodes"),
        (memory.PROBE, "memory.hugepages"),
        (memory.PROBE, "memory.transparent_hugepage"),
        (pci.PROBE, "pci.link.width"),
        (rdma.PROBE, "rdma.firmware"),
        (rdma.PROBE, "rdma.pci"),
    ],
)
class TestWhatTheKernelShowsOfItsDevices:
    def test_without_sys_nothing_is_known(self, probe: Probe, key: str) -> None:
        assert read(probe, {})[key] == HIDDEN

    def test_that_sys_cannot_be_asked_is_the_reason(self, probe: Probe, key: str) -> None:
        assert read(probe, {SYSFS: Unreadable("denied")})[key] == Unreadable("denied")

    def test_with_it_what_is_missing_is_absent(self, probe: Probe, key: str) -> None:
        assert read(probe, SYS)[key] == Absent()


class TestOneLine:
    @pytest.mark.parametrize(
        ("text", "value"), [("a b\n", "a b"), (" a\r\n", "a"), ("a", None), ("a\nb\n", None)]
    )
    def test_it_has_an_end(self, text: str, value: str | None) -> None:
        assert line(text) == value

    @pytest.mark.parametrize("text", ["", "-1", "1.0", "٣", "9" * 21, "²"])
    def test_what_is_no_number_is_none(self, text: str) -> None:
        assert number(text) is None

    def test_nothing_asked_is_not_known(self) -> None:
        assert best() == Unreadable("not asked")


class TestFlavour:
    @pytest.mark.parametrize(
        ("release", "flavour"),
        [
            ("5.15.0-58-generic", "generic"),
            ("5.15.0-1041-azure", "azure"),
            ("6.8.0-1010-nvidia-64k", "nvidia-64k"),
            ("6.1.0-18-cloud-amd64", "cloud-amd64"),
            ("5.4.241-24.0017.23.tl3", "tl3"),
            ("4.18.0-477.27.1.el8_8.x86_64", "el8"),
            ("5.10.0-136.12.0.86.oe2203sp1.aarch64", "oe2203sp1"),
            ("4.19.90-89.11.v2401.ky10.loongarch64", "ky10"),
            ("6.9.0-0.rc7.58.fc41.x86_64", "fc41"),
            ("6.1.0-rc5-generic", "generic"),
        ],
    )
    def test_the_release_ends_with_it(self, release: str, flavour: str) -> None:
        given: dict[Question, Given] = {kernel.RELEASE: Found(f"{release}\n")}
        assert read(kernel.PROBE, given)["kernel.flavour"] == Observed(flavour)

    @pytest.mark.parametrize("release", ["5.14.0", "6.1.0-rc5+", "5.4.119-19.0009", "6.6.1.x86_64"])
    def test_a_kernel_of_nobody_has_none(self, release: str) -> None:
        given: dict[Question, Given] = {kernel.RELEASE: Found(f"{release}\n")}
        assert read(kernel.PROBE, given)["kernel.flavour"] == Absent()

    def test_a_release_that_is_cut_short_is_not_believed(self) -> None:
        given: dict[Question, Given] = {kernel.RELEASE: Found("5.15.0-58-gen")}
        assert isinstance(read(kernel.PROBE, given)["kernel.flavour"], Unreadable)


class TestBoot:
    def test_each_parameter_is_given_or_absent(self) -> None:
        line = "iommu=pt nomodeset hugepagesz=1G hugepages=4 hugepagesz=2M hugepages=8\n"
        given = read(boot.PROBE, {boot.LINE: Found(line)})
        assert given["boot.parameter[iommu]"] == Observed("pt")
        assert given["boot.parameter[nomodeset]"] == Observed("set")
        assert given["boot.parameter[hugepages]"] == Observed(("4", "8"))
        assert given["boot.parameter[amd_iommu]"] == Absent()

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("iommu=p", "cut short"),
            ("quiet\n", "not the parameters of a kernel: 'quiet'"),
        ],
    )
    def test_what_is_no_excerpt_is_not_believed(self, text: str, reason: str) -> None:
        given = read(boot.PROBE, {boot.LINE: Found(text)})
        assert given["boot.parameter"] == Unreadable(reason)

    def test_a_value_that_was_masked_is_not_known(self) -> None:
        given = read(boot.PROBE, {boot.LINE: Found("iommu=***\n")})
        assert isinstance(given["boot.parameter[iommu]"], Unreadable)

    def test_a_hidden_line_is_not_an_empty_one(self) -> None:
        assert read(boot.PROBE, {})["boot.parameter"] == Unreadable("/proc is not to be seen")

    def test_one_group_is_enough(self) -> None:
        groups = Found((("/sys/kernel/iommu_groups/0", Found("")),))
        assert read(boot.PROBE, {boot.GROUPS: groups})["iommu.groups"] == Observed("present")


class TestProcessors:
    def governors(self, *said: Given) -> Reading:
        paths = tuple((f"/sys/devices/{n}", answer) for n, answer in enumerate(said))
        given: dict[Question, Given] = {**SYS, cpu.GOVERNORS: Found(paths)}  # type: ignore[arg-type]
        return read(cpu.PROBE, given)["cpu.governor"]

    def test_what_all_have_is_said_once(self) -> None:
        same = Found("performance\n")
        assert self.governors(same, same) == Observed("performance")

    def test_what_differs_is_said_in_order(self) -> None:
        both = self.governors(Found("powersave\n"), Found("performance\n"))
        assert both == Observed(("performance", "powersave"))

    def test_one_that_cannot_be_read_may_be_another(self) -> None:
        assert self.governors(Found("x_y\n"), Unreadable("no")) == Unreadable("no")
        assert isinstance(self.governors(Found("perform")), Unreadable)

    def test_processors_that_went_away_have_none(self) -> None:
        assert self.governors(Absent()) == Absent()

    @pytest.mark.parametrize(("text", "count"), [("0\n", 1), ("0-1\n", 2), ("0-3,8,10-11\n", 7)])
    def test_the_nodes_in_a_list_are_counted(self, text: str, count: int) -> None:
        given: dict[Question, Given] = {**SYS, cpu.NUMA: Found(text)}
        assert read(cpu.PROBE, given)["cpu.numa_nodes"] == Observed(count)

    @pytest.mark.parametrize("text", ["\n", "0-", "0-\n", "1,0\n", "3-1\n", "0-1", "x\n"])
    def test_what_is_no_list_is_not_counted(self, text: str) -> None:
        given: dict[Question, Given] = {**SYS, cpu.NUMA: Found(text)}
        assert isinstance(read(cpu.PROBE, given)["cpu.numa_nodes"], Unreadable)


class TestMemory:
    INFO = "MemTotal:       8388608 kB\nSwapTotal:      1048576 kB\n"
    MOUNT = "25 24 0:23 / /dev/shm rw,nosuid shared:4 - tmpfs tmpfs rw{}\n"

    def shm(self, mounts: str) -> Reading:
        given: dict[Question, Given] = {
            memory.INFO: Found(self.INFO),
            memory.MOUNTS: Found(mounts),
        }
        return read(memory.PROBE, given)["memory.shm_mib"]

    def test_the_kernels_account_is_read_by_its_names(self) -> None:
        given = read(memory.PROBE, {memory.INFO: Found(self.INFO)})
        assert given["memory.total_mib"] == Observed(8192)
        assert given["memory.swap_mib"] == Observed(1024)

    @pytest.mark.parametrize(
        "text", ["", "MemTotal: 8388608 k\n", "MemTotal: 83886", "MemTotal: x kB\n"]
    )
    def test_what_is_cut_short_is_no_number(self, text: str) -> None:
        given = read(memory.PROBE, {memory.INFO: Found(text)})
        assert isinstance(given["memory.total_mib"], Unreadable)

    def test_a_size_that_was_given_counts(self) -> None:
        assert self.shm(self.MOUNT.format(",size=65536k")) == Observed(64)

    def test_without_one_it_is_half_of_all(self) -> None:
        assert self.shm(self.MOUNT.format("")) == Observed(4096)

    def test_the_last_mount_hides_the_others(self) -> None:
        mounts = self.MOUNT.format(",size=1024k") + self.MOUNT.format(",size=2048k")
        assert self.shm(mounts) == Observed(2)

    @pytest.mark.parametrize(
        ("mounts", "reason"),
        [
            ("", "nothing is mounted at /dev/shm"),
            (MOUNT.format(",size=65536k")[:-1], "nothing is mounted at /dev/shm"),
            (MOUNT.format(",size=65536"), "it has 'size=65536'"),
            (MOUNT.format(",size=k"), "it has 'size=k'"),
            ("1 2 3:4 / /dev/shm rw - ext4 /dev/x rw\n", "a ext4 is mounted at /dev/shm"),
            ("1 2 3:4 / /dev/shm rw tmpfs\n", "a ? is mounted at /dev/shm"),
            ("1 2 3:4 / /dev/shm rw - tmpfs rw\n", "a ? is mounted at /dev/shm"),
        ],
    )
    def test_what_is_not_understood_has_no_size(self, mounts: str, reason: str) -> None:
        assert self.shm(mounts) == Unreadable(reason)

    def test_big_pages_are_counted_by_size(self) -> None:
        path = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
        given: dict[Question, Given] = {memory.RESERVED: Found(((path, Found("512\n")),))}
        assert read(memory.PROBE, given)["memory.hugepages[2048kB]"] == Observed(512)

    @pytest.mark.parametrize(
        ("text", "reading"),
        [("always [madvise] never\n", Observed("madvise")), ("[never]\n", Observed("never"))],
    )
    def test_the_choice_stands_in_brackets(self, text: str, reading: Reading) -> None:
        given = read(memory.PROBE, {memory.TRANSPARENT: Found(text)})
        assert given["memory.transparent_hugepage"] == reading

    @pytest.mark.parametrize(
        "text", ["always [madvise]", "always\n", "[always] [never]\n", "[x]\n"]
    )
    def test_without_one_choice_there_is_none(self, text: str) -> None:
        given = read(memory.PROBE, {memory.TRANSPARENT: Found(text)})
        assert isinstance(given["memory.transparent_hugepage"], Unreadable)


class TestControlGroups:
    @pytest.mark.parametrize(
        ("question", "version"), [(cgroup.UNIFIED, "2"), (cgroup.CONTROLLERS[1], "1")]
    )
    def test_what_is_mounted_tells_the_version(self, question: Question, version: str) -> None:
        given: dict[Question, Given] = {question: Found(Status("directory"))}
        assert read(cgroup.PROBE, given) == {"cgroup.version": Observed(version)}

    def test_without_any_it_is_not_known(self) -> None:
        reason = "no control groups are mounted here"
        assert read(cgroup.PROBE, {}) == {"cgroup.version": Unreadable(reason)}

    def test_one_that_cannot_be_asked_may_be_there(self) -> None:
        given: dict[Question, Given] = {cgroup.UNIFIED: Unreadable("denied")}
        assert read(cgroup.PROBE, given) == {"cgroup.version": Unreadable("denied")}


class TestLimits:
    TEXT = (
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max processes             96365                unlimited            processes \n"
        "Max open files            1024                 1048576              files     \n"
        "Max locked memory         8388608              unlimited            bytes     \n"
    )

    def test_both_columns_are_read(self) -> None:
        assert read(limits.PROBE, {limits.LIMITS: Found(self.TEXT)}) == {
            "limit.memlock": Observed(8388608),
            "limit.memlock.hard": Observed("unlimited"),
            "limit.open_files": Observed(1024),
            "limit.open_files.hard": Observed(1048576),
            "limit.processes": Observed(96365),
            "limit.processes.hard": Observed("unlimited"),
        }

    def test_a_line_without_its_unit_or_end_is_none(self) -> None:
        for text in (self.TEXT[:-1], self.TEXT.replace("bytes", "KiB")):
            given = read(limits.PROBE, {limits.LIMITS: Found(text)})
            assert isinstance(given["limit.memlock"], Unreadable)


def test_free_space_is_told_of_each_place() -> None:
    given = read(disk.PROBE, {disk.PLACES[0]: Found(5 << 20)})
    assert given["disk.free_mib[/]"] == Observed(5)
    assert given["disk.free_mib[/var/lib/docker]"] == Absent()


class TestPci:
    CARD, VGA, NIC = "0000:16:00.0", "0000:03:00.0", "0000:14:00.0"

    def given(self, classes: dict[str, str] | None = None) -> dict[Question, Given]:
        at = "/sys/bus/pci/devices"
        vendors = {self.CARD: "0x9999\n", self.VGA: "0x1a03\n", self.NIC: "0x15b3\n"}
        classes = classes or {
            self.CARD: "0x038000\n",
            self.VGA: "0x030000\n",
            self.NIC: "0x020000\n",
        }
        lead = Found(f"/sys/devices/pci0000:15/{self.NIC}")
        return {
            **SYS,
            pci.VENDORS: Found(tuple((f"{at}/{a}/vendor", Found(v)) for a, v in vendors.items())),
            pci.CLASSES: Found(tuple((f"{at}/{a}/class", Found(v)) for a, v in classes.items())),
            RDMA: Found((("/sys/class/infiniband/mlx5_0/device", lead),)),
        }

    def device(self, name: str, text: str) -> Reading:
        question = File(f"/sys/bus/pci/devices/{self.CARD}/{name}", limit=64)
        key = next(key for key, (file, _) in pci.ATTRIBUTES.items() if file == name)
        return read(pci.PROBE, {**self.given(), question: Found(text)})[f"{key}[{self.CARD}]"]

    def test_only_accelerators_and_rdma_devices_are_asked_about(self) -> None:
        asked = [q.path.split("/")[5] for q in pci.more(Answers(self.given()))]  # type: ignore[union-attr]
        assert set(asked) == {self.CARD, self.NIC}

    @pytest.mark.parametrize(
        ("name", "text", "reading"),
        [
            ("current_link_speed", "32.0 GT/s PCIe\n", Observed(32.0)),
            ("current_link_speed", "8 GT/s\n", Observed(8.0)),
            ("max_link_speed", "Unknown\n", Unreadable("the kernel does not know it")),
            ("current_link_width", "16\n", Observed(16)),
            ("numa_node", "1\n", Observed(1)),
            ("numa_node", "-1\n", Absent()),
        ],
    )
    def test_each_attribute_is_understood(self, name: str, text: str, reading: Reading) -> None:
        assert self.device(name, text) == reading

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("current_link_speed", "3 GT/s\n"),
            ("current_link_speed", "32.0 GT/s PCIe"),
            ("current_link_width", "63\n"),
            ("current_link_width", "1"),
            ("numa_node", "-2\n"),
        ],
    )
    def test_what_no_link_has_is_not_believed(self, name: str, text: str) -> None:
        assert isinstance(self.device(name, text), Unreadable)

    def test_a_device_of_unknown_class_may_be_a_card(self) -> None:
        given = read(pci.PROBE, self.given({self.VGA: "0x03"}))
        path = f"/sys/bus/pci/devices/{self.VGA}/class"
        assert given["pci.numa_node"] == Unreadable(f"{path} holds '0x03'")

    def test_a_class_that_cannot_be_read_may_be_that_of_a_card(self) -> None:
        closed = Found((("/sys/bus/pci/devices/x/class", Unreadable("denied", passing=True)),))
        given = read(pci.PROBE, {**self.given(), pci.CLASSES: closed})
        reason = "/sys/bus/pci/devices/x/class: denied"
        assert given["pci.link.width"] == Unreadable(reason, passing=True)

    def test_a_processing_accelerator_of_any_maker_is_one(self) -> None:
        given = self.given({self.VGA: "0x120000\n"})
        assert any(self.VGA in str(question) for question in pci.more(Answers(given)))


class TestRdma:
    AT = "/sys/class/infiniband/mlx5_0"

    def test_each_attribute_of_a_device_is_read(self) -> None:
        said = {
            "rdma.firmware": ("fw_ver", "28.39.1002\n"),
            "rdma.model": ("hca_type", "MT4129\n"),
            "rdma.board": ("board_id", "MT_0000000838\n"),
            "rdma.kind": ("node_type", "1: CA\n"),
            "rdma.port.state": ("ports/1/state", "4: ACTIVE\n"),
            "rdma.port.rate": ("ports/1/rate", "400 Gb/sec (4X NDR)\n"),
            "rdma.port.link_layer": ("ports/1/link_layer", "InfiniBand\n"),
        }
        given: dict[Question, Given] = {
            rdma.ASKED[key]: Found(((f"{self.AT}/{name}", Found(text)),))
            for key, (name, text) in said.items()
        }
        lead = Found("/sys/devices/pci0000:15/0000:15:01.0/0000:14:00.0")
        given[RDMA] = Found(((f"{self.AT}/device", lead),))
        assert read(rdma.PROBE, given) == {
            "rdma.firmware[mlx5_0]": Observed("28.39.1002"),
            "rdma.model[mlx5_0]": Observed("MT4129"),
            "rdma.board[mlx5_0]": Observed("MT_0000000838"),
            "rdma.kind[mlx5_0]": Observed("CA"),
            "rdma.pci[mlx5_0]": Observed("0000:14:00.0"),
            "rdma.port.state[mlx5_0/1]": Observed("ACTIVE"),
            "rdma.port.rate[mlx5_0/1]": Observed(400.0),
            "rdma.port.link_layer[mlx5_0/1]": Observed("InfiniBand"),
        }

    @pytest.mark.parametrize(
        ("leads", "reading"),
        [
            (Found("/sys/devices/virtual/x"), Absent()),
            (Found("/tmp"), Unreadable("leads to '/tmp'")),  # noqa: S108 - a place it must not be
            (Unreadable("denied"), Unreadable("denied")),
        ],
    )
    def test_one_made_of_software_has_no_address(self, leads: Given, reading: Reading) -> None:
        given: dict[Question, Given] = {RDMA: Found(((f"{self.AT}/device", leads),))}  # type: ignore[arg-type]
        assert read(rdma.PROBE, given)["rdma.pci[mlx5_0]"] == reading


class TestRuntime:
    DPKG = (
        "Package: docker-ce\nStatus: hold ok installed\nVersion: 5:24.0.7-1~ubuntu.22.04\n\n"
        "Package: runc\nStatus: deinstall ok config-files\nVersion: 1.0.0-1\n\n"
        "Package: containerd\nStatus: install ok installed\nVersion: 1.6.20~ds1-1+b1\n\n"
    )

    @pytest.mark.parametrize(
        ("name", "said", "version"),
        [
            ("docker", "Docker version 24.0.7, build afdd53b\n", "24.0.7"),
            ("containerd", "containerd containerd.io 1.6.26 3dd1e886\n", "1.6.26"),
            ("containerd", "containerd github.com/x/y v1.7.0-rc.1 abc\n", "1.7.0-rc.1"),
            ("runc", "runc version 1.1.5+ds1\ncommit: 1.1.5+ds1-1\n", "1.1.5"),
            ("crun", "crun version 1.8.1\ncommit: abc\n", "1.8.1"),
            ("podman", "podman version 4.3.1\n", "4.3.1"),
            ("nvidia-ctk", "NVIDIA Container Toolkit CLI version 1.13.5\ncommit: a\n", "1.13.5"),
        ],
    )
    def test_a_tool_says_its_version(self, name: str, said: str, version: str) -> None:
        given: dict[Question, Given] = {runtime.COMMANDS[name]: Completed(0, said)}
        assert read(runtime.PROBE, given)[f"runtime[{name}]"] == Observed(version)

    @pytest.mark.parametrize(
        ("completed", "reason"),
        [
            (Completed(0, "podman version 4.3.1\n"), "docker said 'podman version 4.3.1\\n'"),
            (Completed(0, "Docker version 24"), "docker said 'Docker version 24'"),
            (Completed(1, "Docker version 24.0.7, x"), "docker exited with 1"),
            (Unreadable("cannot be run"), "cannot be run"),
        ],
    )
    def test_what_is_no_version_is_not_believed(self, completed: Given, reason: str) -> None:
        given: dict[Question, Given] = {runtime.COMMANDS["docker"]: completed}
        assert read(runtime.PROBE, given)["runtime[docker]"] == Unreadable(reason)

    def test_one_that_hangs_may_answer_next_time(self) -> None:
        given: dict[Question, Given] = {runtime.COMMANDS["docker"]: Completed(124)}
        hangs = Unreadable("docker did not end in time", passing=True)
        assert read(runtime.PROBE, given)["runtime[docker]"] == hangs

    def test_a_package_that_is_installed_saves_running_its_tool(self) -> None:
        given: dict[Question, Given] = {runtime.DPKG: Found(self.DPKG)}
        found = read(runtime.PROBE, given)
        assert found["runtime[containerd]"] == Observed("1.6.20")
        assert found["runtime[runc]"] == Absent()
        assert found["runtime[metax-docker]"] == Absent()
        nothing = Answers({**{q: Absent() for q in runtime.PROBE.questions}, **given})
        asked = {q.argv[0] for q in runtime.more(nothing) if isinstance(q, Command)}
        assert asked == {"crun", "nvidia-ctk", "podman", "runc"}

    def test_a_tool_that_lies_in_front_of_a_packages_is_run(self) -> None:
        given: dict[Question, Given] = {
            runtime.DPKG: Found(self.DPKG),
            runtime.OWN["containerd"][0]: Found(Status("file")),
            runtime.COMMANDS["containerd"]: Completed(0, "containerd x 2.0.1 y\n"),
        }
        assert read(runtime.PROBE, given)["runtime[containerd]"] == Observed("2.0.1")

    def test_nothing_is_run_before_packages_were_looked_at(self) -> None:
        assert list(runtime.more(Answers())) == []

    def test_where_nothing_runs_the_package_says_it(self) -> None:
        given: dict[Question, Given] = {
            runtime.DPKG: Found(self.DPKG),
            runtime.COMMANDS["docker"]: Unreadable("an image runs no command"),
        }
        assert read(runtime.PROBE, given)["runtime[docker]"] == Observed("24.0.7")

    def test_a_package_without_a_version_has_none(self) -> None:
        dpkg = "Package: metax-docker\nStatus: install ok installed\nVersion: x\n\n"
        found = read(runtime.PROBE, {runtime.DPKG: Found(dpkg)})
        assert found["runtime[metax-docker]"] == Unreadable("metax-docker has no version")

    def test_without_dpkg_a_package_is_not_known(self) -> None:
        reason = "no packages of dpkg here"
        assert read(runtime.PROBE, {})["runtime[metax-docker]"] == Unreadable(reason)

    def test_a_wrapper_that_nobody_can_ask_is_there_all_the_same(self) -> None:
        given: dict[Question, Given] = {runtime.WRAPPER[2]: Found(Status("file"))}
        reason = "/usr/bin/mx-container-runtime is there, and nothing says its version"
        assert read(runtime.PROBE, given)["runtime[mx-container-runtime]"] == Unreadable(reason)

    def test_dockers_set_up_names_its_runtimes(self) -> None:
        text = '{"default-runtime": "metax", "runtimes": {"metax": {}}}\n'
        found = read(runtime.PROBE, {runtime.DAEMON: Found(text)})
        assert found["runtime.handler[docker/metax]"] == Observed("set up")
        assert found["runtime.default[docker]"] == Observed("metax")

    def test_a_set_up_that_names_none_has_none(self) -> None:
        found = read(runtime.PROBE, {runtime.DAEMON: Found("{}\n")})
        assert found["runtime.handler[docker]"] == Absent()
        assert found["runtime.default[docker]"] == Absent()

    @pytest.mark.parametrize("text", ["", "[]", '{"runtimes": {"***": {}}}'])
    def test_a_set_up_that_is_none_says_nothing(self, text: str) -> None:
        found = read(runtime.PROBE, {runtime.DAEMON: Found(text)})
        assert isinstance(found["runtime.handler[docker]"], Unreadable)
        assert isinstance(found["runtime.default[docker]"], Unreadable)

    def test_containerds_files_are_read_together(self) -> None:
        part = "/etc/containerd/conf.d/99-metax.toml"
        given: dict[Question, Given] = {
            runtime.CONTAINERD: Found('[containerd.runtimes."runc"]\n'),
            runtime.PARTS: Found(((part, Found('default_runtime_name = "metax"\n')),)),
        }
        found = {fact.label: (fact.reading, fact.source) for fact in facts(runtime.PROBE, given)}
        assert found["runtime.handler[containerd/runc]"] == (
            Observed("set up"),
            runtime.CONTAINERD.path,
        )
        assert found["runtime.default[containerd]"] == (Observed("metax"), part)

    def test_what_containerd_was_built_with_stands_in_no_file(self) -> None:
        found = read(runtime.PROBE, {runtime.CONTAINERD: Found("")})
        assert found["runtime.default[containerd]"] == Unreadable("its files name none")
        assert read(runtime.PROBE, {})["runtime.default[containerd]"] == Absent()
