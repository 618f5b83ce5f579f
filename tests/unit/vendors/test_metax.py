from __future__ import annotations

import json

import pytest

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Completed, Found, Given, Question, Status
from mxenv.vendors import _metax_brand as brand
from mxenv.vendors import _metax_module as module
from mxenv.vendors import _metax_nodes as nodes
from mxenv.vendors import _metax_packages as packages
from mxenv.vendors import _metax_sdk as sdk
from mxenv.vendors import _mxsmi_forms as forms
from mxenv.vendors import _place as place
from mxenv.vendors._metax_place import DRM, MODULE
from mxenv.vendors.metax import QUESTIONS, VENDOR

TABLE, JSON, VERSIONS, LIST = (forms.command(brand.METAX, form) for form in forms.MAIN)
COMPILER = sdk.compiler(brand.METAX)
HEADER = sdk.header(brand.METAX)
VERSION = sdk.version_file(brand.METAX.sdk)
DIRECTORY = Found(Status("directory"))
MISSING = Completed(127)
TABLE_TEXT = """\
mx-smi  version: 2.2.12

Attached GPUs                                     : 1
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
"""
LIST_TEXT = """\
mx-smi  version: 2.2.12
GPU#0    MXC500      0000:37:00.0   Available
GPU#1    MXC500      0000:38:00.0   Not Available(MetaX Sysfs File Unaccessible)
"""
JSON_TEXT = "mx-smi  version: 2.2.12\n" + json.dumps(
    {
        "smi_version": "2.2.12",
        "maca_version": "3.5.3.20",
        "driver_version": "3.8.30",
        "attached_gpus": 1,
        "0000:37:00.0": {"vbios_version": "1.33.5.0", "unavailable_reason": "", "sgpu_count": 0},
    }
)
VERSIONS_TEXT = """\
mx-smi  version: 2.2.12

Attached GPUs                                     : 1
GPU#0  MXC500  0000:37:00.0
    Version
        BIOS                                      : 1.33.5.0
        SMP0                                      : 1.33.5.0

End of Log
"""


def pci(*cards: tuple[str, str]) -> dict[Question, Given]:
    """Return a PCI bus with a bridge and these cards of MetaX."""
    bus = (("0000:00:00.0", "0x8086", "0x09a2", "0x060000"),)
    bus += tuple((bdf, "0x9999", device, "0x038000") for bdf, device in cards)
    root = "/sys/bus/pci/devices"
    return {
        place.SYSFS: DIRECTORY,
        place.VENDORS: Found(tuple((f"{root}/{b}/vendor", Found(f"{v}\n")) for b, v, _, _ in bus)),
        place.DEVICES: Found(tuple((f"{root}/{b}/device", Found(f"{d}\n")) for b, _, d, _ in bus)),
        place.CLASSES: Found(tuple((f"{root}/{b}/class", Found(f"{c}\n")) for b, _, _, c in bus)),
        DRM: Found(
            tuple(
                (f"{root}/{bdf}/drm/{name}{number}", Found(""))
                for number, (bdf, _) in enumerate(cards, 128)
                for name in ("card", "renderD")
            )
        ),
    }


PLAIN: dict[Question, Given] = {
    **dict.fromkeys(QUESTIONS, Absent()),
    **dict.fromkeys((TABLE, JSON, VERSIONS, LIST, brand.HPCC.table), MISSING),
    **dict.fromkeys((packages.RPM, COMPILER, sdk.RAS), MISSING),
    **pci(),
    module.MODULES: Found("drm 634880 0 - Live 0x0000000000000000\n"),
}
"""A machine that has nothing of MetaX."""
CARD: dict[Question, Given] = {
    **PLAIN,
    **pci(("0000:37:00.0", "0x4001")),
    MODULE: DIRECTORY,
    module.VERSION: Found("3.8.30\n"),
    module.MODULES: Found("metax 1605632 0 - Live 0x0000000000000000 (OE)\n"),
    TABLE: Completed(0, TABLE_TEXT),
    JSON: Completed(0, JSON_TEXT),
    VERSIONS: Completed(0, VERSIONS_TEXT),
    LIST: Completed(0, LIST_TEXT.partition("GPU#1")[0]),
}
"""A node of one card, in order."""
BROKEN: dict[Question, Given] = {
    **PLAIN,
    **pci(("0000:37:00.0", "0x4001"), ("0000:38:00.0", "0x4001")),
    **dict.fromkeys((TABLE, JSON, VERSIONS, LIST), Completed(1, "", "mxSmlInit: failure\n")),
}
"""Two cards, no module, and a tool that fails."""
OTHER = ("metax.device.state", "0000:38:00.0")
UNMAPPED: dict[Question, Given] = {
    **CARD,
    **pci(("0000:37:00.0", "0x4001"), ("0000:38:00.0", "0x4001")),
    LIST: Completed(0, LIST_TEXT),
}
"""A node of two cards, of which one is out of reach."""


