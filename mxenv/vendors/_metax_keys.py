"""Every fact about MetaX's cards, driver and SDK, whatever brand they are sold under."""

from __future__ import annotations

from mxenv.facts import FactKey, View

_FILES = "/sys/bus/pci/devices"
_MODULE = "/sys/module/metax"
_ALL = "mx-smi, mx-smi -j, mx-smi --show-version"

KEYS = (
    FactKey(
        name="metax.brand",
        meaning="brand that the tools and the SDK go by: MetaX (mx-smi), HPCC (ht-smi, Mars)",
        sources="mx-smi, ht-smi, /opt/maca, /opt/hpcc",
    ),
    FactKey(
        name="metax.kmd",
        meaning="version of the kernel-mode driver (the module; not of the driver package)",
        sources=f"{_MODULE}/version, modinfo metax, {_ALL}",
        view=View.HOST,
    ),
    FactKey(
        name="metax.driver_package",
        meaning="version of the package metax-driver, which counts differently from the module",
        sources="dpkg, rpm",
    ),
    FactKey(
        name="metax.package",
        meaning="version of one of the vendor's system packages",
        sources="dpkg, rpm",
        instance="name",
    ),
    FactKey(
        name="metax.sdk",
        meaning="version of the MACA SDK, as its Version.txt has it",
        sources="Version.txt in /opt/maca, /opt/hpcc or $MACA_PATH",
    ),
    FactKey(
        name="metax.sdk_path",
        meaning="where /opt/maca leads to",
        sources="/opt/maca, /opt/hpcc",
    ),
    FactKey(
        name="metax.umd",
        meaning="version of the driver's user-mode part, which counts as the driver package does",
        sources="Version.txt in /opt/mxdriver or /opt/htdriver",
    ),
    FactKey(
        name="metax.smi",
        meaning="version of mx-smi",
        sources="mx-smi, ht-smi (every form)",
    ),
    FactKey(
        name="metax.smi_maca",
        meaning="version that mx-smi believes the SDK to have, where it was run",
        sources=_ALL,
        alike="smi_sdk",
    ),
    FactKey(
        name="metax.compiler",
        meaning="build of the compiler mxcc; the version it prints is always the same",
        sources="mxcc --version, htcc --version",
    ),
    FactKey(
        name="metax.compiler_path",
        meaning="folder that mxcc says it is installed in",
        sources="mxcc --version, htcc --version",
    ),
    FactKey(
        name="metax.mccl",
        meaning="version of the collective library MCCL",
        sources="include/mccl.h of the SDK, mcclras --version",
        alike="collectives",
    ),
    FactKey(
        name="metax.dnn",
        meaning="version of mcDNN",
        sources="include/mcdnn/mcdnn.h of the SDK",
    ),
    FactKey(
        name="metax.bridge",
        meaning="version of CUDA that cu-bridge stands for, where programs for CUDA are compiled",
        sources="tools/cu-bridge/include/cuda.h of the SDK",
    ),
    FactKey(
        name="metax.library",
        meaning="where a library that everything stands on lies, which tells the SDK it is of",
        sources="lib of /opt/maca (libmcruntime.so, libmccl.so, libmcdnn.so) and of /opt/mxdriver "
        "(libmxsml.so)",
        instance="name",
    ),
    FactKey(
        name="metax.tool",
        meaning="version of a tool for traces, profiles or diagnosis; `present` if it tells none",
        sources="mcTracer --help, mcProfiler version, mx-diagease, mx-report, mxvs (--version), "
        "bin of the SDK and of the driver",
        instance="name",
    ),
    FactKey(
        name="metax.module.loaded",
        meaning="that the driver's module is loaded",
        sources=f"{_MODULE}, /proc/modules, {_FILES}/*/driver",
        view=View.HOST,
    ),
    FactKey(
        name="metax.module.gvm",
        meaning="that mxgvm is loaded, which hands cards to virtual machines and may hide them",
        sources="/proc/modules",
        view=View.HOST,
    ),
    FactKey(
        name="metax.module.on_disk",
        meaning="version of the module that the running kernel would load next",
        sources="modinfo metax",
        view=View.HOST,
    ),
    FactKey(
        name="metax.module.vermagic",
        meaning="kernel that the module on disk says it was built for",
        sources="modinfo metax",
        view=View.HOST,
    ),
    FactKey(
        name="metax.module.parameter",
        meaning="a parameter of the driver's module, as pri_mem_sz, which decides what can run",
        sources=f"{_MODULE}/parameters",
        instance="name",
        view=View.HOST,
    ),
    FactKey(
        name="metax.module.built",
        meaning="where the module that was built for a kernel lies among its modules",
        sources="/lib/modules",
        instance="kernel",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.model",
        meaning="model of a card, as C500",
        sources=f"{_FILES}, mx-smi (every form)",
        instance="@bdf",
    ),
    FactKey(
        name="metax.device.pci_id",
        meaning="PCI ids, vendor:device",
        sources=_FILES,
        instance="@bdf",
    ),
    FactKey(
        name="metax.device.driver",
        meaning="kernel module that drives a card; vfio_pci holds it for a virtual machine",
        sources=f"{_FILES}/*/driver/module",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.memory_mib",
        meaning="memory of a whole card, slices or not",
        sources="mx-smi",
        instance="@bdf",
        unit="MiB",
    ),
    FactKey(
        name="metax.device.state",
        meaning="available, not mapped (into this container), or not available and why",
        sources="mx-smi, mx-smi -j, mx-smi -L",
        instance="@bdf",
    ),
    FactKey(
        name="metax.device.bios",
        meaning="version of a card's BIOS",
        sources=f"{_ALL}, mx-smi --show-vbios",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.firmware",
        meaning="version of one of a card's firmware units",
        sources="mx-smi --show-version",
        instance="@bdf/unit",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.ecc",
        meaning="whether ECC is in use, on or off",
        sources="mx-smi --show-ecc-state",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.power_cap_w",
        meaning="power that a card may draw",
        sources="mx-smi --show-board-power, mx-smi",
        instance="@bdf",
        unit="W",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.persistence",
        meaning="whether a card is kept awake while nobody uses it, on or off",
        sources="mx-smi",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.sriov",
        meaning="whether a card's BIOS can make virtual functions, on or off",
        sources="mx-smi --show-vbios",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.numa_node",
        meaning="NUMA node near a card, as the driver has it",
        sources="mx-smi topo -m, mx-smi topo -n",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.cpus",
        meaning="processors near a card, as the driver has it",
        sources="mx-smi topo -m, mx-smi topo -n",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.slicing",
        meaning="whether a card is set to be sliced, on or off",
        sources="mx-smi",
        instance="@bdf",
        view=View.HOST,
    ),
    FactKey(
        name="metax.device.slice",
        meaning="quotas of a slice of a card",
        sources="mx-smi, mx-smi -j",
        instance="@bdf/n",
    ),
    FactKey(
        name="metax.device.count",
        meaning="number of cards that can be used here",
        sources=f"{_FILES}, {_ALL}",
        node_only=True,
    ),
    FactKey(
        name="metax.node",
        meaning="that a device node is there",
        sources="/dev, /dev/dri",
        instance="path",
        node_only=True,
    ),
    FactKey(
        name="metax.link",
        meaning="the way from a card to another or to a NIC: MX (MetaXLink), PIX, NODE, SYS",
        sources="mx-smi topo -m, mx-smi topo -n",
        instance="@bdf/@bdf",
        view=View.HOST,
    ),
)
