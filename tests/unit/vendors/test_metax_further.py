from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

import pytest

from mxenv import matrix_reader
from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable, View
from mxenv.judgement import judge
from mxenv.probe import snapshot
from mxenv.question import Answers, Command, Completed, Found, Given, Question, Status
from mxenv.vendors import _metax_brand as brand
from mxenv.vendors import _metax_module as module
from mxenv.vendors import _metax_packages as packages
from mxenv.vendors import _metax_sdk as sdk
from mxenv.vendors import _metax_tools as tools
from mxenv.vendors import _mxsmi_forms as forms
from mxenv.vendors import _place as place
from mxenv.vendors._metax_nodes import NODES, OTHER
from mxenv.vendors._metax_place import MODULE
from mxenv.vendors.metax import QUESTIONS, VENDOR
from mxenv.verdict import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterator

DIRECTORY = Found(Status("directory"))
MISSING = Completed(127)
BDFS = ("0000:37:00.0", "0000:38:00.0")
METAX, HPCC = brand.METAX, brand.HPCC
TABLE = """\
mx-smi  version: 2.2.12

Attached GPUs                                     : 2
+---------------------------------------------------------------------------------+
| MX-SMI 2.2.12                      Kernel Mode Driver Version: 3.8.30           |
| MACA Version: 3.5.3.20             BIOS Version: 1.33.5.0                       |
|------------------+-----------------+---------------------+----------------------|
| Board       Name | GPU   Persist-M | Bus-id              | GPU-Util      sGPU-M |
| Pwr:Usage/Cap    | Temp       Perf | Memory-Usage        | GPU-State            |
|==================+=================+=====================+======================|
| 0     MetaX C500 | 0           Off | 0000:37:00.0        | 0%          Disabled |
| 58W / 350W       | 49C          P9 | 8211/65536 MiB      | Available            |
+------------------+-----------------+---------------------+----------------------+
| 1     MetaX C500 | 1            On | 0000:38:00.0        | 0%          Disabled |
| 58W / 349W       | 49C          P9 | 8211/65536 MiB      | Available            |
+------------------+-----------------+---------------------+----------------------+
"""
HPCC_TABLE = (
    TABLE.replace("mx-smi", "ht-smi")
    .replace("MX-SMI", "HT-SMI")
    .replace("MACA", "HPCC")
    .replace("MetaX C500", " Mars X201")
)
MATRIX = """\
Device link type matrix
        GPU0    GPU1    NIC0    Node Affinity  CPU Affinity
GPU0    X       MX      PIX     0              0-31
GPU1    MX      X       SYS     1              32-63
NIC0    PIX     SYS     X

NIC Legend:

  NIC0: mlx5_0
"""
MODINFO = "filename:       /lib/metax.ko\nversion:        {}\nvermagic:       5.15.0-58 SMP\n"


def log(*sections: str) -> str:
    cards = "".join(
        f"GPU#{n}  MXC500  {BDFS[n]}\n{section}\n" for n, section in enumerate(sections)
    )
    return f"mx-smi  version: 2.2.12\n\nAttached GPUs : {len(sections)}\n{cards}End of Log\n"


def command(form: str, of: brand.Brand = METAX) -> Command:
    return forms.command(of, form)


def pci(*bdfs: str) -> dict[Question, Given]:
    root = "/sys/bus/pci/devices"
    return {
        place.SYSFS: DIRECTORY,
        place.VENDORS: Found(tuple((f"{root}/{b}/vendor", Found("0x9999\n")) for b in bdfs)),
        place.DEVICES: Found(tuple((f"{root}/{b}/device", Found("0x4001\n")) for b in bdfs)),
        place.CLASSES: Found(tuple((f"{root}/{b}/class", Found("0x038000\n")) for b in bdfs)),
    }