def facts(given: dict[Question, Given]) -> tuple[Fact, ...]:
    return tuple(VENDOR.probe.read(Answers(given)))


def readings(given: dict[Question, Given], key: str, instance: str = "") -> dict[str, Reading]:
    """Return what each source says of one fact."""
    return {
        fact.source: fact.reading
        for fact in facts(given)
        if (fact.key, fact.instance) == (key, instance)
    }


class TestAPlainMachine:
    def test_has_no_card(self) -> None:
        assert set(readings(PLAIN, "metax.device.count").values()) == {Observed(0)}

    def test_has_nothing_else_either(self) -> None:
        kept = {fact.key: fact for fact in facts(PLAIN) if fact.key != "metax.device.count"}
        assert all(fact.reading == Absent() for fact in kept.values())

    def test_is_not_known_to_have_no_card_if_sysfs_was_not_read(self) -> None:
        for given in (
            {place.VENDORS: Unreadable("permission denied")},
            {place.SYSFS: Absent(), place.VENDORS: Absent()},
        ):
            counts = readings({**PLAIN, **given}, "metax.device.count")
            assert all(isinstance(reading, Unreadable) for reading in counts.values())

    def test_is_not_known_to_have_no_card_if_the_tool_failed(self) -> None:
        counts = readings({**PLAIN, TABLE: Completed(1, "", "broken")}, "metax.device.count")
        assert all(isinstance(reading, Unreadable) for reading in counts.values())

    def test_may_have_the_tool(self) -> None:
        said = Completed(2, "No available devices were discovered\n")
        given = {**PLAIN, TABLE: said, JSON: said, VERSIONS: said, LIST: said}
        assert set(readings(given, "metax.device.count").values()) == {Observed(0)}
        assert set(readings(given, "metax.kmd").values()) == {Absent()}


class TestAHealthyNode:
    def test_two_sources_tell_the_driver(self) -> None:
        assert readings(CARD, "metax.kmd") == {
            "/sys/module/metax/version": Observed("3.8.30"),
            "mx-smi": Observed("3.8.30"),
        }

    def test_forms_of_the_tool_that_disagree_are_all_told(self) -> None:
        other = JSON_TEXT.replace('"3.8.30"', '"3.4.4"')
        told = readings({**CARD, JSON: Completed(0, other)}, "metax.kmd")
        assert (told["mx-smi"], told["mx-smi -j"]) == (Observed("3.8.30"), Observed("3.4.4"))

    def test_a_form_of_the_tool_that_failed_does_not_matter_if_another_tells(self) -> None:
        told = readings({**CARD, TABLE: Completed(1, "", "failed")}, "metax.kmd")
        assert told["mx-smi -j"] == Observed("3.8.30")
        assert "mx-smi" not in told

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("metax.device.model", "C500"),
            ("metax.device.pci_id", "9999:4001"),
            ("metax.device.memory_mib", 65536),
            ("metax.device.state", "available"),
            ("metax.device.bios", "1.33.5.0"),
        ],
    )
    def test_everything_of_a_card_is_known(self, key: str, value: str | int) -> None:
        assert set(readings(CARD, key, "0000:37:00.0").values()) == {Observed(value)}

    def test_every_source_counts(self) -> None:
        counts = readings(CARD, "metax.device.count")
        assert set(counts.values()) == {Observed(1)}
        assert len(counts) == 2

    def test_a_firmware_unit_belongs_to_its_card(self) -> None:
        told = readings(CARD, "metax.device.firmware", "0000:37:00.0/SMP0")
        assert set(told.values()) == {Observed("1.33.5.0")}

    def test_a_card_that_is_not_sliced_has_no_slice(self) -> None:
        assert set(readings(CARD, "metax.device.slice").values()) == {Absent()}

    def test_its_device_nodes_are_those_of_its_cards(self) -> None:
        given: dict[Question, Given] = {
            **CARD,
            nodes.NODES: Found((("/dev/mxcd", Found("")),)),
            nodes.DRI: Found(
                tuple((f"/dev/dri/{n}", Found("")) for n in ("card0", "card128", "renderD128"))
            ),
        }
        told = {f.instance: f.reading for f in facts(given) if f.key == "metax.node"}
        assert told == dict.fromkeys(
            ("/dev/mxcd", "/dev/dri/card128", "/dev/dri/renderD128"), Observed("present")
        )

    def test_no_control_node_is_told_as_absent(self) -> None:
        assert readings(CARD, "metax.node", "/dev/mxcd") == {"/dev/mxcd": Absent()}


