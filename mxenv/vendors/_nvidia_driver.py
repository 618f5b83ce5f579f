"""What shows NVIDIA's driver without asking ``nvidia-smi``: its module, libraries and nodes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mxenv.facts import Absent, Fact, Observed, Reading, Unreadable
from mxenv.question import Answers, Command, File, Found, Glob, Link, Part, Question, Stat
from mxenv.vendors._kernel_module import KERNEL, MODULES, in_modules, in_sysfs
from mxenv.vendors._nvidia_smi import DRIVER, driver
from mxenv.vendors._place import ON_HOST
from mxenv.vendors._words import address, excerpt, found_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mxenv.vendors._place import Place

MODULE = Stat("/sys/module/nvidia")
LOADED = File("/proc/driver/nvidia/version", limit=4096)
VERSION = File("/sys/module/nvidia/version", limit=4096)
PARAMETERS = File("/proc/driver/nvidia/params", limit=65536)
MODINFO = Command(("modinfo", "-F", "version", "nvidia"))
BUILT = tuple(
    Glob(f"/lib/modules/*/{folder}/nvidia.ko*")
    for folder in (
        "extra",
        "extra/nvidia",
        "kernel/drivers/video",
        "kernel/nvidia-*",
        "updates",
        "updates/dkms",
        "weak-updates",
        "weak-updates/nvidia",
    )
)
INFORMATION = Glob("/proc/driver/nvidia/gpus/*/information", part=Part.WHOLE, limit=4096)
NODES = Glob("/dev/nvidia*")

QUESTIONS: tuple[Question, ...] = (
    MODULE,
    LOADED,
    VERSION,
    PARAMETERS,
    MODULES,
    KERNEL,
    *BUILT,
    INFORMATION,
    NODES,
)

CONTROL_NODE = "/dev/nvidiactl"
CHOSEN = (
    "CreateImexChannel0",
    "EnableGpuFirmware",
    "EnableMSI",
    "EnablePCIERelaxedOrderingMode",
    "EnableResizableBar",
    "EnableStreamMemOPs",
    "EnableUserNUMAManagement",
    "GrdmaPciTopoCheckOverride",
    "IgnoreMMIOCheck",
    "NvLinkDisable",
    "OpenRmEnableUnsupportedGpus",
    "PreserveVideoMemoryAllocations",
    "RegistryDwords",
    "RmProfilingAdminOnly",
    "UsePageAttributeTable",
)
"""Of fifty parameters those that decide what a card can do, or how it reaches another."""

_OWN = r"/sys/module/([A-Za-z0-9_]{1,64})"
_NODE = r"/dev/nvidia(?:\d{1,3}|ctl|-uvm|-uvm-tools|-modeset)"
_LOADED = (
    r"(?ma)^NVRM version:[ \t]+NVIDIA UNIX (Open )?[^\n]*?Kernel Module[^\n]*?"
    rf"[ \t]({DRIVER})[ \t]"
)
_LABEL = r"(?m)^([A-Z][A-Za-z ]+?):[ \t]+(\S.*?)[ \t]*\n"
_PARAMETER = r"(?m)^(\w+): (\"[^\"\n]*\"|[^\s:\"]*)[ \t]*\n"
_MODINFO = rf"(?a)\A({DRIVER})\n\Z"


def more(answers: Answers, cards: Iterable[str]) -> Iterator[Question]:
    """Yield what to ask now that ``cards``, or a module, were seen."""
    yield from map(driver_of, cards)
    built = any(isinstance(answers[glob], Found) for glob in BUILT)
    if cards or built or isinstance(answers[MODULE], Found):
        yield MODINFO


def facts(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield everything that the kernel's files say of the driver."""
    yield from _version(answers, place)
    key = "nvidia.module.loaded"
    yield Fact(key=key, reading=in_sysfs(answers, MODULE), source=MODULE.path)
    yield Fact(key=key, reading=in_modules(answers, "nvidia"), source=MODULES.path)
    yield Fact(
        key="nvidia.module.on_disk", reading=_on_disk(answers, place), source=" ".join(MODINFO.argv)
    )
    yield from _parameters(answers, place)
    yield from _built(answers, place)
    yield from _nodes(answers)


def _version(answers: Answers, place: Place) -> Iterator[Fact]:
    match answers[LOADED]:
        case Found(text):
            found = re.search(_LOADED, text)
            reading: Reading = Unreadable(f"not understood: {excerpt(text)}")
            kind = reading
            if found:
                reading, kind = Observed(found[2]), Observed("open" if found[1] else "proprietary")
        case Absent() | Unreadable() as silent:
            reading = kind = _hidden(place, silent)
    yield Fact(key="nvidia.kmd", reading=reading, source=LOADED.path)
    yield Fact(key="nvidia.module.kind", reading=kind, source=LOADED.path)
    match answers[VERSION]:
        case Found(text):
            whole = driver(text) if text.endswith("\n") else Unreadable("its end is missing")
            yield Fact(key="nvidia.kmd", reading=whole, source=VERSION.path)
        case Absent() | Unreadable() as silent:
            yield Fact(key="nvidia.kmd", reading=_hidden(place, silent), source=VERSION.path)