PLAIN: dict[Question, Given] = {
    q: MISSING if isinstance(q, Command) else Absent() for q in QUESTIONS
} | pci()
"""A machine that has nothing of MetaX."""
NODE: dict[Question, Given] = {
    **PLAIN,
    **pci(*BDFS),
    MODULE: DIRECTORY,
    module.VERSION: Found("3.8.30\n"),
    module.MODULES: Found("metax 1605632 0 - Live 0x0000000000000000 (OE)\n"),
    METAX.table: Completed(0, TABLE),
    METAX.home: DIRECTORY,
    METAX.real: Found("/opt/maca-3.5.3"),
    **{module.driver(bdf): Found("/sys/module/metax") for bdf in BDFS},
    module.MODINFO: Completed(0, MODINFO.format("3.8.30")),
    command("--show-board-power"): Completed(
        0, log("    Limit : 350.000 W\n", "    Limit : 349.500 W\n")
    ),
    command("topo -m"): Completed(0, MATRIX),
}
"""A node of two cards, of which not all was asked."""


def read(given: dict[Question, Given]) -> tuple[Fact, ...]:
    return tuple(VENDOR.probe.read(Answers(given)))


def readings(given: dict[Question, Given], key: str, instance: str = "") -> dict[str, Reading]:
    """Return what each source says of one fact."""
    return {f.source: f.reading for f in read(given) if (f.key, f.instance) == (key, instance)}


def asked(given: dict[Question, Given]) -> set[Question]:
    return set(VENDOR.probe.more(Answers(given)))


def test_where_nothing_was_seen_nothing_more_is_asked() -> None:
    assert asked(PLAIN) == set()


def test_a_tool_that_hangs_is_asked_nothing_more() -> None:
    later = asked({**NODE, METAX.table: Completed(124)})
    assert not [q for q in later if isinstance(q, Command) and q.argv[0] == "mx-smi"]


def test_a_tool_that_answers_is_asked_all_it_can_tell() -> None:
    assert {command(form) for form in forms.ALL} <= asked(NODE)


class TestTheModule:
    def test_three_sources_tell_its_version(self) -> None:
        told = readings(NODE, "metax.kmd")
        assert set(told) == {"/sys/module/metax/version", "modinfo metax", "mx-smi"}
        assert set(told.values()) == {Observed("3.8.30")}

    def test_one_that_was_upgraded_and_not_loaded_anew_is_seen_to_differ(self) -> None:
        given = {**NODE, module.MODINFO: Completed(0, MODINFO.format("3.10.14"))}
        assert set(readings(given, "metax.kmd").values()) == {
            Observed("3.8.30"),
            Observed("3.10.14"),
        }

    def test_one_that_is_not_loaded_is_no_driver_that_runs(self) -> None:
        given = {**NODE, MODULE: Absent(), module.VERSION: Absent()}
        assert readings(given, "metax.kmd")["modinfo metax"] == Unreadable(
            "no driver is loaded; the module on disk is 3.8.30"
        )
        assert set(readings(given, "metax.module.on_disk").values()) == {Observed("3.8.30")}

    def test_one_that_was_removed_under_the_kernel_is_told(self) -> None:
        lost = Completed(1, "", "modinfo: ERROR: Module metax not found.\n")
        given = {**NODE, module.MODINFO: lost}
        assert readings(given, "metax.module.on_disk") == {"modinfo metax": Absent()}
        assert isinstance(readings(given, "metax.kmd")["modinfo metax"], Unreadable)

    def test_a_container_has_not_the_modules_of_its_kernel(self) -> None:
        lost = Completed(1, "", "modinfo: ERROR: Module metax not found.\n")
        given = {**NODE, module.MODINFO: lost, place.DOCKER: Found(Status("file"))}
        for key in ("metax.module.on_disk", "metax.module.vermagic"):
            assert isinstance(readings(given, key)["modinfo metax"], Unreadable)

    @pytest.mark.parametrize(
        "done",
        [MISSING, Completed(124), Completed(1, "", "broken"), Completed(0, "version: x\n" * 2)],
    )
    def test_a_modinfo_that_fails_tells_nothing(self, done: Completed) -> None:
        told = readings({**NODE, module.MODINFO: done}, "metax.module.on_disk")
        assert isinstance(told["modinfo metax"], Unreadable)

    def test_it_says_for_which_kernel_it_was_built(self) -> None:
        told = readings(NODE, "metax.module.vermagic")
        assert told == {"modinfo metax": Observed("5.15.0-58")}

    def test_the_module_for_virtual_functions_is_a_fact_of_its_own(self) -> None:
        assert readings(NODE, "metax.module.gvm") == {"/proc/modules": Absent()}
        text = "mxgvm 16384 0 - Live 0x0000000000000000 (OE)\n"
        told = readings({**NODE, module.MODULES: Found(text)}, "metax.module.gvm")
        assert told == {"/proc/modules": Observed("loaded")}

    def test_a_folder_of_its_own_among_the_modules_is_looked_into(self) -> None:
        path = "/lib/modules/5.14.0/extra/metax/metax.ko.xz"
        given = {**NODE, module.MORE_BUILT[0]: Found(((path, Found("")),))}
        assert readings(given, "metax.module.built", "5.14.0") == {path: Observed("extra/metax")}