class TestABrokenDriver:
    def test_the_cards_are_known_from_the_bus(self) -> None:
        models = {f.instance: f.reading for f in facts(BROKEN) if f.key.endswith("model")}
        assert models == dict.fromkeys(("0000:37:00.0", "0000:38:00.0"), Observed("C500"))
        assert readings(BROKEN, "metax.device.count")[place.VENDORS.pattern] == Observed(2)

    def test_what_only_the_tool_knows_is_not_known(self) -> None:
        for key in ("metax.device.state", "metax.device.bios", "metax.device.memory_mib"):
            told = readings(BROKEN, key, "0000:37:00.0")
            assert [type(reading) for reading in told.values()] == [Unreadable], key
            assert "mxSmlInit: failure" in str(told)

    def test_the_module_is_not_loaded(self) -> None:
        assert set(readings(BROKEN, "metax.module.loaded").values()) == {Absent()}

    def test_a_module_built_for_another_kernel_is_told(self) -> None:
        path = "/lib/modules/5.15.0-58-generic/updates/dkms/metax.ko"
        given = {
            **BROKEN,
            module.KERNEL: Found("5.15.0-60-generic\n"),
            module.BUILT[2]: Found(((path, Found("")),)),
        }
        built = {f.instance: f.reading for f in facts(given) if f.key == "metax.module.built"}
        assert built == {
            "5.15.0-58-generic": Observed("updates/dkms"),
            "5.15.0-60-generic": Absent(),
        }

    def test_no_tool_does_not_mean_no_driver(self) -> None:
        given = {**BROKEN, **dict.fromkeys((TABLE, JSON, VERSIONS, LIST), MISSING)}
        assert readings(given, "metax.kmd")["mx-smi"] == Unreadable("there is no mx-smi to ask")
        assert readings(given, "metax.smi") == {"mx-smi": Absent()}
        assert readings(given, "metax.device.count") == {place.VENDORS.pattern: Observed(2)}

    def test_a_tool_that_sees_no_card_on_a_bus_with_cards_is_not_believed(self) -> None:
        said = Completed(2, "No available devices were discovered\n")
        given = {**BROKEN, **dict.fromkeys((TABLE, JSON, VERSIONS, LIST), said)}
        assert readings(given, "metax.device.count") == {
            place.VENDORS.pattern: Unreadable("2 on the PCI bus, mx-smi sees none")
        }

    def test_a_time_limit_passes_wherever_it_shows(self) -> None:
        given = {**BROKEN, **dict.fromkeys((TABLE, JSON, VERSIONS, LIST), Completed(124))}
        for key in ("metax.kmd", "metax.device.count"):
            late = readings(given, key)["mx-smi"]
            assert isinstance(late, Unreadable)
            assert late.passing