def _hidden(place: Place, silent: Absent | Unreadable) -> Reading:
    """Return what it means that a file of the loaded driver says nothing."""
    if place.module is False:
        return Absent()
    if isinstance(silent, Unreadable):
        return silent
    return Unreadable("the driver's own files are not to be seen")


def loaded(answers: Answers) -> bool | None:
    """Return whether the module is loaded, by whichever list can be seen; `None` if by none."""
    readings = (in_sysfs(answers, MODULE), in_modules(answers, "nvidia"))
    if any(isinstance(reading, Observed) for reading in readings):
        return True
    return False if Absent() in readings else None


def driver_of(bdf: str) -> Link:
    """Return the question which module drives a card."""
    return Link(f"/sys/bus/pci/devices/{bdf}/driver/module")


def drivers(answers: Answers, place: Place) -> dict[str, Reading]:
    """Return the module that drives each card on the bus; vfio_pci keeps one for a guest."""
    readings: dict[str, Reading] = {}
    for bdf in place.pci if isinstance(place.pci, dict) else ():
        answer = answers[driver_of(bdf)]
        found = re.fullmatch(_OWN, answer.value) if isinstance(answer, Found) else None
        unknown = answer if isinstance(answer, Unreadable) else Absent()
        readings[bdf] = Observed(found[1]) if found else unknown
    return readings


def information(answers: Answers) -> Mapping[str, Mapping[str, str]] | Unreadable:
    """Return what ``/proc/driver/nvidia/gpus`` says, label by label; nothing if it is not there."""
    match answers[INFORMATION]:
        case Found(matches):
            cards: dict[str, Mapping[str, str]] = {}
            for path, content in matches:
                bdf = address(path.split("/")[-2])
                if bdf is not None:
                    labels = re.findall(_LABEL, content.value) if isinstance(content, Found) else []
                    cards[bdf] = dict(labels)
            return cards
        case Absent():
            return {}
        case Unreadable() as unreadable:
            return unreadable


def _on_disk(answers: Answers, place: Place) -> Reading:
    """Return the version of the module that the running kernel would load next."""
    none = Absent() if place.container is False else ON_HOST
    if place.driver is False and all(answers[glob] == Absent() for glob in BUILT):
        return none
    done = answers[MODINFO]
    if not isinstance(done, Unreadable) and not done.timed_out and "not found" in done.stderr:
        return none
    return found_in(done, _MODINFO, Unreadable("there is no modinfo to ask"))


def _parameters(answers: Answers, place: Place) -> Iterator[Fact]:
    key, source = "nvidia.module.parameter", PARAMETERS.path
    match answers[PARAMETERS]:
        case Found(text):
            said = dict(re.findall(_PARAMETER, text.replace("\r\n", "\n")))
            known = [name for name in CHOSEN if name in said]
            for name in known:
                value = said[name].strip().strip('"')
                given = Observed(value) if value else Absent()
                yield Fact(key=key, instance=name, reading=given, source=source)
            if not known:
                reading = Unreadable(f"not understood: {excerpt(text)}")
                yield Fact(key=key, reading=reading, source=source)
        case Absent() | Unreadable() as silent:
            yield Fact(key=key, reading=_hidden(place, silent), source=source)


def _built(answers: Answers, place: Place) -> Iterator[Fact]:
    """Yield for which kernels the module was built; the running one is always spoken of."""
    key = "nvidia.module.built"
    given = tuple(answers[glob] for glob in BUILT)
    built: dict[str, Fact] = {}
    for answer in given:
        for path, _ in answer.value if isinstance(answer, Found) else ():
            kernel, _, rest = path.removeprefix("/lib/modules/").partition("/")
            where = Observed(rest.rpartition("/")[0])
            built.setdefault(kernel, Fact(key=key, instance=kernel, reading=where, source=path))
    yield from built.values()
    kernel_answer = answers[KERNEL]
    running = kernel_answer.value.strip() if isinstance(kernel_answer, Found) else ""
    if running in built or (built and not running):
        return
    blind = [answer for answer in given if isinstance(answer, Unreadable)]
    none: Reading = Absent() if place.container is False else ON_HOST
    reading = blind[0] if blind else none
    yield Fact(key=key, instance=running, reading=reading, source="/lib/modules/*")


def _nodes(answers: Answers) -> Iterator[Fact]:
    """Yield the device nodes; without the control node no other is of any use."""
    readings: Mapping[str, Reading]
    match answers[NODES]:
        case Found(matches):
            found = sorted({path for path, _ in matches if re.fullmatch(_NODE, path)})
            readings = {path: Observed("present") for path in found}
            readings = {CONTROL_NODE: Absent(), **readings}
        case Absent() | Unreadable() as unknown:
            readings = {CONTROL_NODE: unknown}
            if isinstance(unknown, Unreadable) and unknown.passing:
                yield Fact(key="nvidia.node", reading=unknown, source=NODES.pattern)
    for path, reading in readings.items():
        yield Fact(key="nvidia.node", instance=path, reading=reading, source=path)