class TestTheDriverOfACard:
    def test_is_the_module_that_drives_it(self) -> None:
        told = readings(NODE, "metax.device.driver", BDFS[0])
        assert set(told.values()) == {Observed("metax")}

    def test_a_card_without_one_has_none(self) -> None:
        told = readings({**NODE, module.driver(BDFS[0]): Absent()}, "metax.device.driver", BDFS[0])
        assert set(told.values()) == {Absent()}

    def test_a_card_held_for_a_virtual_machine_is_no_sign_of_a_loaded_driver(self) -> None:
        held: dict[Question, Given] = {
            module.driver(bdf): Found("/sys/module/vfio_pci") for bdf in BDFS
        }
        given = {**NODE, **held, MODULE: Absent(), module.MODULES: Found("")}
        assert set(readings(given, "metax.module.loaded").values()) == {Absent()}
        told = readings(given, "metax.device.driver", BDFS[0])
        assert set(told.values()) == {Observed("vfio_pci")}

    def test_a_module_of_another_name_is_asked_for_its_version_and_parameters(self) -> None:
        root = "/sys/module/htcd"
        named: dict[Question, Given] = {module.driver(bdf): Found(root) for bdf in BDFS}
        given: dict[Question, Given] = {**PLAIN, **pci(*BDFS), **named}
        version = next(q for q in asked(given) if getattr(q, "path", "") == f"{root}/version")
        given[version] = Found("3.4.4\n")
        assert readings(given, "metax.kmd")[f"{root}/version"] == Observed("3.4.4")
        assert readings(given, "metax.module.loaded")[root] == Observed("loaded")


class TestLinks:
    def test_are_between_addresses(self) -> None:
        assert readings(NODE, "metax.link", "/".join(BDFS)) == {"mx-smi topo -m": Observed("MX")}
        nic = readings(NODE, "metax.link", f"{BDFS[0]}/mlx5_0")
        assert nic == {"mx-smi topo -m": Observed("PIX")}

    def test_come_with_what_is_near_a_card(self) -> None:
        assert set(readings(NODE, "metax.device.numa_node", BDFS[1]).values()) == {Observed(1)}
        assert set(readings(NODE, "metax.device.cpus", BDFS[1]).values()) == {Observed("32-63")}

    def test_of_a_card_whose_address_is_not_known_are_not_told(self) -> None:
        matrix = MATRIX.replace("GPU1", "GPU7")
        given = {**NODE, command("topo -m"): Completed(0, matrix)}
        told = {f.instance: f.reading for f in read(given) if f.key == "metax.link"}
        assert told[f"{BDFS[0]}/mlx5_0"] == Observed("PIX")
        assert isinstance(told[""], Unreadable)

    def test_a_failed_matrix_says_why(self) -> None:
        given = {**NODE, command("topo -m"): Completed(1, "PARSE ERROR: Argument: topo")}
        for key in ("metax.link", "metax.device.numa_node", "metax.device.cpus"):
            (reading,) = readings(given, key).values()
            assert reading == Unreadable(
                "mx-smi topo -m: it exited with 1: PARSE ERROR: Argument: topo"
            )

    def test_one_card_has_none(self) -> None:
        matrix = "Device link type matrix\n        GPU0    \nGPU0    X\n"
        given = {**NODE, command("topo -m"): Completed(0, matrix)}
        assert readings(given, "metax.link") == {"mx-smi": Absent()}