class TestAContainer:
    @pytest.mark.parametrize("sign", [place.DOCKER, place.PODMAN, place.KUBERNETES])
    def test_cards_that_are_not_mapped_are_no_fault(self, sign: Question) -> None:
        inside: dict[Question, Given] = {**UNMAPPED, sign: Found(Status("file"))}
        assert readings(inside, "metax.device.state", "0000:38:00.0") == {
            "mx-smi -L": Observed("not mapped")
        }
        spoken = {f.key for f in facts(inside) if f.instance.startswith("0000:38:00.0")}
        assert spoken == {"metax.device.state"}

    def test_layers_below_the_root_are_a_sign_too(self) -> None:
        layers = "614 520 0:87 / / rw,relatime master:3 - overlay overlay rw,lowerdir=/a:/b\n"
        told = readings({**UNMAPPED, place.MOUNTS: Found(layers)}, *OTHER)
        assert told == {"mx-smi -L": Observed("not mapped")}

    def test_a_disk_below_the_root_is_a_hosts(self) -> None:
        disk = "29 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw\n"
        given = {**UNMAPPED, place.MOUNTS: Found(disk), place.DOCKER: Unreadable("not recorded")}
        (reading,) = readings(given, *OTHER).values()
        assert reading == Observed("not available: MetaX Sysfs File Unaccessible")

    def test_the_count_is_what_the_container_has(self) -> None:
        inside: dict[Question, Given] = {**UNMAPPED, place.DOCKER: Found(Status("file"))}
        observed = set(readings(inside, "metax.device.count").values())
        assert Observed(1) in observed
        assert Observed(2) not in observed

    def test_on_a_host_they_are_a_fault(self) -> None:
        assert readings(UNMAPPED, "metax.device.state", "0000:38:00.0") == {
            "mx-smi -L": Observed("not available: MetaX Sysfs File Unaccessible")
        }

    def test_where_that_is_unknown_it_cannot_be_judged(self) -> None:
        unclear: dict[Question, Given] = {**UNMAPPED, place.DOCKER: Unreadable("not recorded")}
        told = readings(unclear, "metax.device.state", "0000:38:00.0")
        assert isinstance(told["mx-smi -L"], Unreadable)

    def test_its_modules_are_not_the_hosts(self) -> None:
        inside: dict[Question, Given] = {
            **CARD,
            place.DOCKER: Found(Status("file")),
            module.KERNEL: Found("5.15.0-58-generic\n"),
        }
        assert readings(inside, "metax.module.built", "5.15.0-58-generic") == {
            "/lib/modules/*": Unreadable("the modules of the running kernel lie on the host")
        }


class TestTheSdk:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Version:3.5.3.20\n", "3.5.3.20"),
            ("MACA Version: 2.33.1\nBuild: x\n", "2.33.1"),
            ("Version:3.8.0.11.c600u\r\n", "3.8.0.11.c600u"),
            ("Version:3.8.0.11-c600u\n", "3.8.0.11-c600u"),
            ("\ufeffVersion: 20251011.746, debug, x64\n", "20251011.746"),
            ("3.7.0.38", "3.7.0.38"),
        ],
    )
    def test_is_what_follows_the_last_colon_of_the_first_line(
        self, text: str, expected: str
    ) -> None:
        given: dict[Question, Given] = {**CARD, VERSION: Found(text)}
        assert readings(given, "metax.sdk") == {VERSION.path: Observed(expected)}

    @pytest.mark.parametrize("text", ["", "\n", "Version:unknown\n", "Version:3.5\n", "3", "x:\n"])
    def test_anything_else_is_not_a_release(self, text: str) -> None:
        given: dict[Question, Given] = {**CARD, VERSION: Found(text)}
        assert isinstance(readings(given, "metax.sdk")[VERSION.path], Unreadable)

    def test_without_its_folder_is_absent(self) -> None:
        assert readings(CARD, "metax.sdk") == {VERSION.path: Absent()}

    def test_with_its_folder_and_no_version_is_not_known(self) -> None:
        given: dict[Question, Given] = {**CARD, brand.METAX.home: DIRECTORY}
        assert isinstance(readings(given, "metax.sdk")[VERSION.path], Unreadable)

    def test_another_one_that_the_environment_names_is_asked_for_too(self) -> None:
        given: dict[Question, Given] = {**CARD, sdk.MACA_PATH: Found("/opt/maca-3.7.1/")}
        file = sdk.version_file("/opt/maca-3.7.1")
        assert file in set(VENDOR.probe.more(Answers(given)))
        given[file] = Found("Version:3.7.1.5\n")
        assert readings(given, "metax.sdk")["/opt/maca-3.7.1/Version.txt"] == Observed("3.7.1.5")

    @pytest.mark.parametrize("path", ["/opt/maca", "/opt/maca/", "", "opt/maca", "/"])
    def test_the_usual_one_is_asked_for_once(self, path: str) -> None:
        assert not list(VENDOR.probe.more(Answers({sdk.MACA_PATH: Found(path)})))

    def test_the_folder_is_a_fact_of_its_own(self) -> None:
        given: dict[Question, Given] = {**CARD, brand.METAX.real: Found("/opt/maca-3.7.1")}
        assert readings(given, "metax.sdk_path") == {"/opt/maca": Observed("/opt/maca-3.7.1")}

    def test_the_compiler_is_known_by_its_build(self) -> None:
        said = "mxcc version 1.0.0 (d9102a1572)\nInstalledDir: /opt/maca-3.7.1/mxgpu_llvm/bin\n"
        given: dict[Question, Given] = {**CARD, COMPILER: Completed(0, said)}
        assert set(readings(given, "metax.compiler").values()) == {Observed("d9102a1572")}
        folder = readings(given, "metax.compiler_path")
        assert set(folder.values()) == {Observed("/opt/maca-3.7.1/mxgpu_llvm/bin")}

    def test_a_compiler_that_was_not_run_is_not_absent(self) -> None:
        there = sdk.compiler_file(brand.METAX)
        given: dict[Question, Given] = {**CARD, there: Found(Status("file"))}
        assert isinstance(readings(given, "metax.compiler")["mxcc --version"], Unreadable)

    def test_mccl_is_read_from_its_header_and_its_tool(self) -> None:
        header = "#define MCCL_MAJOR 2\n#define MCCL_MINOR 16\n  #define MCCL_PATCH 5\n"
        given: dict[Question, Given] = {
            **CARD,
            HEADER: Found(header),
            sdk.RAS: Completed(0, "MCCL RAS client version 2.16.5\n"),
        }
        assert set(readings(given, "metax.mccl").values()) == {Observed("2.16.5")}
        given[HEADER] = Found("#define MCCL_MAJOR 2\n")
        given[sdk.RAS] = Completed(0, "MCCL RAS client version 2.16")
        assert all(isinstance(r, Unreadable) for r in readings(given, "metax.mccl").values())


