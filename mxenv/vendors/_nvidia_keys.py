"""Every fact about NVIDIA's cards, driver and toolkit, by the names MetaX's facts have as well."""

from __future__ import annotations

from mxenv.facts import FactKey, View
from mxenv.vendors import _nvidia_driver, _nvidia_sdk
from mxenv.vendors._kernel_module import MODULES

_FILES = "/sys/bus/pci/devices"
_SMI = "nvidia-smi -q -x"
_SMI_TOOL = "nvidia-smi --version"
_SHOWS = _nvidia_driver.INFORMATION.pattern

KEYS = (
    FactKey(
        name="nvidia.kmd",
        meaning="version of the kernel-mode driver that is loaded",
        sources=f"{_nvidia_driver.LOADED.path}, {_nvidia_driver.VERSION.path}, {_SMI}",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.driver_package",
        meaning="version of the package that stands for the driver, with its packaging",
        sources="dpkg, rpm",
    ),
    FactKey(
        name="nvidia.sdk",
        meaning="version of the CUDA toolkit",
        sources="version.json, version.txt or include/cuda.h in /usr/local/cuda, CUDA_VERSION",
    ),
    FactKey(
        name="nvidia.sdk_path",
        meaning="where /usr/local/cuda leads to",
        sources=_nvidia_sdk.ROOT,
    ),
    FactKey(name="nvidia.smi", meaning="version of nvidia-smi", sources=_SMI_TOOL),
    FactKey(
        name="nvidia.smi_cuda",
        meaning="newest CUDA that the driver serves, as nvidia-smi has it where it was run",
        sources=_SMI,
        alike="smi_sdk",
    ),
    FactKey(
        name="nvidia.compiler",
        meaning="version of the compiler nvcc",
        sources="nvcc --version",
    ),
    FactKey(
        name="nvidia.compiler_build",
        meaning="build of the compiler nvcc",
        sources="nvcc --version",
    ),
    FactKey(
        name="nvidia.compiler_path",
        meaning="folder that nvcc lies in",
        sources=", ".join(file.path for file in _nvidia_sdk.COMPILER_FILES),
    ),
    FactKey(
        name="nvidia.nccl",
        meaning="version of the collective library NCCL that the system has, wheels apart",
        sources="nccl.h, file names of libnccl.so",
        alike="collectives",
    ),
    FactKey(
        name="nvidia.dnn",
        meaning="version of cuDNN that the system has, wheels apart",
        sources="cudnn_version.h, file names of libcudnn.so",
    ),
    FactKey(
        name="nvidia.umd",
        meaning="version of the user-mode driver; in a container it is the host's",
        sources="file names of libcuda.so",
    ),
    FactKey(
        name="nvidia.compat",
        meaning="version of the user-mode driver that CUDA brings for older kernel-mode drivers",
        sources=_nvidia_sdk.COMPAT.pattern,
    ),
    FactKey(
        name="nvidia.tool",
        meaning="version of a tool for profiles or diagnosis",
        instance="name",
        sources="dpkg, rpm, version.json in /usr/local/cuda",
    ),
    FactKey(
        name="nvidia.module.loaded",
        meaning="that the driver's module is loaded",
        sources=f"{_nvidia_driver.MODULE.path}, {MODULES.path}",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.module.kind",
        meaning="which module it is that is loaded, open or proprietary",
        sources=_nvidia_driver.LOADED.path,
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.module.on_disk",
        meaning="version of the module that the running kernel would load next",
        sources=" ".join(_nvidia_driver.MODINFO.argv),
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.module.parameter",
        meaning="value of a parameter of the driver's module",
        instance="name",
        sources=_nvidia_driver.PARAMETERS.path,
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.module.built",
        meaning="where the module that was built for a kernel lies among its modules",
        instance="kernel",
        sources="/lib/modules",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.model",
        meaning="model of a card, as H100 80GB HBM3",
        instance="@bdf",
        sources=f"{_SMI}, {_SHOWS}",
    ),
    FactKey(
        name="nvidia.device.pci_id",
        meaning="PCI ids, vendor:device",
        instance="@bdf",
        sources=f"{_FILES}, {_SMI}",
    ),
    FactKey(
        name="nvidia.device.driver",
        meaning="kernel module that drives a card; vfio_pci holds it for a virtual machine",
        instance="@bdf",
        sources=f"{_FILES}/*/driver/module",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.memory_mib",
        meaning="memory of a whole card, sliced or not",
        instance="@bdf",
        sources=_SMI,
        unit="MiB",
    ),
    FactKey(
        name="nvidia.device.state",
        meaning="available, not mapped (into this container), or not available and why",
        instance="@bdf",
        sources=f"{_SMI}, {_FILES}",
    ),
    FactKey(
        name="nvidia.device.bios",
        meaning="version of a card's BIOS (VBIOS)",
        instance="@bdf",
        sources=f"{_SMI}, {_SHOWS}",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.ecc",
        meaning="whether ECC is in use, on or off",
        instance="@bdf",
        sources=_SMI,
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.power_cap_w",
        meaning="power that a card may draw",
        instance="@bdf",
        sources=_SMI,
        unit="W",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.persistence",
        meaning="whether a card is kept awake while nobody uses it, on or off",
        instance="@bdf",
        sources=_SMI,
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.numa_node",
        meaning="NUMA node near a card, as the driver has it",
        instance="@bdf",
        sources="nvidia-smi topo -m",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.cpus",
        meaning="processors near a card, as the driver has it",
        instance="@bdf",
        sources="nvidia-smi topo -m",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.slicing",
        meaning="whether a card is set to be sliced (MIG), on or off",
        instance="@bdf",
        sources=_SMI,
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.fabric",
        meaning="whether a card has joined the fabric of NVLink switches",
        instance="@bdf",
        sources=_SMI,
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.firmware",
        meaning="version of one of a card's firmware units",
        instance="@bdf/unit",
        sources=f"{_SMI}, {_SHOWS}",
        view=View.HOST,
    ),
    FactKey(
        name="nvidia.device.slice",
        meaning="quotas of a slice of a card (a MIG device)",
        instance="@bdf/n",
        sources=_SMI,
    ),
    FactKey(
        name="nvidia.device.count",
        meaning="number of cards that can be used here",
        sources=f"{_SMI}, {_FILES}",
        node_only=True,
    ),
    FactKey(
        name="nvidia.node",
        meaning="that a device node is there",
        instance="path",
        sources=_nvidia_driver.NODES.pattern,
        node_only=True,
    ),
    FactKey(
        name="nvidia.link",
        meaning="the way from one card to another: NV18 (links of NVLink), PIX, NODE, SYS",
        instance="@bdf/@bdf",
        sources="nvidia-smi topo -m",
        view=View.HOST,
    ),
)