class TestThePowerCap:
    def test_is_told_by_the_finer_source(self) -> None:
        told = readings(NODE, "metax.device.power_cap_w", BDFS[1])
        assert told == {"mx-smi --show-board-power": Observed(349.5)}

    def test_or_else_by_the_table(self) -> None:
        given = {**NODE, command("--show-board-power"): Completed(1, "", "no such option")}
        told = readings(given, "metax.device.power_cap_w", BDFS[1])
        assert told == {"mx-smi": Observed(349)}


def test_a_log_that_lost_a_card_is_not_believed_about_the_others() -> None:
    text = log("    state : Enable\n", "    state : Disable\n").replace(
        f"GPU#1  MXC500  {BDFS[1]}", ""
    )
    given = {**NODE, command("--show-ecc-state"): Completed(0, text)}
    assert readings(given, "metax.device.ecc") == {
        "mx-smi": Unreadable("mx-smi --show-ecc-state: cards are missing in it (1 listed of 2)")
    }


class TestPackages:
    status = "".join(
        f"Package: {name}\nStatus: install ok {state}\nVersion: {version}\n\n"
        for name, state, version in (
            ("libc6", "installed", "2.35"),
            ("metax-driver", "installed", "3.7.0.9"),
            ("maca-sdk", "installed", "3.5.3.20"),
            ("mxfw", "config-files", "1.33.5.0"),
            ("mxml", "installed", "3.3"),
        )
    )

    def test_of_dpkg_are_those_of_the_vendor(self) -> None:
        given: dict[Question, Given] = {**NODE, packages.DPKG: Found(self.status)}
        told = {f.instance: f.reading for f in read(given) if f.key == "metax.package"}
        assert told == {
            "metax-driver": Observed("3.7.0.9"),
            "maca-sdk": Observed("3.5.3.20"),
            "": Absent(),
        }

    def test_of_rpm_are_asked_where_there_is_rpm_and_something_of_the_vendor(self) -> None:
        assert packages.RPMS not in asked(NODE)
        given: dict[Question, Given] = {**NODE, packages.RPM: Completed(0, "3.7.0.9\n")}
        assert packages.RPMS in asked(given)
        given[packages.RPMS] = Completed(0, "metax-driver 3.7.0.9\nmxml 3.3\nmccl 2.16.5\n")
        told = {f.instance: f.reading for f in read(given) if f.source == "rpm -qa"}
        assert told == {"metax-driver": Observed("3.7.0.9"), "mccl": Observed("2.16.5")}

    @pytest.mark.parametrize("done", [Completed(124), Completed(1, "", "broken"), Unreadable("x")])
    def test_of_an_rpm_that_fails_are_not_known(self, done: Completed | Unreadable) -> None:
        given = {**NODE, packages.RPM: Completed(0, "3.7.0.9\n"), packages.RPMS: done}
        assert isinstance(readings(given, "metax.package")["rpm -qa"], Unreadable)


class TestTheSdk:
    given: ClassVar[dict[Question, Given]] = {
        **NODE,
        sdk.dnn_header(METAX): Found(
            "#define MCDNN_MAJOR 1\n#define MCDNN_MINOR 1\n#define MCDNN_PATCHLEVEL 2\n"
        ),
        sdk.bridge(METAX): DIRECTORY,
        sdk.bridge_header(METAX): Found("#define CUDA_VERSION 11060\n"),
        sdk.version_file(METAX.driver): Found("Version:3.7.0.9\n"),
        sdk.libraries(METAX)[0]: Found("/opt/maca-3.5.3/lib/libmcruntime.so"),
    }

    @pytest.mark.parametrize(
        ("key", "instance", "value"),
        [
            ("metax.dnn", "", "1.1.2"),
            ("metax.bridge", "", "11.6"),
            ("metax.umd", "", "3.7.0.9"),
            ("metax.library", "libmcruntime.so", "/opt/maca-3.5.3/lib/libmcruntime.so"),
        ],
    )
    def test_has_parts_of_their_own(self, key: str, instance: str, value: str) -> None:
        assert Observed(value) in readings(self.given, key, instance).values()

    def test_a_bridge_that_does_not_say_for_what_it_stands_is_there_all_the_same(self) -> None:
        given = {**self.given, sdk.bridge_header(METAX): Found("#define CUDA_VERSION x\n")}
        (reading,) = readings(given, "metax.bridge").values()
        assert reading == Unreadable(
            "it is there; its headers do not tell for which CUDA it stands"
        )

    def test_no_bridge_is_none(self) -> None:
        given = {**NODE, sdk.bridge(METAX): Absent(), sdk.bridge_header(METAX): Absent()}
        assert set(readings(given, "metax.bridge").values()) == {Absent()}

    def test_a_version_that_stands_behind_another_word_is_none(self) -> None:
        given = {**NODE, sdk.version_file(METAX.sdk): Found("Build:20251011.746\n")}
        assert isinstance(readings(given, "metax.sdk")["/opt/maca/Version.txt"], Unreadable)