class TestTheDriverPackage:
    status = (
        "Package: libc6\nStatus: install ok installed\nVersion: 2.35-0ubuntu3\n\n"
        "Package: metax-driver\nStatus: {status}\nArchitecture: amd64\nVersion: 3.9.0.14\n\n"
        "Package: zlib1g\nStatus: install ok installed\nVersion: 1.2.11\n"
    )

    def test_is_read_from_dpkg(self) -> None:
        text = self.status.format(status="install ok installed")
        told = readings({**CARD, packages.DPKG: Found(text)}, "metax.driver_package")
        assert told[packages.DPKG.path] == Observed("3.9.0.14")

    @pytest.mark.parametrize("status", ["deinstall ok config-files", "install ok not-installed"])
    def test_that_was_removed_is_absent(self, status: str) -> None:
        text = self.status.format(status=status)
        told = readings({**CARD, packages.DPKG: Found(text)}, "metax.driver_package")
        assert told[packages.DPKG.path] == Absent()

    @pytest.mark.parametrize(
        ("said", "expected"),
        [
            (Completed(0, "3.9.0.14\n"), Observed("3.9.0.14")),
            (Completed(1, "package metax-driver is not installed\n"), Absent()),
            (Completed(1, "", "cannot open db"), Unreadable("it exited with 1: cannot open db")),
        ],
    )
    def test_is_asked_of_rpm(self, said: Completed, expected: Reading) -> None:
        assert readings({**CARD, packages.RPM: said}, "metax.driver_package")["rpm -q"] == expected


def test_a_module_on_its_way_is_a_passing_reason() -> None:
    given: dict[Question, Given] = {
        **CARD,
        module.MODULES: Found("metax 1605632 0 - Unloading 0x0 (OE)\n"),
    }
    assert readings(given, "metax.module.loaded")["/proc/modules"] == Unreadable(
        "it is on its way: Unloading", passing=True
    )


def test_a_kernel_without_modules_has_loaded_none() -> None:
    given: dict[Question, Given] = {**PLAIN, module.MODULES: Absent()}
    assert isinstance(readings(given, "metax.module.loaded")["/proc/modules"], Unreadable)
    given[module.KERNEL] = Found("6.1.0\n")
    assert readings(given, "metax.module.loaded")["/proc/modules"] == Absent()


def test_parameters_are_facts_of_their_own() -> None:
    root = "/sys/module/metax/parameters"
    matches = ((f"{root}/mxme_size", Found("64\n")), (f"{root}/secret", Unreadable("refused")))
    given: dict[Question, Given] = {**CARD, module.PARAMETERS: Found(matches)}
    told = {f.instance: f.reading for f in facts(given) if f.key == "metax.module.parameter"}
    assert told == {"mxme_size": Observed("64"), "secret": Unreadable("refused")}


def test_a_card_whose_id_is_new_has_no_model_from_the_bus() -> None:
    given = {**PLAIN, **pci(("0000:37:00.0", "0x4fff"))}
    told = readings(given, "metax.device.model", "0000:37:00.0")
    assert told[place.VENDORS.pattern] == Unreadable("no model is known for the PCI id 9999:4fff")