class TestTools:
    def given(self, **said: Completed) -> dict[Question, Given]:
        names = {name.replace("-", "_"): question for name, question in tools.TOOLS.items()}
        bins = tools.folders(METAX)
        there = tuple((f"/opt/maca/bin/{name}", Found("")) for name in ("macainfo", "mxvs"))
        return {
            **NODE,
            **dict.fromkeys(tools.TOOLS.values(), MISSING),
            bins[0]: Found(there),
            bins[1]: Absent(),
            **{names[name]: done for name, done in said.items()},
        }

    @pytest.mark.parametrize(
        ("name", "said", "expected"),
        [
            ("mcTracer", "x ***** Version: \nx *****    3.7.1.5-ef9e10e\n", "3.7.1.5-ef9e10e"),
            ("mcProfiler", "mcProfiler 3.7.1.5\n", "3.7.1.5"),
            ("mx_diagease", "mx-diagease  version: 2.2.12\n", "2.2.12"),
            ("mx_report", "mx-report  version: 2.2.6\n", "2.2.6"),
        ],
    )
    def test_tell_their_version_each_in_its_way(self, name: str, said: str, expected: str) -> None:
        told = readings(
            self.given(**{name: Completed(0, said)}), "metax.tool", name.replace("mx_", "mx-")
        )
        assert set(told.values()) == {Observed(expected)}

    @pytest.mark.parametrize(
        ("name", "done"),
        [
            ("mcProfiler", Completed(2, "usage: mcProfiler [-h]\nmcProfiler: error: 3.7.1\n")),
            ("mcProfiler", Completed(0, "mcProfiler 3.7.1 for python 3.10\n")),
            ("mxvs", Completed(1, "", "dlopen(): error loading libfuse.so.2\n")),
            ("mx_report", Completed(0, "mx-report  version: 2.2")),
            ("mcTracer", Completed(0, "***** Version: \n***** Usage: \n")),
            ("mcTracer", Completed(124)),
        ],
    )
    def test_that_fail_are_there_and_tell_no_version(self, name: str, done: Completed) -> None:
        told = readings(self.given(**{name: done}), "metax.tool", name.replace("mx_", "mx-"))
        assert [type(reading) for reading in told.values()] == [Unreadable]

    def test_that_are_not_there_are_absent_and_those_that_only_lie_there_are_not(self) -> None:
        assert set(readings(self.given(), "metax.tool", "mcTracer").values()) == {Absent()}
        (lying,) = readings(self.given(), "metax.tool", "mxvs").values()
        assert lying == Unreadable("/opt/maca/bin/mxvs is there, and was not found to be run")

    def test_that_nobody_can_run_are_seen_to_lie_there(self) -> None:
        blind = Unreadable("an image runs no command")
        given = {**self.given(), **dict.fromkeys(tools.TOOLS.values(), blind)}
        (lying,) = readings(given, "metax.tool", "mxvs").values()
        assert lying == Unreadable("/opt/maca/bin/mxvs is there, but an image runs no command")
        assert set(readings(given, "metax.tool", "mcProfiler").values()) == {blind}

    def test_that_tell_no_version_of_their_own_are_present(self) -> None:
        told = readings(self.given(), "metax.tool", "macainfo")
        assert set(told.values()) == {Observed("present")}

    def test_in_a_folder_that_cannot_be_read_are_not_known(self) -> None:
        given = {**self.given(), tools.folders(METAX)[1]: Unreadable("permission denied")}
        assert set(readings(given, "metax.tool", "macainfo").values()) == {
            Unreadable("permission denied")
        }


class TestAnotherBrand:
    given: ClassVar[dict[Question, Given]] = {
        **PLAIN,
        place.VENDORS: Unreadable("not recorded"),
        HPCC.table: Completed(0, HPCC_TABLE),
        HPCC.home: DIRECTORY,
        HPCC.real: Found("/opt/hpcc-3.3.0"),
        sdk.version_file(HPCC.sdk): Found("Version:3.3.0.15\n"),
        OTHER: Found(Status("char")),
        NODES: Absent(),
    }

    def test_is_told_by_the_same_keys(self) -> None:
        assert readings(self.given, "metax.smi")["ht-smi"] == Observed("2.2.12")
        assert readings(self.given, "metax.smi_maca")["ht-smi"] == Observed("3.5.3.20")
        assert readings(self.given, "metax.device.count")["ht-smi"] == Observed(2)
        assert Observed("3.3.0.15") in readings(self.given, "metax.sdk").values()
        assert Observed("/opt/hpcc-3.3.0") in readings(self.given, "metax.sdk_path").values()

    def test_has_a_name(self) -> None:
        assert readings(self.given, "metax.brand") == {
            "ht-smi": Observed("HPCC"),
            "/opt/hpcc": Observed("HPCC"),
        }
        assert set(readings(NODE, "metax.brand").values()) == {Observed("MetaX")}
        assert readings(PLAIN, "metax.brand") == {"mx-smi": Absent()}

    def test_a_link_under_the_old_name_is_no_second_sdk(self) -> None:
        given = {**self.given, METAX.home: Found(Status("link")), METAX.real: Found("/opt/hpcc")}
        assert set(readings(given, "metax.brand").values()) == {Observed("HPCC")}

    def test_has_no_module_whose_name_is_known_and_so_none_that_is_missing(self) -> None:
        loaded = readings(self.given, "metax.module.loaded")
        assert all(isinstance(reading, Unreadable) for reading in loaded.values())

    def test_has_a_control_node_of_its_own(self) -> None:
        assert Observed("present") in readings(self.given, "metax.node", "/dev/htcd").values()
        missing = readings(self.given, "metax.node", "/dev/mxcd")
        assert all(isinstance(reading, Unreadable) for reading in missing.values())

    def test_names_its_cards_otherwise_than_their_ids_do(self) -> None:
        given = {**self.given, **pci(*BDFS)}
        told = readings(given, "metax.device.model", BDFS[0])
        assert set(told.values()) == {Observed("X201")}

    def test_calls_things_by_names_that_are_not_known(self) -> None:
        absent = {**self.given, **dict.fromkeys(unasked(self.given), Absent())}
        for key in ("metax.mccl", "metax.dnn"):
            assert any(isinstance(r, Unreadable) for r in readings(absent, key).values())

    def test_is_asked_in_all_forms_once_it_answers(self) -> None:
        assert {command(form, HPCC) for form in forms.ALL} <= asked(self.given)


def unasked(given: dict[Question, Given]) -> Iterator[Question]:
    """Yield what a second round asks that is no command."""
    for question in asked(given):
        if not isinstance(question, Command) and question not in given:
            yield question


def test_whether_there_is_any_brand_may_not_be_known() -> None:
    for given in (
        {METAX.table: Completed(124)},
        {HPCC.table: Unreadable("not recorded")},
        {METAX.home: Unreadable("permission denied")},
    ):
        (reading,) = readings({**PLAIN, **given}, "metax.brand").values()
        assert isinstance(reading, Unreadable)


def test_a_module_that_was_upgraded_and_not_loaded_anew_is_a_finding() -> None:
    given = {**NODE, module.MODINFO: Completed(0, MODINFO.format("3.10.14"))}
    at = datetime(2026, 1, 7, tzinfo=UTC)
    node = snapshot([VENDOR.probe], Answers(given), node="n", view=View.HOST, taken_at=at)
    keys = {key.name: key for key in VENDOR.probe.keys}
    findings = judge(node, matrix_reader.parse([], keys), today=at.date()).findings
    (found,) = (finding for finding in findings if finding.code == "MX116")
    assert (found.subject, found.outcome) == ("metax.kmd", Outcome.UNKNOWN)
    assert "3.10.14 (modinfo metax, host)" in found.found
